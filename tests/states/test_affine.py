"""Affine states of a striped soft ball that falls, turns and is squashed before four cameras."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.states import affine
from video2phys.states.settings import Settings
from video2phys.states.warp import Moving, projection_slope
from video2phys.store import write_image
from video2phys.types import About, Body, Camera, Frames, Gaussians, Seen, View

FRAMES, RADIUS, SIZE = 5, 0.1, 72


def ball() -> Body:
    """Gaussians of alternating colours on a sphere."""
    k = np.arange(700) + 0.5
    polar, around = np.arccos(1 - 2 * k / len(k)), np.pi * (1 + 5**0.5) * k
    normal = np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], 1)
    colour = 0.5 + 0.45 * np.sign(np.sin(normal * [9, 8, 7] + [0, 1, 2]))
    half = np.stack([-normal[:, 1], normal[:, 0], 0 * k], 1)
    inner = np.concatenate([normal * s for s in (0.3, 0.6, 0.9)]) * RADIUS
    return Body(mean=RADIUS * normal, quaternion=np.concatenate([1.0001 + normal[:, 2:], half], 1),
                scale=np.tile([0.008, 0.008, 0.002], (700, 1)),
                opacity=np.full(700, 0.95), harmonics=((colour - 0.5) / 0.28209479177387814)[:, None], particle=inner,
                volume=np.full(len(inner), 1e-6), vertices=np.eye(3), faces=np.array([[0, 1, 2]]), reference_frame=0,
                position=np.array([0.02, 0.01, 0.3]), rotation=np.array([1.0, 0, 0, 0]))  # fmt: skip


def truth(k: int) -> tuple[np.ndarray, np.ndarray]:
    angle = 0.06 * k
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    squash = np.diag([1 + 0.02 * k, 1 + 0.015 * k, 1 - 0.03 * k])
    return np.array([0.02 + 0.004 * k, 0.01, 0.3 - 0.006 * k - 0.001 * k * k]), squash @ R


def camera(angle: float) -> Camera:
    eye = np.array([1.2 * np.cos(angle), 1.2 * np.sin(angle), 0.6])
    return Camera.aimed(eye, np.array([0.0, 0, 0.28]), np.array([[260.0, 0, SIZE / 2], [0, 260, SIZE / 2], [0, 0, 1]]), SIZE, SIZE)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> tuple[Frames, Gaussians]:
    folder = tmp_path_factory.mktemp("affine")
    body, moving, views = ball(), Moving(ball(), "cpu"), []
    for i, angle in enumerate(np.arange(4) * np.pi / 2 + 0.3):
        view, images, masks = camera(angle), [], []
        for k in range(FRAMES):
            colour, alpha, _ = moving.draw(view, *truth(k))
            noise = np.random.default_rng(10 * i + k).normal(0, 0.02, colour.shape)
            images.append(f"{i}_{k}.png")
            masks.append(f"{i}_{k}_mask.png")
            write_image(folder / images[-1], ((colour + 0.4 * (1 - alpha[..., None]) + noise).clip(0, 1) * 255).round().astype(np.uint8))
            write_image(folder / masks[-1], (alpha * 255).round().astype(np.uint8))
        views.append(View(f"v{i}", view, tuple(images), (tuple(masks),), np.full((FRAMES, 1), Seen.WHOLE)))
    frames = Frames(folder, np.arange(FRAMES) / 60, tuple(views), (), 1, About(), "folder")
    return frames, Gaussians((body,), "m")


def test_position_and_deformation_are_recovered(capture, tmp_path: Path) -> None:
    states = affine.track(*capture, Settings(), Context(tmp_path))
    assert states.valid.all() and states.kind == "affine"
    assert states.deformation is not None and states.deformation_sigma is not None
    for k in range(FRAMES):
        c, F = truth(k)
        error = np.abs(states.position[k, 0] - c)
        assert error.max() < 3e-4, k  # a pixel is 4.6 mm
        assert (error < 5 * states.position_sigma[k, 0]).all(), k
        assert np.abs(states.deformation[k, 0] - F).max() < 0.012, k
        assert np.abs(states.deformation[k, 0] - F).max() < 6 * states.deformation_sigma[k, 0], k


def test_frames_seen_whole_by_fewer_than_two_views_are_not_invented(capture, tmp_path: Path) -> None:
    frames, gaussians = capture
    seen = np.full((FRAMES, 1), Seen.WHOLE)
    seen[2] = Seen.CLIPPED
    views = tuple(replace(v, seen=seen) if i else v for i, v in enumerate(frames.views))
    states = affine.track(replace(frames, views=views), gaussians, Settings(), Context(tmp_path))
    assert states.valid[:, 0].tolist() == [True, True, False, True, True]
    assert np.isnan(states.position[2]).all()
    np.testing.assert_allclose(states.position[4, 0], truth(4)[0], atol=5e-4)


def test_pictures_without_the_body_are_an_error(capture, tmp_path: Path) -> None:
    frames, gaussians = capture
    views = tuple(replace(v, seen=np.full((FRAMES, 1), Seen.ABSENT)) for v in frames.views)
    with pytest.raises(BadInput, match="whole in two views"):
        affine.track(replace(frames, views=views), gaussians, Settings(), Context(tmp_path))


def test_projection_slope_equals_central_differences() -> None:
    view, point, step = camera(0.7), np.array([[0.05, -0.03, 0.32]]), 1e-6
    numeric = np.stack([(view.project(point + e) - view.project(point - e))[0] / (2 * step) for e in step * np.eye(3)], 1)
    np.testing.assert_allclose(projection_slope(view, point)[0], numeric, rtol=1e-6, atol=1e-4)
