"""A solid without masks: depth pictures of Gaussians give its volume, and the plane that it stands on closes it."""

from __future__ import annotations

import numpy as np
import pytest
from solids import CENTRE, RADIUS, camera

from video2phys.errors import BadInput
from video2phys.gaussians.fuse import cut, fuse, support
from video2phys.gaussians.hull import Grid, Shot
from video2phys.gaussians.initialise import cloud_of
from video2phys.gaussians.surface import surface, volume_and_centre

FLOOR = CENTRE[2] - 0.5 * RADIUS  # the ball is sunk into the floor by half of its radius


def on_floor():
    """Gaussians on the part of a ball above a floor, and on the floor around it."""
    gen = np.random.default_rng(0)
    ball = gen.normal(size=(10_000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    ball = CENTRE + RADIUS * ball
    ball = ball[ball[:, 2] > FLOOR]
    floor = np.column_stack(
        [CENTRE[0] + 0.8 * (gen.random(30_000) - 0.5), CENTRE[1] + 0.8 * (gen.random(30_000) - 0.5), np.full(30_000, FLOOR)]
    )
    floor = floor[np.linalg.norm(floor - CENTRE, axis=1) > RADIUS]
    points = np.concatenate([ball, floor])
    scale = np.full((len(points), 3), 0.002)
    quaternion = np.tile([1.0, 0, 0, 0], (len(points), 1))
    return cloud_of(points, np.full((len(points), 3), 0.5), scale, quaternion, 0.95, 0), points


def shots() -> list[Shot]:
    views = [camera(a, 0.5 if k % 2 else 1.0) for k, a in enumerate(np.linspace(0, 2 * np.pi, 16, endpoint=False))]
    return [Shot(str(k), view, np.zeros((96, 96, 3), np.float32), None) for k, view in enumerate(views)]


def test_a_body_that_stands_on_a_floor_is_closed_by_it() -> None:
    cloud, points = on_floor()
    pictures = shots()
    plane = support(points, np.array([s.camera.center for s in pictures]), CENTRE, 0.17, 0)
    assert plane is not None
    np.testing.assert_allclose(plane[0], [0, 0, 1], atol=0.02)
    assert plane[1] == pytest.approx(FLOOR, abs=0.003)
    vertices, faces = surface(cut(fuse(cloud, [s.camera for s in pictures], CENTRE, 0.17, 48), plane))
    volume, _ = volume_and_centre(vertices, faces)
    cap = np.pi * (0.5 * RADIUS) ** 2 * (2.5 * RADIUS) / 3
    truth = 4 / 3 * np.pi * RADIUS**3 - cap
    assert volume == pytest.approx(truth, rel=0.08)  # Gaussians of 2 mm on a ball of 100 mm
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_no_plane_is_invented() -> None:
    gen = np.random.default_rng(1)
    ball = gen.normal(size=(2000, 3))
    ball = CENTRE + RADIUS * ball / np.linalg.norm(ball, axis=1, keepdims=True)
    assert support(ball, np.array([s.camera.center for s in shots()]), CENTRE, 0.17, 0) is None


def test_nothing_solid_is_named() -> None:
    with pytest.raises(BadInput, match="nothing solid"):
        cut(Grid(np.full((5, 5, 5), -1.0), np.zeros(3), 0.1), (np.array([0, 0, 1.0]), 0.0))
