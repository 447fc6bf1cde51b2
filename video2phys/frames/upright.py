"""The world of cameras that were found from photographs: z up, what they look at in the origin, and a unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from video2phys.frames.cameras import Lens

LEVEL = 0.2  # a direction is level in all pictures when it varies along "up" by less than this share of the next direction
VARIED = 0.02  # ... and the pictures' sides point in more than one direction


@dataclass(frozen=True)
class World:
    """y = scale turn (x - origin) takes the old world to the new one."""

    turn: np.ndarray  # (3, 3)
    origin: np.ndarray  # (3,) in the old world
    scale: float
    how: str  # where "up" comes from, for a note

    def points(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) of the old world in the new one."""
        return self.scale * (points - self.origin) @ self.turn.T

    def lens(self, lens: Lens) -> Lens:
        """The same lens in the new world."""
        R, t = lens.world_to_camera[:3, :3], lens.world_to_camera[:3, 3]
        pose = np.eye(4)
        pose[:3, :3] = R @ self.turn.T
        pose[:3, 3] = self.scale * (R @ self.origin + t)
        return replace(lens, world_to_camera=pose)


def upright(lenses: Sequence[Lens], up: np.ndarray | None = None) -> World:
    """The world in which z is up, the point nearest to all optical axes the origin, and the cameras' median distance from it 1.

    up: (3,) known direction in the old world. Otherwise the direction that is across the sides of all pictures, as cameras are held level;
    where none is, the mean up of the pictures.
    """
    matrices = np.array([lens.world_to_camera for lens in lenses])
    R, centre = matrices[:, :3, :3], -np.einsum("nji,nj->ni", matrices[:, :3, :3], matrices[:, :3, 3])
    how = "up is against the gravity of capture.yaml"
    if up is None:
        up, how = _up(R)
    across = np.eye(3) - R[:, 2, :, None] * R[:, 2, None, :]
    origin = np.linalg.lstsq(across.sum(0), np.einsum("nij,nj->i", across, centre), rcond=None)[0]
    distance = float(np.median(np.linalg.norm(centre - origin, axis=1)))
    return World(turn_to(up), origin, 1 / distance if distance > 0 else 1.0, how)


def turn_to(up: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) of a world in which `up` (3,), of any length, becomes z; x stays x where it can."""
    up = up / np.linalg.norm(up)
    level = np.eye(3)[np.argmin(np.abs(up))]
    side = level - (level @ up) * up
    side /= np.linalg.norm(side)
    return np.stack([side, np.cross(up, side), up])


def _up(R: np.ndarray) -> tuple[np.ndarray, str]:
    mean = -R[:, 1].mean(0)
    spread, axes = np.linalg.eigh(np.einsum("ni,nj->ij", R[:, 0], R[:, 0]) / len(R))
    if spread[0] < LEVEL * spread[1] and spread[1] > VARIED and abs(axes[:, 0] @ mean) > 1e-3:
        return axes[:, 0] * np.sign(axes[:, 0] @ mean), "up is the direction that is upright in all pictures"
    return mean if np.linalg.norm(mean) > 1e-6 else np.array([0, 0, 1.0]), "up is the mean up of the pictures"
