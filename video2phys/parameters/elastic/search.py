"""Where fits start: the misfit of one impact seen by a few frames has several valleys, by stiffness and Poisson ratio."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from video2phys.parameters.elastic.segment import Segment, residuals
from video2phys.parameters.elastic.settings import ElasticSettings
from video2phys.progress import Progress
from video2phys.solve.levenberg import Estimate
from video2phys.solve.multistart import Starts, multistart
from video2phys.solve.space import Space

MATERIAL = ("youngs_modulus", "poisson_ratio")
SCAN = 4  # stiffnesses a decade: the valleys of the misfit are half a decade wide
# friction, Poisson ratio and height of the ground [prior sigmas] of the scan: every pair of levels once
GUESSES = ((0.1, 0.2, -1.0), (0.1, 0.45, 1.0), (0.5, 0.2, 1.0), (0.5, 0.45, -1.0))
SHORT = 8  # steps of a fit that only tells its valley
KEPT, GROUPS = 4, 2  # starts refined, no two of them of the same group of stiffness; groups a decade
APART = (0.1, 0.1)  # decades of stiffness and Poisson ratio by which fits differ that have ended in different valleys
HOPELESS = 2.0  # times the cost of the best
# stiffness, as a factor, and Poisson ratio of more starts for all frames: one impact seen by a few frames has several explanations
AROUND = ((0.6, 0.3), (1.7, 0.3))


def scan(coarse: Segment, space: Space, window: int, settings: ElasticSettings, progress: Progress) -> Starts:
    """The best of several stiffnesses and contacts on the coarsest body, refined."""
    decades = np.log10(settings.youngs_modulus_max / settings.youngs_modulus_min)
    stiffness = np.geomspace(settings.youngs_modulus_min, settings.youngs_modulus_max, max(2, round(SCAN * decades)))
    starts = np.tile([f.start for f in space.free], (len(GUESSES) * len(stiffness), 1))
    starts[:, space.names.index("youngs_modulus")] = np.tile(stiffness, len(GUESSES))
    friction, ratio, height = np.repeat(GUESSES, len(stiffness), axis=0).T
    starts[:, space.names.index("friction")], starts[:, space.names.index("poisson_ratio")] = friction, ratio
    ground = space.names.index("ground_height")
    starts[:, ground] += height * (space.free[ground].prior or 0.0)
    group = np.tile(np.round(GROUPS * np.log10(stiffness / stiffness[0])), len(GUESSES))
    return multistart(residuals((coarse,), space, window), space, starts, keep=KEPT, group=group, progress=progress, max_steps=SHORT,
                      tolerance=3e-2, probe=False, finish=False)  # fmt: skip


def valleys(fits: Sequence[Estimate], space: Space) -> tuple[Estimate, ...]:
    """The fits, best first, without those that ended close to a better one or are hopeless; the first where all failed."""
    kept: list[Estimate] = []
    for fit in sorted(fits, key=lambda fit: fit.cost):
        known = np.isfinite(fit.cost) and fit.cost <= HOPELESS * (kept or [fit])[0].cost
        if known and not any(_alike(fit, other, space) for other in kept):
            kept.append(fit)
    return tuple(kept or fits[:1])


def _alike(one: Estimate, other: Estimate, space: Space) -> bool:
    away = np.abs(space.to_internal(one.values) - space.to_internal(other.values))
    return bool((away[[space.names.index(n) for n in MATERIAL]] < APART).all())


def around(space: Space, fits: Sequence[Estimate]) -> np.ndarray:
    """Starts (S, P): where fits of the first contact ended, best first, and others with another stiffness than the best."""
    first = np.array([fit.values for fit in fits])
    starts = np.tile(space.to_physical(space.start), (len(first) + len(AROUND), 1))
    starts[: len(first), : first.shape[1]] = first
    factor, ratio = np.array(AROUND).T
    starts[len(first) :, space.names.index("youngs_modulus")] *= factor
    starts[len(first) :, space.names.index("poisson_ratio")] = ratio
    return starts
