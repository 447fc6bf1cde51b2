"""Does a track swing to and fro on an arc below its centre? Then it is a pendulum, whatever holds it.

A circle is fitted to the whole moving part of the track. It is a swing where
- the track keeps to the circle as closely as to anything a lens shows, and the arc is clearly no straight line;
- it lies below the centre and turns back at least once: a flight does neither;
- it trades height for speed, a'^2 = 2 w^2 cos a + const: a hand or a turntable does not. The slope of that line gives w^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.planar.fit import Window
from video2phys.parameters.planar.track import Track

FEWEST = 20  # frames: twice the unknowns of a swing
STRAIGHT = 0.02  # of the chord: what lenses of cameras and phones make of a line, or of a circle
BOW, BOW_PX = 5.0, 2.0  # height of the arc over its chord: times the misfit, and [px]
BACK = 0.1  # of the arc's range that the track must return by after a turn
EXPLAINED = 0.7  # share of the variance of a'^2 that height must explain
SLOWEST = 0.05  # [1/s^2] w^2 of a pendulum of 200 m
OVERHEAD = float(np.radians(165))  # a swing this wide is a whirl


@dataclass(frozen=True)
class Swing:
    """A track as a pendulum's."""

    window: Window
    pivot: np.ndarray  # [px] (2,) centre of the circle
    radius: float  # [px]
    angle: np.ndarray  # [rad] (N,) from straight down towards x
    misfit: float  # [px] standard deviation of the distance from the pivot
    rate2: float  # [1/s^2] w^2 of small swings
    share: float  # of the variance of a'^2 that height explains

    @staticmethod
    def of(window: Window) -> Swing:
        """Measured on a window of one body."""
        pivot, radius = circle(window.measured[:, 0])
        away = window.measured[:, 0] - pivot
        angle = np.arctan2(away[:, 0], -away[:, 1])
        rate2, share = _trade(window.time, angle)
        return Swing(window, pivot, radius, angle, float(np.std(np.hypot(*away.T) - radius)), max(rate2, SLOWEST), share)

    @property
    def swings(self) -> bool:
        """Whether it is one."""
        half = 0.5 * float(np.ptp(self.angle))
        chord, bow = 2 * self.radius * np.sin(half), self.radius * (1 - np.cos(half))
        round_ = self.misfit < max(1.0, STRAIGHT * chord) and bow > max(BOW * self.misfit, BOW_PX)
        below = np.abs(self.angle).max() < OVERHEAD
        return bool(round_ and below and _turns(self.angle) and self.rate2 > SLOWEST and self.share > EXPLAINED)


def find(track: Track) -> Swing | None:
    """The pendulum that a track shows between the rests at its ends, None where it shows none."""
    lively = [p for p in track.phases if not p.rests]
    if not lively:
        return None
    part = np.arange(lively[0].frames[0], lively[-1].frames[-1] + 1)[1:-1]  # release and stop belong to neither side
    if len(part) < FEWEST:
        return None
    found = Swing.of(Window(track.frames[part], track.time[part], track.position[part, None]))
    return found if found.swings else None


def circle(position: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (2,) and radius of the circle nearest to points (N, 2), from an algebraic start (Kasa 1976)."""
    from scipy.optimize import least_squares

    middle = position.mean(0)
    p = position - middle
    c = np.linalg.lstsq(np.c_[2 * p, np.ones(len(p))], (p**2).sum(1), rcond=None)[0]
    start = [c[0], c[1], np.sqrt(max(c[2] + c[0] ** 2 + c[1] ** 2, 1e-12))]
    best = least_squares(lambda x: np.hypot(p[:, 0] - x[0], p[:, 1] - x[1]) - x[2], start, x_scale="jac").x
    return middle + best[:2], float(best[2])


def _turns(angle: np.ndarray) -> bool:
    """Whether the angle turns back anywhere: lies a tenth of its range below what comes both before and after it, or above."""
    before, after = np.maximum.accumulate, lambda a: np.maximum.accumulate(a[::-1])[::-1]
    valley = max(float((np.minimum(before(a), after(a)) - a).max()) for a in (angle, -angle))
    return valley > BACK * float(np.ptp(angle))


def _trade(time: np.ndarray, angle: np.ndarray) -> tuple[float, float]:
    """w^2 from the line through a'^2 against cos a, and the share of the variance that height explains.

    a' is the slope over a tenth of the time between the extremes, or two frames, where no frame is missing; what damping takes is
    a term linear in time.
    """
    quarter = abs(time[angle.argmax()] - time[angle.argmin()])
    reach = max(1, round(0.05 * quarter / float(np.median(np.diff(time)))))
    span = time[2 * reach :] - time[: -2 * reach]
    whole = span < 1.2 * np.median(span)
    rate = (angle[2 * reach :] - angle[: -2 * reach]) / span
    square, height, t = rate[whole] ** 2, np.cos(angle[reach:-reach])[whole], (time[reach:-reach] - time[0])[whole]
    A = np.c_[2 * height, np.ones_like(t), t]
    c = np.linalg.lstsq(A, square, rcond=None)[0]
    without = A[:, 1:] @ np.linalg.lstsq(A[:, 1:], square, rcond=None)[0]
    return float(c[0]), 1 - float(np.var(square - A @ c) / max(np.var(square - without), 1e-300))
