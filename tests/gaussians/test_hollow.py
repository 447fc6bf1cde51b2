"""A wall of given thickness under the surface of a solid."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from video2phys.errors import BadInput
from video2phys.gaussians.hollow import hollow
from video2phys.types import Body


def solid(mesh: trimesh.Trimesh, spacing: float) -> Body:
    axis = np.arange(-0.5, 0.5, spacing) + spacing / 2
    lattice = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    inside = np.abs(lattice).max(1) < 0.5 if len(mesh.faces) == 12 else np.linalg.norm(lattice, axis=1) < 0.5
    particle, one = lattice[inside], np.zeros((1, 3))
    return Body(one, np.array([[1.0, 0, 0, 0]]), one + 1, np.ones(1), one[None], particle, np.full(len(particle), spacing**3),
                np.asarray(mesh.vertices), np.asarray(mesh.faces), 0, np.zeros(3), np.array([1.0, 0, 0, 0]))  # fmt: skip


@pytest.mark.parametrize(
    ("mesh", "volume"),
    [
        (trimesh.creation.icosphere(4, 0.5), 4 / 3 * np.pi * (0.5**3 - 0.4**3)),
        (trimesh.creation.box((1, 1, 1)), 1 - 0.8**3),  # twelve large triangles
    ],
)
def test_the_wall_has_its_volume(mesh: trimesh.Trimesh, volume: float) -> None:
    shell = hollow(solid(mesh, 0.025), 0.1)
    assert shell.volume.sum() == pytest.approx(volume, rel=0.04)
    assert len(shell.particle) == len(shell.volume)


def test_a_thick_wall_is_a_solid() -> None:
    body = solid(trimesh.creation.icosphere(3, 0.5), 0.05)
    assert len(hollow(body, 0.6).particle) == len(body.particle)


def test_particles_too_coarse_for_a_wall_are_told() -> None:
    body = solid(trimesh.creation.icosphere(3, 0.5), 0.05)
    with pytest.raises(BadInput, match="thinner") as told:
        hollow(body, 0.025)
    enough = int("".join(c for c in told.value.fix if c.isdigit()))
    assert enough == pytest.approx(8 * len(body.particle), rel=0.01)
