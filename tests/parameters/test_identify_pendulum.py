"""Identification of a filmed pendulum from its track; the truth is MuJoCo's, in steps of 0.2 ms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic.pendulum import swing
from synthetic.planar import CONTEXT, G, capture, integrate, slide

from video2phys.parameters.planar import arc
from video2phys.parameters.planar.identify import identify
from video2phys.parameters.planar.track import Track
from video2phys.types import About, Status, Verdict

DOWN = np.array([0, 0, -G])
METRIC, PIXELS = About(gravity=DOWN, px_per_m=400.0), About(gravity=DOWN, unit="px", scale="gravity")


def found(times, pixels, about):
    frames, states = capture(times, pixels, about)
    return identify(frames, None, states, None, CONTEXT)


def inside(parameter, truth):
    return parameter.interval[0] <= truth <= parameter.interval[1]


def is_swing(times, pixels):
    frames, states = capture(times, pixels, METRIC)
    return arc.find(Track.of(frames, states, 0)) is not None


@pytest.fixture(scope="module")
def metric():
    return found(*swing(1), METRIC)


def test_a_swing_gives_length_and_damping(metric):
    assert metric.status is Status.CONVERGED and any("pendulum" in n for n in metric.notes) and not metric.warnings
    for name, truth, share in (("length", 0.6, 0.005), ("damping", 0.1, 0.05), ("period", 2 * np.pi * np.sqrt(0.6 / G), 0.0025)):
        told = metric.get(name)
        assert told.verdict is Verdict.IDENTIFIED and inside(told, truth) and abs(told.value / truth - 1) < share, told
    assert metric.get("mass").verdict is Verdict.NOT_IDENTIFIED
    assert metric.residual["train_px"] < 0.4 and metric.residual["heldout_px"] < 0.6


def test_with_a_scale_gravity_is_a_check_as_wide_as_the_scale(metric):
    g = metric.get("gravity")
    assert inside(g, G) and 0.015 * G < 0.5 * np.ptp(g.interval) < 0.04 * G  # 1 % is one sigma of a px/m that was given
    assert inside(metric.get("radius"), 0.6)
    np.testing.assert_allclose(metric.get("pivot").value, [12 / 400, 0, 150 / 400], atol=3e-3)


def test_the_predicted_body_turns_with_its_rod(metric):
    w, y = metric.rotation[:, 0, 0], metric.rotation[:, 0, 2]
    use = metric.train | metric.heldout
    away = metric.position[use, 0][:, [0, 2]] - np.array(metric.get("pivot").value)[[0, 2]]
    angle = np.arctan2(away[:, 0], -away[:, 1])
    turned = 2 * np.arctan2(-y, w)[use]
    np.testing.assert_allclose(turned - turned[0], angle - angle[0], atol=1e-3)


def test_without_a_scale_the_swing_gives_it():
    """A bob held aside for 0.4 s, then let go."""
    got = found(*swing(2, held=0.4, angle=35.0), PIXELS)
    assert inside(got.get("length"), 0.6) and inside(got.get("damping"), 0.1)
    assert inside(got.get("px_per_m"), 400) and got.px_per_m == pytest.approx(got.get("px_per_m").value)
    assert inside(got.get("radius"), 240) and got.get("radius").unit == "px"
    assert not got.train[:22].any() and got.train[26:].sum() > 60


def test_on_the_moon_gravity_is_found():
    got = found(*swing(3, g=1.62, length=0.4, seconds=4.0, fps=30), About(gravity=None, gravity_free=True, px_per_m=400.0))
    assert inside(got.get("gravity"), 1.62) and got.get("length") is None and inside(got.get("radius"), 0.4)


def test_an_extended_body_swings_as_its_length_of_the_same_period():
    """I / (m l) = 0.1 m beyond the radius: the length says so, and gravity from the radius is refused by its own number."""
    got = found(*swing(4, length=0.4, inertia=0.04, damping=0.05), METRIC)
    assert inside(got.get("length"), 0.5) and inside(got.get("radius"), 0.4)
    assert inside(got.get("gravity"), G * 0.4 / 0.5)


def test_undeclared_slow_motion_is_named():
    times, pixels = swing(5, seconds=2.0)
    got = found(4 * times, pixels, METRIC)
    assert any("factor is 4" in w for w in got.warnings)


@pytest.mark.parametrize("angle", [8.0, 50.0, 120.0])
def test_small_and_wide_swings_are_told_apart_from_other_motions(angle):
    times, pixels = swing(6, angle=angle, seconds=2.0)
    assert is_swing(times, pixels)
    pixels[40:60], pixels[100:105] = np.nan, np.nan  # hidden for a third of a second, and again
    assert is_swing(times, pixels)


def turntable(times):
    """To and fro on the lower half of a circle at a constant rate: a hand does that, a pendulum does not."""
    a = 0.8 * (2 * np.abs((times / 1.2) % 2 - 1) - 1)
    return 200 * np.stack([np.sin(a), -np.cos(a)], -1)


def hill(times):
    """To and fro over a hilltop, slowest at the ends as a pendulum is, but on an arc above its centre."""
    a = 0.6 * np.cos(3 * times)
    return 240 * np.stack([np.sin(a), np.cos(a)], -1)


def test_other_motions_are_no_pendulum():
    times = np.arange(120) / 60
    noise = 0.2 * np.random.default_rng(0).normal(size=(120, 2))
    up_and_back = np.array([1.0, -0.6]) * (150 * (times - 1) ** 2)[:, None]
    thrown = integrate([-150, -100], [200, 900], lambda p, v: np.array([0, -900.0]), times)

    def bounce(p, v):
        return (np.array([p[0], -p[1]]), np.array([v[0], -0.8 * v[1]])) if p[1] < 0 and v[1] < 0 else (p, v)

    bouncing = integrate([0, 200.0], [20.0, 0], lambda p, v: np.array([0, -2000.0]), times, event=bounce)
    for path in (turntable(times), hill(times), up_and_back, thrown, bouncing):
        assert not is_swing(times, (path + noise)[:, None])
    assert not is_swing(*slide(1))


def test_a_swing_without_gravity_in_view_is_not_read_as_one():
    times, pixels = swing(7)
    frames, states = capture(times, pixels, replace(METRIC, gravity=None))
    assert not any("pendulum" in n for n in identify(frames, None, states, None, CONTEXT).notes)
