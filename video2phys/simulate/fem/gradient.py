"""Derivatives of any function of a track by parameters and start, by the adjoint of every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.kernel import kernels
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.rollout import Integrator, Stage, Track, march
from video2phys.simulate.fem.scene import Params, Scene, State
from video2phys.simulate.fem.solver import Factor, Solver, Status, conjugate_gradients, direct
from video2phys.simulate.materials.elastic import lame_pullback


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a scalar loss, shaped like what they belong to. Of one number for all elements: the sum."""

    youngs_modulus: np.ndarray  # (E,)
    poisson_ratio: np.ndarray  # (E,)
    density: np.ndarray  # (E,)
    gravity: np.ndarray  # (3,)
    load: np.ndarray  # (V, 3)
    mass_damping: float
    stiffness_damping: float
    offset: float
    friction: float
    start: State  # by position (of clamped nodes, too), velocity and anchor


@dataclass
class Sums:
    """Derivatives as they add up over the steps."""

    body: Body
    mu: np.ndarray
    lam: np.ndarray
    mass: np.ndarray
    force: np.ndarray
    mass_damping: float = 0.0
    stiffness_damping: float = 0.0
    offset: float = 0.0
    friction: float = 0.0

    @staticmethod
    def of(body: Body) -> Sums:
        return Sums(body, np.zeros_like(body.mu), np.zeros_like(body.lam), np.zeros_like(body.mass), np.zeros_like(body.force))

    def add(self, potential: Potential, x: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Subtract the derivatives of z . slope(x) by material, masses and forces; those by viscous, and by the nodes that give F0 and
        G, are returned."""
        body, q = self.body, self.body.scene.quadrature
        before, ahead, mu, lam = np.zeros_like(x), np.zeros_like(x), np.zeros_like(self.mu), np.zeros_like(self.lam)
        by_viscous = kernels(body.scene.law).pullback(
            x, z, body.scene.element, q.gradient, q.volume, q.bulk, body.mu, body.lam, potential.viscous, potential.before,
            potential.ahead, mu, lam, before, ahead,
        )  # fmt: skip
        self.mu -= mu
        self.lam -= lam
        self.mass -= (z * (potential.inertia * (x - potential.goal) + potential.drag * (x - potential.origin))).sum(1)
        self.force += z
        return by_viscous, before, ahead

    def gradient(self, start: State) -> Gradient:
        params, scene = self.body.params, self.body.scene
        by_mass = self.mass + self.force @ params.gravity
        E, nu = lame_pullback(params.youngs_modulus, params.poisson_ratio, self.mu, self.lam)
        gradient = Gradient(
            E, nu, (scene.quadrature.share * by_mass[scene.element]).sum(1), self.body.mass @ self.force, self.force,
            self.mass_damping, self.stiffness_damping, self.offset, self.friction, start,
        )  # fmt: skip
        for name, value in vars(gradient).items():
            if name != "start" and not np.isfinite(value).all():
                raise BadInput(f"the derivative by {name} is not a number.", fix="Use shorter steps: an element has collapsed.")
        return gradient


Pullback = Callable[..., Gradient]


def differentiable(
    params: Params, scene: Scene, state: State, time: np.ndarray, *, steps: int = 1, integrator: Integrator = "midpoint",
    solver: Solver = Solver(),  # noqa: B008  (frozen)
) -> tuple[Track, Pullback]:  # fmt: skip
    """The rollout and its pullback.

    pullback(d_position (T, V, 3), d_velocity (T, V, 3) or None) takes the derivatives of a loss by the track to those by parameters and
    start: each step solves K z = dL/dx with its own second derivative K, by conjugate gradients on the forward factor, and by a direct
    factorisation where these do not converge. Exact up to the solver's tolerance. Memory: 96 bytes a node and step.
    Raises BadInput when a rollout that failed is pulled back.
    """
    body, tape = Body.of(scene, params), []
    track = march(body, state, time, steps=steps, integrator=integrator, solver=solver, tape=tape)

    def pullback(d_position: np.ndarray, d_velocity: np.ndarray | None = None) -> Gradient:
        if track.status is not Status.CONVERGED:
            raise BadInput(f"there is no derivative: {track.status.value}.", fix="Repair the rollout first.")
        sums, factors = Sums.of(body), {}
        d = State(np.zeros_like(scene.node), np.zeros_like(scene.node), np.zeros((len(scene.touching), 3)))
        records = list(tape)
        for k in reversed(range(len(time))):
            d = State(d.position + d_position[k], d.velocity + (0.0 if d_velocity is None else d_velocity[k]), d.anchor)
            for _ in range(steps if k else 0):
                stage, before, x = records.pop()
                if stage.length not in factors:
                    factors[stage.length] = stage.factor(body)
                d = retreat(body, stage, before, x, d, sums, factors[stage.length], solver)
        return sums.gradient(State(d.position, np.where(scene.clamped[:, None], 0.0, d.velocity), d.anchor))

    return track, pullback


def retreat(
    body: Body, stage: Stage, before: State, x: np.ndarray, d_after: State, sums: Sums, factor: Factor, solver: Solver
) -> State:  # fmt: skip
    """Derivatives by the state before a step from those by the state after it; x is the stage that was solved for."""
    scene, params, tau = body.scene, body.params, stage.length
    potential = stage.potential(body, before)
    plane, at = potential.plane, scene.touching
    d_stage = (d_after.position + d_after.velocity / tau) / stage.share
    d_x, d_v = d_after.position * (1 - 1 / stage.share) - d_after.velocity / (stage.share * tau), d_after.velocity * (1 - 1 / stage.share)
    d_anchor, d_limit = d_after.anchor, np.zeros(len(at))
    if plane is not None:
        by_x, d_anchor, d_limit = plane.dragged_pullback(x[at], d_after.anchor)
        d_stage[at] += by_x
    blocks = potential.blocks(x)
    z, found = conjugate_gradients(potential, blocks, d_stage, factor, solver)
    if not found:
        z = direct(potential, blocks, d_stage)
    by_viscous, d_before, d_ahead = sums.add(potential, x, z)
    m = body.mass[:, None]
    sums.stiffness_damping -= by_viscous / tau
    sums.mass_damping -= float((z * m * (x - before.position)).sum()) / tau
    d_x = d_x + (potential.inertia + potential.drag) * m * z - d_before - d_ahead
    d_v = d_v + tau * (potential.inertia * m * z - d_ahead)
    if plane is not None:
        by_offset, by_anchor, by_limit = plane.slope_pullback(x[at], z[at])
        d_anchor, d_limit = d_anchor - by_anchor, d_limit - by_limit
        depth = plane.depth(before.position[at])
        sums.friction += float((d_limit * depth).sum())
        by_depth = params.friction * d_limit * (depth > 0)
        sums.offset += float(by_depth.sum()) - by_offset
        d_x[at] -= by_depth[:, None] * plane.normal
    held = scene.clamped
    d_x[held] += d_stage[held] - potential.product(blocks, z)[held]
    return State(d_x, d_v, d_anchor)
