"""Start state of a segment from the measured poses themselves, before any fit of a simulation."""

from __future__ import annotations

import numpy as np

from video2phys.parameters.spatial.solid import Solid
from video2phys.parameters.spatial.track import Track
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.types import Plane

NEAR = 3.0  # [sigma] a lowest point within this of the ground may touch it


def state(track: Track, gravity: np.ndarray) -> np.ndarray:
    """Position, small turn (zero), velocity and spin (12,) at the first frame of a track that is short and free of impacts.

    Position: least squares of x0 + v t + g t^2 / 2. Spin: the median of the turns from frame to frame.
    """
    t = track.time - track.time[0]
    if len(t) < 2:
        return np.concatenate([track.position[0], np.zeros(9)])
    A = np.stack([np.ones_like(t), t], -1)
    x0, v0 = np.linalg.lstsq(A, track.position - 0.5 * t[:, None] ** 2 * gravity, rcond=None)[0]
    spin = np.median(quaternions.between(track.rotation[1:], track.rotation[:-1]) / np.diff(t)[:, None], axis=0)
    return np.concatenate([x0, np.zeros(3), v0, spin])


def height(track: Track, solid: Solid, plane: Plane) -> tuple[np.ndarray, np.ndarray]:
    """Height of the lowest point over the plane and its sigma [length unit], (N,) each."""
    low = solid.shape.lowest(quaternions.matrix(track.rotation), plane.normal)
    across = np.einsum("nij,j->ni", track.basis, plane.normal)
    tilt = solid.shape.extent * np.where(np.isfinite(track.rotation_sigma), track.rotation_sigma, 0.0).max(-1)
    sigma = np.sqrt(((across * track.position_sigma) ** 2).sum(-1) + tilt**2)
    return track.position @ plane.normal - plane.offset + low, sigma


def free_frames(track: Track, solid: Solid, plane: Plane | None) -> int:
    """How many of the first frames are clear of the ground; all without one."""
    if plane is None:
        return len(track)
    above, sigma = height(track, solid, plane)
    touching = np.flatnonzero(above < NEAR * sigma)
    return int(touching[0]) if len(touching) else len(track)
