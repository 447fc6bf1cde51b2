"""A rigid pose, small steps on it, and the rotations that leave a solid as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys.types import Primitive


@dataclass(frozen=True)
class Pose:
    """Body to world: x = R X + t."""

    R: np.ndarray  # (3, 3)
    t: np.ndarray  # [length unit] (3,)

    def moved(self, step: np.ndarray, radius: float) -> Pose:
        """After a step (6,): translation [length unit], then rotation vector about world axes times `radius` [length unit]."""
        return Pose(Rotation.from_rotvec(step[3:] / radius).as_matrix() @ self.R, self.t + step[:3])

    def quaternion(self) -> np.ndarray:
        """(4,) w, x, y, z."""
        return Rotation.from_matrix(self.R).as_quat(scalar_first=True)

    @staticmethod
    def of(position: np.ndarray, quaternion: np.ndarray) -> Pose:
        """From a position (3,) and a quaternion (4,) w, x, y, z."""
        return Pose(Rotation.from_quat(quaternion, scalar_first=True).as_matrix(), np.asarray(position, float))


def extrapolate(before: Pose, last: Pose, share: float = 1.0) -> Pose:
    """The pose after `last` when velocity and rotation rate go on for `share` of the step from `before` to `last`."""
    turn = Rotation.from_matrix(last.R @ before.R.T).as_rotvec() * share
    return Pose(Rotation.from_rotvec(turn).as_matrix() @ last.R, last.t + share * (last.t - before.t))


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """Angle [rad] of the rotation from matrix a to matrix b."""
    return float(np.arccos(np.clip((np.trace(a.T @ b) - 1) / 2, -1, 1)))


def symmetries(solid: Primitive) -> np.ndarray:
    """Proper rotations (S, 3, 3) that map the solid onto itself; for a body of revolution a fine set of turns about its axis.

    Equal extents within 2 % count as equal: an outline cannot tell them apart.
    """
    e = np.asarray(solid.size, float)
    alike = [abs(e[i] - e[j]) < 0.02 * max(e[i], e[j]) for i, j in ((1, 2), (2, 0), (0, 1))]
    flips = np.array([np.diag(d) for d in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])], float)
    turns = [np.eye(3)]
    for axis in range(3):
        round_ = solid.kind == "sphere" or (solid.kind == "cylinder" and axis == 1)
        if alike[axis]:
            count = 24 if round_ else 4
            turns += [Rotation.from_rotvec(np.eye(3)[axis] * 2 * np.pi * k / count).as_matrix() for k in range(1, count)]
    if sum(alike) == 3 and solid.kind != "cylinder":
        group = Rotation.create_group("O").as_matrix()
        return group
    return np.array([f @ t for f in flips for t in turns])
