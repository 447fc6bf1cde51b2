"""Levenberg-Marquardt with bounds on batched residuals.

Minimises |r(u)|^2 + sum ((u - center) / prior)^2 over optimiser coordinates u. Each step solves
(A + mu diag A) du = -g with A = J^T J + prior, g the gradient (Marquardt 1963), for several dampings mu at once,
evaluates them in one batch and keeps the boldest that falls about as predicted, else the best. Coordinates at a bound
whose descent direction points outwards are held for that step; the rest of the step is clipped to the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from video2phys.progress import Progress, silent
from video2phys.solve.differences import Residuals, jacobian
from video2phys.solve.normal import covariance
from video2phys.solve.space import Space
from video2phys.types import Status

DAMPINGS = np.array([0.1, 1.0, 10.0, 1e3])  # tried together, times the current damping: from Gauss-Newton to a short gradient step
GAIN = 0.25  # share of the predicted fall that makes the boldest trial worth taking (Nocedal and Wright 2006, section 4.1)
FAILURES = 5  # batches in a row without one finite rollout: the damping has risen 1e15-fold by then
EFFECT = 1e-3  # [sigma] a parameter that moves no residual by this in a probe of a tenth of its range does nothing measurable


@dataclass(frozen=True)
class Estimate:
    """Where a fit ended."""

    values: np.ndarray  # (P,) physical
    residual: np.ndarray  # (M,) over sigma, data only
    jacobian: np.ndarray  # (M, P) of the residual, in optimiser coordinates; zero columns where frozen
    covariance: np.ndarray  # (P, P) in optimiser coordinates for residuals of unit variance; inf on the diagonal where unknown
    status: Status
    history: tuple[float, ...]  # cost |r|^2 + prior per accepted step, from the start
    probes: dict[str, float] = field(default_factory=dict)  # per name, largest change [sigma] of a residual in the probe
    frozen: tuple[str, ...] = ()  # without effect at the start: left at their start values
    alike: int = 1  # residuals that the model's own error moves together, see `covariance`

    @property
    def cost(self) -> float:
        """|r|^2 plus priors at the end."""
        return self.history[-1] if self.history else float("inf")


def levenberg(
    residuals: Residuals,
    space: Space,
    *,
    max_steps: int = 40,
    tolerance: float = 1e-6,
    central: bool = False,
    probe: bool = True,
    slope: Residuals | None = None,
    finish: bool = True,
    progress: Progress = silent,
) -> Estimate:
    """Fit the free parameters of `space` to residuals (B, P) physical -> (B, M) over sigma.

    A failed rollout is a row of NaN: such a trial is refused. Converged: the cost falls by less than `tolerance` of itself,
    or no damping lowers it any more. `central` doubles the batch of the Jacobian for a second-order difference. `slope` gives
    residuals whose Jacobian is used instead, e.g. those of a coarser and cheaper simulation. Without `finish` the Jacobian of
    the estimate is that of the point before the last step, which saves one where a fit only tells its valley.
    """
    u = np.clip(space.start, space.lower, space.upper)
    r = evaluate(residuals, space, u[None])[0]
    P = len(space)
    if not np.isfinite(r).all():
        return Estimate(space.to_physical(u), r, np.zeros((len(r), P)), np.full((P, P), np.inf), Status.UNSTABLE, ())
    probes = probe_effects(residuals, space, u, r) if probe else {}
    active = np.array([probes.get(n, np.inf) > EFFECT for n in space.names], bool)
    cost, history = _cost(r[None], u[None], space)[0], []
    history.append(float(cost))
    frozen = tuple(n for n, a in zip(space.names, active, strict=True) if not a)
    if not active.any():
        flat = np.zeros((len(r), P))
        nothing = covariance(np.diag(space.prior))
        return Estimate(space.to_physical(u), r, flat, nothing, Status.NO_EFFECT, tuple(history), probes, frozen)
    status, damping, failures = Status.MAX_STEPS, 1e-3, 0

    def linearised(u: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base = r if slope is None else evaluate(slope, space, u[None])[0]
        return jacobian(slope or residuals, space, u, base, active, central)

    J, usable = linearised(u, r)
    for step in range(max_steps):
        progress(step / max_steps, f"step {step}: chi2 per residual {cost / max(len(r), 1):.3g}")
        trials = _trials(J, r, u, space, usable, damping)
        tried = evaluate(residuals, space, trials)
        costs = _cost(tried, trials, space)
        linear = _cost(r + (trials - u) @ J.T, trials, space)
        bold = np.flatnonzero((costs < cost) & (cost - costs >= GAIN * (cost - linear)))
        best = int(bold[0]) if len(bold) else int(np.argmin(costs))
        if not costs[best] < cost:
            failures = failures + 1 if not np.isfinite(costs).any() else 0
            damping *= DAMPINGS[-1]
            if failures >= FAILURES:
                status = Status.UNSTABLE
                break
            if damping > 1e12 or np.abs(trials - u).max() < 1e-14:
                status = Status.CONVERGED
                break
            continue
        drop = (cost - costs[best]) / max(cost, 1e-300)
        u, r, cost, failures = trials[best], tried[best], costs[best], 0
        history.append(float(cost))
        damping = float(np.clip(damping * DAMPINGS[best], 1e-9, 1e9))
        done = drop < tolerance or cost < 1e-20
        if finish or not (done or step == max_steps - 1):
            J, usable = linearised(u, r)
        if done:
            status = Status.CONVERGED
            break
    progress(1.0, status.value)
    formal = covariance(J.T @ J + np.diag(space.prior))
    return Estimate(space.to_physical(u), r, J, formal, status, tuple(history), probes, frozen)


def evaluate(residuals: Residuals, space: Space, u: np.ndarray) -> np.ndarray:
    """Residuals (B, M) at optimiser coordinates (B, P)."""
    return np.asarray(residuals(space.to_physical(u)), float)


def probe_effects(residuals: Residuals, space: Space, u: np.ndarray, r: np.ndarray) -> dict[str, float]:
    """Largest change of any residual [sigma] when a parameter moves by a tenth of its width to either side.

    A failed probe counts as an effect: the parameter clearly changes what happens.
    """
    P = len(space)
    shift = np.diag(0.1 * space.width)
    moved = np.clip(np.concatenate([u + shift, u - shift]), space.lower, space.upper)
    change = np.abs(evaluate(residuals, space, moved) - r)
    largest = np.where(np.isfinite(change).all(-1), np.nan_to_num(change, nan=0.0, posinf=0.0).max(-1, initial=0.0), np.inf)
    return {n: float(max(largest[k], largest[P + k])) for k, n in enumerate(space.names)}


def _trials(J: np.ndarray, r: np.ndarray, u: np.ndarray, space: Space, usable: np.ndarray, damping: float) -> np.ndarray:
    """Candidate points (len(DAMPINGS), P)."""
    g = J.T @ r + space.prior * (u - space.center)
    slack = 1e-12 * np.maximum(np.abs(u), 1.0)
    held = ((u <= space.lower + slack) & (g > 0)) | ((u >= space.upper - slack) & (g < 0))
    move = usable & ~held
    out = np.repeat(u[None], len(DAMPINGS), 0)
    k = np.flatnonzero(move)
    if not len(k):
        return out
    A = (J.T @ J + np.diag(space.prior))[np.ix_(k, k)]
    diagonal = np.maximum(np.diag(A), 1e-12 * max(float(np.diag(A).max()), 1e-300))
    s = 1 / np.sqrt(diagonal)  # scaled unknowns: the damping is then the same for metres and decades
    for i, d in enumerate(damping * DAMPINGS):
        step = -s * np.linalg.lstsq(s[:, None] * A * s + d * np.eye(len(k)), s * g[k], rcond=1e-14)[0]
        out[i, k] = np.clip(u[k] + step, space.lower[k], space.upper[k])
    return out


def _cost(r: np.ndarray, u: np.ndarray, space: Space) -> np.ndarray:
    """(B,) |r|^2 plus priors; inf for a failed rollout."""
    total = (r**2).sum(-1) + (space.prior * (u - space.center) ** 2).sum(-1)
    return np.where(np.isfinite(total), total, np.inf)
