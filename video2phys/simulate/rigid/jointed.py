"""Bodies in a plane with hinges, springs and tethers: pendulums, double pendulums, a mass on a spring, each with drag.

Plane axes are x right and z up; angles turn from x to z. A hinge holds a body to the world or to an earlier body; a link pulls
between two points of bodies or of the world: a spring both ways, a tether only while it is stretched. A body hangs at angle 0
where its `arm` is (0, -length). The equations are described in jointed_dynamics.py; they are integrated by Runge and Kutta's
method of order 5 in whole steps between the times asked for, in torch float64, so that autograd gives the derivative by every
parameter and by the initial state. Where a tether tightens or goes slack its pull has a kink, and that step's error is of second order.

All tensors have a batch B in front; O is the number of bodies, S of links.
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
from video2phys.simulate.rigid import jointed_dynamics as dynamics
from video2phys.simulate.rigid.jointed_model import WORLD, Params, Scene, State, Track


def build(
    hinges: Sequence[int | None] = (WORLD,),
    *,
    springs: Sequence[tuple[int, int]] = (),
    tethers: Sequence[tuple[int, int]] = (),
    largest_dt: float = 1 / 120,
) -> Scene:
    """The scene of `len(hinges)` bodies: what each hangs from (an earlier body, WORLD, or None), and what links pull between.

    (WORLD,) is a pendulum, (WORLD, 0) a double pendulum, (None,) with springs=((0, WORLD),) a mass on a spring. Raises BadInput
    where a hinge or a link names a body that does not exist.
    """
    links = (*springs, *tethers)
    for o, parent in enumerate(hinges):
        if parent is not None and not WORLD <= parent < o:
            raise BadInput(f"body {o} cannot hang from body {parent}", fix="Name an earlier body, WORLD, or None for a free body.")
    for a, b in links:
        if not (0 <= a < len(hinges) and WORLD <= b < len(hinges) and a != b):
            raise BadInput(f"no link can join {a} to {b}", fix="Join a body to another body or to WORLD.")
    return Scene(tuple(hinges), links, len(springs), largest_dt)


def params(scene: Scene, batch: int = 1, **values: float | np.ndarray | Tensor) -> Params:
    """Params from numbers or arrays that broadcast to the field's shape. Absent ones take a neutral value: mass 1, inertia 0
    with a hinge and 1 without, everything else 0.

    Raises BadInput for a name that does not exist, and where nothing would resist a turn.
    """
    unknown = set(values) - {f.name for f in fields(Params)}
    if unknown:
        raise BadInput(f"jointed bodies have no parameter {sorted(unknown)}", fix=f"Known: {[f.name for f in fields(Params)]}.")
    bodies, links = (len(scene.hinges),), (len(scene.links),)
    shape = {"gravity": (2,), "pivot": (*bodies, 2), "arm": (*bodies, 2), "near": (*links, 2), "far": (*links, 2)}
    shape |= dict.fromkeys(("stiffness", "rest", "damping"), links)
    neutral = {"mass": 1.0, "inertia": [float(parent is None) for parent in scene.hinges]}
    made = {}
    for f in fields(Params):
        value = torch.as_tensor(values.get(f.name, neutral.get(f.name, 0.0)), dtype=torch.float64)
        made[f.name] = value.expand(batch, *shape.get(f.name, bodies))
    found = Params(**made)
    about_hinge = found.inertia + found.mass * (found.arm**2).sum(-1)
    if not (bool((found.mass > 0).all()) and bool((found.inertia >= 0).all()) and bool((about_hinge > 0).all())):
        raise BadInput("mass, and inertia about the hinge, must be positive", fix="Give a hinged body an arm or an inertia.")
    return found


def start(
    params: Params,
    scene: Scene,
    angle: Tensor | None = None,
    spin: Tensor | None = None,
    *,
    position: Tensor | None = None,
    velocity: Tensor | None = None,
    time: float = 0.0,
) -> State:
    """The state at `time`: angle and spin (B, O) of all bodies, position and velocity (B, F, 2) of the free ones. Absent: 0.

    The hinges place the other bodies, so that the state's derivative by lengths and pivots is carried along.
    """
    batch, bodies, free = len(params.mass), len(scene.hinges), len(scene.free)
    turned, loose = torch.zeros(batch, bodies, dtype=torch.float64), torch.zeros(batch, free, 2, dtype=torch.float64)
    angle, spin = (turned if value is None else value.expand(batch, bodies) for value in (angle, spin))
    position, velocity = (loose if value is None else value.expand(batch, free, 2) for value in (position, velocity))
    q, rate = _coordinates(position, angle), _coordinates(velocity, spin)
    at = dynamics.move(dynamics.mechanism(params, scene), q, rate)
    return State(torch.full((batch,), float(time), dtype=torch.float64), at.position, at.velocity, at.angle, at.spin)


def step(params: Params, scene: Scene, state: State, dt: float | Tensor) -> State:
    """The state `dt` [s] later, one number or (B,)."""
    return rollout(params, scene, state, (state.time + dt)[:, None]).final


@one_thread()
def rollout(params: Params, scene: Scene, state: State, times: Tensor) -> Track:
    """The motion at `times` [s] (T,) or (B, T), ascending from state.time. A motion that is not finite is NaN from there on.

    Raises BadInput where times descend. Track.error tells whether `largest_dt` is short enough for the springs.
    """
    batch = len(state.time)
    grid = torch.cat([state.time[:, None], times.expand(batch, -1)], 1)
    spans = grid.diff(dim=1)
    if bool((spans < 0).any()):
        raise BadInput("the times of a rollout must ascend from the state's own", fix="Sort the time stamps.")
    mechanism = dynamics.mechanism(params, scene)
    size = mechanism.root.shape[-1] + len(scene.hinges)

    def slope(y: Tensor) -> Tensor:
        q, rate = y[:, :size], y[:, size:]
        return torch.cat([rate, dynamics.acceleration(params, scene, mechanism, q, rate)], 1)

    free = list(scene.free)
    y = torch.cat([_coordinates(state.position[:, free], state.angle), _coordinates(state.velocity[:, free], state.spin)], 1)
    first, error, seen = slope(y), torch.zeros(batch, dtype=torch.float64), []
    for k, count in enumerate(substeps(spans.detach().amax(0).numpy(), scene.largest_dt)):
        for _ in range(count):
            y, first, off = dormand_prince.step(slope, y, first, spans[:, k, None] / int(count))
            error = error + _displaced(mechanism, y.detach(), off, size)
        seen.append(dynamics.move(mechanism, y[:, :size], y[:, size:]))
    position, angle, velocity, spin = (torch.stack([getattr(m, n) for m in seen], 1) for n in ("position", "angle", "velocity", "spin"))
    final = State(grid[:, -1], position[:, -1], velocity[:, -1], angle[:, -1], spin[:, -1])
    return Track(position, angle, velocity, spin, final, error)


def energy(params: Params, scene: Scene, state: State) -> Tensor:
    """Kinetic energy plus that of gravity and of stretched links (B,) [mass unit length unit^2 / s^2]."""
    kinetic = 0.5 * (params.mass * (state.velocity**2).sum(-1) + params.inertia * state.spin**2).sum(-1)
    height = (params.mass * (state.position * params.gravity[:, None]).sum(-1)).sum(-1)
    longer = dynamics.links(params, dynamics.mechanism(params, scene), state)[0] - params.rest
    longer = torch.cat([longer[:, : scene.springs], longer[:, scene.springs :].clamp(min=0)], -1)
    return kinetic - height + 0.5 * (params.stiffness * longer**2).sum(-1)


def _coordinates(loose: Tensor, turned: Tensor) -> Tensor:
    """(B, N) from the free centres (B, F, 2) and the angles (B, O), or from their rates."""
    return torch.cat([loose.flatten(1), turned], 1)


def _displaced(mechanism: dynamics.Mechanism, y: Tensor, off: Tensor, size: int) -> Tensor:
    """[length unit] (B,) by which an error (B, 2 N) of the coordinates displaces the body that it moves most."""
    with torch.no_grad():
        jacobian = dynamics.move(mechanism, y[:, :size], y[:, size:]).jacobian
        return torch.linalg.vector_norm((jacobian @ off[:, :size, None]).unflatten(1, (-1, 2))[..., 0], dim=-1).amax(-1)
