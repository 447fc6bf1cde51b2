"""Bodies at rest under weight and loads, and the derivatives of where they rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.gradient import Gradient, Sums
from video2phys.simulate.fem.parts import Solid
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.scene import Params, Scene, State, start
from video2phys.simulate.fem.solver import Solution, Solver, Status, direct, minimise

REST = Solver(method="newton", relative=1e-10)


def equilibrium(
    params: Params, scene: Scene, state: State | None = None, solver: Solver = REST
) -> tuple[Solution, Callable[[np.ndarray], Gradient]]:
    """Where the body comes to rest, searched from `state` (by default undeformed), and its pullback.

    Minimises energies - force . x, clamped nodes held; plane and air are left out: rest in them by a damped rollout.
    pullback(d_position (V, 3)) takes the derivatives of a loss by the positions to those by parameters (and by clamped positions) by
    one solve with the true Hessian. Raises BadInput where nothing is clamped, and when a solution that did not converge is pulled back.
    """
    least = 3 if any(isinstance(part, Solid) for part in scene.parts) else 1  # a chain hangs on one
    if np.unique(scene.node[scene.clamped], axis=0).shape[0] < least:
        raise BadInput("nothing holds this body: it has no place of rest.", fix=f"Clamp {least} of its nodes or more.")
    body, x = Body.of(scene, params), (start(scene) if state is None else state).position
    potential = Potential.at_rest(body, x)
    solution = minimise(potential, x, None, solver, float(np.linalg.norm(body.force)))

    def pullback(d_position: np.ndarray) -> Gradient:
        if solution.status is not Status.CONVERGED:
            raise BadInput(f"there is no derivative: {solution.status.value}.", fix="Apply the load in smaller parts.")
        sums = Sums(body)
        blocks = potential.blocks(solution.position)
        z = direct(potential, blocks, d_position)
        sums.add(potential, solution.position, z)
        held = scene.clamped[:, None]
        d_x = np.where(held, d_position - potential.product(blocks, z), 0.0)
        return Gradient((sums.params(),), State(d_x, np.zeros_like(d_x), np.zeros((len(scene.touching), 3))))

    return solution, pullback
