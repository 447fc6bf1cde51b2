"""Jointed bodies in a plane against closed forms, conservation laws, MuJoCo and central differences."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from video2phys.backend import one_thread
from video2phys.errors import BadInput
from video2phys.simulate.rigid import jointed
from video2phys.simulate.rigid.jointed_model import WORLD

G = 9.81


def tensor(x):
    return torch.tensor(np.asarray(x), dtype=torch.float64)


def pendulum(theta, times, *, length=0.8, largest_dt=1 / 120, spin=0.0, **values):
    """Angles and the track of a bob of mass 1 let go at theta."""
    scene = jointed.build(largest_dt=largest_dt)
    p = jointed.params(scene, gravity=[0.0, -G], arm=[[0.0, -length]], **values)
    track = jointed.rollout(p, scene, jointed.start(p, scene, tensor([[theta]]), tensor([[spin]])), tensor(times))
    return track.angle[0, :, 0].numpy(), track


def on_spring(drop, times, *, k=40.0, rest=0.5, mass=1.0, **values):
    """Depth below its equilibrium of a mass that hangs from a spring, let go `drop` below it."""
    scene = jointed.build((None,), springs=((0, WORLD),))
    p = jointed.params(scene, gravity=[0.0, -G], stiffness=k, rest=rest, mass=mass, **values)
    level = rest + mass * G / k
    track = jointed.rollout(p, scene, jointed.start(p, scene, position=tensor([[[0.0, -level - drop]]])), tensor(times))
    return -level - track.position[0, :, 0, 1].numpy()


@pytest.mark.parametrize("theta", [1e-3, 0.5, np.pi / 2, 2.8])
def test_a_pendulum_has_the_period_of_the_elliptic_integral(theta):
    """T = 4 sqrt(l / g) K(sin(theta / 2)): at a quarter it passes the lowest point, at half it has turned round."""
    period = 4 * np.sqrt(0.8 / G) * ellipk(np.sin(theta / 2) ** 2)
    angle, _ = pendulum(theta, period * np.array([0.25, 0.5, 1.0]))
    np.testing.assert_allclose(angle / theta, [0, -1, 1], atol=1e-7)


def test_a_small_swing_takes_two_pi_root_l_over_g():
    angle, _ = pendulum(1e-4, 2 * np.pi * np.sqrt(0.8 / G) * np.array([0.25, 1.0]))
    np.testing.assert_allclose(angle / 1e-4, [0, 1], atol=2e-8)  # theta^2 / 16 of the period is 6e-10


def test_a_rod_hung_at_its_end_swings_like_a_bob_at_two_thirds():
    """Compound pendulum: T = 2 pi sqrt((I + m d^2) / (m g d)), here I = m l^2 / 12 and d = l / 2."""
    rod, mass = 1.2, 3.0
    scene = jointed.build()
    p = jointed.params(scene, gravity=[0.0, -G], arm=[[0.0, -rod / 2]], mass=mass, inertia=mass * rod**2 / 12, pivot=[[0.3, 0.2]])
    times = np.linspace(0, 2, 9)
    track = jointed.rollout(p, scene, jointed.start(p, scene, tensor([[1.3]])), tensor(times))
    angle, _ = pendulum(1.3, times, length=2 / 3 * rod)
    np.testing.assert_allclose(track.angle[0, :, 0], angle, atol=1e-9)
    centre = np.array([0.3, 0.2]) + rod / 2 * np.stack([np.sin(angle), -np.cos(angle)], -1)
    np.testing.assert_allclose(track.position[0, :, 0], centre, atol=1e-9)


def test_a_mass_on_a_spring_swings_at_root_k_over_m():
    t = np.linspace(0, 3, 13)
    np.testing.assert_allclose(on_spring(0.1, t, mass=2.0), 0.1 * np.cos(np.sqrt(20.0) * t), atol=1e-8)


@pytest.mark.parametrize("by", ["viscous", "damping"])
def test_a_damped_swing_falls_by_its_decrement(by):
    """z'' = -2 g z' - w^2 z: from rest A exp(-g t) (cos v t + g / v sin v t), v^2 = w^2 - g^2; 2 g = viscous, or damping / m."""
    decay, w = 0.4, np.sqrt(40.0)
    v = np.sqrt(w**2 - decay**2)
    period = 2 * np.pi / v
    t = period * np.arange(13) / 4
    got = on_spring(0.2, t, **{by: 2 * decay})
    np.testing.assert_allclose(got, 0.2 * np.exp(-decay * t) * (np.cos(v * t) + decay / v * np.sin(v * t)), atol=1e-8)
    tops = got[::4]
    np.testing.assert_allclose(np.log(tops[:-1] / tops[1:]), decay * period, rtol=1e-6)


def test_a_fall_with_quadratic_drag_tends_to_its_terminal_speed():
    """v = u tanh(g t / u), u^2 = g / k."""
    scene, k, t = jointed.build((None,)), 0.3, np.linspace(0, 3, 7)
    p = jointed.params(scene, gravity=[0.0, -G], quadratic=k)
    track = jointed.rollout(p, scene, jointed.start(p, scene), tensor(t))
    u = np.sqrt(G / k)
    np.testing.assert_allclose(track.velocity[0, :, 0, 1], -u * np.tanh(G * t / u), atol=1e-8)


def test_a_pendulum_with_every_kind_of_loss_obeys_its_equation():
    """(I + m l^2) a'' = -m g l sin a - bearing a' - m l^2 (viscous + quadratic l |a'|) a', by another integrator."""
    length, m, inertia, bearing, viscous, quadratic, t = 0.8, 1.7, 0.2, 0.15, 0.1, 0.2, np.linspace(0, 4, 17)

    def slope(_, y):
        drag = m * length**2 * (viscous + quadratic * length * abs(y[1])) + bearing
        return y[1], (-m * G * length * np.sin(y[0]) - drag * y[1]) / (inertia + m * length**2)

    want = solve_ivp(slope, (0, 4), [2.0, 0.0], t_eval=t, rtol=1e-11, atol=1e-12, method="DOP853").y[0]
    got, _ = pendulum(2.0, t, mass=m, inertia=inertia, bearing=bearing, viscous=viscous, quadratic=quadratic)
    np.testing.assert_allclose(got, want, atol=1e-6)  # |a'| a' bends where the swing turns: those steps are of order 3
    assert abs(got[-1]) < 1.2  # it does lose amplitude


def test_a_tether_is_no_force_while_slack_and_a_spring_while_taut():
    """Dropped from the pivot: free as far as the rope's length, then e = g / k (1 - cos w t) + v / w sin w t until e is 0 again."""
    k, rest = 200.0, 1.0
    scene = jointed.build((None,), tethers=((0, WORLD),))
    p = jointed.params(scene, gravity=[0.0, -G], stiffness=k, rest=rest)
    w, v = np.sqrt(k), np.sqrt(2 * G * (rest - 1e-3))
    tight = v / G
    lowest = tight + (np.pi - np.arctan(v * w / G)) / w
    times = np.array([tight / 2, tight, lowest, 2 * lowest - tight, 2 * lowest])
    start = jointed.start(p, scene, position=tensor([[[0.0, -1e-3]]]))
    track = jointed.rollout(p, scene, start, tensor(times))
    e = G / k * (1 - np.cos(w * (lowest - tight))) + v / w * np.sin(w * (lowest - tight))
    depth = [1e-3 + G * tight**2 / 8, rest, rest + e, rest, 1e-3]  # it comes back the way it went
    np.testing.assert_allclose(-track.position[0, :, 0, 1], depth, atol=1e-6)
    assert e == pytest.approx((G + np.sqrt(G**2 + 2 * k * G * (rest - 1e-3))) / k)  # m g (rest + e) = k e^2 / 2


def test_a_damped_tether_only_pulls_and_only_takes_energy():
    scene = jointed.build((None,), tethers=((0, WORLD),), largest_dt=1 / 300)
    p = jointed.params(scene, gravity=[0.0, -G], stiffness=400.0, rest=1.0, damping=60.0)
    state = jointed.start(p, scene, position=tensor([[[0.9, 0.6]]]))
    energies, reach = [float(jointed.energy(p, scene, state))], []
    for _ in range(60):
        state = jointed.step(p, scene, state, 0.02)
        energies.append(float(jointed.energy(p, scene, state)))
        reach.append(float(torch.linalg.vector_norm(state.position)))
    assert np.diff(energies).max() < 1e-6 and energies[-1] < energies[0] - 0.2
    assert min(reach) < 0.95 and max(reach) > 1.01  # slack at first, then taut


def test_bodies_that_hang_together_in_flight_keep_momentum_and_angular_momentum():
    scene = jointed.build((None, 0, 1), springs=((0, 2),))
    p = jointed.params(
        scene, mass=[1.0, 2.0, 0.5], inertia=[0.1, 0.2, 0.05], pivot=[[0, 0], [0.3, 0.1], [0.2, -0.4]], arm=[[0, 0], [0.5, 0], [0, -0.3]],
        bearing=[0.0, 0.05, 0.1], stiffness=3.0, rest=0.4, damping=0.2, near=[[0.1, 0.2]], far=[[-0.1, 0.0]],
    )  # fmt: skip
    start = jointed.start(p, scene, tensor([[0.3, -1.0, 2.0]]), tensor([[3.0, -4.0, 1.0]]), velocity=tensor([[[0.5, -0.2]]]))
    end = jointed.step(p, scene, start, 2.0)

    def momenta(s):
        m = p.mass[..., None]
        swing = (p.mass * (s.position[..., 0] * s.velocity[..., 1] - s.position[..., 1] * s.velocity[..., 0]) + p.inertia * s.spin).sum(-1)
        return [*(m * s.velocity).sum(1)[0].tolist(), swing.item()]

    np.testing.assert_allclose(momenta(end), momenta(start), atol=1e-8)
    assert float(jointed.energy(p, scene, end)) < float(jointed.energy(p, scene, start))


def double(theta, *, largest_dt=1 / 120):
    scene = jointed.build((WORLD, 0), largest_dt=largest_dt)
    arm, pivot = [[0.0, -0.5], [0.0, -0.4]], [[0, 0], [0.0, -0.1]]
    p = jointed.params(scene, gravity=[0.0, -G], mass=[1.0, 0.6], inertia=[0.03, 0.0], arm=arm, pivot=pivot)
    return p, scene, jointed.start(p, scene, tensor([theta]))


def test_a_double_pendulum_keeps_its_energy():
    p, scene, start = double([2.0, 2.5], largest_dt=1 / 240)
    track = jointed.rollout(p, scene, start, tensor(np.linspace(0, 5, 26)))
    first = float(jointed.energy(p, scene, start))
    scale = float((p.mass * G).sum())  # of a metre
    assert abs(float(jointed.energy(p, scene, track.final)) - first) < 1e-6 * scale
    assert np.ptp(track.angle[0, :, 1].numpy()) > 2 * np.pi  # it does go over the top


def test_the_error_falls_with_the_fifth_power_of_the_step():
    p, scene, start = double([1.0, 1.5], largest_dt=1 / 960)
    want = jointed.step(p, scene, start, 1.0).position
    steps, errors = np.array([15, 30, 60, 120]), []
    for n in steps:
        p, scene, start = double([1.0, 1.5], largest_dt=1 / n)
        track = jointed.rollout(p, scene, start, tensor([1.0]))
        errors.append(float((track.final.position - want).abs().max()))
        assert float(track.error) > errors[-1]  # the estimate is that of the lower order
    slope = np.polyfit(np.log(1 / steps), np.log(errors), 1)[0]
    assert 4.7 < slope < 5.6, (slope, errors)


MECHANISM = """<mujoco><option timestep="2.5e-4" integrator="RK4" gravity="0 0 -9.81"/><worldbody>
<site name="w" pos="0.9 0 0.4"/>
<body pos="0.1 0 0.2"><joint axis="0 -1 0" damping="0.05"/><inertial pos="0 0 -.4" mass="1.5" diaginertia=".04 .04 .04"/>
 <body pos=".05 0 -.7"><joint axis="0 -1 0" damping="0.02"/><inertial pos="0 0 -.3" mass="0.7" diaginertia=".02 .02 .02"/>
 <site name="a" pos="0.05 0 -.5"/></body></body>
<body pos="0.8 0 -0.6"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 -1 0"/>
 <inertial pos="0 0 0" mass="1.1" diaginertia=".03 .03 .03"/><site name="b" pos="-0.1 0 0.05"/><site name="c" pos="0.05 0 0.1"/></body>
</worldbody><tendon>
<spatial stiffness="20" damping="0.3" springlength="0.4"><site site="a"/><site site="b"/></spatial>
<spatial stiffness="35" damping="0.1" springlength="0.6"><site site="c"/><site site="w"/></spatial></tendon></mujoco>"""


def mechanism(largest_dt=1 / 160):
    """The same: a double pendulum of extended bodies and a free body, held by two springs with dampers."""
    scene = jointed.build((WORLD, 0, None), springs=((1, 2), (2, WORLD)), largest_dt=largest_dt)
    values = dict(
        gravity=[0.0, -G], mass=[1.5, 0.7, 1.1], inertia=[0.04, 0.02, 0.03], pivot=[[0.1, 0.2], [0.05, -0.3], [0, 0]],
        arm=[[0, -0.4], [0, -0.3], [0, 0]], bearing=[0.05, 0.02, 0.0], near=[[0.05, -0.2], [0.05, 0.1]], far=[[-0.1, 0.05], [0.9, 0.4]],
        stiffness=[20.0, 35.0], rest=[0.4, 0.6], damping=[0.3, 0.1],
    )  # fmt: skip
    return scene, values


def test_a_mechanism_of_everything_agrees_with_mujoco():
    """Both integrate the same equations, so the tolerance is that of the steps: 1e-6 m after 1.5 s of motion of a metre."""
    model = mujoco.MjModel.from_xml_string(MECHANISM)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = [0.8, -0.4, 0.0, 0.0, 0.3], [0.0, 2.0, 0.5, 0.0, -1.0]
    times, want = np.linspace(0, 1.5, 16), []
    for t in times:
        while data.time < t - 1e-9:
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        want.append(data.xipos[1:, [0, 2]].copy())
    scene, values = mechanism()
    p = jointed.params(scene, **values)
    place, speed = tensor([[[0.8, -0.6]]]), tensor([[[0.5, 0.0]]])
    start = jointed.start(p, scene, tensor([[0.8, 0.4, 0.3]]), tensor([[0.0, 2.0, -1.0]]), position=place, velocity=speed)
    track = jointed.rollout(p, scene, start, tensor(times))
    np.testing.assert_allclose(track.position[0], want, atol=1e-6)
    assert np.ptp(np.array(want), axis=0).max() > 0.5


SWINGING = jointed.build((WORLD, 0, None), springs=((1, 2),), tethers=((2, WORLD), (0, 2)), largest_dt=1 / 60)
VALUES = {
    "gravity": [[0.3, -G]], "mass": [[1.5, 0.7, 1.1]], "inertia": [[0.04, 0.02, 0.03]], "pivot": [[[0.1, 0.2], [0.05, -0.3], [0, 0]]],
    "arm": [[[0.02, -0.4], [0, -0.3], [0, 0]]], "bearing": [[0.05, 0.02, 0.0]], "viscous": [[0.1, 0.2, 0.3]],
    "quadratic": [[0.2, 0.1, 0.3]], "near": [[[0.05, -0.2], [0.05, 0.1], [0.0, 0.1]]], "far": [[[-0.1, 0.05], [0.9, 0.4], [0.0, 0.2]]],
    "stiffness": [[20.0, 65.0, 40.0]], "rest": [[0.4, 0.7, 0.68]], "damping": [[0.3, 2.0, 1.0]],
    "angle": [[0.8, 0.4, 0.3]], "spin": [[0.0, 2.0, -1.0]], "position": [[[0.8, -0.6]]], "velocity": [[[0.5, 0.1]]],
}  # fmt: skip


def swung(**values):
    """Positions, angles and velocities (B, 45) along 1.5 s of the mechanism, as a function of everything that may be learnt."""
    first = {k: values.pop(k) for k in ("angle", "spin", "position", "velocity")}
    p = jointed.params(SWINGING, max(len(v) for v in (*values.values(), *first.values())), **values)
    track = jointed.rollout(p, SWINGING, jointed.start(p, SWINGING, **first), tensor([0.2, 0.7, 1.5]))
    return torch.cat([track.position.flatten(1), track.angle.flatten(1), track.velocity.flatten(1)], 1)


MIX = np.random.default_rng(0).normal(size=(45, 4))  # four mixtures of what is seen: a backward pass each


@pytest.fixture(scope="module")
def gradients():
    inputs = {n: tensor(v).requires_grad_() for n, v in VALUES.items()}
    seen = (swung(**inputs) @ tensor(MIX))[0]
    with one_thread():
        rows = [torch.autograd.grad(s, list(inputs.values()), retain_graph=True) for s in seen]
    return {n: np.stack([row[k].flatten().numpy() for row in rows]) for k, n in enumerate(inputs)}


@pytest.mark.parametrize("name", list(VALUES))
def test_gradients_match_central_differences(name, gradients):
    """Relative to the largest derivative of the same mixture; the tethers tighten and go slack on the way."""
    exact, h = gradients[name], 1e-6
    value = tensor(VALUES[name])
    moves = h * torch.eye(value.numel(), dtype=torch.float64).reshape(-1, *value.shape[1:])
    up, down = (swung(**{**{n: tensor(v) for n, v in VALUES.items()}, name: value + sign * moves}).numpy() for sign in (1, -1))
    want = MIX.T @ ((up - down) / (2 * h)).T
    np.testing.assert_allclose(exact, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    unused = name in ("pivot", "arm", "bearing")  # the free body has none of these
    assert (np.abs(exact).max(0) > 1e-4).sum() >= exact.shape[1] - 2 * unused


def test_the_derivative_by_the_length_is_that_of_the_period():
    """A small swing a cos(w t) with w^2 = g / l moves by a w t sin(w t) / (2 l) a metre of length."""
    length, a, t = tensor(0.8).requires_grad_(), 1e-3, 1.3
    scene = jointed.build()
    p = jointed.params(scene, gravity=[0.0, -G], arm=torch.stack([tensor(0.0), -length])[None])
    jointed.rollout(p, scene, jointed.start(p, scene, tensor([[a]])), tensor([t])).angle.sum().backward()
    w = np.sqrt(G / 0.8)
    assert float(length.grad) == pytest.approx(a * w * t * np.sin(w * t) / 1.6, rel=1e-5)


def test_a_batch_is_the_same_as_its_members():
    scene, values = mechanism(1 / 60)
    values["stiffness"] = [[20.0, 35.0], [5.0, 60.0]]
    times = tensor([[0.1, 0.5], [0.2, 0.5]])

    def run(p, times):
        start = jointed.start(p, scene, tensor([[0.8, 0.4, 0.3]]), position=tensor([[[0.8, -0.6]]]))
        return jointed.rollout(p, scene, start, times).position

    both = run(jointed.params(scene, 2, **values), times)
    for k in range(2):
        alone = run(jointed.params(scene, 1, **{**values, "stiffness": values["stiffness"][k]}), times[k])
        np.testing.assert_allclose(both[k], alone[0], atol=1e-6)  # the batch shares the number of steps, the longest span's


def test_steps_too_long_for_a_spring_show_in_the_error():
    calm, wild = (on_spring_error(k) for k in (40.0, 4e5))
    assert calm < 1e-7 and not wild < 0.1


def on_spring_error(k):
    scene = jointed.build((None,), springs=((0, WORLD),), largest_dt=1 / 120)
    p = jointed.params(scene, stiffness=k, rest=0.5)
    return float(jointed.rollout(p, scene, jointed.start(p, scene, position=tensor([[[0.0, -0.6]]])), tensor([1.0])).error)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="hang from"):
        jointed.build((WORLD, 1))
    with pytest.raises(BadInput, match="link"):
        jointed.build((WORLD,), springs=((0, 3),))
    with pytest.raises(BadInput, match="no parameter"):
        jointed.params(jointed.build(), lenght=1.0)
    with pytest.raises(BadInput, match="positive"):
        jointed.params(jointed.build())
    p = jointed.params(jointed.build(), arm=[[0.0, -1.0]])
    with pytest.raises(BadInput, match="ascend"):
        jointed.rollout(p, jointed.build(), jointed.start(p, jointed.build()), tensor([1.0, 0.5]))
