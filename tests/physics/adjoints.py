"""Adjoints of implicit rollouts against central differences, for tests of solids, cloth and actuators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from video2phys.simulate.fem.gradient import differentiable
from video2phys.simulate.fem.rollout import rollout
from video2phys.simulate.fem.scene import Params, Scene, State, start
from video2phys.simulate.fem.solver import Solver, Status
from video2phys.simulate.fem.statics import equilibrium

EXACT = Solver(absolute=2e-13, relative=1e-12, iterations=400)
SIZES = {
    "youngs_modulus": 1e5, "poisson_ratio": 0.3, "density": 1000.0, "gravity": 10.0, "load": 0.1, "mass_damping": 1.0,
    "stiffness_damping": 1e-2, "offset": 0.05, "friction": 0.3, "position": 0.02, "velocity": 1.0, "anchor": 0.01, "air": 1.0, "wind": 3.0,
}  # fmt: skip


def elastic(scene: Scene, *, youngs_modulus, poisson_ratio, density=1000.0, **rest) -> Params:
    """Of a scene of one solid."""
    return Params.of(scene, scene.parts[0].material(youngs_modulus=youngs_modulus, poisson_ratio=poisson_ratio, density=density), **rest)


def owners(params: Params, state: State, grad_params: Params, grad_state: State):
    """What holds values, its derivatives, and how a changed one is put back: (params, state) of it."""
    yield params, grad_params, lambda p: (p, state)
    yield state, grad_state, lambda s: (params, s)
    for k, (material, d) in enumerate(zip(params.material, grad_params.material, strict=True)):

        def put(m, k=k):
            return replace(params, material=(*params.material[:k], m, *params.material[k + 1 :])), state

        yield material, d, put


def compare(
    gradient, loss: Callable[[Params, State], float], params: Params, state: State, *, skip=(), rel=1e-5, sizes=SIZES
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """Derivatives along random directions against fourth-order central differences; both by name, times the size of what they are by."""
    rng, checked = np.random.default_rng(5), {}
    for owner, grad, put in owners(params, state, gradient.params[0], gradient.start):
        for name, value in vars(owner).items():
            if name in (*skip, "material") or np.size(value) == 0:
                continue
            d, h = rng.normal(size=np.shape(value)), 2e-5 * sizes[name]
            got = float((getattr(grad, name) * d).sum())

            def at(k, owner=owner, name=name, value=value, d=d, h=h, put=put):
                return loss(*put(replace(owner, **{name: value + k * h * d})))

            want = (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h)
            checked[name] = got * sizes[name], want * sizes[name]
    scale = max(abs(want) for _, want in checked.values())
    for name, (got, want) in checked.items():
        assert abs(got - want) <= rel * max(abs(want), 1e-4 * scale), (name, got, want)
    return checked


def through_time(
    scene: Scene, params: Params, state: State, time, *, steps=1, integrator="midpoint", skip=(), solver=EXACT, rel=1e-5, sizes=SIZES
):  # fmt: skip
    """`compare` for a random loss of positions and velocities of a whole track; also returns the track."""
    rng = np.random.default_rng(6)
    track, pullback = differentiable(params, scene, state, time, steps=steps, integrator=integrator, solver=solver)
    assert track.status is Status.CONVERGED and track.fallbacks == 0
    a, b = rng.normal(size=track.position.shape), 0.01 * rng.normal(size=track.velocity.shape)

    def loss(p, s):
        t = rollout(p, scene, s, time, steps=steps, integrator=integrator, solver=solver)
        return float((a * t.position).sum() + (b * t.velocity).sum())

    return compare(pullback(a, b), loss, params, state, skip=skip, rel=rel, sizes=sizes), track


def at_rest(scene: Scene, params: Params, *, skip=(), solver=EXACT, sizes=SIZES) -> dict[str, tuple[float, float]]:
    """`compare` for a random loss of the place of rest."""
    solution, pullback = equilibrium(params, scene, solver=solver)
    assert solution.status is Status.CONVERGED
    a = np.random.default_rng(1).normal(size=scene.node.shape)

    def loss(p, s):
        return float((a * equilibrium(p, scene, s, solver=solver)[0].position).sum())

    unused = ("mass_damping", "stiffness_damping", "velocity", "position", "air", "wind")
    return compare(pullback(a), loss, params, start(scene), skip=(*unused, *skip), sizes=sizes)
