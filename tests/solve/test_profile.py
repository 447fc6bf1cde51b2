"""Profiles of parameters against closed forms."""

import numpy as np
import pytest

from video2phys.solve.levenberg import levenberg
from video2phys.solve.profile import LIMIT, interval, rise
from video2phys.solve.space import Free, Space


def test_a_linear_problem_gives_the_covariance():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(40, 3)), rng.normal(size=40)
    space = Space(tuple(Free(f"x{k}", "", 0.0) for k in range(3)))

    def residual(x: np.ndarray) -> np.ndarray:
        return x @ A.T - b

    fit = levenberg(residual, space)
    sigma = np.sqrt(fit.covariance[1, 1])
    values = fit.values[1] + sigma * np.array([-2.0, 0.0, 1.0, 3.0])
    assert rise(residual, space, fit, "x1", values) == pytest.approx([4, 0, 1, 9], abs=1e-5)


def test_an_effect_that_ends_leaves_the_interval_open():
    t = np.linspace(0, 1, 30)
    space = Space((Free("friction", "", 0.8, 0.0, 2.0), Free("speed", "", 1.0, 0.1, 3.0)))

    def residual(x: np.ndarray) -> np.ndarray:
        return (x[:, 1:] * t - np.minimum(x[:, :1], 0.5) * t**2 - (1.2 * t - 0.5 * t**2)) / 0.01

    fit = levenberg(residual, space)
    values = np.linspace(0, 2, 21)
    found = interval(rise(residual, space, fit, "friction", values), values, 1.0)
    assert found is not None
    assert found[1] == 2.0 and 0.4 <= found[0] <= 0.5
    assert interval(np.array([LIMIT + 1]), np.array([1.0]), 1.0) is None
