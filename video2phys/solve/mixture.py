"""Quantiles of a mixture of Student's distributions."""

from __future__ import annotations

import numpy as np

HALVINGS = 60  # of the way between the quantiles of the members, to machine precision


def quantile(share: float, weight: np.ndarray, mean: np.ndarray, sigma: np.ndarray, dof: np.ndarray) -> float:
    """Below which a `share` of a mixture lies: Student's t with dof (K,), scaled by sigma (K,) about mean (K,), weights (K,).

    It lies between the quantiles of the members, and is found there by bisection; infinite where one of them is.
    """
    from scipy.stats import t

    ends = mean + sigma * t.ppf(share, dof)
    low, high = float(ends.min()), float(ends.max())
    if not np.isfinite(ends).all():
        return float(np.copysign(np.inf, share - 0.5))
    for _ in range(HALVINGS if high > low else 0):
        middle = (low + high) / 2
        below = np.where(sigma > 0, t.cdf((middle - mean) / np.where(sigma > 0, sigma, 1.0), dof), middle >= mean)
        low, high = (middle, high) if weight @ below < share else (low, middle)
    return high
