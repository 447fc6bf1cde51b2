"""Least squares of a planar motion, with intervals that know how alike neighbouring frames are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from video2phys.parameters.planar import motion
from video2phys.progress import Progress, silent
from video2phys.solve.covariance import IDENTIFIED_SHARE, autocorrelation_time, correlation
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.space import Space
from video2phys.types import Verdict

OUTLIER = 5.0  # robust sigmas: of a thousand good frames less than one is lost


@dataclass(frozen=True)
class Window:
    """The frames that one law explains."""

    frames: np.ndarray  # (N,) indices into the capture
    time: np.ndarray  # [s] (N,)
    measured: np.ndarray  # [px] (N, O, 2) x right, z up from the image centre; NaN where not measured

    def first(self, count: int) -> Window:
        """Its first `count` frames."""
        return Window(self.frames[:count], self.time[:count], self.measured[:count])


@dataclass(frozen=True)
class Law:
    """A motion with unknowns: predict(values (B, P) physical, time (T,)) -> (B, T, O, 2) px. Every unknown is on a linear scale."""

    space: Space
    predict: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def at(self, values: np.ndarray, time: np.ndarray) -> np.ndarray:
        """(T, O, 2) px for one set of values (P,)."""
        return self.predict(np.asarray(values, float)[None], time)[0]


@dataclass(frozen=True)
class Fit:
    """A law at its optimum."""

    law: Law
    estimate: Estimate  # residuals are over the effective sigma, so its covariance needs no further factor
    quantile: float  # of Student's t, two-sided 95 %
    residual: np.ndarray  # [px] (N, O, 2) measured minus predicted, NaN where not used
    rejected: np.ndarray  # (N, O) bool, outliers

    @property
    def values(self) -> np.ndarray:
        return self.estimate.values

    @property
    def correlation(self) -> np.ndarray:
        return correlation(self.estimate)

    def value(self, name: str) -> float:
        """The named unknown."""
        return float(self.values[self.law.space.names.index(name)])

    def derived(self, quantity: Callable[[np.ndarray], np.ndarray], extra: float = 0.0) -> tuple[float, list[float]]:
        """Value and 95 % interval of quantity(values (B, P)) -> (B,) by the delta method; `extra` [its unit] is added in quadrature.

        The interval is [-inf, inf] where the quantity depends on an unknown that the motion does not fix.
        """
        covariance = self.estimate.covariance
        known = np.isfinite(np.diag(covariance))
        h = np.where(known, 1e-3 * np.sqrt(np.where(known, np.diag(covariance), 1.0)), 1e-6)
        h = np.maximum(h, 1e-12)
        q = quantity(np.concatenate([self.values[None], self.values + np.diag(h), self.values - np.diag(h)]))
        count = len(h)
        slope = (q[1 : count + 1] - q[count + 1 :]) / (2 * h)
        if np.any(np.abs(slope[~known]) > 1e-9):
            return float(q[0]), [-np.inf, np.inf]
        inner = np.where(np.outer(known, known), np.where(np.isfinite(covariance), covariance, 0.0), 0.0)
        half = float(np.hypot(self.quantile * np.sqrt(max(slope @ inner @ slope, 0.0)), extra))
        return float(q[0]), [float(q[0]) - half, float(q[0]) + half]

    def of(self, name: str, factor: float = 1.0) -> tuple[float, list[float]]:
        """Value and interval of an unknown, times `factor`."""
        k = self.law.space.names.index(name)
        return self.derived(lambda v: factor * v[:, k])


def rms(residual: np.ndarray) -> float:
    """[px] root mean square length of residual vectors (..., 2); NaN when none is finite."""
    length2 = (residual**2).sum(-1)
    length2 = length2[np.isfinite(length2)]
    return float(np.sqrt(length2.mean())) if len(length2) else float("nan")


def solve(window: Window, law: Law, max_steps: int = 40, progress: Progress = silent) -> Fit:
    """Fit, set outliers aside, and fit again with the sigma that the residuals and their correlation in time call for.

    The effective sigma is the rms residual times the root of the autocorrelation time: priors then weigh against what the
    frames are really worth.
    """
    from scipy.stats import t as student

    measured = window.measured.copy()
    tracks = [m[np.isfinite(m).all(1)] for m in measured.transpose(1, 0, 2)]
    sigma = float(np.mean([motion.white_noise(m) for m in tracks]))
    law, _, residual = _least_squares(window.time, measured, law, sigma, max_steps, progress)
    usual = float(1.4826 * np.nanmedian(np.abs(residual)))
    bad = np.nan_to_num(np.abs(residual).max(-1), nan=0.0) > OUTLIER * max(usual, sigma)
    if bad.sum() > 0.2 * np.isfinite(residual).all(-1).sum():
        bad[:] = False  # that many are no outliers: the law does not describe the motion, and its residual must say so
    if bad.any():
        measured[bad] = np.nan
        law, _, residual = _least_squares(window.time, measured, law, sigma, max_steps, progress)
    tau = autocorrelation_time(np.nan_to_num(residual).reshape(len(residual), -1))
    count = int(np.isfinite(residual).sum())
    given = int((law.space.prior > 0).sum())
    freedom = max(count - len(law.space) + given, 1)
    sigma = max(float(np.sqrt(np.nansum(residual**2) / freedom)), 0.02) * float(np.sqrt(tau))
    law, estimate, residual = _least_squares(window.time, measured, law, sigma, max_steps, progress)
    effective = max(count / tau - len(law.space) + given, 1.0)
    return Fit(law, estimate, float(student.ppf(0.975, effective)), residual, bad)


def _least_squares(
    time: np.ndarray, measured: np.ndarray, law: Law, sigma: float, max_steps: int, progress: Progress
) -> tuple[Law, Estimate, np.ndarray]:
    """The law restarted at its optimum, the estimate, and the residual (N, O, 2) [px]."""
    good = np.isfinite(measured)

    def residuals(values: np.ndarray) -> np.ndarray:
        return (measured - law.predict(values, time))[:, good] / sigma

    estimate = levenberg(residuals, law.space, max_steps=max_steps, central=True, progress=progress)
    best = Law(law.space.started(estimate.values), law.predict)
    return best, estimate, measured - law.at(estimate.values, time)


def verdict(value: float, interval: list[float], scale: float | None = None, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Verdict:
    """Identified when the half width is within 25 % of `scale` (default: the value), weak within 100 %; at bound where a bound holds it."""
    half = 0.5 * (interval[1] - interval[0])
    if not np.isfinite(half):
        return Verdict.NOT_IDENTIFIED
    if value - bounds[0] <= 1e-6 or bounds[1] - value <= 1e-6:
        return Verdict.AT_BOUND
    reference = abs(value) if scale is None else scale
    return Verdict.IDENTIFIED if half <= IDENTIFIED_SHARE * reference else Verdict.WEAK if half <= reference else Verdict.NOT_IDENTIFIED
