"""Derivatives of any function of a track by parameters and start, by the adjoint with one checkpoint a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from video2phys.simulate.mpm.forward import advance
from video2phys.simulate.mpm.reverse import retreat
from video2phys.simulate.mpm.rollout import Track, arrays, ensure_free, march, schedule, track
from video2phys.simulate.mpm.scene import Params, Scene, State, constants_pullback
from video2phys.simulate.mpm.transfer import KEEPS


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a scalar loss, shaped like what they belong to; NaN for members that failed."""

    youngs_modulus: np.ndarray  # (B,)
    poisson_ratio: np.ndarray  # (B,)
    density: np.ndarray  # (B, N)
    gravity: np.ndarray  # (B, 3)
    offset: np.ndarray  # (B, K)
    friction: np.ndarray  # (B, K)
    fading: np.ndarray  # (B,)
    yield_stress: np.ndarray  # (B,)
    friction_angle: np.ndarray  # (B,)
    viscosity: np.ndarray  # (B,)
    stiffness: np.ndarray  # (B, N)
    presence: np.ndarray  # (B, N)
    start: State  # by position, velocity, affine and deformation of each particle at the first frame


Pullback = Callable[[np.ndarray, "np.ndarray | None"], Gradient]


def differentiable(
    params: Params, scene: Scene, state: State, time: np.ndarray, *, steps: np.ndarray | int | None = None
) -> tuple[Track, Pullback]:
    """The rollout and its pullback.

    pullback(d_position (T, B, N, 3), d_deformation (T, B, N, 3, 3) or None) takes the derivatives of a loss by the track
    to those by parameters and start. Memory: a checkpoint a frame, and for each step of one frame 96 bytes a particle
    and 16 a node of the grid, with 12 more for each boundary (single precision). The number of steps is held fixed.
    """
    ensure_free(params, scene, state, time[0])
    a = arrays(params, scene, state)
    count = schedule(params, scene, time, steps)
    checkpoints = list(march(scene, a, time, count))

    def pullback(d_position: np.ndarray, d_deformation: np.ndarray | None = None) -> Gradient:
        real, (batch, walls), nodes = scene.dtype, params.offset.shape, scene.nodes
        tape = arrays(params, scene, state, slots=int(count.max()) + 1)
        tape.failed[:] = a.failed
        forward, reverse = advance(scene.precision, scene.law), retreat(scene.precision, scene.law)
        d_grid, d_push = np.zeros((batch, 1, nodes, 4), real), np.zeros((batch, walls, nodes, 3), real)
        d_before = np.zeros((batch, nodes if scene.law in KEEPS else 0, 3), real)
        d_state = tuple(np.zeros_like(s) for s in checkpoints[0])
        d_mass, d_volume, d_matter = np.zeros_like(tape.matter[0]), np.zeros_like(tape.matter[0]), np.zeros((batch, 4), real)
        d_gravity, d_fading, d_offset, d_friction = (np.zeros(s, real) for s in ((batch, 3), batch, (batch, walls), (batch, walls)))
        stress = np.zeros_like(tape.scratch[0])

        def seed(frame: int) -> None:
            d_state[0][:] += d_position[frame]
            if d_deformation is not None:
                d_state[3][:] += d_deformation[frame]

        for k in reversed(range(len(time) - 1)):
            seed(k + 1)
            for slot, checkpoint in zip(tape.state, checkpoints[k], strict=True):
                slot[:, 0] = checkpoint
            dt = np.ascontiguousarray((time[k + 1] - time[k]) / count[k], real)
            common = (*tape.state, *tape.matter, *tape.law, *tape.walls, time[k], dt, count[k], scene.cell, *tape.scratch, tape.failed)
            forward(*common, 1)
            reverse(
                *common, stress, d_grid, d_push, d_before, *d_state, d_mass, d_volume, d_matter, d_gravity, d_fading, d_offset, d_friction
            )
        seed(0)
        volume = scene.volume * params.size[:, None] ** 3
        found = Gradient(
            **constants_pullback(params, scene, d_matter),
            density=d_mass * volume * params.presence,
            stiffness=d_volume * volume * params.presence,
            presence=(d_mass * params.density + d_volume * params.stiffness) * volume,
            gravity=d_gravity,
            offset=d_offset,
            friction=d_friction,
            fading=d_fading,
            start=State(*d_state),
        )
        for g in (*(v for v in vars(found).values() if isinstance(v, np.ndarray)), *d_state):
            g[a.failed > 0] = np.nan
        return found

    return track(time, checkpoints, a), pullback


def rigid_start(params: Params, scene: Scene, gradient: Gradient, rotation: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Derivatives by position, velocity and angular velocity (B, 3) of a rigid start (`scene.start`)."""
    R = np.broadcast_to(np.eye(3) if rotation is None else rotation, (len(params.size), 3, 3))
    arm = np.einsum("bij,nj->bni", R, scene.particle) * params.size[:, None, None]
    g = gradient.start
    C = g.affine.sum(1)
    spin = np.stack([C[:, 2, 1] - C[:, 1, 2], C[:, 0, 2] - C[:, 2, 0], C[:, 1, 0] - C[:, 0, 1]], -1)
    return g.position.sum(1), g.velocity.sum(1), np.cross(arm, g.velocity).sum(1) + spin
