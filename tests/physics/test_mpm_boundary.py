"""Boundaries of MPM that are no planes: sampled distances and closed meshes, what they do and how derivatives pass through them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from test_mpm import G, block
from test_mpm_gradient import LAWS, body, case, compare

from video2phys.errors import BadInput
from video2phys.simulate.lagrangian.lattice import begin, embed
from video2phys.simulate.lagrangian.rollout import rollout as lagrangian
from video2phys.simulate.lagrangian.surface import patches
from video2phys.simulate.mpm.boundary import of_mesh, plane, sampled
from video2phys.simulate.mpm.rollout import rollout, step
from video2phys.simulate.mpm.scene import Params, build, start


def bowl(centre, radius):
    """Free inside a sphere."""
    return lambda x: radius - np.linalg.norm(x - centre, axis=-1)


def ball(radius, h):
    grid = np.stack(np.meshgrid(*[np.arange(-radius, radius + h, h)] * 3, indexing="ij"), -1).reshape(-1, 3)
    grid = grid[np.linalg.norm(grid, axis=1) < radius]
    return grid, np.full(len(grid), h**3)


def test_distance_to_a_box():
    """Exact near the surface, of the right sign and never too small elsewhere; turned inside out the box is a container."""
    half, cell = np.array([0.1, 0.15, 0.05]), 0.01
    box = trimesh.creation.box(2 * half)
    found = of_mesh(box.vertices, box.faces, cell)
    x = found.origin + cell * np.stack(np.meshgrid(*[np.arange(n) for n in found.distance.shape], indexing="ij"), -1)
    beyond = np.abs(x) - half
    want = np.linalg.norm(np.maximum(beyond, 0), axis=-1) + np.minimum(beyond.max(-1), 0)
    near = np.abs(want) < 2 * cell
    assert np.abs(found.distance - want)[near].max() < 1e-12
    assert (found.distance * want >= -1e-12).all() and (np.abs(found.distance) > np.abs(want) - 1e-12).all()
    turned = of_mesh(box.vertices, box.faces[:, ::-1], cell)
    assert np.abs(turned.distance + found.distance)[near].max() < 1e-12


def test_distance_near_a_thin_edge():
    """The side of an acute edge is that of both its faces, where the nearest face alone would mistake it."""
    wedge = trimesh.Trimesh([[0, 0, 0], [0, 1, 0], [1, 0, -0.1], [1, 1, -0.1], [1, 0, 0.1], [1, 1, 0.1]],
                            [[0, 2, 4], [1, 5, 3], [0, 1, 3], [0, 3, 2], [0, 4, 5], [0, 5, 1], [2, 3, 5], [2, 5, 4]])  # fmt: skip
    wedge.fix_normals()
    d = of_mesh(wedge.vertices, wedge.faces, 0.05)
    x = d.origin + 0.05 * np.stack(np.meshgrid(*[np.arange(n) for n in d.distance.shape], indexing="ij"), -1)
    inside = (x[..., 0] > 0) & (x[..., 0] < 1) & (x[..., 1] > 0) & (x[..., 1] < 1) & (np.abs(x[..., 2]) < 0.1 * x[..., 0] - 1e-9)
    clear = np.abs(d.distance) > 1e-9
    assert np.array_equal((d.distance < 0)[clear], inside[clear])


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("kind", ["mesh", "function"])
def test_a_flat_top_is_a_plane(kind, precision):
    """A block thrown at a slab bounces and slides as on the plane through its top: samples of a flat surface are exact."""
    if kind == "mesh":
        slab = trimesh.creation.box((0.8, 0.6, 0.1), transform=trimesh.transformations.translation_matrix([0.1, 0, -0.05]))
        top = of_mesh(slab.vertices, slab.faces, 0.03)
    else:
        top = sampled(lambda x: x[..., 2], (-0.3, -0.3, -0.1), 0.07, (0.5, 0.3, 0.1))
    tracks = []
    for boundary in (plane((0, 0, 2.0)), top):
        scene = block(boundaries=[boundary], precision=precision)
        params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, friction=0.3, offset=0.004)
        state = start(scene, params, position=(0, 0, 0.09), velocity=(0.8, 0, -1.0), angular_velocity=(0, 2.0, 0))
        tracks.append(rollout(params, scene, state, np.arange(10) / 60))
    assert np.abs(tracks[0].position - tracks[1].position).max() < (1e-12 if precision == "f64" else 1e-5)
    free = 0.09 - 0.5 * 9.81 * (9 / 60) ** 2 - 9 / 60
    assert tracks[0].position[-1, 0, :, 2].mean() > free + 0.1  # it did touch


@pytest.mark.parametrize(("friction", "slides"), [(0.0, True), (0.3, True), (np.inf, False)], ids=["slips", "Coulomb", "sticks"])
def test_a_block_on_a_ramp_mesh(friction, slides):
    """Down a wedge of 25 degrees at g (sin - mu cos), or at rest."""
    slope, long = np.radians(25), 0.9
    wedge = trimesh.creation.extrude_triangulation(
        np.array([[0, 0], [long, 0], [0, long * np.tan(slope)]]), np.array([[0, 1, 2]]), height=0.4
    )
    wedge.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0]))  # its outline stands up, from x to z
    wedge.apply_translation([0, 0.2, 0])
    scene = block(boundaries=[of_mesh(wedge.vertices, wedge.faces, 0.02)], precision="f64")
    params = Params.of(scene, youngs_modulus=3e5, poisson_ratio=0.3, friction=friction)
    down = np.array([np.cos(slope), 0, -np.sin(slope)])
    up = np.array([np.sin(slope), 0, np.cos(slope)])
    turn = np.stack([down, [0, 1, 0], up], 1)
    t = np.arange(21) / 60
    state = start(scene, params, position=np.array([0, 0, long * np.tan(slope)]) + 0.2 * down + 0.06 * up, rotation=turn)
    x = rollout(params, scene, state, t).position[:, 0].mean(1)
    along = (x - x[0]) @ down
    assert np.abs((x - x[0]) @ up).max() < 2e-3
    if slides:
        a = 2 * np.polyfit(t[8:], along[8:], 2)[0]
        assert a == pytest.approx(9.81 * (np.sin(slope) - friction * np.cos(slope)), rel=0.05)
    else:
        assert np.ptp(along[8:]) < 0.002


def test_a_ball_in_a_bowl_settles_at_its_bottom():
    """Let go at the side of a spherical bowl, a viscous ball comes to rest on its surface, and within a particle's width of the lowest
    point: a ball of particles has facets."""
    centre, outer, inner, h = np.array([0.3, -0.2, 0.5]), 0.15, 0.05, 0.0125
    scene = build(*ball(inner, h), boundaries=[sampled(bowl(centre, outer), centre - 0.2, 0.01, centre + 0.2)], law="neo-Hookean")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, friction=0.4, viscosity=100.0)
    side = outer - inner - 0.003
    state = start(scene, params, position=centre + side * np.array([np.sin(0.8), 0, -np.cos(0.8)]))
    t = np.arange(61) / 20
    x = rollout(params, scene, state, t).position[:, 0].mean(1) - centre
    assert abs(x[0, 0]) > 0.06
    assert np.abs(x[-10:, :2]).max() < h
    assert np.abs(x[-10:, 2] + outer - inner).max() < 0.004
    assert np.ptp(x[-10:], axis=0).max() < 0.002


def test_a_moving_belt_carries_a_block_up_to_its_speed():
    """mu g until the slip is gone, then the belt's speed, whether the belt is a plane or a long box that moves away."""
    belt, mu = 0.5, 0.4
    box = trimesh.creation.box((1.6, 0.4, 0.1), transform=trimesh.transformations.translation_matrix([-0.3, 0, -0.05]))
    t = np.arange(25) / 60
    for boundary in (plane((0, 0, 1), (belt, 0, 0)), of_mesh(box.vertices, box.faces, 0.03, (belt, 0, 0))):
        scene = block(boundaries=[boundary])
        params = Params.of(scene, youngs_modulus=3e5, poisson_ratio=0.3, friction=mu)
        x = rollout(params, scene, start(scene, params, position=(0, 0, 0.06)), t).position[:, 0, :, 0].mean(1)
        gained = belt**2 / 2 / mu / 9.81
        assert x[-1] == pytest.approx(belt * t[-1] - gained, rel=0.04)
        assert np.polyfit(t[12:], x[12:], 1)[0] == pytest.approx(belt, rel=0.01)


def test_a_moving_wall_pushes():
    """A block in free space, met by a face at 1 m/s, rebounds; time goes on from step to step."""
    box = trimesh.creation.box((0.1, 0.4, 0.4), transform=trimesh.transformations.translation_matrix([-0.15, 0, 0]))
    scene = block(boundaries=[of_mesh(box.vertices, box.faces, 0.02, (1.0, 0, 0))], precision="f64")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, gravity=(0, 0, 0))
    state = start(scene, params)
    whole = rollout(params, scene, state, np.array([0, 0.2]), steps=400)
    v = whole.end.velocity[0].mean(0)
    assert 1.5 < v[0] < 2.05 and np.abs(v[1:]).max() < 1e-3  # elastic: twice the speed of the wall, but for what vibrates
    half, _ = step(params, scene, state, 5e-4, 200)
    both, _ = step(params, scene, half, 5e-4, 200, begin=0.1)
    assert np.abs(both.position - whole.end.position).max() < 1e-12


def test_each_boundary_has_its_own_friction():
    """A block on a smooth floor is held by a rough wall against which gravity leans it."""
    g = 9.81 * np.array([0.5, -0.3, -0.8])
    walls = [plane((0, 0, 1.0)), sampled(lambda x: -x[..., 0], (-0.2, -0.4, -0.2), 0.05, (0.2, 0.4, 0.4))]
    t, ways = np.arange(13) / 60, []
    for friction in ([[0.0, 0.0]], [[0.0, 0.9]]):
        scene = block(boundaries=walls)
        params = Params.of(scene, youngs_modulus=3e5, poisson_ratio=0.3, gravity=g, friction=np.array(friction))
        x = rollout(params, scene, start(scene, params, position=(-0.06, 0, 0.06)), t).position[:, 0].mean(1)
        ways.append(x[0, 1] - x[-1, 1])
    assert ways[0] == pytest.approx(0.5 * 0.3 * 9.81 * t[-1] ** 2, rel=0.03)
    assert abs(ways[1]) < 0.02 * ways[0]


def curved(scene):
    """In place of the plane a bowl and, at rest and at once, a moving bump: both curve where the body touches."""
    low, high = np.array([-0.12, -0.12, -0.06]), np.array([0.14, 0.15, 0.14])
    bump = sampled(lambda x: np.linalg.norm(x - [0.06, 0.01, -0.105], axis=-1) - 0.12, low, 0.011, high, (-0.1, 0.05, 0.2))
    return replace(scene, boundaries=(sampled(bowl(np.array([0, 0, 0.1]), 0.104), low, 0.011, high), bump))


@pytest.mark.parametrize("law", LAWS[:1])
def test_derivatives_of_a_step_in_contact(law):
    scene = curved(body(law))
    params, state = case(scene, height=0.035)
    compare(scene, params, state, np.array([0.01, 0.0102]), 1)


@pytest.mark.parametrize("friction", [0.0, 0.22, 1e6])
def test_derivatives_of_contact(friction):
    """Slipping, mixed and sticking on two curved boundaries, one of which moves."""
    scene = curved(body("neo-Hookean"))
    params, state = case(scene, height=0.035, friction=friction)
    g = compare(scene, params, state, np.array([0, 4e-3]), 20)
    assert (np.abs(g.offset[0]) > 1e-3).all()  # it touched both


@pytest.mark.parametrize("law", ["neo-Hookean", "Drucker-Prager"])
def test_derivatives_of_a_rollout(law):
    scene = curved(body(law))
    params, state = case(scene)
    compare(scene, params, state, np.array([0, 0.012, 0.02, 0.035]), np.array([[30], [20], [38]]))


def test_what_cannot_be_a_boundary_is_refused():
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    with pytest.raises(BadInput, match="not closed"):
        of_mesh(box.vertices, box.faces[1:], 0.02)
    with pytest.raises(BadInput, match="not finite"):
        of_mesh(np.where(box.vertices > 0, np.nan, box.vertices), box.faces, 0.02)
    with pytest.raises(BadInput, match="empty"):
        of_mesh(np.zeros((0, 3)), np.zeros((0, 3), int), 0.02)
    with pytest.raises(BadInput, match="finite"):
        sampled(np.full((4, 4, 4), np.nan), (0, 0, 0), 0.1)
    with pytest.raises(BadInput, match="do not make a surface"):
        sampled(np.ones((2, 4, 4)), (0, 0, 0), 0.1)
    with pytest.raises(BadInput, match="box"):
        sampled(lambda x: x[..., 0], (0, 0, 0), 0.1)
    with pytest.raises(BadInput, match="direction"):
        plane((0, 0, 0))


def test_a_body_inside_a_boundary_is_refused():
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    scene = block(boundaries=[plane(-G), of_mesh(box.vertices, box.faces, 0.02)])
    params = Params.of(scene, youngs_modulus=np.full(2, 1e5), poisson_ratio=0.3)
    state = start(scene, params, position=np.array([[0, 0, 0.3], [0, 0, 0.13]]))
    with pytest.raises(BadInput, match="particles of member 1 start inside boundary 1"):
        rollout(params, scene, state, np.array([0, 0.01]))


def test_other_simulators_refuse_them():
    scene = block(boundaries=[sampled(lambda x: x[..., 2], (-1, -1, -1), 0.2, (1, 1, 1))])
    box = trimesh.creation.box((0.12,) * 3)
    lattice = embed(scene, patches(box.vertices, box.faces, 0.02))
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3)
    with pytest.raises(BadInput, match="one plane"):
        lagrangian(params, lattice, begin(lattice, params, position=(0, 0, 0.5)), np.array([0, 0.01]))
