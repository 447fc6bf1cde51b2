"""The profile of one parameter: how the least cost rises when it is held elsewhere.

A covariance sees the curvature at the best value only. Where the effect of a parameter ends, as that of friction does once a
contact sticks, every value beyond explains the data as well, and an interval has to say so (Venzon and Moolgavkar 1988).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from video2phys.solve.covariance import spread
from video2phys.solve.differences import Residuals
from video2phys.solve.levenberg import Estimate, evaluate
from video2phys.solve.multistart import Starts
from video2phys.solve.space import Space

POINTS = 20  # of a profile
LIMIT = 3.84  # rise of a chi-square with one degree of freedom that 95 % stay below


def rise(residuals: Residuals, space: Space, estimate: Estimate, name: str, values: np.ndarray) -> np.ndarray:
    """Rise (G,) of |r|^2 + prior over its least value for `name` at `values` (G,) physical, the other parameters refitted to first order.

    inf where a rollout fails. The estimate's own value is always among the candidates for the least.
    """
    k = space.names.index(name)
    u = space.to_internal(estimate.values)
    points = np.repeat(u[None], len(values) + 1, 0)
    held = np.repeat(np.asarray(estimate.values)[None], len(values), 0)
    held[:, k] = values
    points[1:, k] = space.to_internal(held)[:, k]
    weight = np.sqrt(space.prior)
    rows = np.concatenate([evaluate(residuals, space, points), weight * (points - space.center)], 1)
    J = np.concatenate([estimate.jacobian, np.diag(weight)])
    others = np.delete(J, k, axis=1)
    basis = np.linalg.qr(others[:, (others**2).sum(0) > 0])[0]
    finite = np.asarray(np.isfinite(rows).all(1))
    left = np.where(finite[:, None], rows, 0.0)
    cost = np.where(finite, (left**2).sum(1) - ((left @ basis) ** 2).sum(1), np.inf)
    return cost[1:] - cost.min()


def interval(rises: np.ndarray, values: np.ndarray, factor: float) -> tuple[float, float] | None:
    """Ends of the values whose rise stays under LIMIT times `factor`, by which variances are widened; None where none does."""
    kept = np.asarray(values)[rises <= LIMIT * factor]
    return (float(kept.min()), float(kept.max())) if len(kept) else None


def stretches(
    residuals: Residuals, space: Space, estimate: Estimate, found: Starts, channels: int, profiled: Sequence[str], material: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """95 % intervals that a covariance does not give, within bounds: profiles of `profiled`, and other explanations of `material`.

    An explanation is another minimum whose cost the noise does not tell from the least.
    """
    widened, out = spread(estimate, channels).factor, {}
    for name in dict.fromkeys((*profiled, *material)):
        k = space.names.index(name)
        ends: list[float] = []
        if name in profiled:
            points = np.repeat(space.start[None], POINTS, 0)
            points[:, k] = np.linspace(space.lower[k], space.upper[k], POINTS)
            values = space.to_physical(points)[:, k]
            ends += interval(rise(residuals, space, estimate, name, values), values, float(widened[k])) or ()
        if name in material:
            ends += found.values[found.costs - found.costs[0] <= LIMIT * widened[k], k].tolist()
        if ends:
            out[name] = min(ends), max(ends)
    return out
