"""What the simulator of jointed bodies is made of: scene, parameters, state and track."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

WORLD = -1


@dataclass(frozen=True)
class Scene:
    """What is never differentiated."""

    hinges: tuple[int | None, ...]  # per body: the earlier body it hangs from, WORLD, or None for a free one
    links: tuple[tuple[int, int], ...]  # springs, then tethers, each from a body to a body or WORLD
    springs: int  # how many of the links are springs
    largest_dt: float  # [s] longest step

    @property
    def free(self) -> tuple[int, ...]:
        """The bodies without a hinge."""
        return tuple(o for o, parent in enumerate(self.hinges) if parent is None)


@dataclass(frozen=True)
class Params:
    """What may be learnt; batch B, bodies O, links S."""

    gravity: Tensor  # [length unit/s^2] (B, 2)
    mass: Tensor  # [mass unit] (B, O)
    inertia: Tensor  # [mass unit length unit^2] (B, O) about the centre of mass; 0 = a bob on its hinge
    pivot: Tensor  # [length unit] (B, O, 2) the hinge: in the world, or from the centre of the body it hangs from, in that body's frame
    arm: Tensor  # [length unit] (B, O, 2) from the hinge to the centre of mass, in the body's frame
    bearing: Tensor  # [mass unit length unit^2/s] (B, O) the hinge's torque per spin against what it hangs from
    viscous: Tensor  # [1/s] (B, O) drag: acceleration -viscous v
    quadratic: Tensor  # [1/length unit] (B, O) drag: acceleration -quadratic |v| v
    near: Tensor  # [length unit] (B, S, 2) where a link holds its first body, from the centre, in the body's frame
    far: Tensor  # [length unit] (B, S, 2) the same of its second body, or in the world
    stiffness: Tensor  # [mass unit/s^2] (B, S)
    rest: Tensor  # [length unit] (B, S) length without tension
    damping: Tensor  # [mass unit/s] (B, S) spring: tension per rate of lengthening; tether: times its strain


@dataclass(frozen=True)
class State:
    """What moves."""

    time: Tensor  # [s] (B,)
    position: Tensor  # [length unit] (B, O, 2) of the centres of mass
    velocity: Tensor  # [length unit/s] (B, O, 2)
    angle: Tensor  # [rad] (B, O) from x towards z; body axes are those of the world at 0
    spin: Tensor  # [rad/s] (B, O)


@dataclass(frozen=True)
class Track:
    """The motion at the times asked for."""

    position: Tensor  # [length unit] (B, T, O, 2)
    angle: Tensor  # [rad] (B, T, O)
    velocity: Tensor  # [length unit/s] (B, T, O, 2)
    spin: Tensor  # [rad/s] (B, T, O)
    final: State
    error: Tensor  # [length unit] (B,) what the steps have displaced, at most: the sum of their estimated errors
