"""The hull is the intersection of the outlines, to a fraction of a pixel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from solids import BOX, CENTRE, RADIUS, shots

from video2phys.errors import BadInput
from video2phys.gaussians.hull import carve, signed_distance
from video2phys.gaussians.surface import surface, volume_and_centre


def test_signed_distance_of_a_blurred_edge() -> None:
    edge = 10.3
    mask = np.clip(np.arange(20) + 1 - edge, 0, 1)[None].repeat(8, 0).astype(np.float32)  # inside where x > 10.3
    np.testing.assert_allclose(signed_distance(mask)[4, 5:16], np.arange(5, 16) + 0.5 - edge, atol=0.3)


def test_a_ball_is_found_to_a_fraction_of_a_pixel() -> None:
    vertices, faces = surface(carve(shots("ball"), 48))
    volume, centre = volume_and_centre(vertices, faces)
    pixel = 1.2 / 260
    np.testing.assert_allclose(centre, CENTRE, atol=0.1 * pixel)
    radii = np.linalg.norm(vertices - CENTRE, axis=1)
    assert radii.min() > RADIUS - 0.25 * pixel  # the hull holds the body
    assert 1.0 < volume / (4 / 3 * np.pi * RADIUS**3) < 1.04


def test_a_box_is_inside_its_hull() -> None:
    grid = carve(shots("box"), 48)
    corners = CENTRE + BOX * (np.stack(np.meshgrid(*[[0, 1]] * 3), -1).reshape(-1, 3) - 0.5)
    assert grid.at(corners).min() > -1.2 / 260  # a pixel: a soft mask rounds the corners
    volume, centre = volume_and_centre(*surface(grid))
    assert 1 < volume / BOX.prod() < 1.3  # cameras at a slant leave a roof on the top and the bottom
    np.testing.assert_allclose(centre, CENTRE, atol=0.003)


def test_the_surface_is_closed_and_points_outwards() -> None:
    import trimesh

    mesh = trimesh.Trimesh(*surface(carve(shots("box"), 32)), process=False)
    assert mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0


def test_outlines_without_a_common_body_are_named() -> None:
    pictures = shots("ball", 4)
    moved = np.zeros_like(pictures[0].mask)
    moved[2:12, 2:12] = 1
    with pytest.raises(BadInput, match="no body in common"):
        carve([replace(pictures[0], mask=moved), *pictures[1:]], 32)
