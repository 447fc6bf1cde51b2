"""The motion between contacts: a parabola and a steady spin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEADY = 0.5  # [rad] of turning over which a free body's spin is taken as constant
RINGING = 1  # frames of a flight that are left out: the body has just been deformed, and a start knows no deformation
SHORTEST = 4  # frames of a flight that gives a new start


@dataclass(frozen=True)
class Start:
    """Rigid motion at the first frame of a flight, and the frame in which contact may begin."""

    frame: int  # first frame used
    contact: int  # first frame in which the body may touch the plane; the number of frames when it never does
    position: np.ndarray  # [m] (3,)
    velocity: np.ndarray  # [m/s] (3,)
    rotation: np.ndarray  # (3, 3)
    angular_velocity: np.ndarray  # [rad/s] (3,)


def rotation_part(F: np.ndarray) -> np.ndarray:
    """Closest rotation (..., 3, 3) to F by its polar decomposition."""
    U, _, Vt = np.linalg.svd(F)
    U[..., -1] *= np.linalg.det(U @ Vt)[..., None]
    return U @ Vt


@dataclass(frozen=True)
class Path:
    """The measured affine motion, and what tells flight from contact."""

    time: np.ndarray  # [s] (T,)
    position: np.ndarray  # [m] (T, 3)
    sigma: np.ndarray  # [m] (T, 3)
    deformation: np.ndarray  # (T, 3, 3)
    clearance: np.ndarray  # [m] (T,) the lowest point's height over the plane, inf without one
    margin: float  # [m] the body flies where it clears the plane by this
    gravity: np.ndarray  # [m/s^2] (3,)

    def stay(self, contact: int) -> int:
        """Frames from `contact` on until the body is free again."""
        free = np.flatnonzero(self.clearance[contact:] > self.margin)
        return int(free[0]) if len(free) else len(self.clearance) - contact


def ballistic(path: Path, valid: np.ndarray) -> Start:
    """Fit the contact-free frames, which are the first of the `valid` ones (T,) bool.

    With fewer than two of them the first two valid frames give a rough velocity, which the later fit refines.
    """
    from scipy.spatial.transform import Rotation

    seen = np.flatnonzero(valid)
    first = int(seen[0])
    touching = np.flatnonzero(valid & (path.clearance < path.margin))
    contact = int(touching[0]) if len(touching) else len(path.time)
    free = seen[seen < contact]
    if len(free) < 2:
        free = seen[:2]
    t = (path.time[free] - path.time[first])[:, None]
    w = 1 / np.maximum(path.sigma[free].mean(1), 1e-12)
    A = np.concatenate([np.ones_like(t), t], 1)
    solution = np.linalg.lstsq(A * w[:, None], (path.position[free] - 0.5 * path.gravity * t**2) * w[:, None], rcond=None)[0]
    R = Rotation.from_matrix(rotation_part(path.deformation[free]))
    turn = (R * R[0].inv()).as_rotvec()
    small = np.linalg.norm(turn, axis=1) < STEADY
    small[:2] = True
    line = np.linalg.lstsq(A[small], turn[small], rcond=None)[0]
    start = Rotation.from_rotvec(line[0]) * R[0]
    return Start(first, contact, solution[0], solution[1], start.as_matrix(), line[1])


def rebounds(path: Path, valid: np.ndarray, first: Start) -> list[Start]:
    """Starts of the flights after the first contact; `valid` (T,) bool leaves the held-out frames out."""
    out, begin, frame = [], first, np.arange(len(path.time))
    free = valid & (path.clearance > path.margin)
    while True:
        after = np.flatnonzero(free & (frame > begin.contact))
        if not len(after):
            return out
        landed = np.flatnonzero(~free & (frame > after[0]))
        end = int(landed[0]) if len(landed) else len(frame)
        if end - after[0] < SHORTEST + RINGING:
            return out
        begin = ballistic(path, valid & (frame >= after[RINGING]))
        out.append(begin)
