"""Derivatives of any function of a track by parameters and start, by the adjoint of every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.rollout import Integrator, Record, Track, bodies, march
from video2phys.simulate.fem.scene import Params, Scene, State
from video2phys.simulate.fem.solver import Solver, Status, conjugate_gradients, direct


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a scalar loss, shaped like what they belong to. Of one number for all elements: the sum."""

    params: tuple[Params, ...]  # one for each Params that the rollout was given
    start: State  # by position (of clamped nodes, too), velocity and anchor


@dataclass
class Sums:
    """Derivatives as they add up over the steps of one body."""

    body: Body
    moduli: list[np.ndarray] = field(init=False)
    mass: np.ndarray = field(init=False)
    force: np.ndarray = field(init=False)
    wind: np.ndarray = field(init=False)
    mass_damping: float = 0.0
    stiffness_damping: float = 0.0
    offset: float = 0.0
    friction: float = 0.0
    air: float = 0.0

    def __post_init__(self) -> None:
        self.moduli = [np.zeros_like(m) for m in self.body.moduli]
        self.mass, self.force, self.wind = np.zeros_like(self.body.mass), np.zeros_like(self.body.force), np.zeros(3)

    def add(self, potential: Potential, x: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Subtract the derivatives of z . slope(x) by moduli, masses, forces and air; those by viscous, and by the nodes before and
        ahead that rates and air are made of, are returned."""
        by_viscous, before, ahead = 0.0, np.zeros_like(x), np.zeros_like(x)
        for k, (energy, moduli, rate) in enumerate(zip(self.body.energies, self.body.moduli, potential.rates, strict=True)):
            d, by_rate, d_before, d_ahead = energy.pullback(x, z, moduli, rate)
            self.moduli[k] -= d
            by_viscous, before, ahead = by_viscous + by_rate, before + d_before, ahead + d_ahead
        for air in potential.air:
            d_air, d_wind, d_before, d_ahead = air.pullback(x, z)
            self.air, self.wind, before, ahead = self.air - d_air, self.wind - d_wind, before + d_before, ahead + d_ahead
        self.mass -= (z * (potential.inertia * (x - potential.goal) + potential.drag * (x - potential.origin))).sum(1)
        self.force += z
        return by_viscous, before, ahead

    def params(self) -> Params:
        """Derivatives by parameters. Raises BadInput where they are not numbers."""
        body, scene = self.body, self.body.scene
        by_mass = self.mass + self.force @ body.params.gravity
        ends = list(accumulate(len(part.energies) for part in scene.parts))
        material = tuple(
            part.pullback(m, tuple(self.moduli[end - len(part.energies) : end]), by_mass)
            for part, m, end in zip(scene.parts, body.params.material, ends, strict=True)
        )
        d = Params(
            material, body.mass @ self.force, self.force, self.mass_damping, self.stiffness_damping, self.offset, self.friction, self.air,
            self.wind,
        )  # fmt: skip
        for owner in (*material, d):
            for name, value in vars(owner).items():
                if name != "material" and not np.isfinite(value).all():
                    raise BadInput(f"the derivative by {name} is not a number.", fix="Use shorter steps: an element has collapsed.")
        return d


Pullback = Callable[..., Gradient]


def differentiable(
    params: Params | Sequence[Params], scene: Scene, state: State, time: np.ndarray, *, steps: int = 1,
    integrator: Integrator = "midpoint", solver: Solver = Solver(),  # noqa: B008  (frozen)
) -> tuple[Track, Pullback]:  # fmt: skip
    """The rollout and its pullback.

    pullback(d_position (T, V, 3), d_velocity (T, V, 3) or None) takes the derivatives of a loss by the track to those by parameters and
    start: each step solves K z = dL/dx with its own second derivative K, by conjugate gradients on the forward factor, and by a direct
    factorisation where these do not converge, or where there is none. Exact up to the solver's tolerance. Memory: 96 bytes a node and step.
    Raises BadInput when a rollout that failed is pulled back.
    """
    body, tape = bodies(scene, params, time), []
    track = march(body, state, time, steps=steps, integrator=integrator, solver=solver, tape=tape)

    def pullback(d_position: np.ndarray, d_velocity: np.ndarray | None = None) -> Gradient:
        if track.status is not Status.CONVERGED:
            raise BadInput(f"there is no derivative: {track.status.value}.", fix="Repair the rollout first.")
        sums = {id(b): Sums(b) for b in body}
        d = State(np.zeros_like(scene.node), np.zeros_like(scene.node), np.zeros((len(scene.touching), 3)))
        records = list(tape)
        for k in reversed(range(len(time))):
            d = State(d.position + d_position[k], d.velocity + (0.0 if d_velocity is None else d_velocity[k]), d.anchor)
            for _ in range(steps if k else 0):
                record = records.pop()
                d = retreat(record, d, sums[id(record.body)], solver)
        d = State(d.position, np.where(scene.clamped[:, None], 0.0, d.velocity), d.anchor)
        return Gradient(tuple(s.params() for s in sums.values()), d)

    return track, pullback


def retreat(record: Record, d_after: State, sums: Sums, solver: Solver) -> State:
    """Derivatives by the state before a step from those by the state after it."""
    body, stage, before, x = record.body, record.stage, record.before, record.x
    scene, params, tau = body.scene, body.params, stage.length
    potential = stage.potential(body, before, rates=True)
    plane, at = potential.plane, scene.touching
    d_stage = (d_after.position + d_after.velocity / tau) / stage.share
    d_x, d_v = d_after.position * (1 - 1 / stage.share) - d_after.velocity / (stage.share * tau), d_after.velocity * (1 - 1 / stage.share)
    d_anchor, d_limit = d_after.anchor, np.zeros(len(at))
    if plane is not None:
        by_x, d_anchor, d_limit = plane.dragged_pullback(x[at], d_after.anchor)
        d_stage[at] += by_x
    blocks = potential.blocks(x)
    z = None if record.factor is None else conjugate_gradients(potential, blocks, d_stage, record.factor.at(x), solver)
    if z is None:
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
