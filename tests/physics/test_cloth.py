"""Sheets and rods against closed forms of strips, cantilevers, hanging chains and falling cloth; their adjoint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from adjoints import SIZES, at_rest, through_time

from video2phys.errors import BadInput
from video2phys.simulate.fem.elements import Rate
from video2phys.simulate.fem.mesh import triangles
from video2phys.simulate.fem.potential import Body
from video2phys.simulate.fem.rollout import rollout
from video2phys.simulate.fem.scene import Params, State, build, start
from video2phys.simulate.fem.slender import Rod, Sheet
from video2phys.simulate.fem.solver import Solver, Status
from video2phys.simulate.fem.statics import equilibrium

E, NU, H, RHO, G = 1e6, 0.3, 1e-3, 300.0, 9.81
NEWTON = Solver(method="newton", absolute=3e-13, relative=1e-12)  # of few nodes: soonest exact


def strip(counts, size, *, held=0):
    """A sheet whose first `held` columns of nodes are clamped, and its part."""
    node, triangle = triangles(counts, size)
    sheet = Sheet.of(node, triangle)
    return build(node, sheet, clamped=node[:, 0] < (held - 0.5) * size[0] / counts[0]), sheet


def line(count, length, *, clamped=None):
    """A straight rod of `count` segments along x, and its part."""
    node = np.zeros((count + 1, 3))
    node[:, 0] = np.linspace(0, length, count + 1)
    rod = Rod.of(node, np.arange(count + 1), width=2e-3)
    return build(node, rod, clamped=None if clamped is None else np.isin(np.arange(count + 1), clamped)), rod


def test_a_pulled_strip_tells_modulus_times_thickness_and_ratio():
    (L, w), (n, m) = (0.3, 0.1), (24, 8)
    scene, sheet = strip((n, m), (L, w), held=1)
    end = scene.node[:, 0] > L - 1e-9
    share = end * np.where(np.isin(scene.node[:, 1], [0, w]), 0.5, 1.0)
    force = 1e-4 * E * H * w
    stuff = sheet.material(youngs_modulus=E, poisson_ratio=NU, thickness=H, bending=1e-6)
    solution, _ = equilibrium(Params.of(scene, stuff, gravity=(0, 0, 0), load=np.outer(share / share.sum(), (force, 0, 0))), scene)
    assert solution.status is Status.CONVERGED
    moved = solution.position - scene.node
    near, far = (np.abs(scene.node[:, 0] - f * L) < 1e-9 for f in (0.5, 0.75))
    strain = (moved[far, 0].mean() - moved[near, 0].mean()) / (0.25 * L)
    across = np.polyfit(scene.node[far, 1], moved[far, 1], 1)[0]
    assert force / (H * w * strain) == pytest.approx(E, rel=0.01)
    assert -across / strain == pytest.approx(NU, rel=0.02)


def sag(kind, n):
    """Tip sag of a cantilever under its weight and that of the closed form q L^4 / 8 B, as if clamped between its first two nodes.

    A hundred thousandth of the length: the closed form is of first order.
    """
    L, w, B = 0.2, 0.04, 0.1
    free = L - L / n / 2
    if kind == "rod":
        scene, part = line(n, L, clamped=[0, 1])
        stuff, q, stiff = part.material(stretching=1e3, bending=B, density=0.01), 0.01, B
    else:
        scene, part = strip((n, max(n // 5, 2)), (L, w), held=2)
        stuff = part.material(youngs_modulus=E, poisson_ratio=NU, thickness=H, bending=B, density=RHO)
        q, stiff = RHO * H, B
    g = 8 * 1e-5 * stiff / (q * L**3)
    solution, _ = equilibrium(Params.of(scene, stuff, gravity=(0, 0, -g)), scene, solver=Solver(method="newton", absolute=0, relative=1e-4))
    assert solution.status is Status.CONVERGED
    tip = scene.node[:, 0] > L - 1e-9
    return -solution.position[tip, 2].mean(), q * g * free**4 / (8 * stiff)


@pytest.mark.parametrize(("kind", "rel"), [("rod", 0.005), ("sheet", 0.03)])
def test_a_cantilever_bends_by_its_bending_stiffness(kind, rel):
    got, want = sag(kind, 30)
    assert got == pytest.approx(want, rel=rel)


@pytest.mark.parametrize("kind", ["rod", "sheet"])
def test_finer_cantilevers_tend_to_the_closed_form(kind):
    coarse, fine = (abs(got / want - 1) for got, want in (sag(kind, n) for n in (10, 30)))
    assert fine < coarse / 2.5


def test_a_rolled_sheet_has_the_energy_of_its_curvature():
    """B / 2 k^2 an area that bends, and none of stretch: k grows from nothing to that of three quarters of a turn."""
    (n, m), (L, w), B = (60, 6), (0.3, 0.03), 1e-4
    scene, sheet = strip((n, m), (L, w))
    k = 1.5 * np.pi / L
    a = k * scene.node[:, 0]
    rolled = np.stack([np.sin(a) / k, scene.node[:, 1], (1 - np.cos(a)) / k], 1)
    _, bending = sheet.moduli(sheet.material(youngs_modulus=E, poisson_ratio=NU, thickness=H, bending=B))
    energy, _ = sheet.energies[1].slope(rolled, bending, Rate.none(), np.zeros_like(rolled))
    assert energy == pytest.approx(B / 2 * k**2 * L * w, rel=0.03)


def test_a_hanging_chain_is_a_catenary():
    """L = 2 a sinh(d / 2a), sag a (cosh(d / 2a) - 1): a chain that hardly stretches and does not resist bending."""
    n, L, d = 60, 1.0, 0.6
    node = np.zeros((n + 1, 3))
    node[:, 0] = np.linspace(0, L, n + 1)
    chain = Rod.of(node, np.arange(n + 1), width=2e-3)
    scene = build(node, chain, clamped=np.isin(np.arange(n + 1), [0, n]))
    s = np.linspace(0, 1, n + 1)
    guess = np.stack([d * s, 0 * s, -1.6 * s * (1 - s)], 1)
    stuff = chain.material(stretching=1e3, bending=0.0, density=0.02)
    solution, _ = equilibrium(Params.of(scene, stuff), scene, State(guess, 0 * guess, np.zeros((0, 3))))
    assert solution.status is Status.CONVERGED
    low, high = 0.05, 10.0
    for _ in range(80):
        a = (low + high) / 2
        low, high = (a, high) if 2 * a * np.sinh(d / (2 * a)) > L else (low, a)
    x, z = solution.position[:, 0], solution.position[:, 2]
    want = a * (np.cosh((x - d / 2) / a) - np.cosh(d / (2 * a)))
    assert np.abs(z - want).max() < 2e-3 * -want.min()


@pytest.mark.parametrize("kind", ["rod", "sheet"])
def test_what_falls_broadside_gains_its_terminal_velocity(kind):
    """v = v_t tanh(g t / v_t) with m g = c / 2 A v_t^2; carried along, all told, by wind."""
    c, wind = 1.2, np.array([1.5, 0, 0])
    if kind == "rod":
        scene, part = line(10, 0.2)
        stuff, burden = part.material(stretching=1e3, bending=1e-4, density=1e-3), 1e-3 / 2e-3
        wind = np.array([0, 1.5, 0])
        blown = 1  # across the rod; with it only the segment's end would meet the wind
    else:
        scene, part = strip((4, 4), (0.1, 0.1))
        stuff, burden = part.material(youngs_modulus=E, poisson_ratio=NU, thickness=H, bending=1e-4, density=RHO), RHO * H
        blown = 2
    v_t = np.sqrt(2 * burden * G / c)
    params = Params.of(scene, stuff, gravity=(0, 0, -G), air=c, wind=(0, 0, 0))
    time = np.linspace(0, 1.0 * v_t / G, 6)
    track = rollout(params, scene, start(scene), time, steps=5)
    assert np.allclose(-track.velocity[..., 2].mean(1), v_t * np.tanh(G * time / v_t), rtol=2e-3)
    drift = Params.of(scene, stuff, gravity=(0, 0, 0), air=c, wind=wind if blown == 1 else (0, 0, 1.5))
    time = np.linspace(0, 20 * burden / (c * 1.5), 6)
    speed = rollout(drift, scene, start(scene), time, steps=40).velocity[..., blown].mean(1)
    want = 1.5 * (1 - 1 / (1 + c * 1.5 * time / (2 * burden)))  # du/dt = -c u^2 / 2 burden
    assert np.allclose(speed, want, atol=0.01 * 1.5)


def test_a_sheet_in_flight_keeps_momentum_and_energy():
    """Energy up to an error that falls with the square of the step."""
    scene, sheet = strip((3, 3), (0.1, 0.08))
    stuff = sheet.material(youngs_modulus=E / 10, poisson_ratio=NU, thickness=H, bending=1e-3, density=RHO)
    params = Params.of(scene, stuff, gravity=(0, 0, 0))
    state = start(scene, velocity=(1.0, 2, 3), angular_velocity=(20.0, -15, 10))
    state = State(state.position + np.outer(np.sin(40 * scene.node[:, 0]), (2e-3, 0, 4e-3)), state.velocity, state.anchor)
    body, errors = Body.of(scene, params), []
    mass = body.mass[:, None]
    for steps in (4, 8):
        track = rollout(params, scene, state, np.linspace(0, 0.03, 31), steps=steps, solver=NEWTON)
        p, spin = (mass * track.velocity).sum(1), np.cross(track.position, mass * track.velocity).sum(1)
        assert np.abs(p - p[0]).max() < 1e-11 * np.abs(p[0]).max()
        assert np.abs(spin - spin[0]).max() < 1e-8 * np.abs(spin[0]).max()
        pairs = list(zip(body.energies, body.moduli, strict=True))
        elastic = np.array([sum(e.slope(x, m, Rate.none(), np.zeros_like(x))[0] for e, m in pairs) for x in track.position])
        errors.append(np.ptp(0.5 * (mass * track.velocity**2).sum((1, 2)) + elastic) / np.ptp(elastic))  # it vibrates
    assert errors[1] < errors[0] / 3 and errors[1] < 0.02


def test_cloth_slides_down_by_coulombs_law_at_the_depth_of_its_weight():
    """a = g (sin - mu cos); depth = weight per area / contact stiffness."""
    angle, mu, stiff = 0.5, 0.3, 1e5
    normal, along = np.array([np.sin(angle), 0, np.cos(angle)]), np.array([np.cos(angle), 0, -np.sin(angle)])
    R = np.stack([along, [0, 1, 0], normal], 1)
    node, triangle = triangles((4, 4), (0.1, 0.1))
    sheet = Sheet.of(node, triangle)
    scene = build(node, sheet, normal=normal, contact_stiffness=stiff)
    stuff = sheet.material(youngs_modulus=E, poisson_ratio=NU, thickness=H, bending=1e-4, density=RHO)
    params = Params.of(scene, stuff, gravity=(0, 0, -G), friction=mu)
    track = rollout(params, scene, start(scene, rotation=R), np.linspace(0, 0.3, 61), steps=2, integrator="euler")
    assert track.status is Status.CONVERGED
    speed, late = track.velocity.mean(1) @ along, track.time > 0.1
    assert np.polyfit(track.time[late], speed[late], 1)[0] == pytest.approx(G * (np.sin(angle) - mu * np.cos(angle)), rel=0.02)
    assert -(track.position[-1] @ normal).mean() == pytest.approx(RHO * H * G * np.cos(angle) / stiff, rel=0.02)


CLOTH = SIZES | {"thickness": 1e-3, "bending": 1e-4, "stretching": 50.0}


def crumpled(kind, *, normal=None, clamped=False):
    """A small irregular sheet or rod, curved at rest, with its parameters."""
    rng = np.random.default_rng(3)
    stiff = {} if normal is None else {"normal": normal, "contact_stiffness": 1e5}
    if kind == "sheet":
        node, triangle = triangles((3, 2), (0.06, 0.05))
        node = node + rng.uniform(-4e-3, 4e-3, node.shape)
        part = Sheet.of(node, triangle)
        T = len(part.share)
        stuff = part.material(
            youngs_modulus=1e5 * rng.uniform(0.8, 1.2, T), poisson_ratio=rng.uniform(0.25, 0.35, T), thickness=H * rng.uniform(0.8, 1.2, T),
            bending=1e-4 * rng.uniform(0.8, 1.2, T), density=RHO * rng.uniform(0.8, 1.2, T),
        )  # fmt: skip
    else:
        node = np.zeros((7, 3))
        node[:, 0] = np.linspace(0, 0.1, 7)
        node = node + rng.uniform(-4e-3, 4e-3, node.shape)
        part = Rod.of(node, np.arange(7), width=4e-3)
        R, B = len(part.share), len(part.curved)
        stuff = part.material(
            stretching=50 * rng.uniform(0.8, 1.2, R), bending=1e-5 * rng.uniform(0.8, 1.2, B), density=0.01 * rng.uniform(0.8, 1.2, R)
        )
    scene = build(node, part, clamped=node[:, 0] < 0.02 if clamped else None, **stiff)
    params = Params.of(
        scene, stuff, gravity=(0.5, -0.3, -9.81), load=rng.normal(0, 2e-3, node.shape), mass_damping=0.4, stiffness_damping=2e-3,
        air=0.8, wind=(2.0, 1, -1),
    )  # fmt: skip
    return scene, params


def sizes(kind):
    return CLOTH if kind == "sheet" else CLOTH | {"density": 0.01, "bending": 1e-5}


@pytest.mark.parametrize("kind", ["sheet", "rod"])
@pytest.mark.parametrize("integrator", ["midpoint", "euler"])
def test_derivatives_of_one_step(kind, integrator):
    scene, params = crumpled(kind)
    rng = np.random.default_rng(1)
    state = start(scene, velocity=(0.3, 0.1, -0.2), angular_velocity=(3.0, -2, 4))
    state = State(state.position + rng.normal(0, 1e-3, state.position.shape), state.velocity, state.anchor)
    skip = ("offset", "friction")
    through_time(scene, params, state, np.array([0, 4e-3]), integrator=integrator, skip=skip, solver=NEWTON, sizes=sizes(kind))


@pytest.mark.parametrize("kind", ["sheet", "rod"])
def test_derivatives_of_a_whole_rollout_with_contact(kind):
    scene, params = crumpled(kind, normal=np.array([0.1, 0.0, 1.0]))
    params = replace(params, friction=0.3, offset=-0.008)
    state = start(scene, velocity=(0.4, 0.1, -0.5))
    checked, track = through_time(scene, params, state, np.array([0, 0.012, 0.024]), steps=2, solver=NEWTON, sizes=sizes(kind))
    depth = params.offset - track.position @ scene.normal
    assert depth[0].max() < 0 < depth[1:].max() and abs(checked["friction"][1]) > 1e-5


@pytest.mark.parametrize("kind", ["sheet", "rod"])
def test_derivatives_of_a_place_of_rest(kind):
    scene, params = crumpled(kind, clamped=True)
    at_rest(scene, params, skip=("offset", "friction"), solver=NEWTON, sizes=sizes(kind))


def test_a_rod_and_a_sheet_share_nodes():
    """A hem: masses add up, a pull is shared by stiffness, and derivatives hold for both materials."""
    node, triangle = triangles((3, 2), (0.06, 0.05))
    sheet, hem = Sheet.of(node, triangle), Rod.of(node, np.array([0, 3, 6, 9]), width=2e-3)
    scene = build(node, sheet, hem)
    stuff = (
        sheet.material(youngs_modulus=1e5, poisson_ratio=NU, thickness=H, bending=1e-4, density=RHO),
        hem.material(stretching=20.0, bending=1e-5, density=0.01),
    )
    params = Params.of(scene, *stuff, air=0.8, wind=(2.0, 1, -1), mass_damping=0.4, stiffness_damping=2e-3)
    assert Body.of(scene, params).mass.sum() == pytest.approx(0.06 * 0.05 * H * RHO + 0.06 * 0.01)
    state = start(scene, velocity=(0.3, 0.1, -0.2), angular_velocity=(3.0, -2, 4))
    skip = ("offset", "friction", "density")  # densities of such different sizes have no common step
    through_time(scene, params, state, np.array([0, 4e-3]), skip=skip, solver=NEWTON, sizes=CLOTH)


def test_wrong_sheets_and_materials_are_refused():
    node, triangle = triangles((2, 2), (1.0, 1.0))
    sheet = Sheet.of(node, triangle)
    with pytest.raises(BadInput, match="more than two"):
        Sheet.of(node, np.vstack([triangle, triangle[:1]]))
    with pytest.raises(BadInput, match="flat"):
        Sheet.of(node * (1, 0, 0), triangle)
    with pytest.raises(BadInput, match="positive width"):
        Rod.of(node, np.arange(3), width=0.0)
    scene = build(node, sheet)
    time = np.array([0, 0.1])
    for change, words in (({"thickness": -1e-3}, "thickness must be positive"), ({"poisson_ratio": 0.6}, "Poisson")):
        stuff = sheet.material(**{"youngs_modulus": E, "poisson_ratio": NU, "thickness": H, "bending": 1e-4, **change})
        with pytest.raises(BadInput, match=words):
            rollout(Params.of(scene, stuff), scene, start(scene), time)
    with pytest.raises(BadInput, match="0 materials for 1 parts"):
        rollout(Params.of(scene), scene, start(scene), time)
