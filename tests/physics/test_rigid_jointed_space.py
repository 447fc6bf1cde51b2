"""Jointed bodies in space against closed forms, conservation laws, MuJoCo, the simulator in a plane and central differences."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from video2phys.errors import BadInput
from video2phys.simulate.rigid import jointed, jointed_space, rotation
from video2phys.simulate.rigid.jointed_model import WORLD
from video2phys.simulate.rigid.jointed_space import Joint

G = 9.81
DOWN = [0.0, 0.0, -G]
BALL, HINGE, FREE = Joint("ball"), Joint("hinge"), Joint("free")


def tensor(x):
    return torch.tensor(np.asarray(x), dtype=torch.float64)


def turned(*vectors):
    """Quaternions (1, K, 4) of rotation vectors."""
    return tensor(rotation.exp(np.array(vectors)))[None]


def bob(tilt, spin, times, *, length=0.7, inertia=1e-3, **values):
    """A small ball on a rod without mass, tilted about y."""
    scene = jointed_space.build(largest_dt=1 / 240)
    p = jointed_space.params(scene, gravity=DOWN, arm=[[0, 0, -length]], inertia=inertia * np.eye(3), **values)
    state = jointed_space.start(p, scene, rotation=turned([0, tilt, 0]), spin=tensor([[spin]]))
    return p, scene, state, jointed_space.rollout(p, scene, state, tensor(times))


def states(track, count):
    return [
        jointed_space.State(track.final.time, *(getattr(track, n)[:, k] for n in ("position", "rotation", "velocity", "spin")))
        for k in range(count)
    ]


def test_a_conical_pendulum_goes_round_at_root_g_over_l_cos():
    """As a rigid body that turns with its circle: (m l^2 + I - I) w^2 cos = m g l, so w^2 = g / (l cos a) with equal moments."""
    tilt, length = 0.9, 0.7
    w = np.sqrt(G / (length * np.cos(tilt)))
    t = np.linspace(0, 2 * np.pi / w, 9)
    *_, track = bob(tilt, [0, 0, w], t, length=length)
    a = np.pi + w * t  # tilted about y, it begins on the side of -x
    want = length * np.stack([np.sin(tilt) * np.cos(a), np.sin(tilt) * np.sin(a), np.full(9, -np.cos(tilt))], -1)
    np.testing.assert_allclose(track.position[0, :, 0], want, atol=1e-8)


def test_a_spherical_pendulum_keeps_its_energy_and_its_turn_about_the_vertical():
    t = np.linspace(0, 4, 9)
    p, scene, state, track = bob(1.2, [0.4, -1.0, 2.0], t)
    energies = torch.cat([jointed_space.energy(p, scene, s) for s in (state, *states(track, 9))])
    np.testing.assert_allclose(energies, energies[0].item(), atol=1e-7)
    moment = torch.linalg.cross(track.position, track.velocity)[0, :, 0, 2] + 1e-3 * track.spin[0, :, 0, 2]
    np.testing.assert_allclose(moment, moment[0].item(), atol=1e-8)
    assert track.error.item() < 1e-6


@pytest.mark.parametrize("tilt", [0.4, 1.3])
def test_a_top_precesses_steadily(tilt):
    """(I3 (w + W cos a)) W - I1 W^2 cos a = m g l with w the own spin and W the precession; both moments about the point it stands on."""
    length, own, side, along = 0.1, 80.0, 4e-3, 6e-3
    I1 = side + length**2
    W = np.roots([(along - I1) * np.cos(tilt), along * own, -G * length])
    assert np.isreal(W).all()
    W = float(W[np.argmin(np.abs(W))].real)
    scene = jointed_space.build(largest_dt=1 / 960)
    p = jointed_space.params(scene, gravity=DOWN, arm=[[0, 0, length]], inertia=np.diag([side, side, along]))
    axis = np.array([np.sin(tilt), 0, np.cos(tilt)])
    state = jointed_space.start(p, scene, rotation=turned([0, tilt, 0]), spin=tensor([[own * axis + [0, 0, W]]]))
    t = np.linspace(0, np.pi / W, 4)
    track = jointed_space.rollout(p, scene, state, tensor(t))
    want = length * np.stack([np.sin(tilt) * np.cos(W * t), np.sin(tilt) * np.sin(W * t), np.full(4, np.cos(tilt))], -1)
    np.testing.assert_allclose(track.position[0, :, 0], want, atol=1e-7)


def test_a_free_body_keeps_energy_and_angular_momentum_while_it_tumbles():
    inertia, w = np.diag([1.0, 2.0, 3.0]), np.array([0.01, 5.0, 0.02])  # about the middle axis: it turns over again and again
    scene = jointed_space.build((FREE,))
    p = jointed_space.params(scene, inertia=inertia)
    state = jointed_space.start(p, scene, spin=tensor([[w]]), velocity=tensor([[[1.0, 2, 3]]]))
    track = jointed_space.rollout(p, scene, state, tensor(np.linspace(0, 6, 25)))
    R = rotation.matrix(track.rotation[0, :, 0].numpy())
    momentum = np.einsum("tij,jk,tlk,tl->ti", R, inertia, R, track.spin[0, :, 0].numpy())
    np.testing.assert_allclose(momentum, np.broadcast_to(inertia @ w, (25, 3)), atol=1e-6)
    np.testing.assert_allclose(track.position[0, :, 0], np.linspace(0, 6, 25)[:, None] * [1, 2, 3], atol=1e-10)
    assert R[0, 1, 1] > 0.99 and R[:, 1, 1].min() < -0.99  # the middle axis has turned over


def test_a_mass_on_a_spring_goes_round_in_an_ellipse():
    """Of no natural length: every direction swings at root k over m."""
    scene, t, w = jointed_space.build((FREE,), springs=((0, WORLD),)), np.linspace(0, 3, 13), np.sqrt(40.0)
    p = jointed_space.params(scene, stiffness=40.0, far=[[1.0, 0.5, 0.2]])
    at, x, v = np.array([1.0, 0.5, 0.2]), np.array([0.3, 0.0, 0.1]), np.array([0.0, 1.0, -0.5])
    state = jointed_space.start(p, scene, position=tensor([[at + x]]), velocity=tensor([[v]]))
    track = jointed_space.rollout(p, scene, state, tensor(t))
    want = at + np.outer(np.cos(w * t), x) + np.outer(np.sin(w * t) / w, v)
    np.testing.assert_allclose(track.position[0, :, 0], want, atol=1e-7)


def test_a_planar_scene_moves_as_in_the_plane():
    """A double pendulum with friction in its pins, a spring to the world and a tether to a free body."""
    parents, springs, tethers = (WORLD, 0, None), ((1, WORLD),), ((2, 0),)
    shared = {"mass": [1.0, 0.7, 0.4], "bearing": [0.02, 0.03, 0.0], "viscous": 0.1, "quadratic": 0.05, "stiffness": [12.0, 300.0],
              "rest": [0.2, 0.4], "damping": [0.1, 3.0]}  # fmt: skip
    flat = {"gravity": [0.0, -G], "arm": [[0.0, -0.4], [0.1, -0.3], [0, 0]], "pivot": [[0.0, 0.2], [0.0, -0.1], [0, 0]],
            "near": [[0.0, -0.1], [0.0, 0.05]], "far": [[1.0, -1.0], [0.1, 0.0]]}  # fmt: skip
    scene = jointed.build(parents, springs=springs, tethers=tethers)
    p = jointed.params(scene, inertia=[0.02, 0.01, 0.003], **shared, **flat)
    state = jointed.start(p, scene, tensor([[0.8, -0.3, 0.0]]), tensor([[0.0, 2.0, 1.0]]), position=tensor([[[0.3, -0.5]]]))
    times = tensor(np.linspace(0, 1.5, 7))
    want = jointed.rollout(p, scene, state, times)

    def lifted(x):
        x = np.asarray(x, float)
        return np.stack([x[..., 0], np.zeros_like(x[..., 0]), x[..., 1]], -1)

    joints = (Joint("hinge"), Joint("hinge", 0), FREE)
    space = jointed_space.build(joints, springs=springs, tethers=tethers)
    inertia = np.stack([np.diag([0.5, i, 0.5]) for i in (0.02, 0.01, 0.003)])
    q = jointed_space.params(space, inertia=inertia, axis=[0, -1.0, 0], **shared, **{name: lifted(x) for name, x in flat.items()})
    begin = jointed_space.start(q, space, angle=tensor([[0.8, -1.1]]), rate=tensor([[0.0, 2.0]]), spin=tensor([[[0, -1.0, 0]]]),
                                position=tensor([[[0.3, 0, -0.5]]]))  # fmt: skip
    got = jointed_space.rollout(q, space, begin, times)
    # a step in which the tether tightens is of second order, and the two do not err alike
    np.testing.assert_allclose(got.position, lifted(want.position), atol=1e-6)
    np.testing.assert_allclose(got.spin[..., 1], -want.spin, atol=1e-4)
    np.testing.assert_allclose(got.position[..., 1], 0, atol=1e-12)


CHAIN = """<mujoco><option integrator="RK4" timestep="1e-4" gravity="0 0 -9.81"><flag constraint="disable" contact="disable"/></option>
<worldbody><body pos="0.1 0.2 1"><joint type="ball" damping="0.05"/><inertial pos="0.1 0 -0.3" mass="1.2" diaginertia="0.02 0.03 0.01"/>
<body pos="0.1 0 -0.6"><joint type="hinge" axis="0.6 0.8 0" damping="0.02"/>
<inertial pos="0 0.1 -0.2" mass="0.8" diaginertia="0.01 0.02 0.015"/>
<body pos="0 0.1 -0.4"><joint type="ball"/><inertial pos="0.05 0 -0.2" mass="0.5" diaginertia="0.004 0.005 0.006"/></body></body></body>
<body pos="2 0 0"><freejoint/><inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.3"/></body></worldbody></mujoco>"""


MOVING = {"angle": [[0.7]], "rate": [[-2.0]], "velocity": [[[0.5, 1.0, 2.0]]], "position": [[[2.0, 0, 0]]],
          "spin": [[[1.0, -2.0, 0.5], [0.3, 4.0, 1.0], [0.2, 6.0, 0.1]]]}  # fmt: skip


def chain(largest_dt=1 / 480, **values):
    """CHAIN, its state and its parameters: from MuJoCo's joint frames to arms and pivots from centres."""
    joints = (BALL, Joint("hinge", 0), Joint("ball", 1), FREE)
    scene = jointed_space.build(joints, largest_dt=largest_dt)
    told = {
        "gravity": DOWN, "mass": [1.2, 0.8, 0.5, 2.0], "bearing": [0.05, 0.02, 0.0, 0.0],
        "inertia": np.stack([np.diag(d) for d in ([0.02, 0.03, 0.01], [0.01, 0.02, 0.015], [0.004, 0.005, 0.006], [0.1, 0.2, 0.3])]),
        "arm": [[0.1, 0, -0.3], [0, 0.1, -0.2], [0.05, 0, -0.2], [0, 0, 0]],
        "pivot": [[0.1, 0.2, 1], [0, 0, -0.3], [0, 0, -0.2], [0, 0, 0]], "axis": [[0, 1, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 1, 0]],
    }  # fmt: skip
    told, moving = ({k: values.get(k, v) for k, v in x.items()} for x in (told, MOVING))
    p = jointed_space.params(scene, **told)
    quaternion = turned([0.4, 1.0, 0.2], [1.0, 0.5, -0.3], [0.0, 0.0, 0.3])
    return (
        p,
        scene,
        jointed_space.start(p, scene, rotation=quaternion, **{k: torch.as_tensor(v, dtype=torch.float64) for k, v in moving.items()}),
    )


def test_a_chain_on_balls_and_a_hinge_and_a_tumbling_body_move_as_in_mujoco():
    p, scene, state = chain()
    times = np.linspace(0, 1.0, 6)
    track = jointed_space.rollout(p, scene, state, tensor(times))
    model = mujoco.MjModel.from_xml_string(CHAIN)
    data = mujoco.MjData(model)
    R = [Rotation.from_quat(np.roll(state.rotation[0, o].numpy(), -1)) for o in range(4)]
    spin = state.spin[0].numpy()
    data.qpos[:4], data.qpos[4] = state.rotation[0, 0], 0.7
    data.qpos[5:9] = np.roll((R[1].inv() * R[2]).as_quat(), 1)  # of a ball: from what holds it
    data.qpos[9:12], data.qpos[12:16] = [2, 0, 0], state.rotation[0, 3]
    data.qvel[:3], data.qvel[3] = R[0].inv().apply(spin[0]), -2.0
    data.qvel[4:7] = R[2].inv().apply(spin[2] - spin[1])
    data.qvel[7:10], data.qvel[10:13] = [0.5, 1.0, 2.0], R[3].inv().apply(spin[3])
    for k, t in enumerate(times):
        while data.time < t - 1e-9:
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(track.position[0, k], data.xipos[1:], atol=2e-6)
        same = np.abs((track.rotation[0, k].numpy() * data.xquat[1:]).sum(-1))
        np.testing.assert_allclose(same, 1, atol=1e-9)


def test_the_error_falls_with_the_fifth_power_of_the_step():
    ends = []
    for n in (60, 120, 240, 960):
        p, scene, state = chain(largest_dt=1 / n)
        track = jointed_space.rollout(p, scene, state, tensor([0.25]))
        ends.append(track.position[0, 0].numpy())
    off = [np.abs(e - ends[-1]).max() for e in ends[:-1]]
    slopes = np.log2(np.divide(off[:-1], off[1:]))
    np.testing.assert_allclose(slopes, 5, atol=0.7)


LEARNT = ("gravity", "mass", "inertia", "arm", "pivot", "axis", "bearing", "velocity", "spin", "angle", "rate", "position")


@pytest.mark.parametrize("name", LEARNT)
def test_derivatives_agree_with_central_differences(name):
    weight = tensor(np.random.default_rng(3).normal(size=(1, 3, 4, 7)))

    def loss(value):
        p, scene, state = chain(largest_dt=1 / 60, **{name: value})
        track = jointed_space.rollout(p, scene, state, tensor([0.05, 0.1, 0.2]))
        return (weight * torch.cat([track.position, track.rotation], -1)).sum()

    at = tensor(MOVING[name]) if name in MOVING else getattr(chain()[0], name)[0].clone()
    at.requires_grad_()
    (got,) = torch.autograd.grad(loss(at), at)
    rng = np.random.default_rng(1)
    way = tensor(rng.normal(size=at.shape))
    way = (way + way.transpose(-1, -2)) / 2 if name == "inertia" else way
    h = 1e-6 if name == "inertia" else 1e-5
    with torch.no_grad():
        want = (loss(at + h * way) - loss(at - h * way)) / (2 * h)
    assert (got * way).sum().item() == pytest.approx(want.item(), rel=1e-5)


def linked(**values):
    """A free body on a spring to a body on a ball joint, and on a taut tether to the world."""
    scene = jointed_space.build((BALL, FREE), springs=((1, 0),), tethers=((1, WORLD),), largest_dt=1 / 60)
    told = {
        "viscous": 0.2, "quadratic": 0.3, "near": [[0.05, 0, 0], [0, 0.04, 0.02]], "far": [[0, 0.1, -0.1], [0.3, 0.2, 0.5]],
        "stiffness": [20.0, 80.0], "rest": [0.2, 0.3], "damping": [0.3, 0.5],
    } | values  # fmt: skip
    p = jointed_space.params(scene, gravity=DOWN, arm=[[0, 0, -0.4], [0, 0, 0]], inertia=0.02 * np.eye(3), **told)
    state = jointed_space.start(p, scene, position=tensor([[[0.3, 0.1, -0.6]]]), spin=tensor([[[1.0, 0.5, 0], [0, 2.0, 1.0]]]))
    return p, jointed_space.rollout(p, scene, state, tensor(np.linspace(0.1, 0.3, 3)))


@pytest.mark.parametrize("name", ["viscous", "quadratic", "near", "far", "stiffness", "rest", "damping"])
def test_derivatives_by_links_and_drag_agree_with_central_differences(name):
    weight = tensor(np.random.default_rng(5).normal(size=(1, 3, 2, 3)))
    at = getattr(linked()[0], name)[0].clone().requires_grad_()
    (got,) = torch.autograd.grad((weight * linked(**{name: at})[1].position).sum(), at)
    way = tensor(np.random.default_rng(2).normal(size=at.shape))
    with torch.no_grad():
        ends = [(weight * linked(**{name: at + h * way})[1].position).sum().item() for h in (1e-5, -1e-5)]
    assert (got * way).sum().item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_a_state_in_the_middle_goes_on_as_if_it_had_not_been_taken():
    p, scene, state = chain()
    whole = jointed_space.rollout(p, scene, state, tensor([0.2, 0.4]))
    half = jointed_space.rollout(p, scene, jointed_space.step(p, scene, state, 0.2), tensor([0.4]))
    np.testing.assert_allclose(half.position[0, 0], whole.position[0, 1], atol=1e-9)


@pytest.mark.parametrize(
    ("joints", "springs"), [((Joint("ball", 0),), ()), ((Joint("slider"),), ()), ((BALL,), ((0, 0),)), ((BALL,), ((0, 3),))]
)  # fmt: skip
def test_impossible_scenes_are_refused(joints, springs):
    with pytest.raises(BadInput):
        jointed_space.build(joints, springs=springs)


@pytest.mark.parametrize(
    "values", [{"mas": 1.0}, {"mass": 0.0}, {"inertia": np.zeros((3, 3)), "arm": [[0, 0, -1.0]]}, {"axis": [[0, 0, 0.0]]}]
)  # fmt: skip
def test_impossible_parameters_are_refused(values):
    with pytest.raises(BadInput):
        jointed_space.params(jointed_space.build(), **values)


def test_a_bob_without_inertia_hangs_on_a_hinge():
    scene = jointed_space.build((HINGE,))
    p = jointed_space.params(scene, gravity=DOWN, arm=[[0, 0, -1.0]], inertia=np.zeros((3, 3)))
    track = jointed_space.rollout(p, scene, jointed_space.start(p, scene, angle=tensor([[1e-4]])), tensor([2 * np.pi / np.sqrt(G)]))
    assert track.position[0, 0, 0, 0].item() == pytest.approx(-1e-4, rel=1e-6)


def test_times_that_descend_are_refused():
    p, scene, state = chain()
    with pytest.raises(BadInput):
        jointed_space.rollout(p, scene, state, tensor([0.2, 0.1]))
