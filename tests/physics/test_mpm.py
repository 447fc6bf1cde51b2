"""Facts of mechanics that the material point method must reproduce."""

from __future__ import annotations

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.simulate.clock import substeps
from video2phys.simulate.materials.elastic import wave_speed
from video2phys.simulate.mpm.rollout import rollout, step
from video2phys.simulate.mpm.scene import Params, build, start

G = np.array([0, 0, -9.81])


def block(counts=(6, 6, 6), h=0.02, **kwargs):
    """Lattice of particles centred at the origin."""
    grid = np.stack(np.meshgrid(*[np.arange(n) - (n - 1) / 2 for n in counts], indexing="ij"), -1).reshape(-1, 3) * h
    return build(grid, np.full(len(grid), h**3), **kwargs)


@pytest.mark.parametrize("law", ["neo-Hookean", "fixed corotated"])
def test_projectile(law):
    """A thrown body follows the parabola of its symplectic Euler steps to round-off, undeformed."""
    scene = block(law=law, precision="f64")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3)
    v0 = np.array([1.0, 0.5, 2.0])
    t = np.arange(7) / 60
    track = rollout(params, scene, start(scene, params, velocity=v0), t, steps=20)
    dt = 1 / 60 / 20
    want = v0 * t[:, None] + 0.5 * G * t[:, None] * (t[:, None] + dt)
    assert np.abs(track.position[:, 0].mean(1) - want).max() < 1e-12
    assert np.abs(track.deformation - np.eye(3)).max() < 1e-12


def test_momentum_and_spin_are_kept():
    """Without forces from outside, a spinning, vibrating body keeps its momentum and its spin to round-off."""
    scene = block(precision="f64")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, gravity=(0, 0, 0), density=np.linspace(500, 1500, 216)[None])
    state = start(scene, params, velocity=np.array([0.3, -0.2, 0.1]), angular_velocity=np.array([1.0, 2.0, -5.0]))
    mass = params.density[0] * scene.volume

    def totals(s):
        p = (mass[:, None] * s.velocity[0]).sum(0)
        # the angular momentum of APIC includes the particles' own: m (dx^2 / 4) axial(C)
        C = s.affine[0]
        own = (
            scene.cell**2
            / 4
            * (mass[:, None] * np.stack([C[:, 2, 1] - C[:, 1, 2], C[:, 0, 2] - C[:, 2, 0], C[:, 1, 0] - C[:, 0, 1]], -1)).sum(0)
        )
        return p, (mass[:, None] * np.cross(s.position[0], s.velocity[0])).sum(0) + own

    end, failed = step(params, scene, state, 2e-4, 300)
    (p0, l0), (p1, l1) = totals(state), totals(end)
    assert not failed.any()
    assert np.abs(p1 - p0).max() < 1e-13
    assert np.abs(l1 - l0).max() < 1e-6 * np.abs(l0).max()
    assert np.abs(end.deformation - state.deformation).max() > 1e-3  # it did vibrate and turn


def test_batch_members_do_not_touch_one_another():
    scene = block(normal=np.array([0, 0, 1.0]))
    E = np.array([3e4, 1e5, 3e5])
    params = Params.of(scene, youngs_modulus=E, poisson_ratio=0.3)
    t = np.arange(8) / 60
    together = rollout(params, scene, start(scene, params, position=np.array([0, 0, 0.1])), t, steps=40)
    for k, e in enumerate(E):
        one = Params.of(scene, youngs_modulus=e, poisson_ratio=0.3)
        alone = rollout(one, scene, start(scene, one, position=np.array([0, 0, 0.1])), t, steps=40)
        assert np.array_equal(alone.position[:, 0], together.position[:, k])


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.5, 0.8])
def test_the_height_of_contact_is_not_that_of_grid_nodes(shift):
    """A soft block settles with its lowest surface at the plane, wherever the plane lies between nodes."""
    scene = block(normal=np.array([0, 0, 1.0]))
    height = shift * scene.cell
    params = Params.of(scene, youngs_modulus=2e5, poisson_ratio=0.3, offset=height)
    state = start(scene, params, position=np.array([0, 0, height + 0.06]), velocity=np.zeros(3))
    track = rollout(params, scene, state, np.arange(20) / 60)
    lowest = track.position[5:, 0, :, 2].min(1) - height - 0.01
    assert np.abs(lowest).max() < 0.001  # 1 mm, cells are 40 mm


def test_plane_of_any_orientation_gives_the_same_motion():
    """Turning the plane, gravity and the start by the same angle turns the track, but for the grid's own directions."""
    angle = 0.5
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    ends = []
    for turn in (np.eye(3), R):
        scene = block(normal=turn[:, 2], precision="f64")
        params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, gravity=turn @ G, friction=0.3)
        state = start(scene, params, position=turn @ [0, 0, 0.1], rotation=turn, velocity=turn @ [0.5, 0, -1.0])
        ends.append(rollout(params, scene, state, np.arange(13) / 60).position[:, 0].mean(1) @ turn)
    assert np.abs(ends[0] - ends[1]).max() < 0.004


@pytest.mark.parametrize(("friction", "slides"), [(0.0, True), (0.3, True), (0.7, False), (np.inf, False)])
def test_friction_on_a_slope(friction, slides):
    """On 25 degrees a stiff block accelerates by g (sin - mu cos) or stays."""
    slope = np.radians(25)
    g = 9.81 * np.array([np.sin(slope), 0, -np.cos(slope)])
    scene = block(normal=np.array([0, 0, 1.0]), precision="f64")
    params = Params.of(scene, youngs_modulus=3e5, poisson_ratio=0.3, gravity=g, friction=friction)
    t = np.arange(25) / 60
    x = rollout(params, scene, start(scene, params, position=np.array([0, 0, 0.06])), t).position[:, 0].mean(1)[:, 0]
    if slides:
        a = 2 * np.polyfit(t[8:], x[8:], 2)[0]
        assert a == pytest.approx(9.81 * (np.sin(slope) - friction * np.cos(slope)), rel=0.05)
    else:
        assert np.ptp(x[8:]) < 0.002


def test_no_adhesion():
    """A block at rest on the plane leaves it freely when gravity turns round."""
    scene = block(normal=np.array([0, 0, 1.0]), precision="f64")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, gravity=(0, 0, 9.81), friction=np.inf)
    t = np.arange(7) / 60
    z = rollout(params, scene, start(scene, params, position=np.array([0, 0, 0.06])), t).position[:, 0].mean(1)[:, 2]
    assert z[-1] - z[0] == pytest.approx(0.5 * 9.81 * t[-1] ** 2, rel=0.02)


@pytest.mark.parametrize("law", ["neo-Hookean", "fixed corotated"])
def test_longitudinal_frequency_of_a_bar(law):
    """A free bar stretched along its axis swings at sqrt(E / rho) / (2 L), with the lateral strain -nu times the axial."""
    E, nu, rho, h = 1e5, 0.3, 1000.0, 0.01
    scene = block((40, 6, 6), h, law=law, precision="f64")
    L = 0.4
    params = Params.of(scene, youngs_modulus=E, poisson_ratio=nu, density=rho, gravity=(0, 0, 0))
    state = start(scene, params)
    X = scene.particle
    v = np.zeros_like(state.velocity)
    v[0, :, 0] = 0.1 * np.sin(np.pi * X[:, 0] / L)
    v[0, :, 1:] = -nu * 0.1 * np.pi / L * np.cos(np.pi * X[:, 0:1] / L) * X[:, 1:]
    t = np.arange(161) / 800
    track = rollout(params, scene, type(state)(state.position, v, state.affine, state.deformation), t)
    mode = np.einsum("tn,n->t", track.position[:, 0, :, 0] - X[:, 0], np.sin(np.pi * X[:, 0] / L))
    crossings = np.nonzero(np.diff(np.sign(mode[1:])))[0] + 1
    when = t[crossings] - mode[crossings] * (t[1] - t[0]) / (mode[crossings + 1] - mode[crossings])
    frequency = 0.5 / np.diff(when[:2])[0]
    assert frequency == pytest.approx(np.sqrt(E / rho) / (2 * L), rel=0.04)
    middle = np.abs(X[:, 0]) < 0.05
    quarter = np.argmax(mode)
    strain = track.deformation[quarter, 0, middle].mean(0) - np.eye(3)
    assert -strain[1, 1] / strain[0, 0] == pytest.approx(nu, abs=0.04)


def test_viscosity_damps_a_bar():
    """Kelvin and Voigt: mu + i omega eta for mu in E = 9 K mu / (3 K + mu) gives the damping ratio (dE/dmu) omega eta / (2 E)."""
    E, nu, L, h = 1e5, 0.3, 0.4, 0.01
    K, mu = E / 3 / (1 - 2 * nu), E / 2 / (1 + nu)
    scene = block((40, 6, 6), h, precision="f64")
    X, t, ratio = scene.particle, np.arange(301) / 800, []
    for viscosity in (0.0, 50.0):
        params = Params.of(scene, youngs_modulus=E, poisson_ratio=nu, gravity=(0, 0, 0), viscosity=viscosity)
        state = start(scene, params)
        v = np.zeros_like(state.velocity)
        v[0, :, 0] = 0.1 * np.sin(np.pi * X[:, 0] / L)
        track = rollout(params, scene, type(state)(state.position, v, state.affine, state.deformation), t)
        mode = np.abs(np.einsum("tn,n->t", track.position[:, 0, :, 0] - X[:, 0], np.sin(np.pi * X[:, 0] / L)))
        peak = np.nonzero((mode[1:-1] > mode[:-2]) & (mode[1:-1] >= mode[2:]))[0] + 1
        ratio.append(np.log(mode[peak[0]] / mode[peak[-1]]) / np.pi / (len(peak) - 1))
    omega = np.pi * (len(peak) - 1) / (t[peak[-1]] - t[peak[0]])
    want = 0.5 * 27 * K**2 / (3 * K + mu) ** 2 * omega * viscosity / E
    assert ratio[0] < 0.002  # what the transfers lose
    assert ratio[1] == pytest.approx(want, rel=0.05)


def test_a_viscous_column_sags_at_the_rate_of_trouton():
    """On a plane without friction a column thins at rho g (H - z) / (3 viscosity), the weight above over three times the viscosity."""
    viscosity, h, n = 3000.0, 0.01, 24
    scene = block((6, 6, n), h, normal=np.array([0, 0, 1.0]), law="Newtonian", precision="f64")
    params = Params.of(scene, youngs_modulus=6e5, poisson_ratio=0.0, viscosity=viscosity)
    t = np.arange(13) / 200
    z = rollout(params, scene, start(scene, params, position=np.array([0, 0, n * h / 2])), t).position[:, 0, :, 2]
    upper, lower = (np.abs(scene.particle[:, 2] - level) < 0.6 * h for level in (0.06, -0.06))
    length = z[:, upper].mean(1) - z[:, lower].mean(1)
    rate = -np.log(length[-1] / length[7]) / (t[-1] - t[7])  # by then the sound of the impact has died away
    assert rate == pytest.approx(1000 * 9.81 * n * h / 2 / 3 / viscosity, rel=0.03)


@pytest.mark.parametrize(("share", "stands"), [(0.5, True), (2.5, False)])
def test_a_plastic_column_stands_while_its_weight_is_below_its_yield_stress(share, stands):
    """rho g H = share of the yield stress; a weight laid on at once presses up to twice as hard for a moment."""
    h, n = 0.01, 20
    scene = block((8, 8, n), h, normal=np.array([0, 0, 1.0]), law="von Mises")
    weight = 1500 * 9.81 * n * h
    params = Params.of(scene, youngs_modulus=2e5, poisson_ratio=0.35, density=1500, friction=1, yield_stress=weight / share)
    z = rollout(params, scene, start(scene, params, position=np.array([0, 0, n * h / 2])), np.arange(16) / 30).position[:, 0, :, 2]
    height = np.ptp(z, axis=1) + h
    lost = 1 - height[-5:] / (n * h)
    if stands:
        assert lost.max() < 0.02  # rho g H / (2 E) is 0.7 %
    else:
        assert lost.min() > 0.2 and np.ptp(lost) < 0.005  # it has come to rest, lower


def test_laws_agree_at_small_strain():
    t = np.arange(6) / 120
    ends = []
    for law in ("neo-Hookean", "fixed corotated"):
        scene = block(law=law, precision="f64")
        params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, gravity=(0, 0, 0))
        state = start(scene, params)
        velocity = 1e-3 * state.position[:, :, ::-1]  # a small shear
        ends.append(rollout(params, scene, type(state)(state.position, velocity, state.affine, state.deformation), t).position)
    moved = np.abs(ends[0] - ends[0][0]).max()
    assert np.abs(ends[0] - ends[1]).max() < 1e-3 * moved


def test_first_order_in_the_step():
    """The distance to the exact parabola halves with the step. (Vibrations have no limit at a fixed grid: each transfer
    between particles and grid damps waves of a few cells a little.)"""
    scene = block(precision="f64")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3)
    exact = -0.5 * 9.81 * 0.1**2
    miss = [
        abs(rollout(params, scene, start(scene, params), np.array([0, 0.1]), steps=n).position[-1, 0, :, 2].mean() - exact)
        for n in (50, 100, 200)
    ]
    assert np.log2(miss[0] / miss[1]) == pytest.approx(1, abs=0.01)
    assert np.log2(miss[1] / miss[2]) == pytest.approx(1, abs=0.01)


def test_failure_is_a_value():
    """A member with a step far too long fails alone, with NaN rows, and nothing crashes."""
    scene = block(normal=np.array([0, 0, 1.0]))
    params = Params.of(scene, youngs_modulus=np.array([1e5, 1e9]), poisson_ratio=0.3)
    state = start(scene, params, position=np.array([0, 0, 0.07]), velocity=np.array([0, 0, -1.0]))
    track = rollout(params, scene, state, np.arange(10) / 60, steps=25)
    assert list(track.failed) == [False, True]
    assert np.isfinite(track.position[:, 0]).all()
    assert np.isnan(track.position[-1, 1]).all()
    nowhere = type(state)(np.full_like(state.position, np.nan), state.velocity, state.affine, state.deformation)
    assert rollout(params, scene, nowhere, np.arange(2) / 60, steps=2).failed.all()


def test_far_from_the_origin():
    """There is no domain to leave."""
    scene = block(precision="f64")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3)
    state = start(scene, params, position=np.array([-300.0, 500.0, 1000.0]))
    assert not rollout(params, scene, state, np.arange(3) / 60).failed.any()


def test_steps_are_whole_and_bounded():
    assert substeps(1 / 60, 1e-3) == 17
    assert substeps(0.01, 0.001) == 10
    assert substeps(np.array([[0.01], [0.02]]), np.array([[1e-3, 2e-3]])).tolist() == [[10, 5], [20, 10]]
    with pytest.raises(BadInput, match="simulation steps"):
        substeps(1 / 60, 1e-9)


def test_wave_speed():
    assert wave_speed(np.array(1.5e5), np.array(0.3), np.array(1000.0)) == pytest.approx(np.sqrt(1.5e5 * 0.7 / 1.3 / 0.4 / 1000))


def test_bad_bodies_are_refused():
    with pytest.raises(BadInput):
        build(np.zeros((3, 2)), np.ones(3))
    with pytest.raises(BadInput):
        build(np.full((3, 3), np.nan), np.ones(3))
