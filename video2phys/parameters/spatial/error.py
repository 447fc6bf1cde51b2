"""How far a simulated rigid motion can be trusted: every impact law leaves a part of a real impact unexplained.

The velocity change dv that contact gives between two frames is uncertain by LAW |dv| along any axis, independently of the
others, and so is the change of spin. From then on the path errs by that times the time passed, as long as the body moves: one
kick moves all frames after it together. The errors of a motion are therefore weighed by their whole covariance
(generalised least squares), which neither lets many frames after one impact pass for many impacts nor blames late frames
for an early one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.simulate.rigid import spatial

# Share of a velocity change. Restitution e of a tumbling box, taken impact by impact, scatters by 0.05 to 0.1 even in simulations
# of compliant contact (several points touch, and the body turns meanwhile), dv = (1 + e) v with it by up to 0.07. Changes of
# velocity and spin are taken as independent though one impulse makes both, which counts its error twice: a factor sqrt(2).
LAW = 0.1
LOOSE = 1.5  # of gravity's part in a frame: more than any support gives
MOVES = 0.01  # of the fast speed of the motion: slower than this the body rests and its errors stand still
LEAST = 1e-3  # of the fast speeds: the end of a segment without contact is still not exact


@dataclass(frozen=True)
class Error:
    """What goes wrong in a motion at N times from the start of its segment."""

    push: np.ndarray  # [length unit/s] (N,) one standard deviation, along any axis, of the velocity change in the step to each time
    twist: np.ndarray  # [rad/s] (N,) the same of the spin
    clock: np.ndarray  # [s] (N,) time in motion
    struck: np.ndarray  # (N,) bool: an impact in the step to each time
    speed: float  # [length unit/s] inexactness of an end even without contact
    turning: float  # [rad/s] the same of the spin

    @property
    def position(self) -> np.ndarray:
        """[length unit] (N,) one standard deviation of the position along any axis."""
        return np.sqrt(np.diag(path(self.push, self.clock))[:-1])

    @property
    def turn(self) -> np.ndarray:
        """[rad] (N,) one standard deviation about any axis."""
        return np.sqrt(np.diag(path(self.twist, self.clock))[:-1])


def none(times: np.ndarray) -> Error:
    """No error at `times` (N,)."""
    n = len(times)
    return Error(np.zeros(n), np.zeros(n), times - times[:1], np.zeros(n, bool), 0.0, 0.0)


def of_motion(moved: spatial.Track, times: np.ndarray, gravity: np.ndarray, normal: np.ndarray, speed: float, turning: float) -> Error:
    """Errors of a simulated motion (batch 1) at `times` [s] (N,); `speed` and `turning` are fast rates of the whole motion."""
    v, w = moved.velocity[0], moved.spin[0]
    dt = np.diff(times)
    change = np.diff(v, axis=0) - gravity * dt[:, None]
    through = change @ normal
    weight = abs(float(gravity @ normal)) * dt  # what a support gives a body at rest, and that is not uncertain
    struck = np.append(False, through > LOOSE * weight + 1e-9)
    along = np.linalg.norm(change - through[:, None] * normal, axis=-1)
    push = np.append(0.0, np.hypot(along, np.minimum(np.abs(through), np.abs(through - weight))))
    contact = np.append(False, np.linalg.norm(change, axis=-1) > 1e-6 * max(speed, 1e-9))
    twist = np.append(0.0, np.linalg.norm(np.diff(w, axis=0), axis=-1)) * contact
    moves = (np.linalg.norm(v, axis=-1) > MOVES * speed) | (np.linalg.norm(w, axis=-1) > MOVES * turning)
    clock = np.append(0.0, np.cumsum(dt * moves[1:]))
    return Error(LAW * push, LAW * twist, clock, struck, LEAST * speed, LEAST * turning)


def path(kick: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Covariance (N + 1, N + 1), along one axis, of a path at N times and of its rate at the last of them.

    The rate jumps by `kick` (N,), one standard deviation, in the middle of the step to each time.
    """
    middle = clock - 0.5 * np.diff(clock, prepend=clock[:1])
    reach = np.tril(clock[:, None] - middle[None])
    spread = np.vstack([reach, np.ones(len(clock))]) * kick
    return spread @ spread.T


@dataclass(frozen=True)
class Whitening:
    """A linear map of errors (..., R, 3) to independent ones of unit variance, in order of time (prediction errors)."""

    inverse: np.ndarray  # (3 R, 3 R) of the lower Cholesky factor of their covariance
    known: np.ndarray  # (R, 3) bool: what is measured; the rest gives 0

    def __call__(self, away: np.ndarray) -> np.ndarray:
        flat = np.where(self.known, away, 0.0).reshape(*away.shape[:-2], -1)
        return (flat @ self.inverse.T).reshape(away.shape)

    @property
    def log_determinant(self) -> float:
        """Of the covariance."""
        return float(-2 * np.log(np.diag(self.inverse)).sum())


def whitening(kick: np.ndarray, clock: np.ndarray, basis: np.ndarray, sigma: np.ndarray, least: float, tied: bool) -> Whitening:
    """For predicted minus measured at N frames along the rows of `basis` (N, 3, 3), measured within `sigma` (N, 3).

    With `tied`, `kick` and `clock` have one time more, the start of the next segment, and two more rows are the differences
    from the path and its rate there, along the world axes, never known better than `least` times the time passed, and `least`.
    """
    frames, rows = len(sigma), len(sigma) + 2 * tied
    along = path(kick, clock)[:rows, :rows]
    axes = np.concatenate([basis, np.broadcast_to(np.eye(3), (2 * tied, 3, 3))])
    measured = np.concatenate([sigma**2, np.zeros((2 * tied, 3))])
    if tied:
        # a body at rest is not exactly where it is said to be either
        measured[frames:] = np.array([[least * max(clock[-1], np.diff(clock).max(), 1e-3)], [least]]) ** 2
    joint = np.einsum("kl,kia,lja->kilj", along, axes, axes).reshape(3 * rows, 3 * rows)
    known = np.isfinite(measured)
    joint[~known.ravel()] = joint[:, ~known.ravel()] = 0.0
    joint[np.diag_indices(3 * rows)] += np.where(known, measured, 1.0).ravel()
    return Whitening(np.linalg.inv(np.linalg.cholesky(joint)), known)
