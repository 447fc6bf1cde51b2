"""Facts of mechanics that the grid that stays with the body must reproduce, among them those that a grid at rest in space cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from video2phys.errors import BadInput
from video2phys.simulate.lagrangian.lattice import Nodes, begin, embed
from video2phys.simulate.lagrangian.rollout import rollout
from video2phys.simulate.lagrangian.surface import patches
from video2phys.simulate.mpm import rollout as mpm
from video2phys.simulate.mpm.scene import Params, build, start

G = np.array([0, 0, -9.81])
UP = np.array([0, 0, 1.0])


def block(counts=(6, 6, 6), h=0.02, **kwargs):
    """Lattice of particles centred at the origin."""
    grid = np.stack(np.meshgrid(*[np.arange(n) - (n - 1) / 2 for n in counts], indexing="ij"), -1).reshape(-1, 3) * h
    box = trimesh.creation.box(h * np.array(counts))
    return embed(build(grid, np.full(len(grid), h**3), precision="f64", **kwargs), patches(box.vertices, box.faces, h))


def node_mass(lattice, density=1000.0):
    return lattice.operators[0].T @ (density * lattice.scene.volume)


@pytest.mark.parametrize("law", ["neo-Hookean", "fixed corotated"])
def test_projectile(law):
    """A thrown body follows the parabola of its symplectic Euler steps to round-off, undeformed, whatever its size and rotation."""
    lattice = block(law=law)
    params = Params.of(lattice.scene, youngs_modulus=1e5, poisson_ratio=0.3, size=1.1)
    v0, t = np.array([1.0, 0.5, 2.0]), np.arange(7) / 60
    turn = np.array([[0, -1.0, 0], [1, 0, 0], [0, 0, 1]])
    track = rollout(params, lattice, begin(lattice, params, velocity=v0, rotation=turn), t, steps=20)
    want = v0 * t[:, None] + 0.5 * G * t[:, None] * (t[:, None] + 1 / 60 / 20)
    assert np.abs(track.particles()[0][:, 0].mean(1) - want).max() < 1e-12
    assert np.abs(track.particles()[1] - turn).max() < 1e-12


def test_momentum_and_spin_are_kept():
    """Without forces from outside, a spinning, vibrating, damped body keeps its momentum and its spin to round-off."""
    lattice = block()
    params = Params.of(lattice.scene, youngs_modulus=1e5, poisson_ratio=0.3, gravity=(0, 0, 0))
    state = begin(lattice, params, velocity=np.array([0.3, -0.2, 0.1]), angular_velocity=np.array([1.0, 2.0, -5.0]))
    m = node_mass(lattice)[:, None]
    track = rollout(params, lattice, state, np.array([0, 0.06]), steps=300, damping=3.0)

    def totals(s: Nodes):
        return (m * s.velocity[0]).sum(0), (m * np.cross(s.position[0], s.velocity[0])).sum(0)

    (p0, l0), (p1, l1) = totals(state), totals(track.end)
    assert not track.failed.any()
    assert np.abs(p1 - p0).max() < 1e-13
    assert np.abs(l1 - l0).max() < 1e-12
    assert np.abs(track.particles()[1][-1] - track.particles()[1][0]).max() > 1e-3  # it did vibrate and turn


def mode(lattice, params, length, speed):
    """Nodes with the velocity of the first longitudinal vibration of a free bar along x."""
    state = begin(lattice, params)
    v = np.zeros_like(state.velocity)
    v[0, :, 0] = -speed * np.sin(np.pi * lattice.node[:, 0] / length)
    return Nodes(state.position, v)


def stretch(position):
    """Change of length of a bar along x, of particles (T, 1, N, 3)."""
    x = position[:, 0, :, 0]
    return np.ptp(x, axis=1) / np.ptp(x[0]) - 1


@pytest.mark.parametrize("damping", [0.0, 8.0])
def test_bar_rings_at_its_frequency_and_fades_at_its_rate(damping):
    """A free bar's first longitudinal mode: f = sqrt(E / rho) / (2 L), and an amplitude that falls by exp(-damping t / 2)."""
    E, rho, counts, h = 1e5, 1000.0, (40, 4, 4), 0.01
    lattice = block(counts, h)
    params = Params.of(lattice.scene, youngs_modulus=E, poisson_ratio=0.3, gravity=(0, 0, 0))
    length = counts[0] * h
    t = np.linspace(0, 0.4, 401)
    s = stretch(rollout(params, lattice, mode(lattice, params, length, 0.05), t, damping=damping).particles()[0])
    up = np.flatnonzero((s[:-1] < 0) & (s[1:] >= 0))
    crossing = t[up] - s[up] * (t[up + 1] - t[up]) / (s[up + 1] - s[up])
    assert 1 / np.diff(crossing).mean() == pytest.approx(np.sqrt(E / rho) / (2 * length), rel=0.02)
    period = np.diff(crossing).mean()
    peaks = np.array([s[(t >= a) & (t < a + period)].max() for a in crossing])
    assert -2 * np.polyfit(crossing, np.log(peaks), 1)[0] == pytest.approx(damping, abs=0.6)


def test_energy_does_not_depend_on_the_step():
    """Ten times the steps leave a vibration's amplitude alone; a grid at rest in space damps it with every transfer."""
    lattice = block((16, 4, 4), 0.02)
    scene, E = lattice.scene, 1e5
    params = Params.of(scene, youngs_modulus=E, poisson_ratio=0.3, gravity=(0, 0, 0))
    t = np.linspace(0, 0.3, 151)
    state = mode(lattice, params, 0.32, 0.2)
    few, many = (np.abs(stretch(rollout(params, lattice, state, t, steps=n).particles()[0])[-40:]).max() for n in (5, 50))
    assert many == pytest.approx(few, rel=0.02)
    v = np.zeros((1, len(scene.volume), 3))
    v[0, :, 0] = -0.2 * np.sin(np.pi * scene.particle[:, 0] / 0.32)
    spatial = start(scene, params)
    thrown = type(spatial)(spatial.position, v, spatial.affine, spatial.deformation)
    faded = np.abs(stretch(mpm.rollout(params, scene, thrown, t, steps=50).position)[-40:]).max()
    assert faded < 0.9 * many


@pytest.mark.parametrize("law", ["neo-Hookean", "fixed corotated"])
def test_members_side_by_side_move_as_each_alone(law):
    """Eleven bodies with as many stiffnesses, steps, frictions and losses in impact: none sees the others, and one fails alone."""
    lattice = block((4, 4, 4), normal=UP, law=law)
    members = np.arange(11)
    given = dict(youngs_modulus=10 ** (4.5 + 0.1 * members), poisson_ratio=0.02 * members, friction=0.1 * members, size=1 + 0.01 * members)
    given["youngs_modulus"][6] = 1e12  # too stiff for its steps
    more = dict(damping=0.5 * members, loss=0.08 * members)
    steps = np.where(members == 6, 2, 40 + 7 * members)

    def moved(m):
        params = Params.of(lattice.scene, **{k: v[m] for k, v in given.items()})
        state = begin(lattice, params, position=(0, 0, 0.06), velocity=(0.5, 0.2, -1.5), angular_velocity=(3.0, 1.0, 2.0))
        track = rollout(params, lattice, state, np.arange(4) / 60, steps=np.tile(steps[m], (3, 1)), **{k: v[m] for k, v in more.items()})
        return track.node, track.end.velocity, track.failed

    together = moved(members)
    assert together[2].tolist() == (members == 6).tolist()
    for m in members[members != 6]:
        node, velocity, _ = moved(members[m : m + 1])
        assert np.abs(node[:, 0] - together[0][:, m]).max() < 1e-12
        assert np.abs(velocity[0] - together[1][m]).max() < 1e-10


def test_a_block_settles_with_its_surface_on_the_plane():
    lattice = block(normal=UP)
    params = Params.of(lattice.scene, youngs_modulus=2e5, poisson_ratio=0.3, offset=0.013)
    track = rollout(params, lattice, begin(lattice, params, position=np.array([0, 0, 0.073])), np.arange(40) / 60, damping=20.0)
    lowest = track.particles()[0][20:, 0, :, 2].min(1) - 0.013 - 0.01
    assert np.abs(lowest).max() < 0.001  # 1 mm, cells are 40 mm


@pytest.mark.parametrize(("friction", "slides"), [(0.0, True), (0.3, True), (0.7, False), (np.inf, False)])
def test_friction_on_a_slope(friction, slides):
    """On 25 degrees a stiff block accelerates by g (sin - mu cos) or stays, on a plane of any orientation."""
    slope = np.radians(25)
    normal = np.array([np.sin(slope), 0, np.cos(slope)])
    lattice = block(normal=normal)
    turn = np.array([[np.cos(slope), 0, np.sin(slope)], [0, 1, 0], [-np.sin(slope), 0, np.cos(slope)]])
    params = Params.of(lattice.scene, youngs_modulus=3e5, poisson_ratio=0.3, gravity=G, friction=friction)
    t = np.arange(25) / 60
    track = rollout(params, lattice, begin(lattice, params, position=0.06 * normal, rotation=turn), t, damping=20.0)
    x = track.particles()[0][:, 0].mean(1) @ turn[:, 0]
    if slides:
        a = 2 * np.polyfit(t[8:], x[8:], 2)[0]
        assert a == pytest.approx(9.81 * (np.sin(slope) - friction * np.cos(slope)), rel=0.05)
    else:
        assert np.ptp(x[8:]) < 0.002


def test_agrees_with_a_grid_at_rest_in_space():
    """The same drop by both discretisations until the block leaves the ground again; they differ by the cell, as their contacts do."""
    place, v, t = np.array([0, 0, 0.08]), np.array([0, 0, -1.2]), np.arange(8) / 120
    gap = []
    for n in (14, 28):
        lattice = block((n, n, n), 0.12 / n, normal=UP)
        scene = lattice.scene
        params = Params.of(scene, youngs_modulus=5e4, poisson_ratio=0.3, friction=0.5)
        own = rollout(params, lattice, begin(lattice, params, position=place, velocity=v), t)
        other = mpm.rollout(params, scene, start(scene, params, position=place, velocity=v), t)
        z = [x[:, 0, :, 2].mean(1) for x in (own.particles()[0], other.position)]
        assert z[0].min() < 0.052  # it was pressed in by a fifth of its half height
        gap.append(np.abs(z[0] - z[1]).max())
    assert gap[1] < 0.0013 and gap[1] < 0.6 * gap[0]


def test_patches_keep_edges_and_corners():
    """Flat patches stand in their plane, the corner of a box is not blunted, and no area is lost."""
    box = trimesh.creation.box([0.12, 0.10, 0.08])
    surface = patches(box.vertices, box.faces, 0.02)
    assert surface.area.sum() == pytest.approx(box.area)
    assert np.abs(surface.point).max(0) == pytest.approx(box.extents / 2)
    for direction in ([1, 1, 1], [1, -1, 0], [0, 0, -1]):
        d = np.array(direction) / np.linalg.norm(direction)
        assert (surface.point @ d).max() == pytest.approx((box.vertices @ d).max(), abs=0.002)
    with pytest.raises(BadInput, match="no surface"):
        patches(box.vertices, box.faces[:0], 0.02)


def test_the_depth_of_an_impact_does_not_depend_on_the_grid():
    """A ball of 100 mm pressed flat by a quarter: cells of 25 and 13 mm agree to half a millimetre, as its surface is the same."""
    ball = trimesh.creation.icosphere(4, 0.05)
    lowest = []
    for n in (8, 16):
        h = 0.1 / n
        grid = np.stack(np.meshgrid(*[np.arange(n) - (n - 1) / 2] * 3, indexing="ij"), -1).reshape(-1, 3) * h
        inside = grid[np.linalg.norm(grid, axis=1) < 0.05]
        scene = build(inside, np.full(len(inside), np.pi / 6 * 1e-3 / len(inside)), normal=UP, precision="f64")
        lattice = embed(scene, patches(ball.vertices, ball.faces, h))
        params = Params.of(scene, youngs_modulus=4e4, poisson_ratio=0.3)
        state = begin(lattice, params, position=np.array([0, 0, 0.06]), velocity=np.array([0, 0, -1.2]))
        lowest.append(rollout(params, lattice, state, np.arange(24) / 480).particles()[0][:, 0, :, 2].mean(1).min())
    assert lowest[1] < 0.04
    assert lowest[0] == pytest.approx(lowest[1], abs=0.0005)


def test_what_does_not_fit_is_refused():
    lattice = block()
    params = Params.of(lattice.scene, youngs_modulus=1e5, poisson_ratio=0.3)
    state, t = begin(lattice, params), np.arange(2) / 60
    with pytest.raises(BadInput, match="damping"):
        rollout(params, lattice, state, t, damping=-1.0)
    with pytest.raises(BadInput, match="do not fit"):
        rollout(Params.of(lattice.scene, youngs_modulus=np.array([1e5, 2e5]), poisson_ratio=0.3), lattice, state, t)
    with pytest.raises(BadInput, match="grid at rest"):
        rollout(params, replace(lattice, scene=replace(lattice.scene, law="von Mises")), state, t)
    with pytest.raises(BadInput, match="presence"):
        rollout(Params.of(lattice.scene, youngs_modulus=1e5, poisson_ratio=0.3, presence=0.5), lattice, state, t)


def test_an_unstable_member_fails_by_name():
    """Steps far too long for its stiffness: the member is marked and NaN, the other one is not."""
    lattice = block(normal=UP)
    params = Params.of(lattice.scene, youngs_modulus=1e5, poisson_ratio=0.3, friction=np.array([0.3, 0.3]))
    state = begin(lattice, params, position=np.array([0, 0, 0.1]), velocity=np.array([0, 0, -2.0]))
    track = rollout(params, lattice, state, np.arange(20) / 60, steps=np.array([[1, 60]]))
    assert track.failed.tolist() == [True, False]
    assert np.isnan(track.particles()[0][-1, 0]).all() and np.isfinite(track.particles()[0][:, 1]).all()
