"""When a phase of planar motion ends, and what happens then. Times of impact are roots of polynomials, with exact derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from video2phys.simulate.rigid.planar_model import FLIGHT, SLIDE, STICK, Params, Scene, State, frame, slip

NEVER = float("inf")


def first(params: Params, scene: Scene, state: State, a: Tensor, turn: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Time to the first event and its kind, each (B,).

    Kinds, of N bodies: o = body o reaches the line; N + o = it stops slipping or moving; 2 N + p = pair p meets.
    """
    bodies = len(scene.radius)
    never = torch.full_like(state.spin, NEVER)
    hit = line_time(params, state, a, radius) if scene.line else never
    stop = slip_time(params, state, a, turn, radius) if scene.line else table_time(params, state) if scene.table else never
    meet = [pair_time(state, a, radius, i, j) for i, j in pairs(bodies)]
    times = torch.cat([hit, stop, *[m[:, None] for m in meet]], 1)
    return times.min(1)


def pairs(count: int) -> list[tuple[int, int]]:
    """Every pair of bodies once, in the order that event kinds count them."""
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def line_time(params: Params, state: State, a: Tensor, radius: Tensor) -> Tensor:
    """Time (B, O) until a flying body reaches the line: first root of h + v t + a t^2 / 2 at which it approaches."""
    _, n = frame(params)
    h = ((state.position - params.anchor[:, None]) * n).sum(-1) - radius
    v, g = (state.velocity * n).sum(-1), (a * n).sum(-1)
    inner = v**2 - 2 * g * h
    real = inner > 0
    root = torch.where(real, inner, 1.0).sqrt()
    falling, rising = real & (v <= 0) & (h >= -1e-9), real & (v > 0) & (g < 0)
    sink = torch.where(falling, root - v, 1.0)
    t_falling = 2 * h / sink  # the form without cancellation
    t_rising = (v + root) / torch.where(rising, -g, 1.0)
    t = torch.where(falling, t_falling.clamp(min=0), torch.where(rising, t_rising, NEVER))
    return torch.where((state.mode == FLIGHT) & (falling | rising), t, NEVER)


def slip_time(params: Params, state: State, a: Tensor, turn: Tensor, radius: Tensor) -> Tensor:
    """Time (B, O) until a sliding body's slip vanishes."""
    d, _ = frame(params)
    u, du = slip(params, state, radius), (a * d).sum(-1) + turn * radius
    slows = (state.mode == SLIDE) & (u * du < 0) & (u.abs() > 1e-12)
    return torch.where(slows, -u / torch.where(slows, du, 1.0), NEVER)


def table_time(params: Params, state: State) -> Tensor:
    """Time (B, O) until table friction stops a body."""
    speed2 = (state.velocity**2).sum(-1)
    slows = (speed2 > 0) & (params.table > 0)
    speed = torch.where(slows, speed2, 1.0).sqrt()
    return torch.where(slows, speed / torch.where(slows, params.table, 1.0), NEVER)


def pair_time(state: State, a: Tensor, radius: Tensor, i: int, j: int) -> Tensor:
    """Time (B,) until discs i and j touch while approaching: first such root of |dp + dv t + da t^2 / 2|^2 = (ri + rj)^2.

    The root is found without a graph; one Newton step then carries dt = -df / f', the derivative of an implicit function.
    """
    reach = radius[i] + radius[j]
    if reach <= 0:  # points do not meet
        return torch.full_like(state.time, NEVER)
    p, v = state.position[:, i] - state.position[:, j], state.velocity[:, i] - state.velocity[:, j]
    g = a[:, i] - a[:, j]
    c = torch.stack([0.25 * (g * g).sum(-1), (v * g).sum(-1), (v * v).sum(-1) + (p * g).sum(-1), 2 * (p * v).sum(-1),
                     (p * p).sum(-1) - reach**2], -1)  # fmt: skip
    t0 = torch.tensor([_first_root(row, float(reach)) for row in c.detach().numpy()], dtype=torch.float64)
    meets = torch.isfinite(t0)
    t = torch.where(meets, t0, 0.0)
    f = (((c[:, 0] * t + c[:, 1]) * t + c[:, 2]) * t + c[:, 3]) * t + c[:, 4]
    slope = (((4 * c[:, 0] * t + 3 * c[:, 1]) * t + 2 * c[:, 2]) * t + c[:, 3]).detach()
    return torch.where(meets, t - f / torch.where(meets, slope, 1.0), NEVER)


def _first_root(c: np.ndarray, reach: float) -> float:
    """First t >= 0 at which the gap c (highest power first) closes; inf when it never does."""
    if not np.all(np.isfinite(c)):
        return NEVER
    derivative = np.polyder(c)
    if c[-1] <= 1e-12 * reach**2 and np.polyval(derivative, 0.0) < 0:  # touching and approaching
        return 0.0
    roots = np.roots(c)
    real = np.sort(roots.real[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots.real))])
    closing = [t for t in real if t > 1e-12 and np.polyval(derivative, t) < 0]
    return float(closing[0]) if closing else NEVER


def resolve(params: Params, scene: Scene, state: State, kind: Tensor, radius: Tensor) -> State:
    """The state after the event `kind` (B,) that happens at state.time."""
    bodies = len(scene.radius)
    body = torch.arange(bodies)[None]
    if scene.line:
        state = _bounce(params, scene, state, kind[:, None] == body, radius)
    stops = kind[:, None] == bodies + body
    state = _stop(params, scene, state, stops, radius)
    for p, (i, j) in enumerate(pairs(bodies)):
        state = _collide(params, state, kind == 2 * bodies + p, i, j)
    return state


def _bounce(params: Params, scene: Scene, state: State, hit: Tensor, radius: Tensor) -> State:
    """Impact on the line with normal restitution and a Coulomb-limited tangential impulse (per unit mass)."""
    d, n = frame(params)
    into = -(state.velocity * n).sum(-1)
    push = (1 + params.restitution[:, None]) * into
    limit = params.friction[:, None] * push
    stick = -slip(params, state, radius) / (1 + params.mobility)
    rub = torch.minimum(torch.maximum(stick, -limit), limit)
    back = params.restitution[:, None] * into
    press = -(params.gravity[:, None] * n).sum(-1)
    settles = back.detach() ** 2 < 2 * press.detach() * scene.settle
    kick = torch.where(settles, into, push)[..., None] * n + rub[..., None] * d
    r = torch.where(radius > 0, radius, 1.0)
    return replace(
        state,
        velocity=torch.where(hit[..., None], state.velocity + kick, state.velocity),
        spin=torch.where(hit, state.spin + rub * params.mobility / r, state.spin),
        mode=torch.where(hit & settles, SLIDE, state.mode),
    )


def _stop(params: Params, scene: Scene, state: State, stops: Tensor, radius: Tensor) -> State:
    """Slip has vanished (line) or the body has come to rest (table): remove the rounding error that is left."""
    if scene.table:
        return replace(state, velocity=torch.where(stops[..., None], 0.0 * state.velocity, state.velocity))
    if not scene.line:
        return state
    d, _ = frame(params)
    rest = slip(params, state, radius)
    return replace(
        state,
        velocity=torch.where(stops[..., None], state.velocity - rest[..., None] * d, state.velocity),
        mode=torch.where(stops, STICK, state.mode),
    )


def _collide(params: Params, state: State, meets: Tensor, i: int, j: int) -> State:
    """Two smooth discs touch: the impulse is along their line of centres."""
    p = state.position[:, i] - state.position[:, j]
    away2 = (p * p).sum(-1, keepdim=True)
    struck = strike(params, state, p / torch.where(away2 > 0, away2, 1.0).sqrt(), i, j)
    return replace(state, velocity=torch.where(meets[:, None, None], struck.velocity, state.velocity))


def strike(params: Params, state: State, normal: Tensor, i: int, j: int) -> State:
    """Impulse (1 + e) m_i m_j / (m_i + m_j) v_n between bodies i and j along the unit vector `normal` (B, 2), whatever their distance."""
    closing = -((state.velocity[:, i] - state.velocity[:, j]) * normal).sum(-1, keepdim=True)
    mi, mj = params.mass[:, i : i + 1], params.mass[:, j : j + 1]
    impulse = (1 + params.collision[:, None]) * closing / (mi + mj)
    velocity = list(state.velocity.unbind(1))
    velocity[i] = velocity[i] + mj * impulse * normal
    velocity[j] = velocity[j] - mi * impulse * normal
    return replace(state, velocity=torch.stack(velocity, 1))
