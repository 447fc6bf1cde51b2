"""Planar states from masks drawn where the truth says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from video2phys import store
from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.silhouette import local_scale, measure
from video2phys.states import stage
from video2phys.states.settings import Settings
from video2phys.types import About, Camera, Frames, Gaussians, Seen, View

W, H, T = 160, 120, 30
EMPTY = Gaussians((), "m")


def cover(shape: str, center: tuple[float, float], angle: float, size: float) -> np.ndarray:
    """Coverage (H, W) by 4 x 4 samples a pixel; `angle` counter-clockwise in the upright picture."""
    s = (np.arange(4) + 0.5) / 4
    y, x = (np.arange(H)[:, None] + s).ravel(), (np.arange(W)[:, None] + s).ravel()
    dx, dy = np.meshgrid(x - center[0], -(y - center[1]))
    u, v = dx * np.cos(angle) + dy * np.sin(angle), -dx * np.sin(angle) + dy * np.cos(angle)
    inside = np.hypot(u, v) <= size if shape == "disc" else (np.abs(u) <= size) & (np.abs(v) <= 0.5 * size)
    return inside.reshape(H, 4, W, 4).mean((1, 3))


def capture(folder: Path, shape: str, *, size: float = 16.0, about: About | None = None, spin: float = 0.05) -> tuple[Frames, np.ndarray]:
    """Frames of one object on a line that turns by `spin` a frame; truth (T, 2) in pixels."""
    about = about or About(unit="m", px_per_m=200.0)
    centers = np.c_[30 + 3.0 * np.arange(T), 80 - 1.5 * np.arange(T)]
    images, masks = [], []
    for i, (x, y) in enumerate(centers):
        mask = cover(shape, (x, y), spin * i, size)
        picture = np.full((H, W, 3), 90.0) * (1 - mask[..., None]) + mask[..., None] * np.array([180.0, 60, 40])
        images.append(f"v/{i}.png")
        masks.append(f"v/m{i}.png")
        store.write_image(folder / images[-1], picture.round().astype(np.uint8))
        store.write_image(folder / masks[-1], (255 * mask).round().astype(np.uint8))
    seen = np.full((T, 1), Seen.WHOLE, int)
    seen[3] = Seen.CLIPPED
    seen[4] = Seen.ABSENT
    view = View("v", Camera.planar(W, H, about.px_per_m or 1.0), tuple(images), (tuple(masks),), seen)
    return Frames(folder, np.arange(T) / 60, (view,), (), 1, about, "folder"), centers


def test_positions_are_metric_and_invalid_where_the_object_is_not_whole(tmp_path: Path) -> None:
    frames, centers = capture(tmp_path, "box")
    states = stage.run(frames, EMPTY, Settings(), Context(tmp_path))
    assert states.kind == "planar" and states.unit == "m"
    assert list(np.flatnonzero(~states.valid[:, 0])) == [3, 4]
    assert np.isnan(states.position[3:5]).all()
    want = np.c_[centers[:, 0] - W / 2, np.zeros(T), -(centers[:, 1] - H / 2)] / 200
    good = states.valid[:, 0]
    assert np.abs(states.position[good, 0] - want[good]).max() < 0.05 / 200
    assert np.allclose(frames.views[0].camera.project(states.position[good, 0]), centers[good], atol=0.05)
    assert np.isinf(states.position_sigma[:, 0, 1]).all()
    assert (states.position_sigma[good, 0, 0] < 0.2 / 200).all()


def test_the_angle_is_counter_clockwise_about_minus_y(tmp_path: Path) -> None:
    frames, _ = capture(tmp_path, "box")
    states = stage.run(frames, EMPTY, Settings(), Context(tmp_path))
    good = states.valid[:, 0]
    angle = np.unwrap(-2 * np.arctan2(states.rotation[good, 0, 2], states.rotation[good, 0, 0]))
    assert np.allclose(angle, 0.05 * np.arange(T)[good], atol=0.03)
    assert (states.rotation_sigma[good, 0, 1] < 0.05).all()


def test_a_round_object_without_marks_shows_no_angle(tmp_path: Path) -> None:
    frames, _ = capture(tmp_path, "disc")
    states = stage.run(frames, EMPTY, Settings(), Context(tmp_path))
    assert np.median(states.rotation_sigma[states.valid[:, 0], 0, 1]) > 0.2


def test_a_small_object_is_followed_as_a_point(tmp_path: Path) -> None:
    frames, _ = capture(tmp_path, "disc", size=4.0)
    states = stage.run(frames, EMPTY, Settings(), Context(tmp_path))
    assert states.kind == "centroid"
    assert np.isinf(states.rotation_sigma).all()


def test_an_object_that_is_nowhere_whole_is_refused(tmp_path: Path) -> None:
    frames, _ = capture(tmp_path, "disc")
    seen = frames.views[0].seen
    assert seen is not None
    seen[:] = Seen.CLIPPED
    with pytest.raises(BadInput, match="whole in only 0 frames"):
        stage.run(frames, EMPTY, Settings(kind="planar"), Context(tmp_path))


@pytest.mark.parametrize("trail", [0.0, 10.0, 25.0])
def test_the_width_of_a_disc_survives_its_motion_blur(trail: float) -> None:
    y, x = (np.mgrid[:60, :100] + 0.5).astype(float)
    along = np.clip(x, 50 - trail / 2, 50 + trail / 2)
    shape = measure(np.clip(9.5 - np.hypot(x - along, y - 30), 0, 1))
    assert shape is not None
    assert shape.disc == pytest.approx(18, rel=0.02)


def test_a_plane_at_a_slant_is_measured_by_the_apparent_width() -> None:
    rng = np.random.default_rng(0)
    length, depth, tilt, focal, diameter = np.linspace(-1, 1, 80), 3.0, 0.25, 900.0, 0.05
    z = depth + length * np.sin(tilt)
    points = np.c_[100 + 0 * z, 500 + focal * length * np.cos(tilt) / z]
    widths = focal * diameter / z * (1 + rng.normal(0, 0.01, 80))
    widths[::9] *= 1.5  # some outlines are wrong
    scale = local_scale(points, widths, diameter, np.array([100.0, 500.0]))
    assert scale.slanted
    found = (points[:, 1] - 500) / scale.at(points)
    assert np.abs(found / np.cos(tilt) - length).max() < 0.05
