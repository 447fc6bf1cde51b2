"""The one place that says which frames a fit may see."""

from __future__ import annotations

import numpy as np


def split(valid: np.ndarray, share: float = 1 / 3) -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out frames (T,) bool: the last `share` of the valid frames (T,) is only predicted.

    Disjoint, and together the valid frames. Fewer than three valid frames are all for training.
    """
    index = np.flatnonzero(valid)
    train, heldout = np.zeros(len(valid), bool), np.zeros(len(valid), bool)
    last = int(np.floor(len(index) * share)) if len(index) >= 3 else 0
    train[index[: len(index) - last]] = True
    heldout[index[len(index) - last :]] = True
    return train, heldout
