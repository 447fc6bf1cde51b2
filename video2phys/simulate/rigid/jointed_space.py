"""Bodies in space on ball joints and hinges, with springs, tethers and drag: spherical pendulums, tops, chains, things on strings.

A ball joint or a hinge holds a body to the world or to an earlier body; a link pulls between two points of bodies or of the world: a
spring both ways, a tether only while it is stretched. Body axes are those of the world at the rotation (1, 0, 0, 0), and those of the body
that holds where a hinge's angle is 0. The equations are described in jointed_space_dynamics.py; they are integrated by Runge and Kutta's
method of order 5 in whole steps between the times asked for, in torch float64, so that autograd gives the derivative by every parameter
and by the initial state. For motions in a plane jointed.py is several times as fast.

All tensors have a batch B in front; O is the number of bodies, F of free ones, K of free ones and those on balls, H of hinged ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import torch
from torch import Tensor

from video2phys.backend import one_thread
from video2phys.errors import BadInput
from video2phys.simulate import dormand_prince
from video2phys.simulate.clock import substeps
from video2phys.simulate.rigid import jointed_space_dynamics as dynamics
from video2phys.simulate.rigid.jointed_model import WORLD
from video2phys.simulate.rigid.jointed_space_model import Joint, Params, Scene, State, Track

STILL = (1.0, 0.0, 0.0, 0.0)


def build(
    joints: Sequence[Joint] = (Joint("ball"),),
    *,
    springs: Sequence[tuple[int, int]] = (),
    tethers: Sequence[tuple[int, int]] = (),
    largest_dt: float = 1 / 120,
) -> Scene:
    """The scene of `len(joints)` bodies: how each is held, and what links pull between.

    Raises BadInput where a joint or a link names a body that does not exist.
    """
    links = (*springs, *tethers)
    for o, joint in enumerate(joints):
        if joint.kind not in ("free", "ball", "hinge") or not WORLD <= joint.to < o:
            raise BadInput(f"body {o} cannot hang from body {joint.to} by a '{joint.kind}'", fix="Name an earlier body or WORLD.")
    for a, b in links:
        if not (0 <= a < len(joints) and WORLD <= b < len(joints) and a != b):
            raise BadInput(f"no link can join {a} to {b}", fix="Join a body to another body or to WORLD.")
    return Scene(tuple(joints), links, len(springs), largest_dt)


def params(scene: Scene, batch: int = 1, **values: float | np.ndarray | Tensor) -> Params:
    """Params from numbers or arrays that broadcast to the field's shape. Absent ones take a neutral value: mass 1, inertia 1 about every
    axis, a hinge's axis y, everything else 0.

    Raises BadInput for a name that does not exist, a hinge without an axis, and where nothing would resist a turn.
    """
    unknown = set(values) - {f.name for f in fields(Params)}
    if unknown:
        raise BadInput(f"jointed bodies have no parameter {sorted(unknown)}", fix=f"Known: {[f.name for f in fields(Params)]}.")
    bodies, links = (len(scene.joints),), (len(scene.links),)
    shape = {"gravity": (3,), "inertia": (*bodies, 3, 3)} | {name: (*bodies, 3) for name in ("pivot", "axis", "arm")}
    shape |= {name: (*links, 3) for name in ("near", "far")} | dict.fromkeys(("stiffness", "rest", "damping"), links)
    neutral = {"mass": 1.0, "inertia": np.eye(3), "axis": (0.0, 1.0, 0.0)}
    made = {}
    for f in fields(Params):
        value = torch.as_tensor(values.get(f.name, neutral.get(f.name, 0.0)), dtype=torch.float64)
        made[f.name] = value.expand(batch, *shape.get(f.name, bodies))
    length = torch.linalg.vector_norm(made["axis"], dim=-1, keepdim=True)
    if not bool((length > 0).all()):
        raise BadInput("a hinge needs an axis", fix="Give a direction that is not zero.")
    found = Params(**made | {"axis": made["axis"] / length})
    arm = found.arm * torch.tensor([[float(joint.kind != "free")] for joint in scene.joints], dtype=torch.float64)
    about_joint = found.inertia - found.mass[..., None, None] * dynamics.skew(arm) @ dynamics.skew(arm)
    least = torch.linalg.eigvalsh(about_joint.detach()).amin(-1)
    hinged = list(scene.hinged)
    least[:, hinged] = (found.axis * dynamics.apply(about_joint, found.axis)).sum(-1).detach()[:, hinged]
    if not (bool((found.mass > 0).all()) and bool((torch.linalg.eigvalsh(found.inertia.detach()) >= 0).all()) and bool((least > 0).all())):
        raise BadInput(
            "mass, and inertia about the joint, must be positive", fix="Give an inertia about every axis that a body turns about."
        )
    return found


def start(
    params: Params,
    scene: Scene,
    *,
    rotation: Tensor | None = None,
    spin: Tensor | None = None,
    angle: Tensor | None = None,
    rate: Tensor | None = None,
    position: Tensor | None = None,
    velocity: Tensor | None = None,
    time: float = 0.0,
) -> State:
    """The state at `time`: rotation (B, K, 4) and spin (B, K, 3) of bodies that turn about any axis, angle and rate (B, H) of hinges,
    position and velocity (B, F, 3) of free bodies. Absent: not turned, and 0.

    The joints place the other bodies, so that the state's derivative by lengths and pivots is carried along.
    """
    batch, free, loose, hinged = len(params.mass), len(scene.free), len(scene.loose), len(scene.hinged)

    def filled(value: Tensor | None, *shape: int) -> Tensor:
        return torch.zeros(batch, *shape, dtype=torch.float64) if value is None else value.expand(batch, *shape)

    still = torch.tensor(STILL, dtype=torch.float64).expand(batch, loose, 4)
    turned = still if rotation is None else rotation.expand(batch, loose, 4)
    q = torch.cat([filled(position, free, 3).flatten(1), turned.flatten(1), filled(angle, hinged)], 1)
    u = torch.cat([filled(velocity, free, 3).flatten(1), filled(spin, loose, 3).flatten(1), filled(rate, hinged)], 1)
    at = dynamics.move(params, scene, q, u)
    return State(torch.full((batch,), float(time), dtype=torch.float64), at.position, at.rotation, at.velocity, at.spin)


def step(params: Params, scene: Scene, state: State, dt: float | Tensor) -> State:
    """The state `dt` [s] later, one number or (B,)."""
    return rollout(params, scene, state, (state.time + dt)[:, None]).final


@one_thread()
def rollout(params: Params, scene: Scene, state: State, times: Tensor) -> Track:
    """The motion at `times` [s] (T,) or (B, T), ascending from state.time. A motion that is not finite is NaN from there on.

    Raises BadInput where times descend. Track.error tells whether `largest_dt` is short enough for spins and springs.
    """
    batch = len(state.time)
    grid = torch.cat([state.time[:, None], times.expand(batch, -1)], 1)
    spans = grid.diff(dim=1)
    if bool((spans < 0).any()):
        raise BadInput("the times of a rollout must ascend from the state's own", fix="Sort the time stamps.")
    q, u = _coordinates(params, scene, state)
    size = q.shape[1]

    def slope(y: Tensor) -> Tensor:
        q, u = y[:, :size], y[:, size:]
        return torch.cat([dynamics.rates(scene, q, u), dynamics.acceleration(params, scene, q, u)], 1)

    y = torch.cat([q, u], 1)
    first, error, seen = slope(y), torch.zeros(batch, dtype=torch.float64), []
    for k, count in enumerate(substeps(spans.detach().amax(0).numpy(), scene.largest_dt)):
        for _ in range(count):
            y, first, off = dormand_prince.step(slope, y, first, spans[:, k, None] / int(count))
            error = error + _displaced(params, scene, y.detach(), off, size)
        seen.append(dynamics.move(params, scene, y[:, :size], y[:, size:]))
    position, rotation, velocity, spin = (
        torch.stack([getattr(m, n) for m in seen], 1) for n in ("position", "rotation", "velocity", "spin")
    )
    final = State(grid[:, -1], position[:, -1], rotation[:, -1], velocity[:, -1], spin[:, -1])
    return Track(position, rotation, velocity, spin, final, error)


def energy(params: Params, scene: Scene, state: State) -> Tensor:
    """Kinetic energy plus that of gravity and of stretched links (B,) [mass unit length unit^2 / s^2]."""
    inside = dynamics.apply(dynamics.matrix(state.rotation).transpose(-1, -2), state.spin)
    kinetic = 0.5 * (params.mass * (state.velocity**2).sum(-1) + (inside * dynamics.apply(params.inertia, inside)).sum(-1)).sum(-1)
    height = (params.mass * (state.position * params.gravity[:, None]).sum(-1)).sum(-1)
    if not scene.links:
        return kinetic - height
    longer = dynamics.links(params, scene, state)[0] - params.rest
    longer = torch.cat([longer[:, : scene.springs], longer[:, scene.springs :].clamp(min=0)], -1)
    return kinetic - height + 0.5 * (params.stiffness * longer**2).sum(-1)


def _coordinates(params: Params, scene: Scene, state: State) -> tuple[Tensor, Tensor]:
    """Coordinates (B, n) and speeds (B, N) of a state."""
    free, loose = list(scene.free), list(scene.loose)
    angle, rate = [], []
    for o in scene.hinged:
        to = scene.joints[o].to
        axis = params.axis[:, o]
        spin, turned, along = state.spin[:, o], state.rotation[:, o], axis
        if to != WORLD:
            back = state.rotation[:, to] * torch.tensor([1.0, -1, -1, -1], dtype=torch.float64)
            turned, along = dynamics.times(back, turned), dynamics.apply(dynamics.matrix(state.rotation[:, to]), axis)
            spin = spin - state.spin[:, to]
        angle.append(2 * torch.atan2((turned[:, 1:] * axis).sum(-1), turned[:, 0]))
        rate.append((spin * along).sum(-1))
    bent, bending = (torch.stack(x, 1) if x else torch.zeros(len(state.time), 0, dtype=torch.float64) for x in (angle, rate))
    q = torch.cat([state.position[:, free].flatten(1), state.rotation[:, loose].flatten(1), bent], 1)
    return q, torch.cat([state.velocity[:, free].flatten(1), state.spin[:, loose].flatten(1), bending], 1)


def _displaced(params: Params, scene: Scene, y: Tensor, off: Tensor, size: int) -> Tensor:
    """[length unit] (B,) by which an error of the coordinates and speeds displaces the centre that it moves most."""
    with torch.no_grad():
        moved, turned, bent = dynamics.parts(scene, off[:, :size])
        at = dynamics.parts(scene, y[:, :size])[1]
        back = at * torch.tensor([1.0, -1, -1, -1], dtype=torch.float64)
        shift = torch.cat([moved.flatten(1), 2 * dynamics.times(turned, back)[..., 1:].flatten(1), bent], 1)
        J = dynamics.move(params, scene, y[:, :size], y[:, size:]).moving
        return torch.linalg.vector_norm(dynamics.apply(J, shift[:, None]), dim=-1).amax(-1)
