"""Rigid motion in a plane, exact between events: flight, sliding, rolling, bounces and collisions of discs.

Plane axes are x right and z up; angles turn from x to z. Between two events every acceleration is constant, so a phase is
a parabola in closed form and its end is the root of a polynomial. Nothing is stepped, hence no step error, and the
derivative of an event's time (the saltation of hybrid systems) is carried by the graph.

Contact on a line with unit direction d and normal n, Coulomb friction mu, slip u = v.d + r w (radius r, spin w), j = m r^2 / I:
  sliding   dv/dt.d = g.d - mu |g.n| sign(u)     dw/dt = -mu |g.n| sign(u) j / r
  sticking  dv/dt.d = g.d j / (1 + j)            when |g.d| / (1 + j) <= mu |g.n|      (j = 0: a block at rest; else rolling)
  impact    v.n -> -e v.n     tangential impulse = clip(-u / (1 + j), +- mu (1 + e) |v.n|)
Two discs meet with the impulse (1 + e) m1 m2 / (m1 + m2) along the line of centres (smooth rims), Newton's restitution e.
On a table seen from above each disc loses speed at the rate `table`, against its velocity, until it stops.

All tensors are torch float64 with a batch B in front; O is the number of bodies.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import torch
from torch import Tensor

from video2phys.errors import BadInput
from video2phys.simulate.rigid import planar_events as events
from video2phys.simulate.rigid.planar_model import FLIGHT, SLIDE, STICK, Params, Scene, State, Track, frame, pull, slip


def build(radius: tuple[float, ...] = (0.0,), *, line: bool = False, table: bool = False, settle: float = 1e-5) -> Scene:
    """The scene of `len(radius)` bodies. Raises BadInput where a line and a table are both asked for."""
    if line and table:
        raise BadInput("a supporting line and a table seen from above exclude each other", fix="Choose one view of the motion.")
    return Scene(tuple(float(r) for r in radius), line, table, settle)


def params(scene: Scene, batch: int = 1, **values: float | np.ndarray | Tensor) -> Params:
    """Params from numbers or arrays; (B,) values, or (B, 2) and (B, O) where the field has two axes. Absent ones take a neutral value."""
    bodies = len(scene.radius)
    wide = {"gravity": 2, "anchor": 2, "mass": bodies, "mobility": bodies, "table": bodies}
    neutral: dict[str, float] = {"mass": 1.0, "restitution": 1.0, "collision": 1.0}
    unknown = set(values) - {f.name for f in fields(Params)}
    if unknown:
        raise BadInput(f"the planar simulator has no parameter {sorted(unknown)}", fix=f"Known: {[f.name for f in fields(Params)]}.")
    made = {}
    for f in fields(Params):
        value = torch.as_tensor(values.get(f.name, neutral.get(f.name, 0.0)), dtype=torch.float64)
        made[f.name] = value.expand(batch, wide[f.name]) if f.name in wide else value.expand(batch)
    return Params(**made)


def start(
    scene: Scene,
    position: Tensor,
    velocity: Tensor,
    *,
    spin: Tensor | None = None,
    touching: bool = False,
    time: float = 0.0,
) -> State:
    """The state at `time`: position and velocity (B, O, 2). `touching` puts the bodies on the line from the start."""
    batch, bodies = position.shape[:2]
    zero = torch.zeros(batch, bodies, dtype=torch.float64)
    mode = torch.full((batch, bodies), SLIDE if touching and scene.line else FLIGHT, dtype=torch.long)
    return State(torch.full((batch,), float(time), dtype=torch.float64), position, velocity, zero, zero if spin is None else spin, mode)


def step(params: Params, scene: Scene, state: State, dt: float | Tensor) -> State:
    """The state `dt` [s] later, one number or (B,); exact, through any events on the way."""
    return rollout(params, scene, state, (state.time + dt)[:, None]).final


def rollout(params: Params, scene: Scene, state: State, times: Tensor) -> Track:
    """Positions at `times` [s] (T,) or (B, T), ascending. Before state.time they are zero.

    Raises BadInput when more than scene.event_limit events happen: the bodies chatter.
    """
    batch, samples, bodies = len(state.time), times.shape[-1], len(scene.radius)
    position = torch.zeros(batch, samples, bodies, 2, dtype=torch.float64)
    velocity, angle = torch.zeros_like(position), torch.zeros(batch, samples, bodies, dtype=torch.float64)
    radius = torch.tensor(scene.radius, dtype=torch.float64)
    times = times.expand(batch, samples)
    end = times[:, -1]
    done = torch.zeros(batch, dtype=torch.bool)
    for count in range(scene.event_limit + 1):
        state = _lean(params, scene, state)
        a, turn = _acceleration(params, scene, state, radius)
        tau, kind = events.first(params, scene, state, a, turn, radius)
        reaches_end = state.time + tau >= end
        tau = torch.where(reaches_end, end - state.time, tau)
        dt = times - state.time[:, None]
        inside = (dt >= 0) & ((dt <= tau[:, None]) | reaches_end[:, None]) & ~done[:, None]
        d = dt[..., None, None]
        here = state.position[:, None] + state.velocity[:, None] * d + 0.5 * a[:, None] * d**2
        position = torch.where(inside[..., None, None], here, position)
        velocity = torch.where(inside[..., None, None], state.velocity[:, None] + a[:, None] * d, velocity)
        d = dt[..., None]
        angle = torch.where(inside[..., None], state.angle[:, None] + state.spin[:, None] * d + 0.5 * turn[:, None] * d**2, angle)
        state = _select(done, state, _advance(state, a, turn, tau))
        done = done | reaches_end
        if bool(done.all()):
            return Track(position, angle, velocity, state, count)
        state = _select(done, state, events.resolve(params, scene, state, kind, radius))
    raise BadInput(
        f"the bodies meet more than {scene.event_limit} times before the last frame",
        fix="Raise the settling height, or shorten the simulated span.",
    )


def _advance(state: State, a: Tensor, turn: Tensor, tau: Tensor) -> State:
    d = tau[:, None]
    return replace(
        state,
        time=state.time + tau,
        position=state.position + state.velocity * d[..., None] + 0.5 * a * d[..., None] ** 2,
        velocity=state.velocity + a * d[..., None],
        angle=state.angle + state.spin * d + 0.5 * turn * d**2,
        spin=state.spin + turn * d,
    )


def _select(keep: Tensor, old: State, new: State) -> State:
    """`old` where keep (B,), else `new`."""
    pick = {}
    for f in fields(State):
        a, b = getattr(old, f.name), getattr(new, f.name)
        pick[f.name] = torch.where(keep.reshape(-1, *[1] * (a.dim() - 1)), a, b)
    return State(**pick)


def _lean(params: Params, scene: Scene, state: State) -> State:
    """Sticking bodies that friction cannot hold begin to slide; sliding ones without slip that it can hold stick."""
    if not scene.line:
        return state
    along, press = pull(params)
    holds = along.abs() <= params.friction[:, None] * press * (1 + params.mobility)
    d, _ = frame(params)
    u = slip(params, state, torch.tensor(scene.radius, dtype=torch.float64))
    still = u.abs() <= 1e-12 * (1 + (state.velocity * d).sum(-1).abs())
    mode = torch.where((state.mode == STICK) & ~holds, SLIDE, state.mode)
    return replace(state, mode=torch.where((mode == SLIDE) & still & holds, STICK, mode))


def _acceleration(params: Params, scene: Scene, state: State, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Linear (B, O, 2) and angular (B, O) acceleration of the phase that begins at `state`."""
    a = params.gravity[:, None].expand_as(state.velocity)
    turn = torch.zeros_like(state.spin)
    if scene.table:
        speed2 = (state.velocity**2).sum(-1, keepdim=True)
        moving = speed2 > 0
        speed = torch.where(moving, speed2, 1.0).sqrt()
        a = a - torch.where(moving, params.table[..., None] * state.velocity / speed, 0.0)
    if scene.line:
        along, press = pull(params)
        d, _ = frame(params)
        u = slip(params, state, radius).detach()
        sign = torch.where(u.abs() > 1e-12, u.sign(), along.sign())
        rub = params.friction[:, None] * press * sign
        slide, stick = state.mode == SLIDE, state.mode == STICK
        roll = along * params.mobility / (1 + params.mobility)
        contact = torch.where(slide, along - rub, roll)
        a = torch.where((slide | stick)[..., None], contact[..., None] * d, a)
        r = torch.where(radius > 0, radius, 1.0)
        turn = torch.where(slide, -rub * params.mobility / r, torch.where(stick, -roll / r, turn)) * (params.mobility > 0)
    return a, turn
