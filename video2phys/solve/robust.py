"""What a few gross errors do not spoil: residuals whose large ones count linearly, and the noise of measurements."""

from __future__ import annotations

import numpy as np


def soft_l1(r: np.ndarray, knee: float = 3.0) -> np.ndarray:
    """Residuals whose square is the soft-L1 loss 2 c^2 (sqrt(1 + (r / c)^2) - 1) with c = knee; equal to r for |r| << c.

    The transform is smooth and keeps the sign, so a least-squares solver can use it as it is.
    """
    q = (np.asarray(r, float) / knee) ** 2
    # sqrt(1 + q) - 1 = q / (sqrt(1 + q) + 1) without cancellation
    return np.asarray(r, float) * np.sqrt(2 / (np.sqrt(1 + q) + 1))


def noise(third: np.ndarray) -> float:
    """Sigma of measurements from their third differences, in which smooth motion vanishes; NaN is left out.

    A third difference has the variance 1 + 9 + 9 + 1 = 20 of the noise; 1.4826 turns a median of sizes into a standard deviation.
    0 where there is none.
    """
    known = np.abs(third[np.isfinite(third)])
    return float(1.4826 * np.median(known) / np.sqrt(20)) if known.size else 0.0
