"""A wall of given thickness under the surface of a solid."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import samples

from video2phys.errors import BadInput
from video2phys.gaussians.hollow import hollow
from video2phys.solids.fill import mesh, particles
from video2phys.types import Body, Primitive


def solid(kind: Literal["sphere", "box"], count: int) -> Body:
    shape = Primitive(kind, np.ones(3))
    (particle, volume), (vertices, faces) = particles(shape, count), mesh(shape)
    return replace(samples.box_body(), particle=particle, volume=volume, vertices=vertices, faces=faces)


@pytest.mark.parametrize(
    ("kind", "volume"),
    [("sphere", 4 / 3 * np.pi * (0.5**3 - 0.4**3)), ("box", 1 - 0.8**3)],  # the box has few, large triangles
)
def test_the_wall_has_its_volume(kind: Literal["sphere", "box"], volume: float) -> None:
    shell = hollow(solid(kind, 64_000), 0.1)
    assert shell.volume.sum() == pytest.approx(volume, rel=0.04)
    assert len(shell.particle) == len(shell.volume)


def test_a_thick_wall_is_a_solid() -> None:
    body = solid("sphere", 4000)
    assert len(hollow(body, 0.6).particle) == len(body.particle)


def test_particles_too_coarse_for_a_wall_are_told() -> None:
    body = solid("box", 8000)
    with pytest.raises(BadInput, match="thinner") as told:
        hollow(body, 0.025)
    enough = int("".join(c for c in told.value.fix if c.isdigit()))
    assert enough == pytest.approx(8 * len(body.particle), rel=0.01)
