"""How far a simulated rigid motion can be trusted: every impact law leaves a part of a real impact unexplained.

Restitution measured impact by impact scatters by about a tenth, and so does the change of spin. So the velocity change dv of
a contact between two frames is uncertain by LAW dv, independently of the others, and from then on the position errs by
LAW dv (t - t_j), as long as the body moves; likewise the turn. Fits weigh frames, and tie segments, by this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.simulate.rigid import spatial

LAW = 0.1  # share of a velocity change in contact that a rigid impact law leaves unexplained
LOOSE = 1.5  # of gravity's part in a frame: a support does no more, and its force is not uncertain
MOVES = 0.01  # of the fast speed of the motion: slower than this the body rests and its errors stand still
LEAST = 1e-3  # of the fast speeds: the end of a segment without contact is still not exact


@dataclass(frozen=True)
class Error:
    """One standard deviation of a prediction at N times from the start of its segment."""

    position: np.ndarray  # [length unit] (N,) along any axis
    turn: np.ndarray  # [rad] (N,)
    velocity: np.ndarray  # [length unit/s] (N,)
    spin: np.ndarray  # [rad/s] (N,)
    struck: np.ndarray  # (N,) bool: an impact since the time before


def none(n: int) -> Error:
    """No error."""
    return Error(*(np.zeros(n) for _ in range(4)), np.zeros(n, bool))


def of_motion(moved: spatial.Track, times: np.ndarray, gravity: np.ndarray, normal: np.ndarray, speed: float, turning: float) -> Error:
    """Errors of a simulated motion (batch 1) at `times` [s] (N,); `speed` and `turning` are fast rates of the whole motion."""
    v, w = moved.velocity[0], moved.spin[0]
    dt = np.diff(times)
    change = np.diff(v, axis=0) - gravity * dt[:, None]
    through = change @ normal
    support = LOOSE * abs(float(gravity @ normal)) * dt
    struck = np.append(False, through > support + 1e-9)
    along = change - through[:, None] * normal
    push = np.append(0.0, np.hypot(np.linalg.norm(along, axis=-1), np.maximum(through - support, 0.0)))
    contact = np.append(False, np.linalg.norm(change, axis=-1) > 1e-6 * max(speed, 1e-9))
    twist = np.append(0.0, np.linalg.norm(np.diff(w, axis=0), axis=-1)) * contact
    moves = (np.linalg.norm(v, axis=-1) > MOVES * speed) | (np.linalg.norm(w, axis=-1) > MOVES * turning)
    clock = np.append(0.0, np.cumsum(dt * moves[1:]))  # time in motion
    since = np.maximum(clock[:, None] - clock[None], 0.0)  # (N, N) from event j to time k
    earlier = np.tril(np.ones_like(since))
    position = LAW * np.sqrt((since**2 * push**2).sum(-1))
    turn = LAW * np.sqrt((since**2 * twist**2).sum(-1))
    velocity = LAW * np.sqrt((earlier * push**2).sum(-1))
    spin = LAW * np.sqrt((earlier * twist**2).sum(-1))
    return Error(position + LEAST * speed * clock, turn + LEAST * turning * clock, velocity + LEAST * speed, spin + LEAST * turning, struck)
