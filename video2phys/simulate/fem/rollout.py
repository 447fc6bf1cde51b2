"""From a start to a track: frames on the video's clock, whole steps between them.

A step of length h solves one stage at the share theta of it, tau = theta h:

    x_s = x + tau v_s,   v_s = v + tau a(x_s, v_s),   x' = x + h v_s,   v' = v + (v_s - v) / theta

theta = 1 is implicit Euler: first order, and it damps vibrations numerically by some omega h / 2 of critical, which must not be read as
the material's. theta = 1/2 is the implicit midpoint rule: second order, symplectic, no numerical damping, and it keeps linear and
angular momentum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from video2phys.errors import BadInput, guess
from video2phys.simulate.fem.air import Air
from video2phys.simulate.fem.contact import Plane
from video2phys.simulate.fem.elements import Rate
from video2phys.simulate.fem.factor import Factor
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.scene import Params, Scene, State
from video2phys.simulate.fem.solver import Solution, Solver, Status, minimise
from video2phys.types import check

Integrator = Literal["midpoint", "euler"]
SHARE = {"midpoint": 0.5, "euler": 1.0}


@dataclass(frozen=True)
class Track:
    """The body at the frame times that were reached; all of them where `status` is converged."""

    time: np.ndarray  # [s] (T,)
    position: np.ndarray  # [m] (T, V, 3)
    velocity: np.ndarray  # [m/s] (T, V, 3)
    end: State
    status: Status
    iterations: int  # of all steps together
    fallbacks: int  # steps that Newton's method had to finish

    def __post_init__(self) -> None:
        check(self, time=("T",), position=("T", "V", 3), velocity=("T", "V", 3))


@dataclass(frozen=True)
class Stage:
    """One step's share theta and the length of its stage tau = theta h [s]."""

    share: float
    length: float

    def factor(self, body: Body) -> Factor:
        """The constant matrix of steps of this length, factorised."""
        p, tau = body.params, self.length
        return Factor(body, inertia=1 / tau**2, drag=p.mass_damping / tau, viscous=p.stiffness_damping / tau)

    def potential(self, body: Body, state: State, *, rates: bool = False) -> Potential:
        """What the stage minimises; with `rates` the viscous potential is set up even where viscosity is zero."""
        scene, p, x = body.scene, body.params, state.position
        ahead, moving = x + self.length * state.velocity, rates or p.stiffness_damping > 0
        viscous = p.stiffness_damping / self.length
        plane = None
        if scene.normal is not None:
            depth = np.maximum(p.offset - x[scene.touching] @ scene.normal, 0.0)
            plane = Plane(scene.normal, p.offset, scene.contact_stiffness, p.friction * depth, state.anchor)
        exposed = [part.facets for part in scene.parts if part.facets is not None] if rates or p.air > 0 else []
        return Potential(
            body, x, ahead, 1 / self.length**2, p.mass_damping / self.length,
            tuple(energy.rate(x, ahead, viscous) if moving else Rate.none() for energy in body.energies), plane,
            tuple(Air.of(f, x, ahead, density=p.air, wind=p.wind, length=self.length) for f in exposed),
        )  # fmt: skip

    def advance(self, body: Body, state: State, factor: Factor | None, solver: Solver) -> tuple[State, Solution]:
        """The state after the step, and the stage."""
        potential = self.potential(body, state)
        x, v = state.position, state.velocity
        scale = _forces(potential, x)
        solution = minimise(potential, potential.goal, factor, solver, scale)
        if solution.status is Status.UNSTABLE:  # prediction turned elements inside out
            solution = minimise(potential, x, factor, solver, scale)
        stage_v = (solution.position - x) / self.length
        anchor = state.anchor if potential.plane is None else potential.plane.dragged(solution.position[body.scene.touching])
        after = State(x + (solution.position - x) / self.share, v + (stage_v - v) / self.share, anchor)
        return after, solution


def _forces(potential: Potential, x: np.ndarray) -> float:
    """Norm of the forces that act, by which residuals are measured: weight, loads, and what is out of balance where the step begins."""
    body = potential.body
    _, _, g = potential.slope(x)
    pull = g + potential.inertia * body.mass[:, None] * (potential.goal - x)
    pull[body.scene.clamped] = 0.0
    return float(np.linalg.norm(pull) + np.linalg.norm(body.force[body.scene.free])) if np.isfinite(pull).all() else 0.0


@dataclass(frozen=True)
class Record:
    """A step as the adjoint needs it."""

    body: Body
    stage: Stage
    before: State
    x: np.ndarray  # [m] (V, 3) the stage that was solved for
    factor: Factor | None  # that it was solved with


def rollout(
    params: Params | Sequence[Params], scene: Scene, state: State, time: np.ndarray, *, steps: int = 1,
    integrator: Integrator = "midpoint", solver: Solver = Solver(),  # noqa: B008  (frozen)
) -> Track:  # fmt: skip
    """Simulate from time[0] to time[-1], `steps` equal steps between frames (T,) [s], keeping every frame.

    What changes in time, as drives and wind do, is a list of T - 1 Params, one for each gap. Ends at the last frame reached where a
    step does not converge; `status` says so. Raises BadInput where parameters, state and scene do not belong together, and where times
    do not ascend.
    """
    return march(bodies(scene, params, time), state, time, steps=steps, integrator=integrator, solver=solver)


def bodies(scene: Scene, params: Params | Sequence[Params], time: np.ndarray) -> list[Body]:
    """The body of each gap between frames: the same one throughout where parameters are constant."""
    gaps = len(time) - 1
    if isinstance(params, Params):
        return [Body.of(scene, params)] * max(gaps, 1)
    if len(params) != gaps:
        raise BadInput(f"{len(params)} Params for {gaps} gaps between frames.", fix="Give one for each gap.")
    return [Body.of(scene, p) for p in params]


def march(
    body: list[Body], state: State, time: np.ndarray, *, steps: int, integrator: Integrator, solver: Solver,
    tape: list[Record] | None = None,
) -> Track:  # fmt: skip
    """`rollout`, with every step written down on `tape`."""
    time = np.asarray(time, float)
    if integrator not in SHARE:
        raise BadInput(f"'{integrator}' is not an integrator.", fix=guess(integrator, list(SHARE)))
    if len(time) < 1 or np.any(np.diff(time) <= 0) or steps < 1:
        raise BadInput("the times of a rollout must ascend, with at least one step between.", fix="Sort the time stamps.")
    for scene in {id(b.scene): b.scene for b in body}.values():
        if state.position.shape != scene.node.shape or len(state.anchor) != len(scene.touching):
            raise BadInput("state and scene are of different meshes.", fix="Make the state by start(scene, ...).")
    factors: dict[float, Factor] = {}
    frames, iterations, fallbacks, status = [state], 0, 0, Status.CONVERGED
    for gap, now_body in zip(np.diff(time), body, strict=False):
        share = SHARE[integrator]
        stage = Stage(share, round(share * float(gap) / steps, 15))  # gaps equal but for round-off share a factor
        if solver.method == "projective" and stage.length not in factors:
            factors[stage.length] = stage.factor(now_body)  # others of the same length begin from it, too: it need not be exact
        now = frames[-1]
        factor = factors.get(stage.length)
        for _ in range(steps):
            after, solution = stage.advance(now_body, now, factor, solver)
            iterations, fallbacks, status = iterations + solution.iterations, fallbacks + solution.fell_back, solution.status
            if status is not Status.CONVERGED:
                break
            if tape is not None:
                tape.append(Record(now_body, stage, now, solution.position, factor))
            now = after
        if status is not Status.CONVERGED:
            break
        frames.append(now)
    x, v = (np.stack([getattr(f, name) for f in frames]) for name in ("position", "velocity"))
    return Track(time[: len(frames)], x, v, frames[-1], status, iterations, fallbacks)
