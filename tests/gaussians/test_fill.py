"""Particles stand for the body's volume and end at its surface."""

from __future__ import annotations

import numpy as np

from video2phys.gaussians.fill import fill
from video2phys.gaussians.hull import Grid


def ball(radius: float = 0.1, step: float = 0.005) -> Grid:
    origin = np.full(3, -0.13)
    axes = np.stack(np.meshgrid(*[origin[0] + step * np.arange(53)] * 3, indexing="ij"), -1)
    return Grid(radius - np.linalg.norm(axes, axis=-1), origin, step)


def test_volumes_sum_and_moments_agree() -> None:
    volume = 4 / 3 * np.pi * 0.1**3
    particle, volumes = fill(ball(), volume, 5000)
    assert abs(len(particle) - 5000) < 150
    np.testing.assert_allclose(volumes.sum(), volume)
    np.testing.assert_allclose(particle.mean(0), 0, atol=2e-4)
    np.testing.assert_allclose((particle**2).mean(0), 0.1**2 / 5, rtol=0.02)  # a larger body would have larger moments


def test_no_particle_is_outside() -> None:
    particle, _ = fill(ball(), 4 / 3 * np.pi * 0.1**3, 3000)
    assert np.linalg.norm(particle, axis=1).max() < 0.1
