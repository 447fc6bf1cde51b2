"""Equations of motion of jointed bodies in a plane, in the coordinates that the hinges leave.

Coordinates q: the centres of the free bodies, then every body's absolute angle. A hinged body's centre is its chain's root plus
one vector r_k per body k of the chain, turned by that body's angle alone:
  c = root + sum_k R(a_k) r_k     c' = root' + sum_k a_k' P R r_k = J q'     c'' = J q'' - sum_k a_k'^2 R r_k     (P a quarter turn)
and d'Alembert's principle gives (J^T m J + I) q'' = J^T (F + m sum_k a_k'^2 R r_k) + torque. Hinges need no constraint forces,
so nothing drifts apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from video2phys.simulate.rigid.jointed_model import WORLD, Params, Scene, State


@dataclass(frozen=True)
class Mechanism:
    """What holds what, and where; shared by a whole rollout."""

    root: Tensor  # (2 O, 2 F) centres of the bodies per coordinate of the free ones
    base: Tensor  # [length unit] (B, O, 2) where a chain hangs from the world; 0 under a free body
    reach: Tensor  # [length unit] (B, O, O, 2) r_k of body o's chain
    hinged: Tensor  # (O, O) +1 for a body with a hinge, -1 for the body it hangs from; no entry for the world
    first: Tensor  # (S, O) 1 at the link's first body
    second: Tensor  # (S, O) 1 at its second; no entry for the world


@dataclass(frozen=True)
class Motion:
    """Places and velocities of all bodies, and how the coordinates move them."""

    position: Tensor  # [length unit] (B, O, 2)
    velocity: Tensor  # [length unit/s] (B, O, 2)
    angle: Tensor  # [rad] (B, O)
    spin: Tensor  # [rad/s] (B, O)
    jacobian: Tensor  # (B, 2 O, N) of the centres
    centripetal: Tensor  # [length unit/s^2] (B, O, 2) acceleration of the centres where q'' = 0


def quarter(r: Tensor) -> Tensor:
    """(..., 2) turned by 90 degrees, from x towards z."""
    return torch.stack([-r[..., 1], r[..., 0]], -1)


def turn(angle: Tensor, r: Tensor) -> Tensor:
    """r (..., 2) turned by angle (...)."""
    return torch.cos(angle)[..., None] * r + torch.sin(angle)[..., None] * quarter(r)


def mechanism(params: Params, scene: Scene) -> Mechanism:
    """Follow every body up to its root."""
    bodies, free = len(scene.hinges), scene.free
    eye, loose = torch.eye(bodies, dtype=torch.float64), torch.eye(2 * len(free), dtype=torch.float64)
    zero = torch.zeros_like(params.arm)
    root, base, reach, hinged = [], [], [], torch.zeros_like(eye)
    for o, parent in enumerate(scene.hinges):
        if parent is None:
            k = 2 * free.index(o)
            root, base, reach = [*root, loose[k : k + 2]], [*base, zero[:, o]], [*reach, zero]
            continue
        own = eye[o, None, :, None] * params.arm[:, o, None]
        hinged[o, o] = 1.0
        if parent == WORLD:
            root, base, reach = [*root, torch.zeros(2, len(loose), dtype=torch.float64)], [*base, params.pivot[:, o]], [*reach, own]
        else:
            hinged[o, parent] = -1.0
            root, base = [*root, root[parent]], [*base, base[parent]]
            reach = [*reach, reach[parent] + eye[parent, None, :, None] * params.pivot[:, o, None] + own]
    first, second = (
        torch.tensor([[float(o == link[end]) for o in range(bodies)] for link in scene.links], dtype=torch.float64).reshape(-1, bodies)
        for end in (0, 1)
    )
    return Mechanism(torch.cat(root), torch.stack(base, 1), torch.stack(reach, 1), hinged, first, second)


def move(mechanism: Mechanism, q: Tensor, rate: Tensor) -> Motion:
    """All bodies at the coordinates q and their rates, each (B, N)."""
    free = mechanism.root.shape[-1]
    angle, spin = q[:, free:], rate[:, free:]
    arms = turn(angle[:, None], mechanism.reach)
    jacobian = torch.cat([mechanism.root.expand(len(q), -1, -1), quarter(arms).transpose(2, 3).flatten(1, 2)], -1)
    position = mechanism.base + (q[:, :free] @ mechanism.root.T).unflatten(1, (-1, 2)) + arms.sum(2)
    velocity = (jacobian @ rate[..., None]).reshape(position.shape)
    centripetal = -((spin**2)[:, None, :, None] * arms).sum(2)
    return Motion(position, velocity, angle, spin, jacobian, centripetal)


def acceleration(params: Params, scene: Scene, mechanism: Mechanism, q: Tensor, rate: Tensor) -> Tensor:
    """q'' (B, N)."""
    at = move(mechanism, q, rate)
    force, torque = _forces(params, scene, mechanism, at)
    free, J = mechanism.root.shape[-1], at.jacobian
    mass = params.mass[..., None]
    push = (J.transpose(1, 2) @ (force - mass * at.centripetal).reshape(len(q), -1, 1))[..., 0] + _angular(torque, free)
    matrix = J.transpose(1, 2) @ (params.mass.repeat_interleave(2, -1)[..., None] * J) + torch.diag_embed(_angular(params.inertia, free))
    return push / matrix[..., 0] if J.shape[-1] == 1 else torch.linalg.solve(matrix, push)


def links(params: Params, mechanism: Mechanism, at: Motion | State) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Of each link: length (B, S), its rate, direction from first to second end (B, S, 2), both ends from their bodies' centres."""
    first, second = mechanism.first, mechanism.second
    near, far = turn(at.angle @ first.T, params.near), turn(at.angle @ second.T, params.far)
    gap = second @ at.position + far - first @ at.position - near
    swing = (at.spin @ second.T)[..., None] * quarter(far) - (at.spin @ first.T)[..., None] * quarter(near)
    length = torch.linalg.vector_norm(gap, dim=-1)
    along = gap / length.clamp(min=1e-300)[..., None]
    return length, (((second - first) @ at.velocity + swing) * along).sum(-1), along, near, far


def tension(longer: Tensor, rate: Tensor, stiffness: Tensor, rest: Tensor, damping: Tensor, springs: int) -> Tensor:
    """Pull of each link (B, S): k e + c e' for the first `springs`; max(k e + c (e / rest) e', 0) for a tether while it is stretched.

    A tether's damper grows with its strain (as Hunt and Crossley 1975 have it for impacts), so that the pull has no jump where
    the tether tightens, and the derivative of the motion is the integral of the derivative.
    """
    pull = stiffness * longer
    spring = pull + damping * rate
    if springs == longer.shape[1]:
        return spring
    strain = longer[:, springs:] / rest[:, springs:]
    taut = (pull[:, springs:] + damping[:, springs:] * strain * rate[:, springs:]).clamp(min=0)
    return torch.cat([spring[:, :springs], torch.where(strain > 0, taut, 0.0)], -1)


def _forces(params: Params, scene: Scene, mechanism: Mechanism, at: Motion) -> tuple[Tensor, Tensor]:
    """Force (B, O, 2) on the centre of each body and torque (B, O) about it, without those that pins of hinges give."""
    drag = params.viscous + params.quadratic * torch.linalg.vector_norm(at.velocity, dim=-1)
    force = params.mass[..., None] * (params.gravity[:, None] - drag[..., None] * at.velocity)
    torque = -(params.bearing * (at.spin @ mechanism.hinged.T)) @ mechanism.hinged
    if scene.links:
        length, rate, along, near, far = links(params, mechanism, at)
        pull = tension(length - params.rest, rate, params.stiffness, params.rest, params.damping, scene.springs)[..., None] * along
        force = force + (mechanism.first - mechanism.second).T @ pull
        torque = torque + (quarter(near) * pull).sum(-1) @ mechanism.first - (quarter(far) * pull).sum(-1) @ mechanism.second
    return force, torque


def _angular(x: Tensor, free: int) -> Tensor:
    """(B, O) put after zeros for the coordinates of free bodies: (B, N)."""
    return torch.nn.functional.pad(x, (free, 0)) if free else x
