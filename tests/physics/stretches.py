"""Deformation gradients at which derivatives of a singular value decomposition are delicate, for tests of every elastic simulator."""

from __future__ import annotations

import numpy as np
import pytest

TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])

each_stretch = pytest.mark.parametrize(
    "F",
    [TURN, np.diag([1.2, 1.2, 0.8]), TURN @ np.diag([0.9, 1.1, 1.1]), np.array([[1, 0.3, 0], [0, 1, 0.2], [0.1, 0, 0.9]])],
    ids=["pure rotation", "two equal stretches", "rotated equal stretches", "general"],
)
