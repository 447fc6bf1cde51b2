"""Equations of motion of jointed bodies in a plane, in the coordinates that the hinges leave.

Coordinates q: the centres of the free bodies, then every body's absolute angle. A hinged body's centre is its chain's root plus
one vector r_k per body k of the chain, turned by that body's angle alone:
  c = root + sum_k R(a_k) r_k     v = root' + sum_k a_k' P R r_k     (P a quarter turn)     c'' = J q'' - sum_k a_k'^2 R r_k
and d'Alembert's principle gives (J^T m J + I) q'' = J^T (F + m sum_k a_k'^2 R r_k) + torque. Hinges need no constraint forces,
so nothing drifts apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from video2phys.simulate.rigid.jointed_model import WORLD, Params, Scene, State


@dataclass(frozen=True)
class Chains:
    """Geometry that a whole rollout shares."""

    root: Tensor  # (O, 2, 2 F) centre of a body per coordinate of the free bodies
    base: Tensor  # [length unit] (B, O, 2) where a chain hangs from the world; 0 under a free body
    reach: Tensor  # [length unit] (B, O, O, 2) r_k of body o's chain


@dataclass(frozen=True)
class Motion:
    """Places and velocities of all bodies, and how the coordinates move them."""

    position: Tensor  # [length unit] (B, O, 2)
    velocity: Tensor  # [length unit/s] (B, O, 2)
    angle: Tensor  # [rad] (B, O)
    spin: Tensor  # [rad/s] (B, O)
    jacobian: Tensor  # (B, O, 2, N) of the centres
    centripetal: Tensor  # [length unit/s^2] (B, O, 2) acceleration of the centres where q'' = 0


def quarter(r: Tensor) -> Tensor:
    """(..., 2) turned by 90 degrees, from x towards z."""
    return torch.stack([-r[..., 1], r[..., 0]], -1)


def turn(angle: Tensor, r: Tensor) -> Tensor:
    """r (..., 2) turned by angle (...)."""
    return torch.cos(angle)[..., None] * r + torch.sin(angle)[..., None] * quarter(r)


def chains(params: Params, scene: Scene) -> Chains:
    """Follow every body up to its root."""
    zero = torch.zeros_like(params.arm)
    unit = torch.eye(len(scene.hinges), dtype=torch.float64)[:, None, :, None]  # per body k: (1, O, 1)
    free = torch.eye(2 * len(scene.free), dtype=torch.float64)
    root, base, reach = [], [], []
    for o, parent in enumerate(scene.hinges):
        own = unit[o] * params.arm[:, None, o]
        if parent is None:
            k = 2 * scene.free.index(o)
            root, base, reach = [*root, free[k : k + 2]], [*base, zero[:, o]], [*reach, zero]
        elif parent == WORLD:
            root, base, reach = [*root, torch.zeros(2, len(free))], [*base, params.pivot[:, o]], [*reach, own]
        else:
            root, base = [*root, root[parent]], [*base, base[parent]]
            reach = [*reach, reach[parent] + unit[parent] * params.pivot[:, None, o] + own]
    return Chains(torch.stack(root).to(torch.float64), torch.stack(base, 1), torch.stack(reach, 1))


def move(chains: Chains, q: Tensor, rate: Tensor) -> Motion:
    """All bodies at the coordinates q and their rates, each (B, N)."""
    loose = chains.root.shape[-1]
    angle, spin = q[:, loose:], rate[:, loose:]
    arms = turn(angle[:, None], chains.reach)
    jacobian = torch.cat([chains.root.expand(len(q), -1, -1, -1), quarter(arms).transpose(2, 3)], -1)
    position = chains.base + torch.einsum("oin,bn->boi", chains.root, q[:, :loose]) + arms.sum(2)
    velocity = torch.einsum("boin,bn->boi", jacobian, rate)
    centripetal = -(spin[:, None, :, None] ** 2 * arms).sum(2)
    return Motion(position, velocity, angle, spin, jacobian, centripetal)


def acceleration(params: Params, scene: Scene, chains: Chains, q: Tensor, rate: Tensor) -> Tensor:
    """q'' (B, N)."""
    at = move(chains, q, rate)
    force, torque = _forces(params, scene, at)
    loose, size = chains.root.shape[-1], q.shape[-1]
    mass = params.mass[..., None]
    columns = at.jacobian.flatten(1, 2)
    weighed = (at.jacobian * mass[..., None]).flatten(1, 2)
    inertia = torch.nn.functional.pad(params.inertia, (loose, 0))
    push = columns.transpose(1, 2) @ (force - mass * at.centripetal).reshape(len(q), -1, 1)
    push = push[..., 0] + torch.nn.functional.pad(torque, (loose, 0))
    matrix = columns.transpose(1, 2) @ weighed + torch.diag_embed(inertia)
    return push / matrix[..., 0] if size == 1 else torch.linalg.solve(matrix, push)


def links(params: Params, scene: Scene, at: Motion | State) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Of each link: length (B, S), its rate, direction from first to second end (B, S, 2), both ends from their bodies' centres."""
    place, speed = _with_world(at.position), _with_world(at.velocity)
    angle, spin = _with_world(at.angle), _with_world(at.spin)
    first, second = ends(scene)
    near, far = turn(angle[:, first], params.near), turn(angle[:, second], params.far)
    gap = place[:, second] + far - place[:, first] - near
    change = speed[:, second] + spin[:, second, None] * quarter(far) - speed[:, first] - spin[:, first, None] * quarter(near)
    length = torch.linalg.vector_norm(gap, dim=-1)
    along = gap / length.clamp(min=1e-300)[..., None]
    return length, (change * along).sum(-1), along, near, far


def tension(params: Params, scene: Scene, length: Tensor, rate: Tensor) -> Tensor:
    """Pull of each link (B, S): k e + c e' for a spring; max(k e + c (e / rest) e', 0) for a tether while it is stretched.

    A tether's damper grows with its strain (as Hunt and Crossley 1975 have it for impacts), so that the pull has no jump where
    the tether tightens, and the derivative of the motion is the integral of the derivative.
    """
    longer = length - params.rest
    pull = params.stiffness * longer
    springs = len(scene.links) - scene.tethers
    spring = pull + params.damping * rate
    if not scene.tethers:
        return spring
    strain = longer[:, springs:] / params.rest[:, springs:]
    taut = (pull[:, springs:] + params.damping[:, springs:] * strain * rate[:, springs:]).clamp(min=0)
    return torch.cat([spring[:, :springs], torch.where(strain > 0, taut, 0.0)], -1)


def _forces(params: Params, scene: Scene, at: Motion) -> tuple[Tensor, Tensor]:
    """Force (B, O, 2) on the centre of each body and torque (B, O) about it, without those that pins of hinges give."""
    bodies = len(scene.hinges)
    drag = params.viscous + params.quadratic * torch.linalg.vector_norm(at.velocity, dim=-1)
    force = params.mass[..., None] * (params.gravity[:, None] - drag[..., None] * at.velocity)
    hung = [o for o, parent in enumerate(scene.hinges) if parent is not None]
    parents = [parent for parent in scene.hinges if parent is not None]
    rub = params.bearing[:, hung] * (_with_world(at.spin)[:, parents] - at.spin[:, hung])
    torque = _onto(hung, rub, bodies) - _onto(parents, rub, bodies)
    if scene.links:
        length, rate, along, near, far = links(params, scene, at)
        pull = tension(params, scene, length, rate)[..., None] * along
        first, second = ends(scene)
        force = force + _onto(first, pull, bodies) - _onto(second, pull, bodies)
        torque = torque + _onto(first, (quarter(near) * pull).sum(-1), bodies) - _onto(second, (quarter(far) * pull).sum(-1), bodies)
    return force, torque


def ends(scene: Scene) -> tuple[list[int], list[int]]:
    """First and second body of each link."""
    return [a for a, _ in scene.links], [b for _, b in scene.links]


def _with_world(x: Tensor) -> Tensor:
    """(B, O, ...) with a last row of zeros: the world, which WORLD = -1 then picks."""
    return torch.cat([x, torch.zeros_like(x[:, :1])], 1)


def _onto(bodies: list[int], values: Tensor, count: int) -> Tensor:
    """Sums (B, O, ...) of values (B, K, ...) by body; the world's share is dropped."""
    rows = torch.tensor([b % (count + 1) for b in bodies], dtype=torch.long)
    total = torch.zeros(len(values), count + 1, *values.shape[2:], dtype=values.dtype)
    return total.index_add(1, rows, values)[:, :count]
