"""From a fit to values with 95 % intervals and verdicts.

The formal covariance is that of residuals with unit variance. It is multiplied by
- the reduced chi-square, never below 1: a model that misses the data by more than their sigma is not certain of itself. Where
  the residuals of a frame err alike when the model errs, what exceeds the noise is one measurement a frame: 1 + alike (chi2 - 1),
  and chi2 is that of the frames which tell the parameter (White 1980), since a model errs in some frames more than in others;
- an autocorrelation time, never below 1: neighbouring frames that err alike count once (effective sample size n / tau;
  Sokal 1997). It is taken per parameter, of the shares (A^-1 J^T)_t r_t that the frames have in its value, so that frames
  which say nothing of it, such as those of a body at rest, do not count.

Verdicts: a parameter is
- at bound: it lies on a bound and the data push it outwards; its interval is one-sided;
- not identified: it has no effect, its interval is infinite, or covers more than 80 % of the allowed range;
- identified: the half-width of its interval is under 25 % of the value, or, for a linear quantity between two finite
  bounds (a friction, a ratio), under 10 % of that range;
- weak: anything between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from video2phys.solve.levenberg import Estimate
from video2phys.solve.mixture import quantile
from video2phys.solve.normal import null_directions
from video2phys.solve.space import Free, Space
from video2phys.types import Parameter, Status, Verdict

IDENTIFIED_SHARE = 0.25  # of the value
IDENTIFIED_RANGE = 0.10  # of a bounded range
COVERS = 0.80  # of the allowed range


@dataclass(frozen=True)
class Spread:
    """How the formal covariance is widened."""

    chi2: float  # reduced chi-square
    tau: np.ndarray  # (P,) autocorrelation time of the frames' shares in each parameter, in frames
    dof: float  # degrees of freedom
    misfit: np.ndarray  # (P,) variance of the residuals that tell each parameter, at least 1

    @property
    def factor(self) -> np.ndarray:
        """(P,) multiplies the formal variances."""
        return self.misfit * self.tau


def spread(estimate: Estimate, channels: int = 1, pushed: np.ndarray | None = None) -> Spread:
    """Widening of the covariance; residual (M,) is read as (M / channels, channels), time first.

    `pushed` (P,) bool: parameters that a bound holds back. What they would mend without it is taken off the residual first,
    else the misfit that the bound causes would pass for noise.
    """
    r, J = estimate.residual, estimate.jacobian
    if pushed is not None and pushed.any():
        r = r - J[:, pushed] @ np.linalg.lstsq(J[:, pushed], r, rcond=None)[0]
    known = np.isfinite(np.diag(estimate.covariance))
    used = int(known.sum())
    chi2, dof = _reduced(r, used)
    inverse = np.where(known[:, None] & known[None], estimate.covariance, 0.0)
    gains = J @ inverse  # (M, P)
    shares = gains * r[:, None]
    if channels > 1 and len(r) % channels == 0:
        shares = shares.reshape(-1, channels, len(known)).sum(1)
    tau = np.array([autocorrelation_time(s[:, None]) for s in shares.T])
    return Spread(chi2, tau, dof, misfit(replace(estimate, residual=r), gains, channels))


def misfit(estimate: Estimate, gains: np.ndarray, channels: int = 1) -> np.ndarray:
    """Variance (K,) of the residuals that something rests on, by its gains (M, K); never below 1.

    Where residuals do not err alike it is the reduced chi-square of all, else 1 + alike (chi2 - 1) with that of the frames, each
    counted by its squared gains.
    """
    r = estimate.residual
    chi2, dof = _reduced(r, int(np.isfinite(np.diag(estimate.covariance)).sum()))
    if estimate.alike == 1:
        return np.full(gains.shape[1], max(chi2, 1.0))
    frame = (r**2).reshape(-1, channels).mean(1) * (r != 0).sum() / dof
    told = (gains**2).reshape(len(frame), channels, -1).sum(1)
    local = (told * frame[:, None]).sum(0) / np.maximum(told.sum(0), 1e-300)
    return 1 + estimate.alike * np.maximum(local - 1, 0.0)


def _reduced(r: np.ndarray, used: int) -> tuple[float, float]:
    """Reduced chi-square and degrees of freedom; a masked measurement is an exact zero and carries no information."""
    dof = float(max(int((r != 0).sum()) - used, 1))
    return float((r**2).sum() / dof), dof


def autocorrelation_time(series: np.ndarray) -> float:
    """1 + 2 sum of the autocorrelations of (T, C), summed over channels, up to the first one under half the noise, 0.5 / sqrt(n).

    n is the number of samples that matter, (sum x^2)^2 / sum x^4.
    """
    x = np.asarray(series, float)
    power = (x**2).sum()
    if x.shape[0] < 8 or not power > 0:
        return 1.0
    noise = 0.5 / np.sqrt(power**2 / (x**4).sum())
    tau = 1.0
    for lag in range(1, x.shape[0] // 3):
        rho = (x[lag:] * x[:-lag]).sum() / power
        if rho < noise:
            break
        tau += 2 * rho
    return float(tau)


def correlation(estimate: Estimate) -> np.ndarray:
    """(P, P); zero off the diagonal where a variance is infinite."""
    C = np.where(np.isfinite(estimate.covariance), estimate.covariance, 0.0)
    s = np.sqrt(np.maximum(np.diag(C), 0))
    known = np.isfinite(np.diag(estimate.covariance)) & (s > 0)
    out = np.eye(len(s))
    k = np.flatnonzero(known)
    out[np.ix_(k, k)] = C[np.ix_(k, k)] / np.outer(s[k], s[k])
    return np.clip(out, -1, 1)


def parameters(
    estimate: Estimate, space: Space, laws: Mapping[str, str] | None = None, *, channels: int = 1, level: float = 0.95,
    rivals: Sequence[tuple[float, Estimate]] = (),
) -> tuple[Parameter, ...]:  # fmt: skip
    """One Parameter per free scalar, in order. `laws` maps a name to its constitutive model or convention.

    `rivals` are other explanations with their probabilities: values are then means over all (in optimiser coordinates), and
    intervals quantiles of the mixture of all.
    """
    found = (estimate, *(e for _, e in rivals))
    weight = np.array([1 - sum(w for w, _ in rivals), *(w for w, _ in rivals)])
    at = np.array([space.to_internal(e.values) for e in found])
    held = [_bounds(e, space) for e in found]
    widened = [spread(e, channels, np.array([b != "" for b in bounds], bool)) for e, bounds in zip(found, held, strict=True)]
    sigma = np.array([np.sqrt(np.diag(e.covariance) * w.factor) for e, w in zip(found, widened, strict=True)])
    dof = np.array([w.dof for w in widened])
    mixed = _null_notes(estimate, space)
    out = []
    for k, f in enumerate(space.free):
        u = float(weight @ at[:, k])
        bound = held[0][k] if len({bounds[k] for bounds in held}) == 1 else ""
        # at a bound the interval is one-sided
        tails = {"": (0.5 - level / 2, 0.5 + level / 2), "lower": (0.0, level), "upper": (1 - level, 1.0)}[bound]
        low, high = (quantile(tail, weight, at[:, k], sigma[:, k], dof) for tail in tails)
        known = np.isfinite(sigma[:, k]).all() and estimate.status is not Status.UNSTABLE
        low, high = (max(low, space.lower[k]), min(high, space.upper[k])) if known else (-np.inf, np.inf)
        verdict, note = _verdict(f, estimate, u, low, high, space.lower[k], space.upper[k], bound)
        interval = [_physical(f, low), _physical(f, high)] if known else None
        value = _physical(f, u) if rivals else float(estimate.values[k])
        out.append(Parameter(f.name, value, f.unit, interval, verdict, (laws or {}).get(f.name, ""), mixed.get(f.name, note)))
    return tuple(out)


def _physical(f: Free, u: float) -> float:
    return float(10.0**u if f.scale == "log" else u)


def _bounds(estimate: Estimate, space: Space) -> list[str]:
    u, gradient = space.to_internal(estimate.values), estimate.jacobian.T @ estimate.residual
    return [_bound(f, *at) for f, *at in zip(space.free, u, space.lower, space.upper, gradient, strict=True)]


def _bound(f: Free, u: float, lower: float, upper: float, gradient: float) -> str:
    """ "lower" or "upper" when the value lies on that bound and the data push outwards, else ""."""
    slack = 1e-6 * (upper - lower) if f.bounded else 1e-9 * max(abs(u), 1.0)
    if u <= lower + slack and gradient >= 0:
        return "lower"
    return "upper" if u >= upper - slack and gradient <= 0 else ""


def _verdict(f: Free, estimate: Estimate, u: float, low: float, high: float, lower: float, upper: float, bound: str) -> tuple[Verdict, str]:
    if f.name in estimate.frozen:
        return Verdict.NOT_IDENTIFIED, "no effect on the predicted motion"
    if not np.isfinite(high - low) or estimate.status is Status.UNSTABLE:
        return Verdict.NOT_IDENTIFIED, "the motion does not fix it"
    if f.bounded and high - low > COVERS * (upper - lower):
        return Verdict.NOT_IDENTIFIED, "its interval covers most of the allowed range"
    if bound:
        return Verdict.AT_BOUND, f"at the {bound} bound {f.lower if bound == 'lower' else f.upper:g}: the data push it further"
    half = (_physical(f, high) - _physical(f, low)) / 2
    if half < IDENTIFIED_SHARE * abs(_physical(f, u)):
        return Verdict.IDENTIFIED, ""
    if f.scale == "linear" and f.bounded and half < IDENTIFIED_RANGE * (upper - lower):
        return Verdict.IDENTIFIED, ""
    return Verdict.WEAK, "the interval is wide"


def _null_notes(estimate: Estimate, space: Space) -> dict[str, str]:
    """A sentence for each parameter that only a combination with others fixes."""
    J = estimate.jacobian
    k = np.flatnonzero((J**2).sum(0) > 0)
    if len(k) < 2:
        return {}
    A = (J.T @ J + np.diag(space.prior))[np.ix_(k, k)]
    notes = {}
    for direction in null_directions(A):
        inside = k[np.abs(direction) > 0.1]
        names = [space.names[i] for i in inside]
        for name in names:
            others = ", ".join(n for n in names if n != name)
            notes[name] = f"only a combination with {others} is fixed" if others else "the motion does not fix it"
    return notes


def unsettled(estimate: Estimate, space: Space, other: np.ndarray, channels: int = 1) -> Estimate:
    """Add the variance that the numerical method itself brings: the change since the fit that ended at `other` (P,) physical, NaN where it
    says nothing, on a coarser grid or with less data; residuals of one grid cannot show this error, because the fit absorbs it.
    """
    known = np.isfinite(other) & np.isfinite(np.diag(estimate.covariance)) & np.isfinite(estimate.values)
    if not known.any() or not np.isfinite(estimate.residual).all():
        return estimate
    moved = np.where(known, space.to_internal(estimate.values) - space.to_internal(np.where(known, other, estimate.values)), 0)
    factor = spread(estimate, channels).factor  # the covariance is multiplied by it later
    return replace(estimate, covariance=estimate.covariance + np.diag(moved**2) / factor)
