"""Rival explanations of the same data: how likely each is.

A misfit with several minima has a local covariance at each, which knows nothing of the others. Together they are a mixture
of normal distributions, each with the weight exp(-price / 2) of its evidence (Laplace's approximation; MacKay 2003, chapter 27):
its cost, over the variance that the residuals really have, and how finely its parameters must be set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from video2phys.solve.covariance import misfit
from video2phys.solve.levenberg import Estimate
from video2phys.solve.space import Space


def fineness(estimate: Estimate, space: Space) -> float:
    """-2 log of the volume that an explanation fills, up to a constant; a flat direction fills its natural width."""
    J = estimate.jacobian
    return float(np.linalg.slogdet(J.T @ J + np.diag(space.prior + space.width**-2.0))[1])


def weights(found: Sequence[Estimate], space: Space, channels: int = 1) -> np.ndarray:
    """Probabilities (K,) of explanations, the cheapest one first, whose residuals tell their variance where the others differ."""
    if len(found) == 1:
        return np.ones(1)
    best = found[0]
    away = np.stack([e.residual - best.residual for e in found], 1)
    dearer = np.array([e.cost - best.cost for e in found])
    price = dearer / misfit(best, away, channels) + [fineness(e, space) for e in found]
    share = np.exp(-(price - price.min()) / 2)
    return share / share.sum()
