"""Moments in closed form, and what they cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

from video2phys.topology.moments import ball, cloud, map_matrix


def lattice(n: int, size: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    axis = ((np.arange(n) + 0.5) / n - 0.5) * size
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3), np.full(n**3, (size / n) ** 3)


@pytest.mark.parametrize(("k", "factor"), [(0.0, 0.7143), (0.5, 0.6931), (0.8, 0.6447), (0.9, 0.6233)])
def test_ball_with_a_concentric_void_rolls_as_it_should(k: float, factor: float) -> None:
    """a / (g sin th) = 1 / (1 + I / (m r^2)) for a ball that rolls down a slope."""
    m = ball(np.zeros(3), 1.0, 700.0)
    if k:
        m = m + ball(np.zeros(3), k, -700.0)
    assert 1 / (1 + m.inertia[0, 0] / m.mass) == pytest.approx(factor, abs=5e-5)


def test_cloud_of_a_box_is_the_box() -> None:
    points, volume = lattice(6, 0.1)
    m = cloud(points * [1, 2, 3], volume * 6, np.full(len(volume), 500.0))
    assert m.mass == pytest.approx(500 * 6e-3)
    np.testing.assert_allclose(np.diag(m.inertia), m.mass / 12 * np.array([0.13, 0.10, 0.05]), rtol=0.02)


def test_cloud_and_ball_agree_about_an_insert() -> None:
    points, volume = lattice(40, 0.1)
    at, radius = np.array([0.012, -0.008, 0.005]), 0.025
    dense = np.where(np.linalg.norm(points - at, axis=1) < radius, 5000.0, 1000.0)
    whole = cloud(points, volume, np.full(len(volume), 1000.0)) + ball(at, radius, 4000.0)
    np.testing.assert_allclose(cloud(points, volume, dense).numbers(), whole.numbers(), rtol=0.02, atol=2e-5)


def test_voxels_fix_ten_numbers_and_no_more() -> None:
    points, volume = lattice(16)
    assert np.linalg.matrix_rank(map_matrix(points, volume)) == 10


def test_map_matrix_is_the_moments() -> None:
    points, volume = lattice(5)
    density = np.random.default_rng(0).uniform(500, 2000, len(volume))
    raw, m = map_matrix(points, volume) @ density, cloud(points, volume, density)
    about_origin = m.inertia + m.mass * (m.center @ m.center * np.eye(3) - np.outer(m.center, m.center))
    np.testing.assert_allclose(raw[:4], [m.mass, *(m.mass * m.center)])
    own = (density * volume * volume ** (2 / 3)).sum() / 6
    np.testing.assert_allclose(raw[4:7] + own, np.diag(about_origin))
    np.testing.assert_allclose(raw[7:], about_origin[[0, 0, 1], [1, 2, 2]], atol=1e-9)


def test_interiors_of_the_null_space_move_alike() -> None:
    points, volume = lattice(6)
    A = map_matrix(points, volume)
    change = np.random.default_rng(1).normal(size=len(volume))
    scaled = A / np.linalg.norm(A, axis=1, keepdims=True)
    change -= np.linalg.pinv(scaled) @ (scaled @ change)
    same = 1000 + 300 * change / np.abs(change).max()
    np.testing.assert_allclose(cloud(points, volume, same).mass, cloud(points, volume, np.full(len(volume), 1000.0)).mass, rtol=1e-9)
    assert np.ptp(same) > 100
