"""Planar identification on motions with known truth."""

from __future__ import annotations

import coverage
import numpy as np
import pytest
from synthetic.planar import CONTEXT, G, capture, integrate, pucks, slide

from video2phys.parameters.planar import motion
from video2phys.parameters.planar.identify import identify
from video2phys.types import About, Status, Verdict

DOWN = np.array([0, 0, -G])


def found(times, pixels, about, **kw):
    frames, states = capture(times, pixels, about, **kw)
    return identify(frames, None, states, None, CONTEXT)


def inside(parameter, truth):
    return parameter.interval[0] <= truth <= parameter.interval[1]


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("incline", [25.0, None])
def test_slide_gives_friction_and_slope(right, incline):
    times, pixels = slide(1, right=right)
    got = found(times, pixels, About(gravity=DOWN, incline_deg=incline, ground_auto=incline is None, px_per_m=400.0))
    assert got.status is Status.CONVERGED
    mu = got.get("friction")
    assert mu.verdict is Verdict.IDENTIFIED and inside(mu, 0.3) and abs(mu.value - 0.3) < 0.01
    assert abs(got.get("slope").value - 25) < 0.3
    assert inside(got.get("acceleration"), G * (np.sin(np.radians(25)) - 0.3 * np.cos(np.radians(25))))
    assert got.residual["train_px"] < 0.4 and got.residual["heldout_px"] < 0.6
    assert got.get("mass").verdict is Verdict.NOT_IDENTIFIED
    assert not got.train[:20].any()  # held by the hand until 0.2 s = frame 24
    assert any("before" in n for n in got.notes)
    assert not np.any(got.train & got.heldout)


def test_predicted_path_covers_gaps_and_nothing_outside():
    times, pixels = slide(2)
    pixels[60:66] = np.nan
    got = found(times, pixels, About(gravity=DOWN, incline_deg=25.0, px_per_m=400.0))
    assert np.isfinite(got.position[60:66]).all() and not got.train[60:66].any() and not got.heldout[60:66].any()
    assert np.isnan(got.position[:15]).all()


def test_outliers_are_set_aside_and_said_so():
    times, pixels = slide(3)
    pixels[[40, 55, 71, 90]] += 15.0
    got = found(times, pixels, About(gravity=DOWN, incline_deg=25.0, px_per_m=400.0))
    assert inside(got.get("friction"), 0.3)
    assert any("outliers" in n for n in got.notes)


def test_a_wrong_incline_is_noticed():
    times, pixels = slide(4)
    got = found(times, pixels, About(gravity=DOWN, incline_deg=20.0, px_per_m=400.0))
    assert any("incline" in w for w in got.warnings)


def test_without_a_length_friction_is_not_identified():
    times, pixels = slide(5)
    got = found(times, pixels, About(gravity=DOWN, ground_auto=True, unit="px", scale="unknown"))
    assert got.get("friction").verdict is Verdict.NOT_IDENTIFIED
    assert inside(got.get("acceleration_px"), 400 * G * (np.sin(np.radians(25)) - 0.3 * np.cos(np.radians(25))))


def test_slow_motion_that_is_not_declared_is_noticed():
    times, pixels = slide(6)
    got = found(times * 8, pixels, About(gravity=DOWN, incline_deg=25.0, px_per_m=400.0))
    assert any("fps" in w for w in got.warnings)


def throw(seed, *, speed=2.7, angle=30.0, ppm=300.0, fps=240, noise=0.2, frames=90, roll=0.0, start=(-150.0, 20.0)):
    rng = np.random.default_rng(seed)
    times = np.arange(frames) / fps
    th, r = np.radians(angle), np.radians(roll)
    R = np.array([[np.cos(r), -np.sin(r)], [np.sin(r), np.cos(r)]])
    v = R @ [speed * np.cos(th), speed * np.sin(th)] * ppm
    path = integrate(start, v, lambda p, v: R @ [0, -G] * ppm, times)
    return times, (path + noise * rng.normal(size=path.shape))[:, None]


def test_flight_gives_scale_and_launch():
    times, pixels = throw(1)
    got = found(times, pixels, About(gravity=DOWN, unit="px", scale="gravity"))
    assert abs(got.get("px_per_m").value / 300 - 1) < 0.02 and inside(got.get("px_per_m"), 300)
    assert inside(got.get("launch_speed"), 2.7) and abs(got.get("launch_speed").value / 2.7 - 1) < 0.05
    assert inside(got.get("launch_angle"), 30) and abs(got.get("launch_angle").value - 30) < 2
    assert got.px_per_m == pytest.approx(got.get("px_per_m").value)
    np.testing.assert_allclose(got.gravity, DOWN * got.px_per_m)


def test_launch_angle_is_against_gravity_when_the_camera_rolls():
    times, pixels = throw(2, roll=1.5)
    got = found(times, pixels, About(gravity=DOWN, unit="px", scale="gravity"))
    assert abs(got.get("camera_roll").value - 1.5) < 0.7
    assert inside(got.get("launch_angle"), 30)


def test_free_fall_with_a_scale_gives_gravity():
    times, pixels = throw(3, angle=90, speed=1.0, ppm=400)
    got = found(times, pixels, About(gravity=DOWN, ground_auto=True, px_per_m=400.0))
    assert inside(got.get("gravity"), G) and not got.warnings


def aslant(pixels, *, yaw=0.0, pitch=0.0, focal=700.0):
    """What a pinhole camera shows of a plane that stands turned by yaw, then pitch [deg], about the point at its centre."""
    a, b = np.radians([yaw, pitch])
    right = np.array([np.cos(a), 0.0, np.sin(a)])  # x, z of the picture, depth
    up = np.array([-np.sin(a) * np.sin(b), np.cos(b), np.cos(a) * np.sin(b)])
    place = pixels @ np.array([right, up]) + [0.0, 0.0, focal]
    return focal * place[..., :2] / place[..., 2:]


@pytest.mark.parametrize(("yaw", "pitch"), [(6.0, 0.0), (-6.0, 3.0), (0.0, -6.0)])
def test_flight_seen_by_a_camera_that_is_not_square(yaw, pitch):
    times, pixels = throw(7)
    got = found(times, aslant(pixels, yaw=yaw, pitch=pitch), About(gravity=DOWN, unit="px", scale="gravity"))
    assert inside(got.get("launch_speed"), 2.7) and inside(got.get("launch_angle"), 30)
    assert inside(got.get("px_per_m"), 300)
    assert got.residual["heldout_px"] < 1.0


def test_free_fall_under_perspective_gives_gravity_and_says_so():
    times, pixels = throw(8, angle=-90, speed=1.0, ppm=500, fps=120, frames=60, start=(0.0, 550.0))
    about = About(gravity=DOWN, ground_auto=True, px_per_m=500.0)
    got = found(times, aslant(pixels, pitch=-8.0, focal=1200.0), about, size=(300, 1200))
    assert inside(got.get("gravity"), G) and abs(got.get("gravity").value / G - 1) < 0.05
    assert any("perspective" in w for w in got.warnings)


def test_free_fall_names_the_factor_of_undeclared_slow_motion():
    times, pixels = throw(4, angle=90, speed=1.0, ppm=400)
    got = found(times * 4, pixels, About(gravity=DOWN, ground_auto=True, px_per_m=400.0))
    assert any("factor is 4" in w for w in got.warnings)


def test_too_few_frames_is_a_result():
    times, pixels = throw(5, frames=5)
    got = found(times, pixels, About(gravity=DOWN, unit="px", scale="gravity"))
    assert got.status is Status.TOO_FEW_FRAMES and got.warnings and np.isnan(got.position).all()


def test_an_object_at_rest_is_no_motion():
    times = np.arange(60) / 60
    rng = np.random.default_rng(0)
    got = found(times, 0.2 * rng.normal(size=(60, 1, 2)), About(gravity=DOWN, ground_auto=True, px_per_m=400.0))
    assert got.status is Status.TOO_FEW_FRAMES and "rests" in got.warnings[0]


def test_phases_split_at_release_and_impact():
    """Held, falling, bouncing: the change points within two frames."""
    times = np.arange(140) / 120

    def bounce(p, v):
        if p[1] < 0 and v[1] < 0:
            return np.array([p[0], -p[1]]), np.array([v[0], -0.7 * v[1]])
        return p, v

    fall = integrate([0, 300.0], [0, 0], lambda p, v: np.array([0, -3000.0]), np.maximum(times - 0.25, 0), event=bounce)
    track = fall + 0.15 * np.random.default_rng(0).normal(size=fall.shape)
    cuts = [p.span[0] for p in motion.phases(times, track, 0.15)][1:]
    drop = np.sqrt(2 * 300 / 3000)
    truth = [0.25, 0.25 + drop]
    assert len(cuts) == len(truth)
    np.testing.assert_allclose(cuts, truth, atol=3 / 120)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "fits"), [("slide", 60), ("collision", 60), ("pendulum", 20)])
def test_intervals_hold_the_truth_as_often_as_they_say(kind, fits):
    """Captures with truth drawn as the priors say: friction; restitution and mass ratio; length, radius and damping."""
    held = [held for seed in range(fits) for held, _ in coverage.fit(kind, seed).values()]
    assert 0.88 <= np.mean(held) <= 0.99 + 1e-9, np.mean(held)


@pytest.mark.parametrize("e,ratio", [(0.8, 1.0), (0.5, 2.0)])
def test_collision_gives_restitution_and_mass_ratio_in_pixels(e, ratio):
    times, pixels = pucks(1, e=e, ratio=ratio)
    got = found(times, pixels, About(unit="px", scale="unknown"))
    assert got.status is Status.CONVERGED and got.unit == "px"
    assert inside(got.get("restitution"), e) and abs(got.get("restitution").value - e) < 0.1
    assert inside(got.get("mass_ratio"), ratio)
    assert got.get("velocity_before", 0).unit == "px/s"
    assert got.residual["heldout_px"] < 1.0
    assert any("ratio" in n for n in got.notes)


def test_two_objects_that_never_meet_have_no_restitution():
    times = np.arange(100) / 100
    a, b = np.stack([300 * times - 100, 0 * times + 50], -1), np.stack([-200 * times, 0 * times - 80], -1)
    pixels = np.stack([a, b], 1) + 0.1 * np.random.default_rng(0).normal(size=(100, 2, 2))
    got = found(times, pixels, About(unit="px", scale="unknown"))
    assert got.status is Status.TOO_FEW_FRAMES and "collide" in got.warnings[0]


def test_a_puck_on_a_table_slows_at_a_constant_rate():
    times, pixels = pucks(2, reach=0.0, aim=300.0)
    got = found(times, pixels[:, :1], About(px_per_m=500.0))
    assert inside(got.get("friction"), 900 / 500 / G)


def test_bounces_on_the_floor_give_restitution():
    times = np.arange(170) / 120

    def bounce(p, v):
        return (np.array([p[0], -p[1]]), np.array([v[0], -0.7 * v[1]])) if p[1] < 0 and v[1] < 0 else (p, v)

    path = integrate([0, 350.0], [20.0, 0], lambda p, v: np.array([0, -3924.0]), np.maximum(times - 0.15, 0), event=bounce)
    pixels = (path + [0, -200] + 0.2 * np.random.default_rng(0).normal(size=path.shape))[:, None]
    got = found(times, pixels, About(gravity=DOWN, ground_auto=True, px_per_m=400.0))
    assert inside(got.get("restitution"), 0.7) and abs(got.get("restitution").value - 0.7) < 0.05
    assert inside(got.get("gravity"), G)


def test_drag_is_probed_and_not_claimed():
    times, pixels = throw(6)
    got = found(times, pixels, About(gravity=DOWN, unit="px", scale="gravity"))
    drag = got.get("drag")
    assert drag.verdict is Verdict.NOT_IDENTIFIED and drag.interval[0] == 0


def test_strong_drag_is_seen_by_the_probe():
    rng = np.random.default_rng(7)
    times, k, ppm = np.arange(200) / 240, 0.25, 300.0
    path = integrate([-150.0, 20.0], [2.2 * ppm, 4.0 * ppm], lambda p, v: np.array([0, -G * ppm]) - k / ppm * np.hypot(*v) * v, times)
    got = found(times, (path + 0.1 * rng.normal(size=path.shape))[:, None], About(gravity=DOWN, unit="px", scale="gravity"))
    drag = got.get("drag")
    assert drag.verdict is Verdict.WEAK and abs(drag.value / k - 1) < 0.3


def test_launch_at_the_border_lies_between_entry_and_first_sight():
    """The first frames are hidden: the launch was at 0.05 s at the border, the ball is first seen at 0.08 s."""
    times, pixels = throw(8, start=(-318.0, 20.0), frames=110)
    pixels = np.concatenate([np.full((12, 1, 2), np.nan), pixels])[:110]
    pixels[12:19] = np.nan
    got = found(times, pixels, About(gravity=DOWN, unit="px", scale="gravity"))
    assert "entered the picture" in got.get("launch_speed").law
    assert inside(got.get("launch_angle"), 30) and inside(got.get("launch_speed"), 2.7)


def test_gravity_to_be_found_needs_no_value():
    times, pixels = throw(9, angle=80, speed=1.5, ppm=400)
    got = found(times, pixels, About(gravity=None, gravity_free=True, px_per_m=400.0))
    assert inside(got.get("gravity"), G)


def test_a_second_object_in_a_side_view_is_not_passed_over_silently():
    times, pixels = slide(10)
    other = np.broadcast_to(np.array([100.0, -50.0]), pixels.shape)
    got = found(times, np.concatenate([pixels, other], 1), About(gravity=DOWN, incline_deg=25.0, px_per_m=400.0))
    assert any("only object 0" in w for w in got.warnings) and np.isnan(got.position[:, 1]).all()


def test_first_sight_far_from_where_the_path_enters_is_the_launch():
    times, pixels = throw(11, start=(-150.0, 200.0), angle=85, speed=1.0)
    pixels = np.concatenate([np.full((30, 1, 2), np.nan), pixels])[:90]
    got = found(times, pixels, About(gravity=DOWN, unit="px", scale="gravity"))
    assert "first seen" in got.get("launch_speed").law and inside(got.get("launch_speed"), 1.0)
