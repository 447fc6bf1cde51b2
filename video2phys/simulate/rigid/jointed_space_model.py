"""What the simulator of jointed bodies in space is made of: scene, parameters, state and track."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from video2phys.simulate.rigid.jointed_model import WORLD


@dataclass(frozen=True)
class Joint:
    """How a body is held."""

    kind: Literal["free", "ball", "hinge"]
    to: int = WORLD  # the earlier body that holds it; of no meaning for a free one


@dataclass(frozen=True)
class Scene:
    """What is never differentiated."""

    joints: tuple[Joint, ...]  # of each body
    links: tuple[tuple[int, int], ...]  # springs, then tethers, each from a body to a body or WORLD
    springs: int  # how many of the links are springs
    largest_dt: float  # [s] longest step

    @property
    def free(self) -> tuple[int, ...]:
        """The F bodies without a joint."""
        return tuple(o for o, joint in enumerate(self.joints) if joint.kind == "free")

    @property
    def loose(self) -> tuple[int, ...]:
        """The K bodies that turn about any axis: free ones and those on balls."""
        return tuple(o for o, joint in enumerate(self.joints) if joint.kind != "hinge")

    @property
    def hinged(self) -> tuple[int, ...]:
        """The H bodies that turn about an axis."""
        return tuple(o for o, joint in enumerate(self.joints) if joint.kind == "hinge")


@dataclass(frozen=True)
class Params:
    """What may be learnt; batch B, bodies O, links S."""

    gravity: Tensor  # [length unit/s^2] (B, 3)
    mass: Tensor  # [mass unit] (B, O)
    inertia: Tensor  # [mass unit length unit^2] (B, O, 3, 3) about the centre of mass, body axes
    pivot: Tensor  # [length unit] (B, O, 3) the joint: in the world, or from the centre of the body that holds, in that body's frame
    axis: Tensor  # (B, O, 3) unit, of a hinge: in the world, or in the frame of the body that holds
    arm: Tensor  # [length unit] (B, O, 3) from the joint to the centre of mass, in the body's frame
    bearing: Tensor  # [mass unit length unit^2/s] (B, O) the joint's torque per spin against what holds the body
    viscous: Tensor  # [1/s] (B, O) drag: acceleration -viscous v
    quadratic: Tensor  # [1/length unit] (B, O) drag: acceleration -quadratic |v| v
    near: Tensor  # [length unit] (B, S, 3) where a link holds its first body, from the centre, in the body's frame
    far: Tensor  # [length unit] (B, S, 3) the same of its second body, or in the world
    stiffness: Tensor  # [mass unit/s^2] (B, S)
    rest: Tensor  # [length unit] (B, S) length without tension
    damping: Tensor  # [mass unit/s] (B, S) spring: tension per rate of lengthening; tether: times its strain


@dataclass(frozen=True)
class State:
    """What moves."""

    time: Tensor  # [s] (B,)
    position: Tensor  # [length unit] (B, O, 3) of the centres of mass
    rotation: Tensor  # (B, O, 4) quaternions w, x, y, z, body to world
    velocity: Tensor  # [length unit/s] (B, O, 3)
    spin: Tensor  # [rad/s] (B, O, 3) world axes


@dataclass(frozen=True)
class Track:
    """The motion at the times asked for."""

    position: Tensor  # [length unit] (B, T, O, 3)
    rotation: Tensor  # (B, T, O, 4)
    velocity: Tensor  # [length unit/s] (B, T, O, 3)
    spin: Tensor  # [rad/s] (B, T, O, 3) world axes
    final: State
    error: Tensor  # [length unit] (B,) what the steps have displaced, at most: the sum of their estimated errors
