"""Where a motion in the picture changes: piecewise parabolas, chosen by the Bayesian information criterion.

Between events (release, impact, end stop, leaving the hand) a rigid body in a plane has constant acceleration, so its track
is a parabola in time. The split that minimises  sum RSS / sigma^2 + (number of phases) (7 log 2T)  is found by dynamic
programming (Jackson et al. 2005): six coefficients and one change point a phase. A change that is smaller than what a lens or
a perspective makes of one smooth motion is no event, and its two sides are joined again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from video2phys.solve import robust

SHORTEST = 6  # frames of a phase: a parabola has three coefficients an axis, and the noise needs as many
SYSTEMATIC = 0.2  # [px] outlines follow the pixel grid by this much, without being white noise
GLITCH = 8  # frames of a track's error between two longer parts of one motion
SAME_SPEED, SAME_ACCELERATION = 0.05, 0.3  # shares within which two neighbours are one motion seen through a lens


@dataclass(frozen=True)
class Phase:
    """One parabola: x(t) = position + velocity (t - middle) + acceleration (t - middle)^2 / 2."""

    frames: np.ndarray  # indices into the whole track, ascending
    middle: float  # [s]
    position: np.ndarray  # [px] (2,) x, z
    velocity: np.ndarray  # [px/s] (2,)
    acceleration: np.ndarray  # [px/s^2] (2,)
    acceleration_sigma: float  # [px/s^2] of each component
    span: tuple[float, float]  # [s]
    path: float  # [px] length of the way
    bow: float  # [px] largest distance of the fitted path from its chord
    noise: float  # [px] rms of the residual an axis
    covariance: np.ndarray  # (3, 3) of position, velocity, acceleration, of each axis

    def velocity_at(self, t: float) -> np.ndarray:
        return self.velocity + self.acceleration * (t - self.middle)

    def velocity_sigma_at(self, t: float) -> float:
        """[px/s] of each axis."""
        row = np.array([0.0, 1.0, t - self.middle])
        return float(np.sqrt(row @ self.covariance @ row))

    def position_at(self, t: np.ndarray | float) -> np.ndarray:
        """(..., 2) at times t (...)."""
        d = np.asarray(t, float)[..., None] - self.middle
        return self.position + self.velocity * d + 0.5 * self.acceleration * d**2

    @property
    def rests(self) -> bool:
        """Less than a pixel and a half of way, or less than four times its noise."""
        return self.path < max(1.5, 4 * self.noise)


def white_noise(position: np.ndarray) -> float:
    """Robust sigma [px] an axis of the track (T, 2) from third differences, which a parabola does not have."""
    if len(position) < 5:
        return SYSTEMATIC
    return max(robust.noise(np.diff(position, 3, axis=0)), 0.02)


def spikes(position: np.ndarray, sigma: float) -> np.ndarray:
    """(T,) bool: frames that stand out from the median of the five around them by more than a smooth motion can."""
    if len(position) < 7:
        return np.zeros(len(position), bool)
    padded = np.pad(position, ((2, 2), (0, 0)), mode="edge")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5, axis=0), axis=-1)
    off = np.abs(position - middle).max(1)
    off[:2] = off[-2:] = 0  # no window there
    step = np.abs(np.diff(position, axis=0)).max(1)
    usual = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(step, (3, 3), mode="edge"), 6), axis=-1)
    return off > np.maximum(6 * sigma, 2 * usual)


def fit(time: np.ndarray, position: np.ndarray, frames: np.ndarray) -> Phase:
    """Least-squares parabola through position[frames]; time (T,), position (T, 2)."""
    t, p = time[frames], position[frames]
    middle = float(t.mean())
    d = t - middle
    A = np.stack([np.ones_like(d), d, 0.5 * d**2], 1)
    c = np.linalg.lstsq(A, p, rcond=None)[0]
    fitted = A @ c
    noise = float(np.sqrt(np.sum((p - fitted) ** 2) / max(2 * (len(t) - 3), 1)))
    covariance = noise**2 * np.linalg.pinv(A.T @ A)
    chord = fitted[-1] - fitted[0]
    length = float(np.hypot(*chord))
    away = fitted - fitted[0]
    bow = float(np.abs(away[:, 0] * chord[1] - away[:, 1] * chord[0]).max() / length) if length > 1e-9 else 0.0
    path = float(np.linalg.norm(np.diff(fitted, axis=0), axis=1).sum())
    return Phase(
        frames, middle, c[0], c[1], c[2], float(np.sqrt(covariance[2, 2])), (float(t[0]), float(t[-1])), path, bow, noise, covariance
    )


def phases(time: np.ndarray, position: np.ndarray, sigma: float) -> list[Phase]:
    """The phases of a track without gaps in its arrays: time (T,) [s], position (T, 2) [px], sigma [px] an axis."""
    if len(time) < SHORTEST:
        return []
    ends = _split(time, position, max(sigma, SYSTEMATIC))
    parts = [np.arange(a, b) for a, b in pairwise(ends)]
    found = [fit(time, position, part) for part in parts]
    while (pair := _to_join(found)) is not None:
        first, last = pair
        found[first : last + 1] = [fit(time, position, np.concatenate([found[first].frames, found[last].frames]))]
    return found


def _to_join(found: list[Phase]) -> tuple[int, int] | None:
    """Two neighbours that are one motion, or two with a glitch of a few frames between them, which is then dropped."""
    for k in range(len(found) - 1):
        if _one_motion(found[k], found[k + 1]):
            return k, k + 1
    for k in range(len(found) - 2):
        a, glitch, b = found[k : k + 3]
        if len(glitch.frames) <= GLITCH < min(len(a.frames), len(b.frames)) and _one_motion(a, b):
            return k, k + 2
    return None


def _one_motion(a: Phase, b: Phase) -> bool:
    """Whether two neighbouring phases differ by less than optics can make of one motion."""
    if a.rests or b.rests:
        return a.rests and b.rests and np.hypot(*(a.position - b.position)) < 1.5
    t = 0.5 * (a.span[1] + b.span[0])
    va, vb = a.velocity_at(t), b.velocity_at(t)
    speed = max(np.hypot(*va), np.hypot(*vb), 0.25 * max(p.path / (np.ptp(p.span) or 1) for p in (a, b)))
    loose = [p.velocity_sigma_at(t) for p in (a, b)]
    off = np.hypot(*(a.position_at(t) - b.position_at(t)))
    same_place = off < max(1.5, 4 * max(a.noise, b.noise), 0.01 * max(a.path, b.path))
    same_speed = np.hypot(*(va - vb)) < max(SAME_SPEED * speed, 3 * math.hypot(*loose))
    pull = max(np.hypot(*a.acceleration), np.hypot(*b.acceleration))
    gap = np.hypot(*(a.acceleration - b.acceleration))
    same_pull = gap < max(SAME_ACCELERATION * pull, 3 * float(np.hypot(a.acceleration_sigma, b.acceleration_sigma)))
    return bool(same_place and same_speed and same_pull)


def _split(time: np.ndarray, position: np.ndarray, sigma: float) -> list[int]:
    """First frames of the phases and the end: [0, ..., T]."""
    T = len(time)
    penalty = 7 * np.log(2 * T)
    best = np.full(T + 1, np.inf)
    best[0] = 0.0
    before = np.zeros(T + 1, int)
    moment = np.zeros((T, 5))  # of window i..j about the last time: sum d^k
    mixed = np.zeros((T, 3, 2))  # sum d^k (x - x_last)
    square = np.zeros((T, 2))  # sum (x - x_last)^2
    binomial = [[1], [1, 1], [1, 2, 1], [1, 3, 3, 1], [1, 4, 6, 4, 1]]
    for j in range(T):
        if j:
            dt, dx = time[j] - time[j - 1], position[j] - position[j - 1]
            power = (-dt) ** np.arange(5)
            shift = np.zeros((5, 5))
            for k, row in enumerate(binomial):
                shift[k, : k + 1] = np.array(row) * power[k - np.arange(k + 1)]
            square[:j] += -2 * dx * mixed[:j, 0] + moment[:j, :1] * dx**2
            mixed[:j] -= moment[:j, :3, None] * dx
            mixed[:j] = np.einsum("kl,ila->ika", shift[:3, :3], mixed[:j])
            moment[:j] = moment[:j] @ shift.T
        moment[: j + 1, 0] += 1
        i = j + 1 - SHORTEST
        if i < 0:
            continue
        starts = np.arange(i + 1)
        length = np.maximum(time[j] - time[starts], 1e-12)
        scale = length[:, None] ** -np.arange(5)
        m = moment[starts] * scale
        A = m[:, [[0, 1, 2], [1, 2, 3], [2, 3, 4]]]
        b = mixed[starts] * scale[:, :3, None]
        rss = square[starts] - np.einsum("ika,ika->ia", b, np.linalg.solve(A, b))
        cost = best[starts] + np.maximum(rss, 0).sum(1) / sigma**2 + penalty
        k = int(np.argmin(cost))
        best[j + 1], before[j + 1] = cost[k], starts[k]
    ends = [T]
    while ends[-1]:
        ends.append(int(before[ends[-1]]))
    return ends[::-1]
