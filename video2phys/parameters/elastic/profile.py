"""The profile of Poisson's ratio: how far other ratios explain the motion too, with what stiffness and what contact.

Near 0.5 the ratio's effect grows without bounds, and it trades with stiffness, ground and losses. What a fit's slopes say of it
is then wrong beyond the next hundredth; so it is held at values all over its range and everything else fitted anew
(Venzon and Moolgavkar 1988).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.progress import Progress, part
from video2phys.solve.covariance import misfit
from video2phys.solve.differences import Residuals
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.profile import LIMIT
from video2phys.solve.space import Space

HELD = "poisson_ratio"
TOLD = ("youngs_modulus", HELD, "friction", "damping")  # what may be otherwise where the ratio is
VALUES = 6  # of the ratio, from bound to bound
CLOSE = 0.02  # to a value that is known already
STEPS = 5  # of a fit from its neighbour
FAR = 4.0  # times the limit: ratios beyond are not looked at
DENSE = 200  # points that lie between


def profile(residuals: Residuals, space: Space, best: Estimate, channels: int, progress: Progress) -> dict[str, tuple[float, float]]:
    """95 % ends of the parameters TOLD over all ratios that the misfit allows, each with everything else refitted.

    `residuals` are those of the coarse body, where the fit `best` ended; what counts is how the cost rises from there.
    """
    k = space.names.index(HELD)
    nodes = np.linspace(space.free[k].lower, space.free[k].upper, VALUES)
    found = [_held(residuals, space, best, float(best.values[k]))]
    for side, values in enumerate((nodes[nodes < best.values[k] - CLOSE][::-1], nodes[nodes > best.values[k] + CLOSE])):
        last = found[0]
        for n, value in enumerate(values):
            part(part(progress, side, 2), n, len(values))(0.0, f"Poisson's ratio held at {value:.2f}")
            last = _held(residuals, space, last, float(value))
            found.append(last)
            if not _rise(found[0], last, channels) < FAR * LIMIT:
                break
    return ends(found, space, channels)


def ends(found: list[Estimate], space: Space, channels: int) -> dict[str, tuple[float, float]]:
    """The least and the largest value of the parameters TOLD that the fits `found`, with HELD held, and what lies between them allow."""
    found = [e for e in found if np.isfinite(e.cost)]
    if not found:
        return {}
    cheapest = min(found, key=lambda e: e.cost)
    found.sort(key=lambda e: e.values[space.names.index(HELD)])
    at = np.array([e.values for e in found])
    ratio = at[:, space.names.index(HELD)]
    between = np.unique(np.append(np.linspace(ratio[0], ratio[-1], DENSE), ratio))
    # the root of a parabola's rise is a line
    root = np.sqrt([max(_rise(cheapest, e, channels), 0.0) for e in found])
    allowed = between[np.interp(between, ratio, root) <= np.sqrt(LIMIT)]
    columns = {name: np.interp(allowed, ratio, at[:, space.names.index(name)]) for name in TOLD if name in space.names}
    return {name: (float(values.min()), float(values.max())) for name, values in columns.items()}


def _held(residuals: Residuals, space: Space, start: Estimate, value: float) -> Estimate:
    free = list(space.started(start.values).free)
    k = space.names.index(HELD)
    free[k] = replace(free[k], start=value, lower=value, upper=value)
    fit = levenberg(residuals, Space(tuple(free)), max_steps=STEPS, tolerance=1e-2, probe=False, finish=False)
    return replace(fit, alike=start.alike)


def _rise(best: Estimate, other: Estimate, channels: int) -> float:
    """Of the cost from the best to another fit, over the variance of the residuals that tell them apart."""
    if not np.isfinite(other.cost):
        return np.inf
    return float((other.cost - best.cost) / misfit(best, (other.residual - best.residual)[:, None], channels)[0])
