"""The planar rigid simulator against closed forms, conservation laws and central differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from video2phys.errors import BadInput
from video2phys.simulate.rigid import planar

G = 9.81


def tensor(x):
    return torch.tensor(x, dtype=torch.float64)


def run(scene, position, velocity, times, *, touching=False, spin=None, **values):
    p, v = tensor(position)[None], tensor(velocity)[None]
    values = {"gravity": [0.0, -G], **values}
    values = {k: tensor(v) for k, v in values.items()}
    w = None if spin is None else tensor(spin)[None]
    state = planar.start(scene, p, v, touching=touching, spin=w)
    return planar.rollout(planar.params(scene, 1, **values), scene, state, tensor(times))


def test_flight_is_a_parabola():
    t = np.linspace(0, 1, 11)
    track = run(planar.build(), [[0.1, 2.0]], [[1.0, 3.0]], t)
    want = np.stack([0.1 + t, 2 + 3 * t - G * t**2 / 2], -1)
    np.testing.assert_allclose(track.position[0, :, 0], want, atol=1e-12)


@pytest.mark.parametrize("slope,mu,speed", [(0.5, 0.3, 0.0), (0.5, 0.3, 1.0), (-0.4, 0.2, -0.5), (0.0, 0.3, 2.0)])
def test_slide_has_coulomb_acceleration(slope, mu, speed):
    """Down the slope g (sin - mu cos); up it g (sin + mu cos); a block on the level stops after v^2 / (2 mu g)."""
    t = np.linspace(0, 0.3, 7)
    d = np.array([np.cos(slope), np.sin(slope)])
    track = run(planar.build(line=True), [[0.0, 0.0]], [(speed * d).tolist()], t, touching=True, slope=slope, friction=mu)
    s = track.position[0, :, 0].numpy() @ d
    pull, sense = -G * np.sin(slope), np.sign(speed if speed else -slope)
    stop = -speed / (pull - sense * mu * G * np.cos(slope)) if speed * pull <= 0 and speed else np.inf
    before = t[t < stop]
    np.testing.assert_allclose(s[t < stop], speed * before + (pull - sense * mu * G * np.cos(slope)) * before**2 / 2, atol=1e-12)


def test_block_stops_on_the_level_and_stays():
    track = run(planar.build(line=True), [[0.0, 0.0]], [[1.0, 0.0]], [0, 1.0, 2.0], touching=True, friction=0.3)
    np.testing.assert_allclose(track.position[0, 1:, 0, 0], 1 / (2 * 0.3 * G), rtol=1e-12)


def test_block_sticks_when_friction_exceeds_the_slope():
    track = run(planar.build(line=True), [[0.0, 0.0]], [[0.0, 0.0]], [0, 5.0], touching=True, slope=0.4, friction=np.tan(0.4) + 1e-6)
    np.testing.assert_allclose(track.position[0, -1, 0], 0, atol=1e-12)


def test_block_pushed_up_turns_round_when_friction_cannot_hold_it():
    slope, mu, v = 0.5, 0.2, 2.0
    up, down = G * (np.sin(slope) + mu * np.cos(slope)), G * (np.sin(slope) - mu * np.cos(slope))
    d = np.array([np.cos(slope), np.sin(slope)])
    track = run(planar.build(line=True), [[0.0, 0.0]], [(v * d).tolist()], [0, 1.0], touching=True, slope=slope, friction=mu)
    want = v**2 / (2 * up) - down * (1 - v / up) ** 2 / 2
    np.testing.assert_allclose(track.position[0, -1, 0].numpy() @ d, want, rtol=1e-12)


def test_ball_rolls_down_at_five_sevenths():
    slope = 0.3
    track = run(planar.build((0.05,), line=True), [[-0.05 * np.sin(slope), 0.05 * np.cos(slope)]], [[0.0, 0.0]], [0, 0.5],
                touching=True, slope=slope, friction=0.5, mobility=[2.5])  # fmt: skip
    moved = np.linalg.norm((track.position[0, -1] - track.position[0, 0]).numpy())
    np.testing.assert_allclose(moved, G * np.sin(slope) * 5 / 7 * 0.125, rtol=1e-12)
    np.testing.assert_allclose(track.angle[0, -1, 0], moved / 0.05, rtol=1e-12)  # downhill is -x here: it turns from x to z


def test_sliding_ball_comes_to_roll_with_five_sevenths_of_its_speed():
    track = run(planar.build((0.05,), line=True), [[0.0, 0.05]], [[2.0, 0.0]], [0, 3.0], touching=True, friction=0.2, mobility=[2.5])
    np.testing.assert_allclose(track.velocity[0, -1, 0, 0], 2 * 5 / 7, rtol=1e-12)


@pytest.mark.parametrize("e", [0.9, 0.4])
def test_bounces_follow_the_closed_form(e):
    h, r = 1.0, 0.1
    fall = np.sqrt(2 * (h - r) / G)
    top = fall + e * np.sqrt(2 * (h - r) / G)
    track = run(planar.build((r,), line=True), [[0.0, h]], [[0.0, 0.0]], [0, fall, top], restitution=e)
    np.testing.assert_allclose(track.position[0, :, 0, 1], [h, r, r + e**2 * (h - r)], atol=1e-12)


def test_bounces_end_in_contact():
    track = run(planar.build((0.1,), line=True), [[0.0, 0.5]], [[0.0, 0.0]], [0, 5.0], restitution=0.5)
    np.testing.assert_allclose(track.position[0, -1, 0, 1], 0.1, atol=1e-5)
    assert 3 < track.events < 20


@pytest.mark.parametrize("mu,e,stick", [(0.1, 0.7, False), (0.9, 0.7, True)])
def test_oblique_bounce_obeys_coulomb_and_keeps_angular_momentum_about_the_contact(mu, e, stick):
    v, down, r, j = 2.0, -3.0, 0.1, 2.0
    track = run(
        planar.build((r,), line=True), [[0.0, r]], [[v, down]], [0, 1e-9], restitution=e, friction=mu, mobility=[j], gravity=[0.0, 0.0]
    )
    vx, vz = track.final.velocity[0, 0].tolist()
    w = float(track.final.spin[0, 0])
    np.testing.assert_allclose(vz, -e * down, rtol=1e-9)
    np.testing.assert_allclose(vx, v - (v / (1 + j) if stick else mu * (1 + e) * 3.0), rtol=1e-9)
    np.testing.assert_allclose(vx - w * r / j, v, rtol=1e-9)  # x velocity and spin change by one impulse at arm r


@pytest.mark.parametrize("e,masses", [(1.0, [1.0, 1.0]), (0.6, [1.0, 3.0]), (0.0, [2.0, 1.0])])
def test_discs_conserve_momentum_and_lose_the_right_energy(e, masses):
    scene = planar.build((10.0, 12.0), table=True)
    track = run(scene, [[0.0, 0.0], [50.0, 8.0]], [[100.0, 5.0], [-20.0, 0.0]], [0, 1.0], gravity=[0, 0], collision=e, mass=masses)
    m = np.array(masses)[:, None]
    v0, v1 = track.velocity[0, 0].numpy(), track.velocity[0, -1].numpy()
    np.testing.assert_allclose((m * v0).sum(0), (m * v1).sum(0), rtol=1e-12)
    n = ((v1 - v0)[0]) / np.linalg.norm((v1 - v0)[0])
    closing = (v0[0] - v0[1]) @ n
    np.testing.assert_allclose((v1[0] - v1[1]) @ n, -e * closing, rtol=1e-9, atol=1e-9)
    reduced = masses[0] * masses[1] / sum(masses)
    lost = 0.5 * (m * (v0**2 - v1**2)).sum()
    np.testing.assert_allclose(lost, 0.5 * reduced * (1 - e**2) * closing**2, rtol=1e-9, atol=1e-6)


def test_table_friction_stops_a_puck():
    track = run(planar.build((10.0,), table=True), [[0.0, 0.0]], [[30.0, 40.0]], [0, 0.5, 9.0], gravity=[0, 0], table=20.0)
    np.testing.assert_allclose(track.position[0, -1, 0], np.array([0.6, 0.8]) * 50**2 / 40, rtol=1e-12)
    np.testing.assert_allclose(track.velocity[0, 1, 0], np.array([0.6, 0.8]) * 40, rtol=1e-12)


def test_step_and_rollout_agree():
    scene = planar.build((0.05,), line=True)
    values = planar.params(scene, 1, gravity=tensor([0.0, -G]), slope=0.1, friction=0.3, restitution=0.6, mobility=tensor([2.0]))
    state = first = planar.start(scene, tensor([[[0.0, 0.6]]]), tensor([[[0.5, 0.0]]]))
    for _ in range(30):
        state = planar.step(values, scene, state, 0.05)
    track = planar.rollout(values, scene, first, tensor([0.0, 1.5]))
    np.testing.assert_allclose(state.position, track.final.position, atol=1e-10)


def test_turned_scene_gives_the_turned_motion():
    turn = 0.7
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    t, p, v = [0, 0.3, 0.9], np.array([[0.0, 0.5]]), np.array([[1.0, 0.0]])
    common = dict(restitution=0.6, friction=0.2, mobility=[2.0])
    a = run(planar.build((0.1,), line=True), p.tolist(), v.tolist(), t, **common)
    b = run(
        planar.build((0.1,), line=True), (p @ R.T).tolist(), (v @ R.T).tolist(), t, slope=turn, gravity=(R @ [0, -G]).tolist(), **common
    )
    np.testing.assert_allclose(b.position[0, :, 0], a.position[0, :, 0].numpy() @ R.T, atol=1e-12)


def _bouncing(x):
    """Positions after two bounces and a slide as a function of nine inputs."""
    scene = planar.build((0.05,), line=True, settle=1e-3)
    p = planar.params(scene, 1, gravity=torch.stack([x[0], x[1]]), slope=x[2], friction=x[3], restitution=x[4], mobility=tensor([2.0]))
    state = planar.start(scene, x[5:7].reshape(1, 1, 2), x[7:9].reshape(1, 1, 2))
    return planar.rollout(p, scene, state, tensor([0.2, 0.45, 0.8, 1.5])).position.flatten()


def _colliding(x):
    """Positions of two discs after they met on a rough table."""
    scene = planar.build((10.0, 12.0), table=True)
    p = planar.params(scene, 1, collision=x[0], table=x[1:2], mass=torch.stack([x[2], x[3]]))
    state = planar.start(scene, x[4:8].reshape(1, 2, 2), x[8:12].reshape(1, 2, 2))
    return planar.rollout(p, scene, state, tensor([0.1, 0.4, 0.8, 3.0])).position.flatten()


def _sliding(x):
    scene = planar.build(line=True)
    p = planar.params(scene, 1, gravity=torch.stack([x[0], x[1]]), slope=x[2], friction=x[3])
    d = torch.stack([torch.cos(x[2]), torch.sin(x[2])])
    state = planar.start(scene, torch.zeros(1, 1, 2, dtype=torch.float64), (x[4] * d).reshape(1, 1, 2), touching=True)
    return planar.rollout(p, scene, state, tensor([0.1, 0.5, 1.0])).position.flatten()


CASES = [
    (_bouncing, [0.1, -G, 0.1, 0.15, 0.6, 0.0, 0.5, 0.8, 0.3]),
    (_colliding, [0.7, 30.0, 1.0, 2.0, 0, 0, 50, 8, 120, 5, -20, 0]),
    (_sliding, [0.0, -G, 0.5, 0.2, 2.0]),
]


@pytest.mark.parametrize("f,x", CASES, ids=["bounce", "collision", "slide"])
def test_gradients_match_central_differences(f, x):
    x = tensor(x)
    exact = torch.autograd.functional.jacobian(f, x).numpy()
    h = 1e-6
    for k in range(len(x)):
        up, down = x.clone(), x.clone()
        up[k] += h
        down[k] -= h
        np.testing.assert_allclose(exact[:, k], (f(up) - f(down)).numpy() / (2 * h), rtol=1e-5, atol=1e-7)


def test_gradient_through_one_bounce_is_the_analytic_saltation():
    """z(t) = e v (t - tau) - g (t - tau)^2 / 2 with tau = sqrt(2 h / g), v = sqrt(2 g h)."""
    scene, h, e, t = planar.build((0.0,), line=True), tensor(1.0).requires_grad_(), tensor(0.7).requires_grad_(), 0.7
    p = planar.params(scene, 1, gravity=tensor([0.0, -G]), restitution=e)
    start = planar.start(scene, torch.stack([tensor(0.0), h]).reshape(1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.float64))
    planar.rollout(p, scene, start, tensor([t])).position[0, 0, 0, 1].backward()
    tau, v = np.sqrt(2 / G), np.sqrt(2 * G)
    s = t - tau
    dtau, dv = 1 / (G * tau), G / v
    np.testing.assert_allclose(float(e.grad), v * s, rtol=1e-12)
    np.testing.assert_allclose(float(h.grad), 0.7 * dv * s - (0.7 * v - G * s) * dtau, rtol=1e-10)


def test_batch_members_are_independent():
    scene = planar.build((0.05,), line=True)
    e = tensor([0.2, 0.5, 0.9])
    p = planar.params(scene, 3, gravity=tensor([0.0, -G]), restitution=e)
    start = planar.start(scene, tensor([[[0.0, 0.5]]]).expand(3, 1, 2), torch.zeros(3, 1, 2, dtype=torch.float64))
    together = planar.rollout(p, scene, start, tensor([0.4, 1.0])).position
    for k in range(3):
        alone = run(scene, [[0.0, 0.5]], [[0.0, 0.0]], [0.4, 1.0], restitution=float(e[k])).position[0]
        np.testing.assert_allclose(together[k], alone, atol=1e-12)


def test_line_and_table_exclude_each_other():
    with pytest.raises(BadInput, match="exclude"):
        planar.build(line=True, table=True)
    with pytest.raises(BadInput, match="no parameter"):
        planar.params(planar.build(), 1, fricton=0.3)
