"""Morphology of masks (H, W) bool: thin, typed names for scipy.ndimage."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

SQUARE = np.ones((3, 3), bool)


def label(mask: np.ndarray, diagonal: bool = False) -> tuple[np.ndarray, int]:
    """Connected pieces numbered from 1, (H, W) int, and their count."""
    numbered = np.zeros(mask.shape, np.int32)
    count = ndimage.label(mask, SQUARE if diagonal else None, output=numbered)
    return numbered, int(count)  # type: ignore[arg-type]


def grow(mask: np.ndarray, times: int = 1, within: np.ndarray | None = None) -> np.ndarray:
    """The mask and its neighbours, `times` over, inside `within` where that is given."""
    return np.asarray(ndimage.binary_dilation(mask, iterations=times, mask=within), bool)


def shrink(mask: np.ndarray, times: int = 1) -> np.ndarray:
    """The mask without its rim, `times` over."""
    return np.asarray(ndimage.binary_erosion(mask, iterations=times), bool)


def opened(mask: np.ndarray, size: int) -> np.ndarray:
    """The parts of the mask that hold a square of `size` pixels."""
    return np.asarray(ndimage.binary_opening(mask, np.ones((size, size), bool)), bool)


def solid(mask: np.ndarray, reach: int) -> np.ndarray:
    """The mask with gaps of twice `reach` closed and holes filled."""
    return np.asarray(ndimage.binary_fill_holes(ndimage.binary_closing(mask, iterations=reach)), bool)
