"""A thrown box with known truth, moved by MuJoCo, and its poses as one camera would measure them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from video2phys.simulate.rigid import rotation, spatial
from video2phys.types import About, Body, Frames, Gaussians, Plane, Primitive, StateTrack

EYE = np.array([0.7, -1.5, 0.6])  # [m] where the camera stands
SIDE, DEPTH, TURN = 3e-4, 4e-3, 0.01  # [m] across and along the ray, [rad]: a tenth of a pixel of a 240-line picture from 1.8 m
UP = np.array([0.0, 0, 1.0])


@dataclass(frozen=True)
class Thrown:
    """A throw; its contact is a damped oscillator with these numbers."""

    size: tuple[float, float, float]
    friction: float
    restitution: float
    contact_time: float
    position: tuple[float, float, float] = (0.0, 0.0, 0.3)
    velocity: tuple[float, float, float] = (1.0, 0.1, 0.4)
    spin: tuple[float, float, float] = (1.0, -2.0, 3.0)
    turn: tuple[float, float, float] = (0.4, 0.7, 0.1)


def drawn(seed: int) -> Thrown:
    """A throw at random."""
    rng = np.random.default_rng(seed)
    size, velocity = np.sort(rng.uniform(0.05, 0.14, 3))[::-1], rng.uniform([0.5, -0.3, 0.0], [1.4, 0.3, 0.8])
    return Thrown(
        tuple(size), rng.uniform(0.15, 0.6), rng.uniform(0.25, 0.7), 10 ** rng.uniform(-2.7, -2.1),
        (0.0, 0.0, rng.uniform(0.25, 0.4)), tuple(velocity), tuple(rng.uniform(-4, 4, 3)), tuple(rng.normal(size=3)),
    )  # fmt: skip


def path(thrown: Thrown, frames: int, fps: int = 60, dt: float = 1 / 4800) -> tuple[np.ndarray, np.ndarray]:
    """Positions (T, 3) and rotations (T, 4)."""
    omega = np.pi / thrown.contact_time
    damping = 2 * float(spatial.damping_ratio(np.array([thrown.restitution]))[0]) * omega
    contact = f'friction="{thrown.friction} 0.002 0.0001" condim="6" solref="{-(omega**2)} {-damping}" solimp=".95 .95 .001"'
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{dt}" cone="elliptic" impratio="10" integrator="implicitfast"/><worldbody>
        <geom type="plane" size="9 9 1" {contact}/><body><freejoint/>
        <geom type="box" size="{" ".join(str(s / 2) for s in thrown.size)}" density="600" {contact}/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    q = rotation.exp(np.array(thrown.turn))
    data.qpos[:3], data.qpos[3:], data.qvel[:3] = thrown.position, q, thrown.velocity
    data.qvel[3:] = rotation.matrix(q).T @ np.array(thrown.spin)
    out = []
    for k in range(frames):
        while data.time < k / fps - dt / 2:
            mujoco.mj_step(model, data)
        out.append(data.qpos.copy())
    return np.array(out)[:, :3], np.array(out)[:, 3:]


def capture(thrown: Thrown, frames: int, seed: int = 0) -> tuple[Frames, Gaussians, StateTrack, np.ndarray]:
    """The stages' artefacts for a throw seen with noise, and the true positions (T, 3)."""
    position, quaternion = path(thrown, frames)
    rng = np.random.default_rng([seed, 7])
    ray = (position - EYE) / np.linalg.norm(position - EYE, axis=-1, keepdims=True)
    across = SIDE * rng.normal(size=(frames, 3))
    across -= (across * ray).sum(-1, keepdims=True) * ray
    seen = position + across + DEPTH * rng.normal(size=(frames, 1)) * ray
    sigma = np.sqrt(SIDE**2 * (1 - ray**2) + DEPTH**2 * ray**2)
    turned = rotation.times(rotation.exp(TURN * rng.normal(size=(frames, 3))), quaternion)
    time = np.arange(frames) / 60
    states = StateTrack(
        time, "pose", seen[:, None], sigma[:, None], turned[:, None], np.full((frames, 1, 3), TURN), None, None,
        np.ones((frames, 1), bool), "m",
    )  # fmt: skip
    about = About(gravity=np.array([0, 0, -9.81]), ground=Plane(UP, 0.0), density=600.0)
    none, zero = np.zeros((0, 3)), np.zeros(0)
    body = Body(
        none, np.zeros((0, 4)), none, zero, np.zeros((0, 1, 3)), none, zero, none, np.zeros((0, 3), int), 0, position[0], quaternion[0],
        Primitive("box", np.array(thrown.size)),
    )  # fmt: skip
    return Frames(Path("."), time, (), (), 1, about, "test"), Gaussians((body,), "m"), states, position
