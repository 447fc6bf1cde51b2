"""The twin's Gaussians go where the simulation takes the body."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import samples

from video2phys.twin.moved import Moved


@pytest.mark.parametrize("make", [samples.rigid, samples.elastic])
def test_the_picture_moves_with_the_body(make, tmp_path: Path) -> None:
    sample = make(tmp_path)
    moved = Moved.of(sample.frames, [0], sample.gaussians.bodies, sample.parameters)
    camera, empty = sample.frames.views[0].camera, sample.frames.background(0)
    assert empty is not None
    for frame in (0, len(sample.frames.time) - 1):
        shown = np.abs(moved.pictures(frame)[0].astype(int) - empty.astype(int)).max(-1) > 40
        y, x = np.nonzero(shown)
        wanted = camera.project(sample.parameters.position[frame, 0])
        np.testing.assert_allclose([x.mean() + 0.5, y.mean() + 0.5], wanted, atol=2.5)


def test_covariances_follow_the_deformation(tmp_path: Path) -> None:
    sample = samples.elastic(tmp_path)
    body = sample.gaussians.bodies[0]
    F = np.array([[1.2, 0.1, 0], [0, 0.8, 0.2], [0, 0, 1.1]])
    squeezed = replace(sample.parameters, particle=np.broadcast_to(body.particle @ F.T, (len(sample.frames.time), *body.particle.shape)))
    (rider,) = Moved.of(sample.frames, [0], (body,), squeezed).riders
    placed = rider.place(squeezed, 0, 0)
    assert placed is not None
    np.testing.assert_allclose(placed[0], body.mean @ F.T, atol=1e-6)
    np.testing.assert_allclose(placed[1], F @ np.diag(body.scale[0] ** 2) @ F.T + np.zeros_like(placed[1]), atol=1e-9)


def test_without_a_prediction_the_scene_is_empty(tmp_path: Path) -> None:
    sample = samples.rigid(tmp_path)
    unknown = replace(sample.parameters, position=np.full_like(sample.parameters.position, np.nan))
    (picture,) = Moved.of(sample.frames, [0], sample.gaussians.bodies, unknown).pictures(3)
    np.testing.assert_array_equal(picture, sample.frames.background(0))
