"""From a start to a track: frames on the video's clock, whole steps between them.

A step of length h solves one stage at the share theta of it, tau = theta h:

    x_s = x + tau v_s,   v_s = v + tau a(x_s, v_s),   x' = x + h v_s,   v' = v + (v_s - v) / theta

theta = 1 is implicit Euler: first order, and it damps vibrations numerically by some omega h / 2 of critical, which must not be read as
the material's. theta = 1/2 is the implicit midpoint rule: second order, symplectic, no numerical damping, and it keeps linear and
angular momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from video2phys.errors import BadInput, guess
from video2phys.simulate.fem.contact import Plane
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.scene import Params, Scene, State
from video2phys.simulate.fem.solver import Factor, Solution, Solver, Status, minimise
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

    def _coefficients(self, body: Body) -> dict[str, float]:
        p, tau = body.params, self.length
        return {"inertia": 1 / tau**2, "drag": p.mass_damping / tau, "viscous": p.stiffness_damping / tau}

    def factor(self, body: Body) -> Factor:
        """The constant matrix of steps of this length, factorised."""
        return Factor(body, **self._coefficients(body))

    def potential(self, body: Body, state: State) -> Potential:
        """What the stage minimises."""
        scene, p, x = body.scene, body.params, state.position
        ahead = x + self.length * state.velocity
        if p.stiffness_damping:
            F0, G = body.gradients(x), body.gradients(ahead)
        else:
            F0 = G = np.zeros((*scene.quadrature.volume.shape, 3, 3))
        plane = None
        if scene.normal is not None:
            depth = np.maximum(p.offset - x[scene.touching] @ scene.normal, 0.0)
            plane = Plane(scene.normal, p.offset, scene.contact_stiffness, p.friction * depth, state.anchor)
        return Potential(
            body, x, ahead, before=np.ascontiguousarray(F0), ahead=np.ascontiguousarray(G), plane=plane, **self._coefficients(body)
        )

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


Record = tuple[Stage, State, np.ndarray]


def rollout(
    params: Params, scene: Scene, state: State, time: np.ndarray, *, steps: int = 1, integrator: Integrator = "midpoint",
    solver: Solver = Solver(),  # noqa: B008  (frozen)
) -> Track:  # fmt: skip
    """Simulate from time[0] to time[-1], `steps` equal steps between frames (T,) [s], keeping every frame.

    Ends at the last frame reached where a step does not converge; `status` says so. Raises BadInput where state and scene do not
    belong together, or times do not ascend.
    """
    return march(Body.of(scene, params), state, time, steps=steps, integrator=integrator, solver=solver)


def march(
    body: Body, state: State, time: np.ndarray, *, steps: int, integrator: Integrator, solver: Solver, tape: list[Record] | None = None
) -> Track:  # fmt: skip
    """`rollout`, with every step written down on `tape`."""
    time = np.asarray(time, float)
    if integrator not in SHARE:
        raise BadInput(f"'{integrator}' is not an integrator.", fix=guess(integrator, list(SHARE)))
    if len(time) < 1 or np.any(np.diff(time) <= 0) or steps < 1:
        raise BadInput("the times of a rollout must ascend, with at least one step between.", fix="Sort the time stamps.")
    if state.position.shape != body.scene.node.shape or len(state.anchor) != len(body.scene.touching):
        raise BadInput("state and scene are of different meshes.", fix="Make the state by start(scene, ...).")
    factors: dict[float, Factor] = {}
    frames, iterations, fallbacks, status = [state], 0, 0, Status.CONVERGED
    for gap in np.diff(time):
        stage = Stage(
            SHARE[integrator], round(SHARE[integrator] * float(gap) / steps, 15)
        )  # frame gaps equal but for round-off share a factor
        if solver.method == "projective" and stage.length not in factors:
            factors[stage.length] = stage.factor(body)
        now = frames[-1]
        for _ in range(steps):
            after, solution = stage.advance(body, now, factors.get(stage.length), solver)
            iterations, fallbacks, status = iterations + solution.iterations, fallbacks + solution.fell_back, solution.status
            if status is not Status.CONVERGED:
                break
            if tape is not None:
                tape.append((stage, now, solution.position))
            now = after
        if status is not Status.CONVERGED:
            break
        frames.append(now)
    x, v = (np.stack([getattr(f, name) for f in frames]) for name in ("position", "velocity"))
    return Track(time[: len(frames)], x, v, frames[-1], status, iterations, fallbacks)
