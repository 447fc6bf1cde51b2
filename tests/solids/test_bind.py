"""Gaussians follow the particles that they are bound to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from video2phys.errors import BadInput
from video2phys.solids.bind import bind, carry

LATTICE = 0.1 * np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), -1).reshape(-1, 3)


def gaussians() -> np.ndarray:
    """Inside, on the surface, and up to a spacing outside."""
    return np.random.default_rng(0).uniform(-0.1, 0.6, (300, 3))


def test_affine_motions_are_carried_exactly() -> None:
    rng = np.random.default_rng(1)
    M, t = np.eye(3) + 0.5 * rng.normal(size=(3, 3)), rng.normal(size=3)
    mean, F = carry(bind(gaussians(), LATTICE), LATTICE, LATTICE @ M.T + t)
    np.testing.assert_allclose(mean, gaussians() @ M.T + t, atol=1e-7)
    np.testing.assert_allclose(F, np.broadcast_to(M, F.shape), atol=1e-6)


def test_a_rigid_motion_keeps_covariances_rigid() -> None:
    R = Rotation.from_rotvec([1.0, -2.0, 0.5]).as_matrix()
    _, F = carry(bind(gaussians(), LATTICE), LATTICE, LATTICE @ R.T)
    np.testing.assert_allclose(F @ F.mT, np.broadcast_to(np.eye(3), F.shape), atol=1e-6)


@pytest.mark.parametrize("points", [LATTICE[LATTICE[:, 2] == 0], LATTICE[(LATTICE[:, 1:] == 0).all(1)], LATTICE[:1]])
def test_a_sheet_a_line_and_a_point_turn_their_gaussians_with_them(points: np.ndarray) -> None:
    R = Rotation.from_rotvec([0.3, 0.4, -0.2]).as_matrix()
    above = points + np.array([0, 0, 0.01])
    mean, F = carry(bind(above, points), points, points @ R.T)
    assert np.isfinite(mean).all()
    np.testing.assert_allclose(F @ F.mT, np.broadcast_to(np.eye(3), F.shape), atol=1e-5)
    if len(points) == 36:
        np.testing.assert_allclose(mean, above @ R.T, atol=1e-7)


def test_a_smooth_bend_is_followed_to_second_order() -> None:
    def bent(p: np.ndarray) -> np.ndarray:
        return np.column_stack([p[:, 0], p[:, 1], p[:, 2] + 0.3 * p[:, 0] ** 2])

    inner = gaussians()[(np.abs(gaussians() - 0.25) < 0.2).all(1)]
    errors = []
    for part in (1.0, 0.5):
        mean, _ = carry(bind(part * inner, part * LATTICE), part * LATTICE, bent(part * LATTICE))
        errors.append(float(np.abs(mean - bent(part * inner)).max()))
    assert errors[1] < errors[0] / 3.5


def test_without_particles_nothing_can_be_bound() -> None:
    with pytest.raises(BadInput, match="no particles"):
        bind(gaussians(), np.zeros((0, 3)))
