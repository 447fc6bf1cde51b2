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


def ballistic(
    time: np.ndarray,
    position: np.ndarray,
    sigma: np.ndarray,
    deformation: np.ndarray,
    valid: np.ndarray,
    clearance: np.ndarray,
    margin: float,
    gravity: np.ndarray,
) -> Start:
    """Fit the contact-free frames. `clearance` (T,) is the lowest point's height over the plane, inf without one.

    The free frames are the first ones that clear the plane by `margin`. With fewer than two of them the first two valid
    frames give a rough velocity, which the later fit refines.
    """
    from scipy.spatial.transform import Rotation

    seen = np.flatnonzero(valid)
    first = int(seen[0])
    touching = np.flatnonzero(valid & (clearance < margin))
    contact = int(touching[0]) if len(touching) else len(time)
    free = seen[seen < contact]
    if len(free) < 2:
        free = seen[:2]
    t = (time[free] - time[first])[:, None]
    w = 1 / np.maximum(sigma[free].mean(1), 1e-12)
    A = np.concatenate([np.ones_like(t), t], 1)
    solution = np.linalg.lstsq(A * w[:, None], (position[free] - 0.5 * gravity * t**2) * w[:, None], rcond=None)[0]
    R = Rotation.from_matrix(rotation_part(deformation[free]))
    turn = (R * R[0].inv()).as_rotvec()
    small = np.linalg.norm(turn, axis=1) < STEADY
    small[:2] = True
    line = np.linalg.lstsq(A[small], turn[small], rcond=None)[0]
    start = Rotation.from_rotvec(line[0]) * R[0]
    return Start(first, contact, solution[0], solution[1], start.as_matrix(), line[1])


def rebounds(
    time: np.ndarray,
    position: np.ndarray,
    sigma: np.ndarray,
    deformation: np.ndarray,
    valid: np.ndarray,
    clearance: np.ndarray,
    margin: float,
    gravity: np.ndarray,
    first: Start,
) -> list[Start]:
    """Starts of the flights after the first contact; the arguments are those of `ballistic`, `valid` without held-out frames."""
    out, begin = [], first
    free = valid & (clearance > margin)
    while True:
        after = np.flatnonzero(free & (np.arange(len(time)) > begin.contact))
        if not len(after):
            return out
        landed = np.flatnonzero(~free & (np.arange(len(time)) > after[0]))
        end = int(landed[0]) if len(landed) else len(time)
        if end - after[0] < SHORTEST + RINGING:
            return out
        begin = ballistic(time, position, sigma, deformation, valid & (np.arange(len(time)) >= after[RINGING]), clearance, margin, gravity)
        out.append(begin)
