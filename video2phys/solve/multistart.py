"""The best of several starts, and how far the starts ended from one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.progress import Progress, silent
from video2phys.solve.differences import Residuals
from video2phys.solve.levenberg import Estimate, evaluate, levenberg
from video2phys.solve.space import Space
from video2phys.types import Status


@dataclass(frozen=True)
class Starts:
    """Outcome of a multi-start fit."""

    fits: tuple[Estimate, ...]  # by ascending cost, those that failed at the end

    @property
    def best(self) -> Estimate:
        return self.fits[0]

    @property
    def costs(self) -> np.ndarray:
        """(S,) at the end of each fit; inf where a start failed."""
        return np.array([e.cost for e in self.fits])

    @property
    def values(self) -> np.ndarray:
        """(S, P) physical."""
        return np.array([e.values for e in self.fits])

    @property
    def agree(self) -> float:
        """Share of the finished starts within 5 % of the best cost."""
        costs = self.costs[np.isfinite(self.costs)]
        return float((costs <= 1.05 * costs.min() + 1e-12).mean()) if len(costs) else 0.0


def multistart(
    residuals: Residuals,
    space: Space,
    starts: Sequence[np.ndarray] | np.ndarray,
    *,
    keep: int = 3,
    costs: np.ndarray | None = None,
    group: Sequence[int] | np.ndarray | None = None,
    fit: Callable[..., Estimate] = levenberg,
    progress: Progress = silent,
    **options: object,
) -> Starts:
    """Evaluate all starts (S, P) physical in one batch, refine the `keep` best ones, return the best. `options` go to the fit.

    `costs` (S,) |r|^2 of the starts are evaluated where they are not known. With labels `group` (S,) at most one start of each group is
    refined: the cost of a start says little of the valley it leads to.
    """
    points = np.asarray(starts, float).reshape(-1, len(space))
    u = np.clip(space.to_internal(points), space.lower, space.upper)
    first = (evaluate(residuals, space, u) ** 2).sum(-1) if costs is None else costs
    order = np.argsort(np.where(np.isfinite(first), first, np.inf))
    if group is not None:
        order = order[np.sort(np.unique(np.asarray(group)[order], return_index=True)[1])]
    order = order[: max(keep, 1)]
    fits = []
    for n, k in enumerate(order):
        progress(n / len(order), f"start {n + 1} of {len(order)}")
        fits.append(fit(residuals, space.started(space.to_physical(u[k])), **options))
    fits.sort(key=lambda e: e.cost if e.status is not Status.UNSTABLE else np.inf)
    return Starts(tuple(fits))
