"""A thrown elastic block with known truth, from a simulation on a finer grid than fits use, and its affine states with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from video2phys.parameters.elastic.carve import Matter
from video2phys.parameters.elastic.motion import Motion, motion
from video2phys.parameters.elastic.sight import Sight
from video2phys.parameters.elastic.start import Start, rotation_part
from video2phys.types import About, Body, Frames, Gaussians, Plane, StateTrack

G = np.array([0, 0, -9.81])
SIZE = np.array([0.12, 0.10, 0.08])
GROUND = Plane(np.array([0, 0, 1.0]), 0.0)
TRUTH = {"youngs_modulus": 6e4, "poisson_ratio": 0.3, "friction": 0.35}
TILT = rotation_part(np.array([[1, 0, 0.25], [0, 1, 0.15], [-0.25, -0.15, 1.0]]))
THROW = Start(0, 24, np.array([0, 0, 0.15]), np.array([0.4, 0.1, -1.0]), TILT, np.array([0.2, 1.0, 0.3]))


def block() -> Body:
    """A box filled with 16 x 13 x 11 particles."""
    n = np.array([16, 13, 11])
    particle = (np.stack(np.meshgrid(*[(np.arange(k) + 0.5) / k - 0.5 for k in n], indexing="ij"), -1).reshape(-1, 3)) * SIZE
    corner = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * SIZE
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
                      [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip
    shell = particle[(np.abs(particle) > 0.42 * SIZE).any(1)]
    return Body(
        shell, np.tile([1.0, 0, 0, 0], (len(shell), 1)), np.full((len(shell), 3), 0.003), np.ones(len(shell)), np.zeros((len(shell), 1, 3)),
        particle, np.full(len(particle), SIZE.prod() / len(particle)), corner, faces, 0, np.array([0, 0, 0.15]), np.array([1.0, 0, 0, 0]),
    )  # fmt: skip


def simulated(body: Body, begin: Start, frames: int, count: int, ground: bool = True) -> Motion:
    """The motion of `body` with about `count` particles, all of its surface in sight, as a fit without pictures reads it."""
    corners = body.vertices[body.faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    looks = Sight(corners.mean(1), np.tile(area, (frames, 1)), area)
    plane = GROUND if ground else None
    return motion(body, Matter(body.particle, body.volume, body.vertices), looks, begin, plane, G, 1000.0, "neo-Hookean", count)


def thrown(
    body: Body, frames: int = 24, noise: float = 2e-4, ground: bool = True, begin: Start = THROW, truth: Mapping[str, float] = TRUTH,
    seed: int = 0,
) -> tuple[Frames, Gaussians, StateTrack]:  # fmt: skip
    """The stages' artefacts of a thrown block, from a simulation with all its particles."""
    fine = simulated(body, replace(begin, contact=frames), frames, len(body.particle), ground)
    time = np.arange(frames) / 60
    state = fine.states({k: np.array([v]) for k, v in truth.items()}, time)[0]
    rng = np.random.default_rng(seed)
    position = state[:, :3] + noise * rng.normal(size=(frames, 3))
    F = state[:, 3:].reshape(-1, 3, 3) + noise / 0.05 * rng.normal(size=(frames, 3, 3))
    states = StateTrack(
        time, "affine", position[:, None], np.full((frames, 1, 3), noise), np.tile([1.0, 0, 0, 0], (frames, 1, 1)),
        np.full((frames, 1, 3), np.inf), F[:, None], np.full((frames, 1), noise / 0.05), np.ones((frames, 1), bool), "m",
    )  # fmt: skip
    about = About(gravity=G, ground=GROUND if ground else None, density=1000.0, model="elastic")
    return Frames(Path("."), time, (), (), 1, about, "test"), Gaussians((body,), "m"), states


def drawn(seed: int) -> tuple[Start, dict[str, float]]:
    """A throw and a material at random: from a body that a fall presses in by a fifth to one that it hardly does."""
    rng = np.random.default_rng([seed, 11])
    begin = replace(THROW, velocity=rng.uniform([-0.5, -0.5, -1.5], [0.5, 0.5, -0.5]), angular_velocity=rng.uniform(-1.5, 1.5, 3))
    return begin, {
        "youngs_modulus": 10 ** rng.uniform(4.4, 5.6), "poisson_ratio": rng.uniform(0.1, 0.42), "friction": rng.uniform(0.1, 0.8)
    }  # fmt: skip
