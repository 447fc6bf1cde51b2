"""The rigid simulators against MuJoCo: flight, falls, slides and rolling.

MuJoCo's contact is a spring with a damper, and its friction brings slip to rest through a damper too. Where it slips throughout,
Coulomb's law is the same in all three simulators; where friction grips within an impact, only the compliant contact of `spatial`
describes what MuJoCo does. Stiffness is per mass: 1e7 1/s^2 is a contact of pi / sqrt(1e7) = 1 ms.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch

from video2phys.simulate.rigid import inertia, planar, rotation, shapes, spatial

G = 9.81
SIZE = (0.12, 0.08, 0.06)
BOX, BALL = spatial.Scene(shapes.box(SIZE)), spatial.Scene(shapes.sphere(0.05))
BOX_GEOM, BALL_GEOM = 'type="box" size=".06 .04 .03"', 'type="sphere" size=".05"'
BOX_INERTIA, BALL_INERTIA = inertia.of_box(SIZE), inertia.of_ellipsoid((0.05,) * 3)
STIFFNESS, DAMPING = 1e7, 2e3
CONTACT = np.pi / np.sqrt(STIFFNESS)  # [s]
RESTITUTION = 0.4349  # exp(-tan(a) (pi - 2 a)) with sin a = DAMPING / 2 / sqrt(STIFFNESS)


def oracle(geom, moments, start, times, *, friction=0.0, gravity=(0, 0, -G), stiffness=STIFFNESS, damping=DAMPING, dt=1e-5, ground=True):
    """MuJoCo's states at `times` of a body of mass 1 on the plane z = 0, without one in flight."""
    contact = f'friction="{friction} 0 0" condim="3" solref="{-stiffness} {-damping}" solimp=".98 .98 .001"'
    plane = f'<geom type="plane" size="9 9 1" {contact}/>' if ground else ""
    numbers = lambda x: " ".join(map(str, x))  # noqa: E731
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{dt}" gravity="{numbers(gravity)}" cone="elliptic" impratio="20"
        integrator="{"Euler" if ground else "RK4"}"/><worldbody>{plane}<body><freejoint/>
        <inertial pos="0 0 0" mass="1" diaginertia="{numbers(np.diag(moments))}"/><geom {geom} {contact}/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    turn = rotation.matrix(start.rotation[0])
    data.qpos[:] = [*start.position[0], *start.rotation[0]]
    data.qvel[:] = [*start.velocity[0], *(turn.T @ start.spin[0])]  # MuJoCo's spin is in body axes
    seen = []
    for t in times:
        while data.time < t - dt / 2:
            mujoco.mj_step(model, data)
        spin = rotation.matrix(data.qpos[3:]) @ data.qvel[3:]
        seen.append([data.qpos[:3].copy(), data.qpos[3:].copy(), data.qvel[:3].copy(), spin])
    return spatial.Track(*(np.array(part)[None] for part in zip(*seen, strict=True)), np.zeros((1, len(times))))


def state(position, velocity=(0.0, 0, 0), spin=(0.0, 0, 0), turn=(0.0, 0, 0)):
    one = (np.atleast_2d(np.asarray(a, float)) for a in (position, rotation.exp(np.asarray(turn, float)), velocity, spin))
    return spatial.State(*one)


def in_plane(start, times, *, radius=0.0, line=True, touching=False, **values):
    """The planar simulator's track from the x and z of a spatial state, on the line z = 0; its spin turns from x to z."""
    scene = planar.build((radius,), line=line)
    p = planar.params(scene, 1, **values)
    x, v = (torch.tensor(a[:, None, [0, 2]]) for a in (start.position, start.velocity))
    return planar.rollout(p, scene, planar.start(scene, x, v, touching=touching), torch.tensor(times))


def tilted(angle):
    """Gravity above an incline that falls towards +x, in axes that lie along it and across it."""
    return np.array([G * np.sin(angle), 0.0, -G * np.cos(angle)])


def test_a_tumbling_box_agrees():
    """Near its middle axis, about which no turn is steady; both are smooth, so 1e-6 m and 1e-6 rad in a second."""
    start, t = state((0, 0, 5), (1, 0.2, 2), (1, 9, 0.3), (0.3, -0.2, 0.5)), np.linspace(0, 1, 6)
    want = oracle(BOX_GEOM, BOX_INERTIA, start, t, ground=False, dt=2e-4)
    got = spatial.rollout(spatial.params(inertia=BOX_INERTIA), BOX, start, t)
    assert np.abs(got.position - want.position).max() < 1e-6
    assert np.abs(rotation.between(got.rotation, want.rotation)).max() < 1e-6
    assert np.abs(want.spin[0] - want.spin[0, 0]).max() > 3  # it does tumble
    path = in_plane(start, t, line=False, gravity=[0.0, -G])
    assert np.abs(path.position[0, :, 0].numpy() - want.position[0][:, [0, 2]]).max() < 1e-6


@pytest.mark.parametrize(
    ("angle", "speed"), [(0.5, 0.0), (0.5, -1.0), (0.0, 1.2)], ids=["let go", "pushed up, turns round", "level, stops"]
)
def test_a_block_on_an_incline_agrees(angle, speed):
    """2e-3 m after half a metre: where it turns round or stops, MuJoCo's friction fades over some ms and loses up to 1 mm."""
    mu, t, gravity = 0.3, np.linspace(0, 0.6, 13), tilted(angle)
    start = state((0, 0, 0.03), (speed, 0, 0))
    want = oracle(BOX_GEOM, BOX_INERTIA, start, t, friction=mu, gravity=gravity, dt=2e-5).position[0, :, 0]
    flat = in_plane(state((0, 0, 0), (speed, 0, 0)), t, touching=True, friction=mu, gravity=gravity[[0, 2]]).position[0, :, 0, 0]
    p = spatial.params(inertia=BOX_INERTIA, friction=mu, gravity=gravity, offset=0.0)
    solid = spatial.rollout(p, BOX, start, t).position[0, :, 0]
    assert np.abs(flat.numpy() - want).max() < 2e-3
    assert np.abs(solid - want).max() < 2e-3
    assert np.ptp(want) > 0.2


@pytest.mark.parametrize("hollow", [0.0, 0.5, 0.8, 0.9])
def test_a_ball_with_a_concentric_void_rolls_at_the_closed_form(hollow):
    """a / (g sin th) = 1 / (1 + (2/5) (1 - k^5) / (1 - k^3)); MuJoCo's friction lets it creep by less than 1e-4 of its way."""
    angle, t = 0.2, np.array([0.0, 0.3, 0.6])
    factor = (2 / 5) * (1 - hollow**5) / (1 - hollow**3)
    moments, gravity, start = factor * 0.05**2 * np.eye(3), tilted(angle), state((0, 0, 0.05))
    share = 1 / (1 + factor)
    closed = 0.5 * G * np.sin(angle) * share * t**2
    want = oracle(BALL_GEOM, moments, start, t, friction=0.8, gravity=gravity, dt=2e-5)
    assert want.position[0, 1:, 0] == pytest.approx(closed[1:], rel=2e-4)
    flat = in_plane(start, t, radius=0.05, touching=True, friction=0.8, gravity=gravity[[0, 2]], mobility=[1 / factor])
    assert flat.position[0, 1:, 0, 0].numpy() == pytest.approx(closed[1:], rel=1e-12)
    p = spatial.params(inertia=moments, friction=0.8, gravity=gravity, offset=0.0)
    solid = spatial.rollout(p, BALL, start, t)
    assert solid.position[0, 1:, 0] == pytest.approx(closed[1:], rel=1e-3)
    for spin in (flat.velocity[0, -1, 0, 0].item() / 0.05, solid.spin[0, -1, 1]):
        assert spin == pytest.approx(want.spin[0, -1, 1], rel=1e-3)


@pytest.mark.parametrize(("mu", "speed"), [(0.0, 0.5), (0.15, 3.0)], ids=["smooth", "slips at every impact"])
def test_a_bouncing_ball_agrees(mu, speed):
    """Two impacts. A contact of 1 ms delays a ball of 2.4 m/s: 4 mm; speeds and spins between impacts agree to 1 %."""
    start, t = state((0, 0, 0.35), (speed, 0, 0)), np.array([0.1, 0.2, 0.3, 0.35, 0.4, 0.52])
    want = oracle(BALL_GEOM, BALL_INERTIA, start, t, friction=mu, dt=5e-6)
    flat = in_plane(start, t, radius=0.05, friction=mu, restitution=RESTITUTION, mobility=[2.5], gravity=[0.0, -G])
    p = spatial.params(inertia=BALL_INERTIA, friction=mu, restitution=RESTITUTION, offset=0.0)
    solid = spatial.rollout(p, BALL, start, np.r_[0.0, t])
    for path, velocity in ((flat.position[0, :, 0].numpy(), flat.velocity[0, :, 0].numpy()),
                           (solid.position[0, 1:][:, [0, 2]], solid.velocity[0, 1:][:, [0, 2]])):  # fmt: skip
        assert np.abs(path - want.position[0][:, [0, 2]]).max() < 4e-3
        assert np.abs(velocity[:, 0] - want.velocity[0, :, 0]).max() < 0.01 * speed
    assert solid.spin[0, -1, 1] == pytest.approx(want.spin[0, -1, 1], rel=0.01, abs=5e-3)  # MuJoCo has a least friction of 1e-5
    assert (want.velocity[0, -1, 0] < 0.9 * speed) == (mu > 0)


def test_a_dead_fall_of_a_moving_ball_ends_in_rolling():
    """Overdamped, the contact lasts until friction has brought the slip to rest: 5/7 of the speed, to 1e-3."""
    start, t = state((0, 0, 0.15), (1.0, 0, 0)), np.array([0.1, 0.3])
    want = oracle(BALL_GEOM, BALL_INERTIA, start, t, friction=0.5, damping=2e4)
    flat = in_plane(start, t, radius=0.05, friction=0.5, restitution=0.0, mobility=[2.5], gravity=[0.0, -G])
    assert flat.velocity[0, -1, 0, 0].item() == pytest.approx(5 / 7, rel=1e-12)
    assert want.velocity[0, -1, 0] == pytest.approx(5 / 7, rel=1e-3)
    assert np.abs(flat.position[0, :, 0].numpy() - want.position[0][:, [0, 2]]).max() < 2e-3


@pytest.mark.parametrize("mu", [0.1, 0.5], ids=["slips", "grips"])
@pytest.mark.parametrize("flat", [True, False], ids=["flat", "on a corner"])
def test_a_box_that_falls_on_the_plane_agrees(flat, mu):
    """One impact and 0.1 s of what follows, with the contact of MuJoCo's stiffness: 2 mm, and 0.03 rad of some 2 rad turned."""
    turn, spin, speed = ((0, 0, 0), (0, 0, 0), (1, 0, 0)) if flat else ((0.4, 0.7, 0.1), (1, 2, 3), (1, 0.2, 0))
    low = BOX.shape.lowest(rotation.matrix(rotation.exp(np.array(turn, float)))[None], np.array([0, 0, 1.0]))[0]
    start, t = state((0, 0, 0.25 - low), speed, spin, turn), np.array([0.0, 0.2, 0.25, 0.35])
    want = oracle(BOX_GEOM, BOX_INERTIA, start, t, friction=mu)
    p = spatial.params(inertia=BOX_INERTIA, friction=mu, restitution=RESTITUTION, offset=0.0, contact_time=CONTACT)
    got = spatial.rollout(p, BOX, start, t)
    assert got.hits[0].sum() == (4 if flat else 1)
    assert np.abs(got.position - want.position).max() < 2e-3
    assert np.linalg.norm(rotation.between(got.rotation, want.rotation), axis=-1).max() < 0.03
    free = state(start.position[0], speed, spin, turn)
    flown = spatial.rollout(spatial.params(inertia=BOX_INERTIA), BOX, free, t)
    assert np.abs(flown.position - want.position).max() > 0.1  # the impact is what is compared
