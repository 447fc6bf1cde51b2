"""Equations of motion of jointed bodies in space, in the coordinates that the joints leave.

Coordinates q: the centres of the free bodies, quaternions of all bodies that turn about any axis, angles of hinges. Speeds u: the
velocities of those centres, the angular velocities of those bodies in world axes, the rates of hinges. A body held by p has, with r from
p's centre to the joint and s from the joint to its own centre,

    w = W u       W  = rows of u, or W_p + axis e^T of a hinge                w' = W u' + a,  a = 0, or a_p + w_p x w
    v = J u       J  = J_p - [r] W_p - [s] W                                  v' = J u' + b,  b = b_p + a_p x r + w_p x (w_p x r)
                                                                                                  + a x s + w x (w x s)

and Kane's equations (Kane and Levinson 1985) sum (m J^T J + W^T I W) u' = sum J^T (F - m b) + W^T (T - I a - w x I w). Joints need no
constraint forces, so nothing drifts apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from video2phys.simulate.rigid.jointed_dynamics import tension
from video2phys.simulate.rigid.jointed_model import WORLD
from video2phys.simulate.rigid.jointed_space_model import Params, Scene, State


@dataclass(frozen=True)
class Motion:
    """One body, or with a second axis of length O all of them: where it is and how the speeds move it."""

    position: Tensor  # [length unit] (B, 3) of the centre
    velocity: Tensor  # [length unit/s] (B, 3)
    rotation: Tensor  # (B, 4)
    spin: Tensor  # [rad/s] (B, 3)
    turn: Tensor  # (B, 3, 3) the rotation as a matrix
    moving: Tensor  # (B, 3, N) J
    turning: Tensor  # (B, 3, N) W
    drawn: Tensor  # [length unit/s^2] (B, 3) b
    swung: Tensor  # [rad/s^2] (B, 3) a


def matrix(q: Tensor) -> Tensor:
    """Rotations (..., 3, 3) of unit quaternions (..., 4)."""
    w, r = q[..., :1, None], q[..., 1:]
    return torch.eye(3, dtype=q.dtype) + 2 * (w * skew(r) + skew(r) @ skew(r))


def times(a: Tensor, b: Tensor) -> Tensor:
    """Product of quaternions (..., 4): first b, then a."""
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdim=True)
    return torch.cat([w, a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + torch.linalg.cross(a[..., 1:], b[..., 1:])], -1)


def skew(r: Tensor) -> Tensor:
    """[r] (..., 3, 3): [r] x = r x x."""
    x, y, z = r.unbind(-1)
    zero = torch.zeros_like(x)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))


def about(axis: Tensor, angle: Tensor) -> Tensor:
    """Quaternion (B, 4) of a turn by angle (B,) about a unit axis (B, 3)."""
    return torch.cat([torch.cos(angle / 2)[:, None], torch.sin(angle / 2)[:, None] * axis], -1)


def apply(M: Tensor, r: Tensor) -> Tensor:
    """M (..., 3, N) times r (..., N)."""
    return (M @ r[..., None])[..., 0]


def parts(scene: Scene, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Coordinates (B, n) as centres (B, F, 3), quaternions (B, K, 4) and angles (B, H)."""
    F, K = len(scene.free), len(scene.loose)
    return q[:, : 3 * F].unflatten(1, (F, 3)), q[:, 3 * F : 3 * F + 4 * K].unflatten(1, (K, 4)), q[:, 3 * F + 4 * K :]


def rates(scene: Scene, q: Tensor, u: Tensor) -> Tensor:
    """q' (B, n). Quaternions turn by w q / 2, which is linear: their length drifts by the error of the steps alone and is divided out."""
    F, K = len(scene.free), len(scene.loose)
    w = u[:, 3 * F : 3 * (F + K)].unflatten(1, (K, 3))
    turned = 0.5 * times(torch.nn.functional.pad(w, (1, 0)), parts(scene, q)[1])
    return torch.cat([u[:, : 3 * F], turned.flatten(1), u[:, 3 * (F + K) :]], 1)


def move(params: Params, scene: Scene, q: Tensor, u: Tensor) -> Motion:
    """All bodies at the coordinates q (B, n) and speeds u (B, N)."""
    batch, speeds = u.shape
    place, quaternion, angle = parts(scene, q)
    quaternion = quaternion / torch.linalg.vector_norm(quaternion, dim=-1, keepdim=True)
    row = torch.eye(speeds, dtype=u.dtype).expand(batch, -1, -1)
    F, K, zero, none = (
        len(scene.free),
        len(scene.loose),
        torch.zeros_like(u[:, :1]).expand(-1, 3),
        torch.zeros(batch, 3, speeds, dtype=u.dtype),
    )
    still = torch.tensor([1.0, 0, 0, 0], dtype=u.dtype).expand(batch, 4)
    bodies, world = [], Motion(zero, zero, still, zero, torch.eye(3, dtype=u.dtype).expand(batch, 3, 3), none, none, zero, zero)
    for o, joint in enumerate(scene.joints):
        holder = world if joint.to == WORLD or joint.kind == "free" else bodies[joint.to]
        if joint.kind == "hinge":
            h = scene.hinged.index(o)
            axis = params.axis[:, o]
            rotation = times(holder.rotation, about(axis, angle[:, h]))
            W = holder.turning + apply(holder.turn, axis)[..., None] * row[:, None, 3 * (F + K) + h]
            w = apply(W, u)
            swung = holder.swung + torch.linalg.cross(holder.spin, w)
        else:
            k = 3 * (F + scene.loose.index(o))
            rotation, W, w, swung = quaternion[:, scene.loose.index(o)], row[:, k : k + 3], u[:, k : k + 3], zero
        turn = matrix(rotation)
        if joint.kind == "free":
            k = scene.free.index(o)
            centre, J, drawn = place[:, k], row[:, 3 * k : 3 * k + 3], zero
        else:
            r, s = apply(holder.turn, params.pivot[:, o]), apply(turn, params.arm[:, o])
            centre, J = holder.position + r + s, holder.moving - skew(r) @ holder.turning - skew(s) @ W
            drawn = holder.drawn + _drawn(holder.swung, holder.spin, r) + _drawn(swung, w, s)
        bodies.append(Motion(centre, apply(J, u), rotation, w, turn, J, W, drawn, swung))
    return Motion(*(torch.stack([getattr(body, name) for body in bodies], 1) for name in Motion.__dataclass_fields__))


def acceleration(params: Params, scene: Scene, q: Tensor, u: Tensor) -> Tensor:
    """u' (B, N)."""
    at = move(params, scene, q, u)
    inertia = at.turn @ params.inertia @ at.turn.transpose(-1, -2)
    force, torque = _forces(params, scene, at)
    force = force - params.mass[..., None] * at.drawn
    torque = torque - apply(inertia, at.swung) - torch.linalg.cross(at.spin, apply(inertia, at.spin))
    J, W = at.moving, at.turning
    push = (J.transpose(-1, -2) @ force[..., None] + W.transpose(-1, -2) @ torque[..., None]).sum(1)[..., 0]
    mass = (params.mass[..., None, None] * J.transpose(-1, -2) @ J + W.transpose(-1, -2) @ inertia @ W).sum(1)
    return torch.linalg.solve(mass, push)


def links(params: Params, scene: Scene, at: Motion | State) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Of each link: length (B, S), its rate, direction from first to second end (B, S, 3), both ends from their bodies' centres."""
    turn = matrix(at.rotation)
    first, second = (torch.tensor([link[end] for link in scene.links]) for end in (0, 1))
    fixed = second == WORLD
    near, own = apply(turn[:, first], params.near), (~fixed)[:, None]
    far = torch.where(own, apply(turn[:, second.clamp(min=0)], params.far), params.far)

    def end(bodies: Tensor, arm: Tensor) -> tuple[Tensor, Tensor]:
        return at.position[:, bodies] + arm, at.velocity[:, bodies] + torch.linalg.cross(at.spin[:, bodies], arm)

    (a, a_rate), (b, b_rate) = end(first, near), end(second.clamp(min=0), far)
    gap = torch.where(own, b, params.far) - a
    length = torch.linalg.vector_norm(gap, dim=-1)
    along = gap / length.clamp(min=1e-300)[..., None]
    return length, ((torch.where(own, b_rate, 0.0) - a_rate) * along).sum(-1), along, near, far


def _drawn(swung: Tensor, w: Tensor, r: Tensor) -> Tensor:
    return torch.linalg.cross(swung, r) + torch.linalg.cross(w, torch.linalg.cross(w, r))


def _forces(params: Params, scene: Scene, at: Motion) -> tuple[Tensor, Tensor]:
    """Force (B, O, 3) on the centre of each body and torque (B, O, 3) about it, without those that joints give."""
    drag = params.viscous + params.quadratic * torch.linalg.vector_norm(at.velocity, dim=-1)
    force = params.mass[..., None] * (params.gravity[:, None] - drag[..., None] * at.velocity)
    torque = torch.zeros_like(force)
    for o, joint in enumerate(scene.joints):
        if joint.kind == "free":
            continue
        against = at.spin[:, o] - (0.0 if joint.to == WORLD else at.spin[:, joint.to])
        brake = params.bearing[:, o, None] * against
        torque = torque.index_add(1, torch.tensor([o]), -brake[:, None])
        if joint.to != WORLD:
            torque = torque.index_add(1, torch.tensor([joint.to]), brake[:, None])
    if scene.links:
        length, rate, along, near, far = links(params, scene, at)
        pull = tension(length - params.rest, rate, params.stiffness, params.rest, params.damping, scene.springs)[..., None] * along
        first, held = torch.tensor([a for a, _ in scene.links]), torch.tensor([k for k, (_, b) in enumerate(scene.links) if b != WORLD])
        force, torque = force.index_add(1, first, pull), torque.index_add(1, first, torch.linalg.cross(near, pull))
        if len(held):
            second = torch.tensor([scene.links[k][1] for k in held])
            force = force.index_add(1, second, -pull[:, held])
            torque = torque.index_add(1, second, -torch.linalg.cross(far[:, held], pull[:, held]))
    return force, torque
