"""The adjoint of finite elements against central differences, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from adjoints import EXACT, SIZES, at_rest, elastic, through_time
from stretches import TURN, each_stretch

from video2phys.errors import BadInput
from video2phys.simulate.fem.gradient import differentiable
from video2phys.simulate.fem.mesh import hexahedra, quadratic, tetrahedra
from video2phys.simulate.fem.parts import LAWS, Solid
from video2phys.simulate.fem.rollout import rollout
from video2phys.simulate.fem.scene import State, build, start
from video2phys.simulate.fem.solver import Solver, Status

FREE = ("offset", "friction")  # what a body in flight does not tell


def body(law, mesh=hexahedra, *, clamped=False, normal=None):
    """A small irregular body."""
    node, element = mesh((2, 1, 2), (0.06, 0.03, 0.05))
    node = node + np.random.default_rng(3).uniform(-2e-3, 2e-3, node.shape)
    held = node[:, 0] < 0.01 if clamped else None
    return build(node, Solid.of(node, element, law=law), clamped=held, normal=normal, contact_stiffness=None if normal is None else 3e6)


def second_order(counts, size):
    """One element is enough: all of its points differ."""
    return quadratic(*hexahedra((1, 1, 1), size))


def stuff(scene, **kwargs):
    rng, E = np.random.default_rng(4), len(scene.parts[0].share)
    return elastic(scene, **{
        "youngs_modulus": 8e4 * rng.uniform(0.8, 1.2, E), "poisson_ratio": rng.uniform(0.25, 0.35, E),
        "density": rng.uniform(800, 1200, E), "gravity": (0.5, -0.3, -9.81), "load": rng.normal(0, 0.02, scene.node.shape),
        "mass_damping": 0.4, "stiffness_damping": 2e-3, "air": 0.8, "wind": (2.0, 1, -1), **kwargs,
    })  # fmt: skip


def affine(state, F):
    return State(state.position @ np.asarray(F).T, state.velocity, state.anchor)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mesh", [hexahedra, tetrahedra, second_order])
@pytest.mark.parametrize("integrator", ["midpoint", "euler"])
def test_one_step_from_rest(law, mesh, integrator):
    """From F = I, where the derivative of a singular value decomposition does not exist."""
    scene = body(law, mesh)
    through_time(scene, stuff(scene), start(scene), np.array([0, 5e-3]), integrator=integrator, skip=FREE)


@pytest.mark.parametrize("law", LAWS)
@each_stretch
def test_one_step_deformed(law, F):
    scene = body(law)
    state = affine(start(scene, velocity=(0.3, 0.1, -0.2), angular_velocity=(3.0, -2, 4)), F)
    through_time(scene, stuff(scene), state, np.array([0, 5e-3]), skip=FREE)


@pytest.mark.parametrize("law", LAWS)
def test_forces_vanish_and_derivatives_hold_exactly_at_a_pure_rotation(law):
    """The stage itself at a rotation: no weight, no velocity, so that F stays a rotation through the step."""
    scene = body(law)
    params = stuff(scene, gravity=(0, 0, 0), load=(0, 0, 0), mass_damping=0.0, stiffness_damping=0.0, air=0.0)
    state = start(scene, rotation=TURN)
    track = rollout(params, scene, state, np.array([0, 5e-3]), solver=EXACT)
    assert np.abs(track.position[-1] - state.position).max() < 1e-13
    skip = (*FREE, "mass_damping", "stiffness_damping", "air", "wind")
    through_time(scene, params, state, np.array([0, 5e-3]), skip=skip)


@pytest.mark.parametrize("integrator", ["midpoint", "euler"])
@pytest.mark.parametrize("friction", [0.05, 5.0], ids=["slides", "sticks"])
@pytest.mark.parametrize("mesh", [hexahedra, second_order])
def test_contact(integrator, friction, mesh):
    """Pressed onto a tilted plane, sliding and stuck; a step at rest on the plane carries the friction force."""
    normal = np.array([0.1, -0.2, 1.0])
    scene = body("fixed corotated", mesh, normal=normal)
    params = stuff(scene, friction=friction, offset=float((scene.node @ scene.normal).min()) + 1e-3)
    state = start(scene, velocity=(0.3, 0.1, -0.3))
    checked, _ = through_time(scene, params, state, np.arange(5) * 2e-3, integrator=integrator)
    assert abs(checked["offset"][1]) > 1e-3
    assert abs(checked["friction"][1]) > 1e-5 or friction > 1


def test_whole_rollout():
    """Fall, impact with friction and rebound over several frames with unequal gaps."""
    scene = body("fixed corotated", normal=np.array([0.1, 0.0, 1.0]))
    params = stuff(scene, friction=0.3, offset=-0.012)
    time = np.array([0, 0.02, 0.05, 0.06])
    near = SIZES | {"offset": 0.005}  # differences so small that no node begins to touch amid them, where derivatives jump
    checked, track = through_time(scene, params, start(scene, velocity=(0.4, 0.1, -0.5)), time, steps=8, sizes=near)
    depth = params.offset - track.position @ scene.normal
    assert depth[0].max() < 0 and depth[1:].max() > 0 and abs(checked["friction"][1]) > 1e-4


def test_clamped_rollout():
    """Derivatives by where the clamp holds, too."""
    scene = body("neo-Hookean", clamped=True)
    state = start(scene)
    checked, _ = through_time(scene, stuff(scene), state, np.arange(4) * 5e-3, steps=2, skip=(*FREE, "velocity"))
    assert len(checked) == 10


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mesh", [hexahedra, tetrahedra, second_order])
def test_equilibrium(law, mesh):
    scene = body(law, mesh, clamped=True)
    at_rest(scene, stuff(scene), skip=FREE, solver=Solver(method="newton", absolute=2e-13, relative=1e-12))


def test_the_direct_solve_takes_over():
    """With one iteration allowed to conjugate gradients the adjoint is as exact."""
    scene = body("fixed corotated", clamped=True)
    params, time = stuff(scene), np.array([0, 0.01])
    one = Solver(absolute=2e-13, relative=1e-12, iterations=1)
    a = np.random.default_rng(1).normal(size=(2, *scene.node.shape))
    (track, pullback), (_, exact) = (differentiable(params, scene, start(scene), time, solver=s) for s in (one, EXACT))
    assert track.fallbacks == 1
    assert np.allclose(pullback(a).params[0].material[0].youngs_modulus, exact(a).params[0].material[0].youngs_modulus, rtol=1e-8)


def test_a_rollout_that_failed_has_no_derivative():
    scene = body("fixed corotated", clamped=True)
    track, pullback = differentiable(
        stuff(scene), scene, start(scene), np.arange(3) * 0.1, solver=Solver(absolute=0, relative=1e-14, iterations=1, newton_iterations=1)
    )
    assert track.status is Status.NOT_CONVERGED and len(track.time) == 1 and np.isfinite(track.position).all()
    with pytest.raises(BadInput, match="did not reach its tolerance"):
        pullback(np.zeros((3, *scene.node.shape)))
