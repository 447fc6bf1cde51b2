"""How well measured tracks are known, judged by the tracks themselves."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys.solve import robust


def points(at: np.ndarray) -> np.ndarray:
    """The places (N, 3) of paths (T, O, 3), without those not seen."""
    flat = at.reshape(-1, 3)
    return flat[np.isfinite(flat).all(-1)]


def way(at: np.ndarray) -> float:
    """Largest extent [length unit] of paths (T, O, 3) along an axis."""
    return max(float(np.ptp(points(at), axis=0).max()), 1e-9)


def noise(at: np.ndarray) -> float:
    """Robust sigma [length unit] of paths (T, O, 3). Axes along which nothing moves do not count."""
    return robust.noise(np.diff(at[..., np.ptp(points(at), axis=0) > 0], 3, axis=0))


def turn_noise(rotation: np.ndarray) -> float:
    """[rad] the same of rotations (T, 4): second differences of the turns from row to row."""
    if len(rotation) < 4:
        return 0.0
    spun = Rotation.from_quat(rotation, scalar_first=True)
    steps = (spun[1:] * spun[:-1].inv()).as_rotvec()
    return robust.noise(np.diff(steps[:, np.ptp(steps, axis=0) > 0], 2, axis=0))
