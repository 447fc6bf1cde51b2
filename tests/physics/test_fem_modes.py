"""Hexahedra of second order near nu = 0.5, and the natural modes of a clamped beam, against closed forms and the time integrator."""

from __future__ import annotations

import numpy as np
import pytest
from adjoints import elastic
from scipy.optimize import least_squares

from video2phys.errors import BadInput
from video2phys.simulate.fem.mesh import Facets, hexahedra, outer, quadratic, tetrahedra
from video2phys.simulate.fem.modes import modes
from video2phys.simulate.fem.parts import Solid
from video2phys.simulate.fem.quadrature import shape
from video2phys.simulate.fem.rollout import rollout
from video2phys.simulate.fem.scene import State, build, node_mass
from video2phys.simulate.fem.solver import Solver
from video2phys.simulate.fem.statics import equilibrium

E, RHO, L, SIDE = 2e5, 1000.0, 0.2, 0.02
OMEGA = 1.87510407**2 * np.sqrt(E * SIDE**2 / 12 / (RHO * L**4))


def beam(counts, second_order=True):
    node, element = hexahedra(counts, (L, SIDE, SIDE))
    if second_order:
        node, element = quadratic(node, element)
    return build(node, Solid.of(node, element), clamped=node[:, 0] < 1e-9)


@pytest.mark.parametrize("n", [4, 8, 27])
def test_shape_functions_repeat_linear_fields_and_their_slopes(n):
    node, element = tetrahedra((1, 1, 1), (1, 2, 3)) if n == 4 else hexahedra((1, 1, 1), (1, 2, 3))
    node, element = quadratic(node, element) if n == 27 else (node, element)
    at = np.random.default_rng(0).uniform(0, 0.3, (5, 3))
    value, local = shape(at, n)
    x = node[element[0]]
    np.testing.assert_allclose(value.sum(1), 1, atol=1e-14)
    h = 1e-6
    for k in range(3):
        moved = shape(at + h * np.eye(3)[k], n)[0] @ x - shape(at - h * np.eye(3)[k], n)[0] @ x
        np.testing.assert_allclose(np.einsum("qn,nx->qx", local[..., k], x), moved / (2 * h), rtol=1e-7, atol=1e-8)


def test_the_surface_of_a_box_of_second_order_has_its_area_and_faces_outwards():
    node, element = quadratic(*hexahedra((3, 2, 2), (3.0, 2, 1)))
    facets = Facets(outer(element), 1.0)
    area, vector = facets.share(node), facets.vector(node)
    assert len(node) == 7 * 5 * 5 and area.sum() == pytest.approx(22.0) and np.count_nonzero(area) == 7 * 5 * 5 - 5 * 3 * 3
    outwards = node[facets.index].mean(1) - node.mean(0)
    assert (vector * outwards).sum() / 3 == pytest.approx(6.0) and ((vector * outwards).sum(1) > 0).all()
    with pytest.raises(BadInput, match="want"):
        quadratic(*tetrahedra((1, 1, 1), (1, 1, 1)))


def test_second_order_does_not_lock_where_first_order_does():
    """Timoshenko's sag under weight at nu = 0.499, of which the clamp, which keeps the section's shape, takes some 3 %."""
    nu, g = 0.499, 0.02
    shear = E / (2 * (1 + nu)) * 10 * (1 + nu) / (12 + 11 * nu)
    q = RHO * SIDE**2 * g
    want = q * L**4 / (8 * E * SIDE**4 / 12) + q * L**2 / (2 * shear * SIDE**2)

    def sag(scene):
        params = elastic(scene, youngs_modulus=E, poisson_ratio=nu, density=RHO, gravity=(0, 0, -g))
        moved = equilibrium(params, scene)[0].position - scene.node
        return -moved[scene.node[:, 0] > L - 1e-9, 2].mean()

    coarse, fine = sag(beam((10, 1, 1))), sag(beam((20, 2, 2)))
    assert coarse == pytest.approx(fine, rel=0.015) and fine == pytest.approx(want, rel=0.04)
    assert sag(beam((20, 2, 2), second_order=False)) < 0.5 * want  # as many nodes


def test_a_beam_vibrates_at_its_frequencies():
    """Euler and Bernoulli's, lower by shear and rotation, some 1 % at this slenderness; bends both ways alike."""
    scene = beam((10, 1, 1))
    params = elastic(scene, youngs_modulus=E, poisson_ratio=0.0, density=RHO, gravity=(0, 0, 0), mass_damping=0.8, stiffness_damping=2e-3)
    found = modes(params, scene, scene.node, 4)
    assert 0.98 < 2 * np.pi * found.frequency[0] / OMEGA < 1.0
    assert found.frequency[1] == pytest.approx(found.frequency[0], rel=1e-6)
    mass = node_mass(scene, params)
    overlap = np.einsum("jvx,v,kvx->jk", found.shape, mass, found.shape)
    np.testing.assert_allclose(overlap, np.eye(4), atol=1e-8)
    omega = 2 * np.pi * found.frequency
    np.testing.assert_allclose(found.damping_ratio, 0.4 / omega + 1e-3 * omega, rtol=1e-12)


def test_a_mode_is_what_the_midpoint_rule_tends_to():
    """A beam let go in its first mode: displacement q0 cos(omega t) shape, the period longer by (omega h)^2 / 24."""
    scene = beam((4, 1, 1))
    params = elastic(scene, youngs_modulus=E, poisson_ratio=0.45, density=RHO, gravity=(0, 0, 0))
    first = modes(params, scene, scene.node, 1)
    shape = first.shape[0] * (1e-4 / np.abs(first.shape[0]).max())
    T = 1 / first.frequency[0]
    steps = 32
    state = State(scene.node + shape, np.zeros_like(shape), np.zeros((0, 3)))
    exact = Solver(method="newton", relative=1e-9)
    track = rollout(params, scene, state, np.array([0, T / 4]), steps=steps // 4, solver=exact)
    phase = np.pi / 2 - (2 * np.pi / steps) ** 3 / 12 * steps / 4  # arctan: the midpoint rule lags by (omega h)^3 / 12 a step
    moved = (track.position[-1] - scene.node).ravel() @ shape.ravel() / (shape.ravel() @ shape.ravel())
    assert moved == pytest.approx(np.cos(phase), abs=2e-4)


def test_a_strained_body_that_keeps_its_volume_is_damped_by_its_ratio():
    """A short beam at nu = 0.499 let go under its weight: strains of some per cent times a bulk modulus 500 times the shear modulus."""
    node, element = quadratic(*hexahedra((3, 1, 1), (0.1, 0.03, 0.03)))
    scene = build(node, Solid.of(node, element, law="neo-Hookean"), clamped=node[:, 0] < 1e-9)
    params = elastic(scene, youngs_modulus=3e5, poisson_ratio=0.499, density=RHO, gravity=(0, 0, -9.81), stiffness_damping=2e-3)
    rest = equilibrium(params, scene)[0].position
    first = modes(params, scene, rest, 1)
    time = np.arange(40) * 0.01
    state = State(scene.node, np.zeros_like(scene.node), np.zeros((0, 3)))
    track = rollout(params, scene, state, time, steps=2, solver=Solver(method="newton", relative=1e-6))
    height = (track.position - rest)[:, scene.node[:, 0] > 0.1 - 1e-9, 2].mean(1)

    def misfit(x):
        basis = np.exp(-x[1] * x[0] * time) * np.stack([np.cos(x[0] * time), np.sin(x[0] * time)])
        return height - np.linalg.lstsq(basis.T, height, rcond=None)[0] @ basis

    omega, ratio = least_squares(misfit, [2 * np.pi * first.frequency[0], 0.03], x_scale=[10, 0.01]).x
    assert omega / (2 * np.pi) == pytest.approx(first.frequency[0], rel=0.01)
    assert ratio == pytest.approx(first.damping_ratio[0], rel=0.05)


def test_nothing_vibrates_about_an_unstable_rest():
    """Pressed by 3 %, where it buckles at 0.2 % (Euler's pi^2 I / 4 A L^2)."""
    scene = beam((4, 1, 1))
    params = elastic(scene, youngs_modulus=E, poisson_ratio=0.3, density=RHO, gravity=(0, 0, 0))
    with pytest.raises(BadInput, match="stably"):
        modes(params, scene, scene.node * (0.97, 1, 1), 1)
