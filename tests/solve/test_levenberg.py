"""The solver on problems with known answers."""

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.solve.covariance import autocorrelation_time, correlation, parameters
from video2phys.solve.differences import jacobian
from video2phys.solve.levenberg import levenberg
from video2phys.solve.multistart import multistart
from video2phys.solve.robust import soft_l1
from video2phys.solve.space import Free, Space
from video2phys.types import Status, Verdict


def test_linear_problem_is_exact():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(30, 4)), rng.normal(size=30)
    space = Space(tuple(Free(f"x{k}", "", 0.0) for k in range(4)))
    fit = levenberg(lambda x: x @ A.T - b, space)
    assert fit.status is Status.CONVERGED
    assert np.allclose(fit.values, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-7)
    assert np.allclose(fit.covariance, np.linalg.inv(A.T @ A), rtol=1e-4, atol=1e-8)


def test_rosenbrock():
    space = Space((Free("x", "", -1.2, -5, 5), Free("y", "", 1.0, -5, 5)))
    fit = levenberg(lambda p: np.stack([10 * (p[:, 1] - p[:, 0] ** 2), 1 - p[:, 0]], -1), space, central=True)
    assert fit.status is Status.CONVERGED
    assert np.allclose(fit.values, 1.0, atol=1e-6)


def test_log_scale_round_trip():
    space = Space((Free("E", "Pa", 1e5, 1e2, 1e9, "log"), Free("nu", "", 0.3, 0.0, 0.49)))
    x = np.array([[3.1e4, 0.2], [7.7e8, 0.48]])
    assert np.abs(space.to_physical(space.to_internal(x)) / x - 1).max() < 1e-12


def test_jacobian_against_the_derivative():
    space = Space((Free("a", "", 2.0, 0.1, 10, "log"), Free("b", "", 0.4, 0, 1)))
    t = np.linspace(0, 1, 7)
    model = lambda p: p[:, :1] * np.exp(-p[:, 1:] * t)  # noqa: E731
    u = space.start
    J, usable = jacobian(model, space, u, model(space.to_physical(u[None]))[0], np.array([True, True]), central=True)
    value = 2 * np.exp(-0.4 * t)
    assert usable.all()
    assert np.allclose(J, np.stack([np.log(10) * value, -t * value], -1), rtol=1e-5, atol=1e-9)


def test_a_coordinate_whose_bounds_coincide_is_held():
    """Rows of a batch round differently: a step of no length must not make a slope of that."""
    space = Space((Free("x", "", 3.0), Free("held", "", 0.5, 0.5, 0.5)))

    def residual(x: np.ndarray) -> np.ndarray:
        return x - 1 + 1e-15 * np.arange(len(x))[:, None]

    fit = levenberg(residual, space, probe=False)
    assert fit.values == pytest.approx([1.0, 0.5])
    assert not fit.jacobian[:, 1].any() and fit.covariance[1, 1] == np.inf


def test_bound_hit_is_named():
    t = np.linspace(0, 1, 40)
    data = 1.5 * t + 1e-3 * np.random.default_rng(1).normal(size=40)
    space = Space((Free("friction", "", 0.5, 0.0, 1.0),))
    fit = levenberg(lambda p: (p[:, :1] * t - data) / 1e-3, space)
    (p,) = parameters(fit, space)
    assert p.verdict is Verdict.AT_BOUND and p.value == 1.0 and "upper" in p.note
    assert p.interval is not None and p.interval[1] == 1.0 and 0.9 < p.interval[0] < 1.0  # pyright: ignore


def test_parameter_without_effect_is_named_and_left_alone():
    t = np.linspace(0, 1, 40)
    data = 1.5 * t + 1e-3 * np.random.default_rng(1).normal(size=40)
    space = Space((Free("v", "m/s", 0.5), Free("mass", "kg", 0.7, 0.1, 10, "log")))
    fit = levenberg(lambda p: (p[:, :1] * t - data) / 1e-3, space)
    v, mass = parameters(fit, space)
    assert fit.frozen == ("mass",) and fit.probes["mass"] == 0
    assert mass.verdict is Verdict.NOT_IDENTIFIED and mass.interval is None and mass.value == pytest.approx(0.7)
    assert v.verdict is Verdict.IDENTIFIED


def test_nothing_has_an_effect():
    space = Space((Free("mass", "kg", 1.0, 0.1, 10),))
    fit = levenberg(lambda p: np.ones((len(p), 5)), space)
    assert fit.status is Status.NO_EFFECT


def test_null_direction_is_named():
    t = np.linspace(0, 1, 40)
    data = 6 * t + 1e-3 * np.random.default_rng(2).normal(size=40)
    space = Space((Free("mass", "kg", 1.5, 0.1, 50, "log"), Free("stiffness", "N/m", 2.0, 0.1, 50, "log"), Free("c", "m", 0.1)))
    fit = levenberg(lambda p: (p[:, :1] * p[:, 1:2] * t + p[:, 2:] - data) / 1e-3, space)
    mass, stiffness, c = parameters(fit, space)
    assert mass.verdict is Verdict.NOT_IDENTIFIED and "stiffness" in mass.note
    assert stiffness.verdict is Verdict.NOT_IDENTIFIED and "mass" in stiffness.note
    assert "combination" not in c.note and c.interval is not None and c.interval[0] < 0 < c.interval[1]  # pyright: ignore


def test_failed_rollouts_are_refused_and_bounded():
    calls = 0

    def fragile(p):
        nonlocal calls
        calls += 1
        out = np.repeat(p - 3.0, 3, -1)
        out[p[:, 0] > 1.0] = np.nan  # the optimum lies where the simulation fails
        return out

    space = Space((Free("x", "", 0.0, -10, 10),))
    fit = levenberg(fragile, space, max_steps=50)
    assert fit.values[0] <= 1.0 and np.isfinite(fit.residual).all()
    assert calls < 200
    dead = levenberg(lambda p: np.full((len(p), 3), np.nan), space)
    assert dead.status is Status.UNSTABLE
    assert parameters(dead, space)[0].verdict is Verdict.NOT_IDENTIFIED


def test_prior_pulls():
    space = Space((Free("x", "", 0.0, prior=1.0),))
    fit = levenberg(lambda p: p - 1.0, space)
    assert fit.values[0] == pytest.approx(0.5, abs=1e-6)
    assert fit.covariance[0, 0] == pytest.approx(0.5, rel=1e-6)


def _coverage(noise, n, channels=1):
    t = np.linspace(0, 2, 80)
    space = Space((Free("a", "", 0.7, 1e-2, 1e2, "log"), Free("b", "", 1.5, 0.0, 5.0)))
    model = lambda p: p[:, :1] * np.exp(-p[:, 1:2] * t)  # noqa: E731
    truth, inside = np.array([1.0, 1.0]), np.zeros(2)
    for seed in range(n):
        data = model(truth[None])[0] + noise(np.random.default_rng(seed), len(t))
        fit = levenberg(lambda p, d=data: (model(p) - d) / 0.05, space)
        inside += [
            p.interval is not None and p.interval[0] <= v <= p.interval[1] for p, v in zip(parameters(fit, space), truth, strict=True)
        ]  # pyright: ignore
    return inside / n


def test_intervals_cover_the_truth():
    share = _coverage(lambda rng, n: 0.05 * rng.normal(size=n), 200)
    assert (share >= 0.90).all() and (share <= 0.98).all(), share


def test_intervals_widen_when_sigma_is_too_small_and_when_errors_are_alike():
    def alike(rng, n):
        x = rng.normal(size=n + 40)
        return 0.1 * np.convolve(x, np.ones(5) / np.sqrt(5), "valid")[:n]  # twice the sigma stated, correlated over five frames

    share = _coverage(alike, 100)
    assert (share >= 0.85).all(), share
    assert autocorrelation_time(np.random.default_rng(0).normal(size=(400, 2))) < 1.5


def test_correlation_of_a_line():
    t = np.linspace(0, 1, 50)
    space = Space((Free("slope", "", 0.0), Free("level", "", 0.0)))
    C = correlation(levenberg(lambda p: p[:, :1] * t + p[:, 1:] - 1, space))
    assert C[0, 0] == pytest.approx(1) and C[0, 1] == pytest.approx(-0.866, abs=0.02)


def test_multistart_finds_the_better_minimum():
    space = Space((Free("x", "", 3.0, -4, 4),))
    wavy = lambda p: np.concatenate([np.sin(3 * p) + 1, 0.3 * (p + 0.5)], -1)  # noqa: E731
    starts = multistart(wavy, space, np.linspace(-4, 4, 9)[:, None])
    assert starts.best.values[0] == pytest.approx(-0.52, abs=0.05)
    assert starts.costs[0] == min(starts.costs) and len(starts.values) == 3


def test_soft_l1():
    r = np.array([0.01, -100.0])
    s = soft_l1(r, 3.0)
    assert s[0] == pytest.approx(0.01, rel=1e-5) and s[1] ** 2 == pytest.approx(18 * (np.sqrt(1 + (100 / 3) ** 2) - 1))


def test_bad_spaces_are_refused():
    with pytest.raises(BadInput, match="outside its bounds"):
        Free("x", "", 5, 0, 1)
    with pytest.raises(BadInput, match="log scale"):
        Free("x", "", 5, 0, 10, "log")
    with pytest.raises(BadInput, match="share a name"):
        Space((Free("x", "", 0), Free("x", "", 0)))


def test_slopes_of_a_rougher_model_lead_to_the_same_place():
    t = np.linspace(0, 1, 40)
    space = Space((Free("rate", "", 1.0, 0.1, 10), Free("size", "", 1.0, 0.1, 10)))
    seen = 2.0 * np.exp(-3.0 * t)

    def exact(p: np.ndarray) -> np.ndarray:
        return p[:, 1:] * np.exp(-p[:, :1] * t) - seen

    def rough(p: np.ndarray) -> np.ndarray:
        return p[:, 1:] * (1 + p[:, :1] * t / 8) ** -8.0 - seen

    fit = levenberg(exact, space, slope=rough)
    assert fit.status is Status.CONVERGED
    assert np.allclose(fit.values, [3.0, 2.0], atol=1e-4)


def test_multistart_refines_one_start_of_a_group():
    """The two best starts lead to the same poor valley; with groups the other one is tried too."""
    space = Space((Free("x", "1", 0.0, -10.0, 10.0),))

    def valleys(x):
        return np.minimum(np.abs(x - 3) + 1, 3 * np.abs(x + 3))

    starts = np.array([[3.3], [3.5], [-4.2]])
    assert multistart(valleys, space, starts, keep=2).best.values[0] == pytest.approx(3, abs=0.1)
    assert multistart(valleys, space, starts, keep=2, group=[0, 0, 1]).best.values[0] == pytest.approx(-3, abs=0.1)
