"""The error model of an impact law: against random kicks, against closed forms, and what it lets a fit conclude."""

from __future__ import annotations

import numpy as np
import pytest

from video2phys.parameters.spatial.error import LAW, Whitening, none, of_motion, path, whitening
from video2phys.simulate.rigid import inertia, rotation, shapes, spatial

G = np.array([0.0, 0, -9.81])
UP = np.array([0.0, 0, 1.0])
CLOCK = np.array([0.0, 0.1, 0.25, 0.3, 0.5])
KICK = np.array([0.0, 0.4, 0.0, 0.7, 0.2])


def kicked(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Paths (n, 5, 3) at CLOCK and last rates (n, 3) of points that get random kicks, moved step by step."""
    place, rate, out = np.zeros((n, 3)), np.zeros((n, 3)), [np.zeros((n, 3))]
    for dt, sigma in zip(np.diff(CLOCK), KICK[1:], strict=True):
        place = place + rate * dt / 2
        rate = rate + sigma * rng.normal(size=(n, 3))
        place = place + rate * dt / 2
        out.append(place)
    return np.stack(out, 1), rate


def test_path_has_the_covariance_of_random_kicks():
    places, rate = kicked(np.random.default_rng(0), 40_000)
    joint = np.concatenate([places[:, :, 0], rate[:, :1]], 1)
    want = np.cov(joint.T)
    # an entry of a sample covariance scatters by at most sqrt(2 / n) of the product of its deviations: five of these
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    assert (np.abs(path(KICK, CLOCK) - want) <= 5 * np.sqrt(2 / 40_000) * scale + 1e-12).all()


def white() -> tuple[Whitening, np.ndarray, np.ndarray]:
    """A whitening of four frames and a tie, the axes and the sigma of the frames."""
    rng = np.random.default_rng(1)
    basis = rotation.matrix(rotation.exp(rng.normal(size=(4, 3))))
    sigma = rng.uniform(0.01, 0.05, (4, 3))
    return whitening(KICK, CLOCK, basis, sigma, 1e-3, tied=True), basis, sigma


def test_whitened_errors_are_independent_with_unit_variance():
    rng, n = np.random.default_rng(2), 40_000
    w, basis, sigma = white()
    places, rate = kicked(rng, n)
    seen = np.einsum("kij,nkj->nki", basis, places[:, :4]) + sigma * rng.normal(size=(n, 4, 3))
    out = w(np.concatenate([seen, places[:, 4:], rate[:, None]], 1)).reshape(n, -1)
    assert np.abs(np.cov(out.T) - np.eye(18)).max() < 5 * np.sqrt(2 / n)


def test_whitening_without_kicks_divides_by_sigma():
    _, basis, sigma = white()
    away = np.random.default_rng(3).normal(size=(7, 4, 3))
    e = none(CLOCK[:4])
    assert np.allclose(whitening(e.push, e.clock, basis, sigma, e.speed, tied=False)(away), away / sigma, rtol=1e-9)


def test_log_determinant_grows_with_the_errors():
    _, basis, sigma = white()
    one = whitening(KICK, CLOCK, basis, sigma, 1e-3, tied=True)
    ten = whitening(10 * KICK, CLOCK, basis, 10 * sigma, 1e-2, tied=True)
    assert ten.log_determinant - one.log_determinant == pytest.approx(18 * np.log(100), rel=1e-9)


def test_an_unmeasured_direction_says_nothing():
    _, basis, sigma = white()
    blind = sigma.copy()
    blind[2, 1] = np.inf
    away = np.random.default_rng(4).normal(size=(4, 3))
    other = away.copy()
    other[2, 1] = np.nan
    w = whitening(KICK[:4], CLOCK[:4], basis, blind, 0.0, tied=False)
    assert w(away)[2, 1] == 0 and np.isfinite(w(other)).all() and np.array_equal(w(away), w(other))


def test_many_frames_after_one_impact_know_its_velocity_change_no_better_than_the_law():
    n, kick = 200, 0.3
    clock = np.arange(n) / 60
    push = np.zeros(n)
    push[5] = kick
    w = whitening(push, clock, np.tile(np.eye(3), (n, 1, 1)), np.full((n, 3), 1e-4), 0.0, tied=False)
    effect = np.zeros((n, 3))  # of a velocity change, by position
    effect[:, 0] = np.maximum(clock - (clock[5] - 1 / 120), 0.0)
    sigma = 1 / np.sqrt((w(effect) ** 2).sum())
    assert sigma == pytest.approx(kick, rel=1e-4)


def ball(e: float, mu: float, height: float, speed: float, times: np.ndarray) -> spatial.Track:
    p = spatial.params(friction=mu, restitution=e, offset=0.0, inertia=inertia.of_ellipsoid((0.05,) * 3))
    at = spatial.State(np.array([[0, 0, 0.05 + height]]), np.array([[1.0, 0, 0, 0]]), np.array([[speed, 0, 0]]), np.zeros((1, 3)))
    return spatial.rollout(p, spatial.Scene(shapes.sphere(0.05)), at, times)


def test_an_impact_is_uncertain_by_a_share_of_its_velocity_change():
    times, h, e = np.arange(25) / 60, 0.3, 0.6
    error = of_motion(ball(e, 0.0, h, 0.0, times), times, G, UP, 2.0, 10.0)
    k = np.flatnonzero(error.push > 1e-9)
    assert list(k) == [int(np.ceil(np.sqrt(2 * h / 9.81) * 60))] and list(np.flatnonzero(error.struck)) == list(k)
    # what a support would have given in the frame is not uncertain
    assert error.push[k[0]] / LAW == pytest.approx((1 + e) * np.sqrt(2 * 9.81 * h) - 9.81 / 60, rel=1e-6)
    assert (error.position[: k[0]] < 1e-9).all() and (np.diff(error.position[k[0] :]) > 0).all() and not error.twist.any()


def test_a_skid_is_uncertain_by_its_friction_and_is_no_impact():
    times, mu = np.arange(10) / 60, 0.2
    error = of_motion(ball(0.0, mu, 0.0, 3.0, times), times, G, UP, 3.0, 10.0)
    assert np.allclose(error.push[1:], LAW * mu * 9.81 / 60, rtol=1e-2) and not error.struck.any()
    assert np.allclose(error.twist[1:], LAW * mu * 9.81 / 60 * 2.5 / 0.05, rtol=1e-2)


def test_a_body_at_rest_stays_as_uncertain_as_it_came():
    times = np.arange(20) / 60
    error = of_motion(ball(0.0, 0.4, 0.0, 0.0, times), times, G, UP, 1.0, 10.0)
    assert error.clock[-1] == 0 and not error.position.any()
    w = whitening(error.push, error.clock, np.tile(np.eye(3), (19, 1, 1)), np.full((19, 3), 1e-3), error.speed, tied=True)
    assert np.isfinite(w.inverse).all()  # it can be tied to what follows
