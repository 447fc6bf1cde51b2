"""Robust residuals: large errors count linearly."""

from __future__ import annotations

import numpy as np


def soft_l1(r: np.ndarray, knee: float = 3.0) -> np.ndarray:
    """Residuals whose square is the soft-L1 loss 2 c^2 (sqrt(1 + (r / c)^2) - 1) with c = knee; equal to r for |r| << c.

    The transform is smooth and keeps the sign, so a least-squares solver can use it as it is.
    """
    q = (np.asarray(r, float) / knee) ** 2
    # sqrt(1 + q) - 1 = q / (sqrt(1 + q) + 1) without cancellation
    return np.asarray(r, float) * np.sqrt(2 / (np.sqrt(1 + q) + 1))
