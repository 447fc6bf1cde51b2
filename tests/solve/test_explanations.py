"""Intervals that hold every explanation of the data, against mixtures that can be written down."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, t

from video2phys.solve.covariance import misfit, parameters, spread
from video2phys.solve.explanations import weights
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.mixture import quantile
from video2phys.solve.multistart import multistart
from video2phys.solve.space import Free, Space
from video2phys.types import Status

MANY = 1e6  # degrees of freedom of a normal distribution
SPACE = Space((Free("stiffness", "Pa", 1e4, 1e3, 1e6, "log"), Free("height", "m", 0.0, prior=1.0)))
VALLEYS = np.array([4.0, 4.6])  # log10


def two_valleys(x: np.ndarray, tilt: float = 1.0) -> np.ndarray:
    """Residuals (B, 30) of variance one that two stiffnesses explain alike, the second one by `tilt` worse in the cost."""
    noise = np.random.default_rng(0).normal(size=30)
    u = np.log10(x[:, :1])
    away = 200 * (u - VALLEYS[0]) * (u - VALLEYS[1]) + x[:, 1:]
    return np.concatenate([noise + 0 * u, away, np.sqrt(tilt) * (u - VALLEYS[0]) / np.ptp(VALLEYS)], 1)


def test_an_interval_holds_every_valley():
    found = multistart(two_valleys, SPACE, np.array([[7e3, 0.0], [5e4, 0.0]]), probe=False)
    assert np.log10(found.values[:, 0]) == pytest.approx(VALLEYS, abs=0.01)
    share = weights(found.fits, SPACE)
    assert share == pytest.approx(np.array([1, np.exp(-0.5)]) / (1 + np.exp(-0.5)), abs=0.02)
    alone = parameters(found.best, SPACE)[0]
    both = parameters(found.best, SPACE, rivals=[(share[1], found.fits[1])])[0]
    truth = 10 ** VALLEYS[1]
    assert alone.interval and both.interval
    assert not alone.interval[0] < truth < alone.interval[1]
    assert both.interval[0] < 10 ** VALLEYS[0] < truth < both.interval[1]
    assert both.value == pytest.approx(10 ** float(share @ VALLEYS), rel=0.02)
    unlikely = multistart(lambda x: two_valleys(x, 100.0), SPACE, np.array([[7e3, 0.0], [5e4, 0.0]]), probe=False)
    assert weights(unlikely.fits, SPACE)[1] < 1e-15


def test_misfit_makes_explanations_alike():
    """Where the model misses the data, a difference of costs says less."""
    found = multistart(lambda x: 3 * two_valleys(x), SPACE, np.array([[7e3, 0.0], [5e4, 0.0]]), probe=False)
    chi2 = spread(found.best).chi2
    assert chi2 > 5
    odds = weights(found.fits, SPACE)
    assert np.log(odds[0] / odds[1]) == pytest.approx((found.costs[1] - found.costs[0]) / (2 * chi2), abs=0.02)


def test_the_misfit_is_that_of_the_frames_that_tell():
    """Ten frames of six residuals, the last two of them missed by three sigma: what they tell has the variance 1 + 6 (9 - 1)."""
    r = np.ones((10, 6))
    r[8:] = 3.0
    fit = Estimate(np.zeros(1), r.ravel(), np.zeros((60, 1)), np.full((1, 1), np.inf), Status.CONVERGED, (0.0,))
    early, late = np.zeros((10, 6, 1)), np.zeros((10, 6, 1))
    early[:8], late[8:] = 0.1, 0.1
    gains = np.concatenate([early, late, early + late], 2).reshape(60, 3)
    assert misfit(replace(fit, alike=6), gains, 6) == pytest.approx([1, 1 + 6 * 8, 1 + 6 * (0.2 * 9 + 0.8 - 1)])
    assert misfit(fit, gains, 6) == pytest.approx(0.2 * 9 + 0.8)


def test_quantiles_of_mixtures():
    one = np.ones(1)
    assert quantile(0.975, one, 2 * one, 3 * one, 5 * one) == 2 + 3 * t.ppf(0.975, 5)
    weight, mean, sigma = np.array([0.7, 0.3]), np.array([0.0, 2.0]), np.array([1.0, 0.5])
    at = quantile(0.9, weight, mean, sigma, np.full(2, MANY))
    assert weight @ norm.cdf((at - mean) / sigma) == pytest.approx(0.9, abs=1e-6)
    assert quantile(0.975, weight, mean, np.array([1.0, np.inf]), np.full(2, MANY)) == np.inf
    assert quantile(0.5, weight, mean, np.zeros(2), np.full(2, MANY)) == pytest.approx(0.0)


def test_a_fit_without_finish_ends_at_the_same_place():
    space = SPACE.started(np.array([7e3, 0.0]))
    whole, short = (levenberg(two_valleys, space, probe=False, finish=finish) for finish in (True, False))
    assert np.array_equal(whole.values, short.values) and whole.cost == short.cost
    assert not np.array_equal(whole.jacobian, short.jacobian)
