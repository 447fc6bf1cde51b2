"""Gas, cables and muscles against closed forms of shells, beams and bars; derivatives by the drive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from adjoints import EXACT, SIZES, at_rest, through_time

from video2phys.errors import BadInput
from video2phys.simulate.fem.actuators import Cable, Muscle, Pressure
from video2phys.simulate.fem.gradient import differentiable
from video2phys.simulate.fem.mesh import hexahedra, outer, quadratic, tetrahedra, triangles
from video2phys.simulate.fem.parts import Solid
from video2phys.simulate.fem.rollout import rollout
from video2phys.simulate.fem.scene import Params, build, start
from video2phys.simulate.fem.slender import Sheet
from video2phys.simulate.fem.solver import Solver, Status
from video2phys.simulate.fem.statics import equilibrium

E, NU = 2e5, 0.3
NEWTON = Solver(method="newton", absolute=EXACT.absolute, relative=EXACT.relative)  # of few nodes: soonest exact


def tube(around, along, r, L):
    """Nodes and triangles of a cylinder about z, seen from outside."""
    flat, triangle = triangles((around, along), (2 * np.pi * r, L))
    wrap = np.arange(len(flat)) % ((along + 1) * around)
    node = flat[: (along + 1) * around]
    a = node[:, 0] / r
    return np.stack([r * np.cos(a), r * np.sin(a), node[:, 1]], 1), wrap[triangle]


def test_a_tube_under_pressure_widens_as_a_thin_shell():
    """p r^2 (1 - nu^2) / E h far from its ends, which are held apart."""
    r, L, h, p = 0.05, 0.3, 1e-3, 2.0
    node, triangle = tube(32, 24, r, L)
    held = (node[:, 2] < 1e-9) | (node[:, 2] > L - 1e-9)
    sheet, gas = Sheet.of(node, triangle), Pressure.of(node, triangle, clamped=held)
    scene = build(node, sheet, gas, clamped=held)
    stuff = sheet.material(youngs_modulus=E, poisson_ratio=NU, thickness=h, bending=1e-6)
    solution, _ = equilibrium(Params.of(scene, stuff, gas.material(pressure=p), gravity=(0, 0, 0)), scene)
    assert solution.status is Status.CONVERGED
    middle = np.abs(node[:, 2] - L / 2) < 0.2 * L
    wider = np.linalg.norm(solution.position[middle, :2], axis=1).mean() - r
    assert wider == pytest.approx(p * r**2 * (1 - NU**2) / (E * h), rel=0.02)


def balloon(n):
    """A sphere of radius 1: a cube's surface of n x n squares a face, blown up."""
    node, element = hexahedra((n, n, n), (2.0, 2.0, 2.0))
    quads = outer(element)
    used, faces = np.unique(quads, return_inverse=True)
    faces = faces.reshape(quads.shape)
    at = np.tan((node[used] - 1) * np.pi / 4)
    return at / np.linalg.norm(at, axis=1)[:, None], faces[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)


def test_a_balloon_widens_as_a_thin_shell():
    """p r^2 (1 - nu) / 2 E h, in free flight, when its breathing has died away."""
    r, h, p = 0.1, 1e-3, 5.0
    node, triangle = balloon(6)
    node = r * node
    sheet, gas = Sheet.of(node, triangle), Pressure.of(node, triangle)
    scene = build(node, sheet, gas)
    stuff = sheet.material(youngs_modulus=E, poisson_ratio=NU, thickness=h, bending=1e-6)
    params = Params.of(scene, stuff, gas.material(pressure=p), gravity=(0, 0, 0), mass_damping=50.0)
    track = rollout(params, scene, start(scene), np.linspace(0, 2.0, 11), integrator="euler")
    assert track.status is Status.CONVERGED
    wider = np.linalg.norm(track.position[-1] - track.position[-1].mean(0), axis=1).mean() - r
    assert wider == pytest.approx(p * r**2 * (1 - NU) / (2 * E * h), rel=0.03)
    assert gas.energies[0].volume(node) == pytest.approx(4 / 3 * np.pi * r**3, rel=0.03)


def test_pressure_all_around_compresses_a_block_by_its_bulk_modulus():
    """Volume strain -3 p (1 - 2 nu) / E from -p on the outer surface; forces of a closed surface have no sum."""
    node, element = tetrahedra((2, 2, 2), (0.05, 0.04, 0.03))
    block, gas = Solid.of(node, element), Pressure.of(node, outer(element))
    scene, p = build(node, block, gas), 1e-4 * E
    stuff = block.material(youngs_modulus=E, poisson_ratio=NU)
    params = Params.of(scene, stuff, gas.material(pressure=-p), gravity=(0, 0, 0), mass_damping=300.0)
    track = rollout(params, scene, start(scene), np.linspace(0, 0.5, 11), integrator="euler", solver=Solver(relative=1e-6))
    assert track.status is Status.CONVERGED
    volume = gas.energies[0].volume(track.position[-1]) / gas.energies[0].volume(node)
    assert volume - 1 == pytest.approx(-3 * p * (1 - 2 * NU) / E, rel=0.01)
    assert np.abs(track.position[-1].mean(0) - node.mean(0)).max() < 1e-12


def beam(counts=(30, 5, 5), size=(0.2, 0.02, 0.02)):
    node, element = hexahedra(counts, size)
    return node, element, Solid.of(node, element), node[:, 0] < 1e-9


def test_a_cable_along_the_top_bends_a_beam_by_its_moment():
    """T e acts along the beam: its end rises by T e L^2 / 2 E I, e half the height, and the axis shortens by T / E A."""
    (L, side), T = (0.2, 0.02), 2e-4
    node, _, body, held = beam()
    top = node[:, 2] > side - 1e-9
    paths = [np.flatnonzero(top & (np.abs(node[:, 1] - f * side) < 1e-9)) for f in (0.4, 0.6)]
    cables = [Cable.of(node, path[np.argsort(node[path, 0])]) for path in paths]
    scene = build(node, body, *cables, clamped=held)
    stuff = body.material(youngs_modulus=E, poisson_ratio=0.0)
    pulls = [c.material(tension=T / 2) for c in cables]
    solution, _ = equilibrium(Params.of(scene, stuff, *pulls, gravity=(0, 0, 0)), scene)
    assert solution.status is Status.CONVERGED
    end = node[:, 0] > L - 1e-9
    moved = (solution.position - node)[end]
    assert moved[:, 2].mean() == pytest.approx(T * side / 2 * L**2 / (2 * E * side**4 / 12), rel=0.06)
    assert moved[:, 0].mean() == pytest.approx(-T * L / (E * side**2), rel=0.02)


@pytest.mark.parametrize("second_order", [False, True])
def test_a_muscle_and_the_flesh_around_it_share_a_length(second_order):
    """E (s - 1) = k (a - s) along a bar whose Poisson ratio is zero: s = (E + k a) / (E + k)."""
    k, a = 3e5, 0.99
    node, element = hexahedra((3, 1, 1) if second_order else (6, 2, 2), (0.2, 0.02, 0.02))
    node, element = quadratic(node, element) if second_order else (node, element)
    body, held = Solid.of(node, element), node[:, 0] < 1e-9
    muscle = Muscle.of(node, element, fibre=(1, 0, 0))
    scene = build(node, body, muscle, clamped=held)
    parts = body.material(youngs_modulus=E, poisson_ratio=0.0), muscle.material(stiffness=k, length=a)
    solution, _ = equilibrium(Params.of(scene, *parts, gravity=(0, 0, 0)), scene)
    assert solution.position[:, 0].max() / 0.2 == pytest.approx((E + k * a) / (E + k), rel=1e-9)


DRIVES = SIZES | {"pressure": 100.0, "tension": 0.05, "stiffness": 1e5, "length": 1.0}


def driven(*, normal=None, clamped=False):
    """A small irregular body with gas on its outside, a cable through it, and muscles in it."""
    rng = np.random.default_rng(3)
    node, element = tetrahedra((2, 1, 2), (0.06, 0.03, 0.05))
    node = node + rng.uniform(-2e-3, 2e-3, node.shape)
    parts = (
        Solid.of(node, element), Pressure.of(node, outer(element)), Cable.of(node, np.array([0, 9, 17, 10])),
        Muscle.of(node, element[:8], fibre=rng.normal(size=(8, 3))),
    )  # fmt: skip
    stiff = {} if normal is None else {"normal": normal, "contact_stiffness": 3e6}
    scene = build(node, *parts, clamped=node[:, 0] < 0.01 if clamped else None, **stiff)
    body, gas, cable, muscle = parts
    params = Params.of(
        scene, body.material(youngs_modulus=8e4, poisson_ratio=0.3), gas.material(pressure=-300.0), cable.material(tension=0.3),
        muscle.material(stiffness=4e4 * rng.uniform(0.8, 1.2, 8), length=0.9), gravity=(0.5, -0.3, -9.81), mass_damping=0.4,
        stiffness_damping=2e-3, air=0.8, wind=(2.0, 1, -1), load=rng.normal(0, 0.02, node.shape),
    )  # fmt: skip
    return scene, params


@pytest.mark.parametrize("integrator", ["midpoint", "euler"])
def test_derivatives_of_one_step(integrator):
    scene, params = driven()
    state = start(scene, velocity=(0.3, 0.1, -0.2), angular_velocity=(3.0, -2, 4))
    time, skip = np.array([0, 5e-3]), ("offset", "friction")
    checked, _ = through_time(scene, params, state, time, integrator=integrator, skip=skip, solver=NEWTON, sizes=DRIVES)
    assert {"pressure", "tension", "stiffness", "length"} <= set(checked)


def test_derivatives_of_a_rollout_with_contact():
    scene, params = driven(normal=np.array([0.1, 0.0, 1.0]))
    params = replace(params, friction=0.3, offset=-0.008)
    state = start(scene, velocity=(0.4, 0.1, -0.5))
    _, track = through_time(scene, params, state, np.arange(3) * 0.012, steps=2, solver=NEWTON, sizes=DRIVES)
    depth = params.offset - track.position @ scene.normal
    assert depth[0].max() < 0 < depth[1:].max()


def test_derivatives_of_a_place_of_rest():
    scene, params = driven(clamped=True)
    at_rest(scene, params, skip=("offset", "friction"), solver=NEWTON, sizes=DRIVES)


def test_derivatives_by_a_drive_that_changes_in_time():
    """One Params a gap; each gap's pull, wind and length of muscle against central differences."""
    scene, base = driven(clamped=True)
    body, gas, _, muscle = base.material
    drive = np.array([[0.1, 1.0], [0.5, 0.9], [0.0 + 0.2, 0.8]])

    def script(values):
        pull, length = type(base.material[2]), type(muscle)
        return [replace(base, material=(body, gas, pull(t), length(muscle.stiffness, a))) for t, a in values]

    time, state = np.arange(4) * 8e-3, start(scene)
    track, pullback = differentiable(script(drive), scene, state, time, steps=2, solver=NEWTON)
    assert track.status is Status.CONVERGED
    a = np.random.default_rng(1).normal(size=track.position.shape)
    gradient = pullback(a)
    got = np.array([[d.material[2].tension, d.material[3].length] for d in gradient.params])
    want = np.zeros_like(drive)
    for k in np.ndindex(*drive.shape):
        h = np.zeros_like(drive)
        h[k] = 1e-5
        up, down = (float((a * rollout(script(drive + s * h), scene, state, time, steps=2, solver=NEWTON).position).sum()) for s in (1, -1))
        want[k] = (up - down) / 2e-5
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max(0).min()


def test_what_cannot_drive_is_refused():
    node, triangle = triangles((2, 2), (1.0, 1.0))
    with pytest.raises(BadInput, match="open"):
        Pressure.of(node, triangle)
    with pytest.raises(BadInput, match="flat"):
        Cable.of(node, np.array([0, 0]))
    scene, params = driven()
    pushed = replace(params, material=(*params.material[:2], type(params.material[2])(np.asarray(-1.0)), params.material[3]))
    with pytest.raises(BadInput, match="tension"):
        rollout(pushed, scene, start(scene), np.array([0, 0.01]))
    with pytest.raises(BadInput, match="2 Params for 1 gaps"):
        rollout([params, params], scene, start(scene), np.array([0, 0.01]))
