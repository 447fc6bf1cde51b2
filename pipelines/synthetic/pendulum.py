"""Pendulums with known truth, swung by MuJoCo in small steps and seen in pixels."""

from __future__ import annotations

import mujoco
import numpy as np

from synthetic.planar import G, capture
from video2phys.types import About

MODEL = """<mujoco><option timestep="{step}" integrator="RK4" gravity="0 0 -{g}"/><worldbody><body><joint axis="0 -1 0" damping="{loss}"/>
<inertial pos="0 0 -{length}" mass="1" diaginertia="{inertia} {inertia} {inertia}"/></body></worldbody></mujoco>"""


def swing(
    seed, *, length=0.6, angle=50.0, damping=0.1, ppm=400.0, fps=60, seconds=2.5, noise=0.2, held=0.0, inertia=1e-7, g=9.81
):  # fmt: skip
    """Times and pixels (T, 1, 2) of a body of 1 kg let go at `angle` [deg] after `held` s; damping [1/s] is that of a = -damping v.

    A frame is a whole number of steps, else frames would be seen up to a step late.
    """
    values = dict(g=g, loss=damping * length**2, length=length, inertia=inertia, step=1 / fps / np.ceil(5000 / fps))
    model = mujoco.MjModel.from_xml_string(MODEL.format(**values))
    data = mujoco.MjData(model)
    data.qpos[0] = np.radians(angle)
    times, turned = np.arange(int(seconds * fps)) / fps, []
    for t in times:
        while data.time < t - held - 1e-6:
            mujoco.mj_step(model, data)
        turned.append(data.qpos[0])
    path = np.array([12.0, 150.0]) + length * ppm * np.stack([np.sin(turned), -np.cos(turned)], -1)
    return times, (path + noise * np.random.default_rng(seed).normal(size=path.shape))[:, None]


def drawn(seed):
    """A swing seen by a camera that is not quite level, at a scale known to 1 %: artefacts and truth."""
    rng = np.random.default_rng(seed)
    length, damping, ppm = rng.uniform(0.2, 0.8), rng.uniform(0.05, 0.5), 400 * (1 + 0.01 * rng.normal())
    times, pixels = swing(seed, length=length, damping=damping, angle=rng.uniform(15, 80), ppm=ppm, seconds=2.0)
    roll = np.radians(rng.normal())
    R = np.array([[np.cos(roll), -np.sin(roll)], [np.sin(roll), np.cos(roll)]])
    about = About(gravity=np.array([0, 0, -G]), px_per_m=400.0)
    return capture(times, pixels @ R.T, about), {"length": length, "radius": length, "damping": damping}
