"""What the planar simulator is made of: scene, parameters, state, and the geometry of the supporting line."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

FLIGHT, SLIDE, STICK = 0, 1, 2


@dataclass(frozen=True)
class Scene:
    """What is never differentiated."""

    radius: tuple[float, ...]  # [length unit] per body; 0 = a point or a block whose contact point is its origin
    line: bool = False  # a supporting line exists
    table: bool = False  # seen from above: `table` decelerates every body
    settle: float = 1e-5  # [length unit] a rebound lower than this ends in contact, so that bounces do not accumulate for ever
    event_limit: int = 64


@dataclass(frozen=True)
class Params:
    """What may be learnt, each (B,) unless said otherwise."""

    gravity: Tensor  # [length unit/s^2] (B, 2)
    slope: Tensor  # [rad] of the line, from x towards z
    anchor: Tensor  # [length unit] (B, 2) a point of the line
    friction: Tensor  # [1] Coulomb coefficient, body on line
    restitution: Tensor  # [1] body on line
    collision: Tensor  # [1] restitution of body on body
    table: Tensor  # [length unit/s^2] (B, O) deceleration on a table seen from above
    mass: Tensor  # [kg, or any unit: only ratios matter] (B, O)
    mobility: Tensor  # [1] (B, O) j = m r^2 / I: 0 = does not turn, 2 = disc, 2.5 = ball


@dataclass(frozen=True)
class State:
    """What moves."""

    time: Tensor  # [s] (B,)
    position: Tensor  # [length unit] (B, O, 2)
    velocity: Tensor  # [length unit/s] (B, O, 2)
    angle: Tensor  # [rad] (B, O)
    spin: Tensor  # [rad/s] (B, O)
    mode: Tensor  # (B, O) FLIGHT | SLIDE | STICK


@dataclass(frozen=True)
class Track:
    """The motion at the times asked for."""

    position: Tensor  # [length unit] (B, T, O, 2)
    angle: Tensor  # [rad] (B, T, O)
    velocity: Tensor  # [length unit/s] (B, T, O, 2)
    final: State
    events: int  # of the batch member that had most


def frame(params: Params) -> tuple[Tensor, Tensor]:
    """Direction and normal of the line, each (B, 1, 2)."""
    c, s = torch.cos(params.slope), torch.sin(params.slope)
    return torch.stack([c, s], -1)[:, None], torch.stack([-s, c], -1)[:, None]


def pull(params: Params) -> tuple[Tensor, Tensor]:
    """Gravity along the line and its pressing part (>= 0), each (B, 1)."""
    d, n = frame(params)
    g = params.gravity[:, None]
    return (g * d).sum(-1), (-(g * n).sum(-1)).clamp(min=0)


def slip(params: Params, state: State, radius: Tensor) -> Tensor:
    """Velocity of the contact point along the line (B, O)."""
    d, _ = frame(params)
    return (state.velocity * d).sum(-1) + state.spin * radius
