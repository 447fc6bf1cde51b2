"""Finite elements against closed forms of bars, beams and blocks, and their order of convergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from adjoints import elastic
from scipy.spatial.transform import Rotation

from video2phys.errors import BadInput
from video2phys.simulate.fem.factor import Factor
from video2phys.simulate.fem.mesh import Facets, hexahedra, outer, tetrahedra
from video2phys.simulate.fem.parts import LAWS, Solid
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.rollout import Track, rollout
from video2phys.simulate.fem.scene import State, build, start
from video2phys.simulate.fem.solver import Solver, Status
from video2phys.simulate.fem.statics import equilibrium

E, NU, RHO, G = 2e5, 0.3, 1000.0, 9.81
TIGHT = Solver(absolute=1e-10, relative=1e-8, iterations=400)


def beam(length=0.2, side=0.02, counts=(30, 4, 4), law="fixed corotated", mesh=hexahedra):
    node, element = mesh(counts, (length, side, side))
    return build(node, Solid.of(node, element, law=law), clamped=node[:, 0] < 1e-9)


def tip(scene):
    return scene.node[:, 0] > scene.node[:, 0].max() - 1e-9


def end_load(scene, force):
    """`force` (3,) [N] spread over the free end as over its area."""
    share = tip(scene) * np.prod([np.where(np.isin(c, [c.min(), c.max()]), 0.5, 1.0) for c in scene.node[:, 1:].T], axis=0)
    return np.outer(share / share.sum(), force)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mesh", [hexahedra, tetrahedra])
def test_the_factor_of_a_turned_body_inverts_its_second_derivative(law, mesh):
    scene = beam(0.12, 0.02, (6, 2, 2), law, mesh)
    body = Body.of(scene, elastic(scene, youngs_modulus=E, poisson_ratio=NU, gravity=(0, 0, 0)))
    factor = Factor(body, inertia=1e4, drag=3e3, viscous=0.0)
    x = start(scene, rotation=Rotation.from_rotvec([2.0, -1.0, 0.5]).as_matrix()).position
    potential = replace(Potential.at_rest(body, x), inertia=1e4, drag=3e3)
    z = np.where(scene.clamped[:, None], 0.0, np.random.default_rng(0).normal(size=x.shape))
    again = factor.at(x)(potential.product(potential.blocks(x), z))
    assert np.abs(again - z).max() < 1e-9
    assert np.abs(factor.at(scene.node)(potential.product(potential.blocks(x), z)) - z).max() > 0.1


@pytest.mark.parametrize("law", LAWS)
def test_a_beam_that_bends_far_takes_few_iterations(law):
    scene = beam(0.2, 0.02, (12, 2, 2), law)
    params = elastic(scene, youngs_modulus=E / 8, poisson_ratio=NU, gravity=(0, 0, -G))
    track = rollout(params, scene, start(scene), np.arange(16) * 0.01, integrator="euler", solver=Solver(relative=1e-6))
    end = track.position[:, tip(scene)].mean(1)
    assert track.status is Status.CONVERGED and track.fallbacks == 0
    assert end[0, 2] - end[:, 2].min() > 0.6 * 0.2
    assert track.iterations < 10 * 15


@pytest.mark.parametrize("law", LAWS)
def test_a_pulled_bar_tells_modulus_and_ratio(law):
    scene = beam(0.12, 0.02, (18, 3, 3), law)
    stress = 1e-4 * E
    params = elastic(scene, youngs_modulus=E, poisson_ratio=NU, gravity=(0, 0, 0), load=end_load(scene, (stress * 0.02**2, 0, 0)))
    solution, _ = equilibrium(params, scene)
    moved = solution.position - scene.node
    far = np.abs(scene.node[:, 0] - 0.08) < 1e-9  # away from the clamp, where the section may not shrink
    half = np.abs(scene.node[:, 0] - 0.06) < 1e-9
    strain = (moved[far, 0].mean() - moved[half, 0].mean()) / 0.02
    across = np.polyfit(scene.node[far, 1], moved[far, 1], 1)[0]
    assert stress / strain == pytest.approx(E, rel=0.01)
    assert -across / strain == pytest.approx(NU, rel=0.01)


def sag(counts, nu, load, mesh=hexahedra):
    """Sag of the free end, and Timoshenko's: q L^4 / 8EI + q L^2 / 2kGA, F L^3 / 3EI + F L / kGA, k = 10 (1 + nu) / (12 + 11 nu)
    (Cowper 1966). Loads are small: the closed form is of first order."""
    L, side = 0.2, 0.02
    scene = beam(L, side, counts, mesh=mesh)
    area, second, shear = side**2, side**4 / 12, E / (2 * (1 + nu)) * 10 * (1 + nu) / (12 + 11 * nu)
    g, force = (0.02, 0.0) if load == "weight" else (0.0, 2e-5)
    params = elastic(scene, youngs_modulus=E, poisson_ratio=nu, density=RHO, gravity=(0, 0, -g), load=end_load(scene, (0, 0, -force)))
    solution, _ = equilibrium(params, scene)
    assert solution.status is Status.CONVERGED
    q = RHO * area * g
    want = q * L**4 / (8 * E * second) + q * L**2 / (2 * shear * area) + force * (L**3 / (3 * E * second) + L / (shear * area))
    return -(solution.position - scene.node)[tip(scene), 2].mean(), want


@pytest.mark.parametrize("load", ["weight", "tip"])
def test_a_beam_bends_as_timoshenko_says(load):
    """Six elements through the thickness: linear ones are too stiff in bending, by the square of their size."""
    got, want = sag((60, 6, 6), NU, load)
    assert got == pytest.approx(want, rel=0.03)


@pytest.mark.parametrize(("mesh", "order"), [(hexahedra, 2.0), (tetrahedra, 1.0)])
def test_finer_beams_tend_to_timoshenko(mesh, order):
    """The error falls with the square of the size; linear tetrahedra, far too stiff when coarse, are not there yet. Poisson's ratio is 0:
    the clamp, which keeps the section from shrinking, would hold the beam stiffer than in the closed form."""
    (coarse, want), (fine, _) = (sag((10 * n, n, n), 0.0, "tip", mesh) for n in (3, 6))
    assert coarse < fine < want
    assert np.log2((want - coarse) / (want - fine)) > order - 0.1


def swing(scene, params, time) -> tuple[Track, np.ndarray]:
    """Height of the free end of a beam let go from a bent state, about where it rests."""
    bent, _ = equilibrium(params, scene)
    free = replace(params, load=np.zeros_like(params.load))
    state = State(bent.position, np.zeros_like(bent.position), np.zeros((0, 3)))
    track = rollout(free, scene, state, time, solver=Solver(relative=1e-6))
    return track, track.position[:, tip(scene), 2].mean(1) - scene.node[tip(scene), 2].mean()


def period(time, height):
    """Mean time between downward zero crossings, interpolated."""
    k = np.flatnonzero((height[:-1] > 0) & (height[1:] <= 0))
    cross = time[k] + (time[k + 1] - time[k]) * height[k] / (height[k] - height[k + 1])
    return np.diff(cross).mean()


def test_a_beam_swings_at_its_first_frequency_and_dies_away_by_its_damping_ratio():
    """omega = 1.875^2 sqrt(EI / rho A L^4), lower by shear and rotation (some 1 % here); ratio = alpha / 2 omega + beta omega / 2."""
    L, side = 0.2, 0.02
    scene = beam(L, side, (40, 4, 4))
    omega = 1.87510407**2 * np.sqrt(E * side**2 / 12 / (RHO * L**4))
    T, ratio = 2 * np.pi / omega, 0.03
    params = elastic(scene, youngs_modulus=E, poisson_ratio=0.0, density=RHO, gravity=(0, 0, 0), load=end_load(scene, (0, 0, 2e-4)),
                       mass_damping=ratio * omega, stiffness_damping=ratio / omega)  # fmt: skip
    time = np.linspace(0, 3.2 * T, 81)
    track, height = swing(scene, params, time)
    assert track.status is Status.CONVERGED
    assert period(time, height) == pytest.approx(T, rel=0.03)
    peaks = np.flatnonzero((height[1:-1] > height[:-2]) & (height[1:-1] > height[2:]) & (height[1:-1] > 0)) + 1
    fall = np.log(height[peaks[0]] / height[peaks[-1]]) / (len(peaks) - 1)
    assert fall / (2 * np.pi) == pytest.approx(ratio, rel=0.1)


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("midpoint", 2)])
def test_order_of_convergence(integrator, order):
    scene = beam(0.06, 0.02, (3, 1, 1))
    params = elastic(scene, youngs_modulus=E, poisson_ratio=NU, density=RHO, gravity=(0, 0, -G), stiffness_damping=1e-3)
    ends = [
        rollout(params, scene, start(scene), np.array([0, 0.02]), steps=n, integrator=integrator, solver=TIGHT).position[-1]
        for n in (16, 32, 64, 256)
    ]
    errors = [np.abs(x - ends[-1]).max() for x in ends[:-1]]
    slope = np.polyfit(np.log([16, 32, 64]), np.log(errors), 1)[0]
    assert -slope == pytest.approx(order, abs=0.2)


def test_a_body_in_flight_keeps_momentum_and_energy():
    node, element = hexahedra((3, 2, 2), (0.06, 0.04, 0.03))
    scene = build(node, Solid.of(node, element))
    params = elastic(scene, youngs_modulus=E, poisson_ratio=NU, density=RHO, gravity=(0, 0, 0))
    state = start(scene, velocity=(1.0, 2, 3), angular_velocity=(5.0, -7, 30))
    track = rollout(params, scene, state, np.linspace(0, 0.2, 81), solver=Solver(absolute=1e-13, relative=1e-12, iterations=400))
    mass = Body.of(scene, params).mass[:, None]
    p = (mass * track.velocity).sum(1)
    spin = np.cross(track.position, mass * track.velocity).sum(1)
    assert np.abs(p - p[0]).max() < 1e-12 * np.abs(p[0]).max()
    assert np.abs(spin - spin[0]).max() < 1e-9 * np.abs(spin[0]).max()
    kinetic = 0.5 * (mass * track.velocity**2).sum((1, 2))
    assert kinetic.max() / kinetic.min() < 1.05  # the rest swings to and from elastic energy, which begins at zero


def block(angle, friction):
    """A stiff block on a plane that is tilted by `angle` [rad] about y: its state when it has settled, sliding or not."""
    node, element = hexahedra((2, 2, 2), (0.04, 0.04, 0.04))
    normal = np.array([np.sin(angle), 0, np.cos(angle)])
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    scene = build(node, Solid.of(node, element), normal=normal, contact_stiffness=1e8)
    params = elastic(
        scene, youngs_modulus=1e6, poisson_ratio=NU, density=RHO, gravity=(0, 0, -G), friction=friction, stiffness_damping=2e-3
    )
    along = np.array([np.cos(angle), 0, -np.sin(angle)])
    return scene, params, start(scene, rotation=R), along


def test_a_block_slides_down_by_coulombs_law():
    """a = g (sin - mu cos)."""
    angle, mu = 0.5, 0.3
    scene, params, state, along = block(angle, mu)
    track = rollout(params, scene, state, np.linspace(0, 0.4, 81), steps=2, integrator="euler")
    speed = track.velocity.mean(1) @ along
    late = track.time > 0.1
    assert np.polyfit(track.time[late], speed[late], 1)[0] == pytest.approx(G * (np.sin(angle) - mu * np.cos(angle)), rel=0.02)


def test_a_block_is_held_where_friction_suffices():
    scene, params, state, along = block(0.3, 0.4)  # tan 0.3 = 0.31
    track = rollout(params, scene, state, np.linspace(0, 1.0, 101), integrator="euler")
    place = track.position.mean(1) @ along
    assert track.status is Status.CONVERGED
    assert abs(place[-1] - place[50]) < 1e-6  # no creep over half a second


def test_a_hundredfold_range_of_everything_gives_a_result_or_a_status():
    for modulus in (1e3, 1e9):
        for nu in (0.0, 0.49):
            scene, params, _, along = block(0.2, 5.0)
            params = elastic(scene, youngs_modulus=modulus, poisson_ratio=nu, friction=5.0)
            track = rollout(params, scene, start(scene, velocity=-30.0 * along + (0, 0, -10)), np.linspace(0, 0.03, 4))
            assert isinstance(track.status, Status) and np.isfinite(track.position).all()


def test_wrong_meshes_are_refused():
    node, element = hexahedra((1, 1, 1), (1.0, 1, 1))
    with pytest.raises(BadInput, match="inside out"):
        Solid.of(node, element[:, [1, 0, 2, 3, 5, 4, 6, 7]])
    with pytest.raises(BadInput, match="not an elastic law"):
        Solid.of(node, element, law="rubber")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="contact_stiffness"):
        build(node, Solid.of(node, element), normal=np.array([0.0, 0, 1]))
    with pytest.raises(BadInput, match="nothing holds"):
        scene = build(node, Solid.of(node, element))
        equilibrium(elastic(scene, youngs_modulus=E, poisson_ratio=NU), scene)


def test_the_surface_of_a_box_has_its_area():
    for mesh in (hexahedra, tetrahedra):
        node, element = mesh((3, 2, 2), (3.0, 2, 1))
        area = Facets(outer(element), 1.0).share(node)
        assert area.sum() == pytest.approx(22.0) and np.count_nonzero(area) == 36 - 2
