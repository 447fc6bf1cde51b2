"""The spatial rigid simulator against closed forms and against MuJoCo."""

import mujoco
import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.simulate.rigid import inertia, rotation, shapes, spatial

G = 9.81
SIZE = (0.12, 0.08, 0.06)


def state(position, velocity=(0.0, 0, 0), spin=(0.0, 0, 0), turn=(0.0, 0, 0)):
    one = (np.atleast_2d(np.asarray(a, float)) for a in (position, rotation.exp(np.asarray(turn, float)), velocity, spin))
    return spatial.State(*one)


def box_params(**values):
    return spatial.params(**{"inertia": inertia.of_box(SIZE), "offset": 0.0, **values})


BOX = spatial.Scene(shapes.box(SIZE))
BALL = spatial.Scene(shapes.sphere(0.05))


def ball_params(**values):
    return spatial.params(**{"inertia": inertia.of_ellipsoid((0.05,) * 3), "offset": 0.0, **values})


def test_free_fall_is_exact():
    t = np.linspace(0, 0.7, 20)
    track = spatial.rollout(spatial.params(inertia=inertia.of_box(SIZE)), BOX, state((0, 0, 5), (1, 2, 3), (4, 5, 6)), t)
    want = np.array([0, 0, 5]) + t[:, None] * [1, 2, 3] + 0.5 * t[:, None] ** 2 * [0, 0, -G]
    assert np.abs(track.position[0] - want).max() < 1e-12


def test_torque_free_precession_keeps_energy_and_angular_momentum():
    p = spatial.params(inertia=inertia.of_box(SIZE), gravity=(0, 0, 0), centre=(0.01, 0.02, -0.005))
    track = spatial.rollout(p, BOX, state((0, 0, 1), (0.1, 0, 0), (1, 9, 0.3)), np.linspace(0, 3, 40))
    energies = np.array([spatial.energy(p, track.at(k))[0] for k in range(40)])
    R, w = rotation.matrix(track.rotation[0]), track.spin[0]
    L = np.einsum("tij,jk,tlk,tl->ti", R, p.inertia[0], R, w)
    assert np.ptp(energies) < 1e-7 * energies[0] and np.abs(L - L[0]).max() < 1e-12 * np.linalg.norm(L[0]) + 1e-15
    assert np.abs(w - w[0]).max() > 1  # it does tumble
    centre = track.position[0] + R @ p.centre[0]
    assert np.abs(np.diff(centre, 2, axis=0)).max() < 1e-12  # the centre of mass goes straight


def test_steady_precession_of_a_symmetric_top():
    """A symmetric body turns about L at |L| / I1 and about its axis at (1 - I3/I1) w3 (Landau and Lifshitz, section 33)."""
    moments, spin = np.diag([2.0, 2.0, 1.0]), np.array([0.6, 0.0, 3.0])
    p = spatial.params(inertia=moments, gravity=(0, 0, 0))
    t = np.array([0, 1.3])
    track = spatial.rollout(p, BOX, state((0, 0, 1), (0, 0, 0), spin), t)
    L = moments @ spin
    want = rotation.times(rotation.exp(L / 2.0 * t[1]), rotation.exp(np.array([0, 0, (1 - 1.0 / 2.0) * 3.0 * t[1]])))
    assert np.abs(rotation.between(track.rotation[0, 1], want)).max() < 1e-8


@pytest.mark.parametrize("contact_time", [0.0, 1e-3])
def test_bounce_heights_follow_the_square_of_the_restitution(contact_time):
    e, h = 0.7, 0.5
    t = np.arange(0, 1.2, 1 / 2000)
    track = spatial.rollout(ball_params(restitution=e, contact_time=contact_time), BALL, state((0, 0, 0.05 + h)), t)
    z, v = track.position[0, :, 2] - 0.05, track.velocity[0, :, 2]
    tops = z[1:][(v[:-1] > 0) & (v[1:] <= 0)]
    assert tops[:2] / h == pytest.approx([e**2, e**4], rel=1e-5 if contact_time == 0 else 0.03)


def test_sliding_stops_after_v_squared_over_2_mu_g():
    v, mu = 1.5, 0.35
    track = spatial.rollout(box_params(friction=mu), BOX, state((0, 0, 0.03), (v, 0, 0)), np.linspace(0, 1.0, 61))
    stop = v**2 / (2 * mu * G)
    assert track.position[0, -1, 0] == pytest.approx(stop, rel=2e-3)
    t = np.linspace(0, 1.0, 61)
    early = t < 0.8 * v / (mu * G)
    assert np.abs(track.position[0, :, 0] - v * t + mu * G * t**2 / 2)[early].max() < 5e-5
    assert np.abs(track.position[0, :, 2] - 0.03).max() < 1e-5


def test_a_box_holds_on_a_slope_until_tan_exceeds_friction():
    for angle, holds in ((0.25, True), (0.33, False)):
        normal = np.array([-np.sin(angle), 0, np.cos(angle)])
        start = state(0.03 * normal, turn=(0, -angle, 0))
        track = spatial.rollout(box_params(friction=0.3, normal=normal), BOX, start, np.array([0, 0.5]))
        moved = np.linalg.norm(track.position[0, 1] - track.position[0, 0])
        want = 0.0 if holds else 0.5 * G * (np.sin(angle) - 0.3 * np.cos(angle)) * 0.25
        assert moved == pytest.approx(want, rel=2e-3, abs=1e-5)


def test_a_ball_starts_to_roll_at_five_sevenths_of_its_speed():
    track = spatial.rollout(ball_params(friction=0.3), BALL, state((0, 0, 0.05), (1, 0, 0)), np.array([0, 0.6]))
    assert track.velocity[0, 1, 0] == pytest.approx(5 / 7, rel=1e-3)
    assert track.spin[0, 1, 1] == pytest.approx(5 / 7 / 0.05, rel=1e-3)


def test_a_ball_with_a_hollow_rolls_down_slower():
    angle, k = 0.2, 0.8
    factor = (2 / 5) * (1 - k**5) / (1 - k**3)
    normal = np.array([-np.sin(angle), 0, np.cos(angle)])
    p = spatial.params(friction=0.8, normal=normal, offset=0.0, inertia=factor * 0.05**2 * np.eye(3))
    track = spatial.rollout(p, BALL, state(0.05 * normal), np.array([0, 0.8]))
    distance = np.linalg.norm(track.position[0, 1] - track.position[0, 0])
    assert distance == pytest.approx(0.5 * G * np.sin(angle) / (1 + factor) * 0.64, rel=1e-3)


@pytest.mark.parametrize("contact_time", [0.0, 4e-3])
def test_a_box_at_rest_stays_at_rest(contact_time):
    p = box_params(friction=0.4, restitution=0.5, contact_time=contact_time)
    sunk = G * (contact_time / np.pi) ** 2  # where a compliant contact of omega = pi / contact_time carries the weight
    track = spatial.rollout(p, BOX, state((0, 0, 0.03 - sunk)), np.linspace(0, 2, 30))
    assert np.abs(track.position[0] - [0, 0, 0.03 - sunk]).max() < 1e-6
    assert np.abs(track.rotation[0] - track.rotation[0, 0]).max() < 1e-7


def test_a_spinning_box_on_the_floor_is_braked_by_its_corners():
    """Four equal loads at distance d from the axis: torque mu m g d, so the spin falls linearly."""
    mu, w0 = 0.2, 8.0
    d = np.hypot(0.06, 0.04)
    moment = inertia.of_box(SIZE)[2, 2]
    t = np.linspace(0, 0.08, 10)
    track = spatial.rollout(box_params(friction=mu), BOX, state((0, 0, 0.03), (0, 0, 0), (0, 0, w0)), t)
    assert np.allclose(track.spin[0, :, 2], w0 - mu * G * d / moment * t, rtol=5e-3)


def test_a_dropped_tilted_box_loses_energy_and_comes_to_rest():
    p = box_params(friction=0.3, restitution=0.5)
    start = state((0, 0, 0.3), (1, 0.2, 0), (1, 2, 3), (0.4, 0.7, 0.1))
    track = spatial.rollout(p, BOX, start, np.linspace(0, 2.5, 151))
    energies = np.array([spatial.energy(p, track.at(k))[0] for k in range(151)])
    assert np.diff(energies).max() < 1e-6
    assert np.abs(track.velocity[0, -1]).max() < 1e-6 and np.abs(track.spin[0, -1]).max() < 1e-5
    assert (
        track.position[0] @ [0, 0, 1] + shapes.box(SIZE).lowest(rotation.matrix(track.rotation[0]), np.array([0, 0, 1.0]))
    ).min() > -1e-6


def test_damping_ratio_gives_the_restitution():
    e = np.array([0.9, 0.5, 0.2, 0.1])
    zeta = spatial.damping_ratio(e)
    for ratio, want in zip(zeta, e, strict=True):
        r, v, dt = 0.0, -1.0, 1e-5
        while -2 * ratio * v - r >= 0 or v < 0:  # until the force ceases
            v_half = v + 0.5 * dt * (-2 * ratio * v - r)
            r += dt * v_half
            v += dt * (-2 * ratio * v_half - r + 0.5 * dt * v_half)
        assert v == pytest.approx(want, abs=2e-4)


def test_an_egg_rocks_without_gaining_energy():
    scene = spatial.Scene(shapes.ellipsoid((0.07, 0.05, 0.05)))
    p = spatial.params(friction=0.6, offset=0.0, inertia=inertia.of_ellipsoid((0.07, 0.05, 0.05)))
    start = state((0, 0, 0.0601), turn=(0, 0.35, 0))
    track = spatial.rollout(p, scene, start, np.linspace(0, 1.5, 91))
    energies = np.array([spatial.energy(p, track.at(k))[0] for k in range(91)])
    settled = energies[20:]
    assert np.ptp(settled) < 1e-4 * (settled[0] - G * 0.05)
    assert np.abs(track.spin[0, 20:, 1]).max() > 0.5


def test_a_batch_is_the_same_as_its_members():
    t = np.linspace(0, 0.8, 20)
    start = state((0, 0, 0.3), (1, 0.2, 0), (1, 2, 3), (0.4, 0.7, 0.1))
    both = spatial.rollout(box_params(friction=np.array([0.2, 0.6]), restitution=np.array([0.3, 0.5])), BOX, start, t)
    alone = spatial.rollout(box_params(friction=0.6, restitution=0.5), BOX, start, t)
    assert np.array_equal(both.position[1], alone.position[0]) and not np.allclose(both.position[0], alone.position[0])


def test_turning_the_world_turns_the_motion():
    t, turn = np.linspace(0, 0.8, 20), rotation.exp(np.array([0.3, -0.5, 0.9]))
    R = rotation.matrix(turn)
    start = state((0.1, 0, 0.3), (1, 0.2, 0), (1, 2, 3), (0.4, 0.7, 0.1))
    turned = spatial.State(start.position @ R.T, rotation.times(turn, start.rotation), start.velocity @ R.T, start.spin @ R.T)
    first = spatial.rollout(box_params(friction=0.3, restitution=0.4), BOX, start, t)
    other = spatial.rollout(box_params(friction=0.3, restitution=0.4, gravity=R @ [0, 0, -G], normal=R[:, 2]), BOX, turned, t)
    assert np.abs(first.position[0] @ R.T - other.position[0]).max() < 1e-7


def test_bad_input_is_named_and_a_failed_body_is_nan():
    with pytest.raises(BadInput, match="positive"):
        spatial.params(mass=-1)
    with pytest.raises(BadInput, match="ascend"):
        spatial.rollout(box_params(), BOX, state((0, 0, 1)), np.array([1.0, 0.0]))
    start = state(np.array([[0, 0, 1.0], [0, np.nan, 1.0]]))
    start = spatial.State(start.position, start.rotation, start.velocity, start.spin)
    track = spatial.rollout(box_params(), BOX, start, np.array([0, 0.1]))
    assert np.isfinite(track.position[0]).all() and np.isnan(track.position[1]).all()


def mujoco_track(geom, position, velocity, times, *, friction, stiffness=1e7, damping=1e3, dt=2e-5):
    contact = f'friction="{friction} 0 0" condim="3" solref="{-stiffness} {-damping}" solimp=".98 .98 .001"'
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{dt}" cone="elliptic" impratio="20"/><worldbody><geom type="plane" size="5 5 1" {contact}/>
        <body><freejoint/><geom {geom} density="600" {contact}/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qpos[:3], data.qvel[:3] = position, velocity
    out, speed = [], []
    for t in times:
        while data.time < t - dt / 2:
            mujoco.mj_step(model, data)
        out.append(data.qpos[:3].copy())
        speed.append(data.qvel.copy())
    return np.array(out), np.array(speed)


def test_a_sliding_box_agrees_with_mujoco():
    t = np.linspace(0, 0.6, 13)
    want, _ = mujoco_track('type="box" size=".06 .04 .03"', (0, 0, 0.03), (1.2, 0.3, 0), t, friction=0.3)
    got = spatial.rollout(box_params(friction=0.3), BOX, state((0, 0, 0.03), (1.2, 0.3, 0)), t)
    assert np.abs(got.position[0, :, :2] - want[:, :2]).max() < 2e-3


def test_a_skidding_bounce_of_a_ball_agrees_with_mujoco():
    """MuJoCo's contact is a damped oscillator with regularised friction: the compliant contact here, of the same stiffness."""
    t, stiffness, damping = np.linspace(0, 0.4, 9), 1e6, 600.0
    _, speed = mujoco_track('type="sphere" size=".05"', (0, 0, 0.25), (2.0, 0, 0), t, friction=0.2, stiffness=stiffness, damping=damping)
    zeta = damping / 2 / np.sqrt(stiffness)
    e = np.exp(-np.tan(np.arcsin(zeta)) * (np.pi - 2 * np.arcsin(zeta)))
    p = ball_params(friction=0.2, restitution=e, contact_time=np.pi / np.sqrt(stiffness))
    got = spatial.rollout(p, BALL, state((0, 0, 0.25), (2.0, 0, 0)), t)
    assert got.velocity[0, 6, 0] == pytest.approx(speed[6, 0], abs=0.05) and speed[6, 0] < 1.8
    assert got.spin[0, 6, 1] == pytest.approx(speed[6, 4], rel=0.1)
