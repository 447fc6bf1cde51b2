"""Rigid bodies in space above a plane of any slope: flight, impacts, sliding, rolling and rest, in batches.

The method is described with the kernel (spatial_kernel.py). Positions are of the body origin; the centre of mass may lie
elsewhere. Scale-free: with lengths in pixels and gravity to match, nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from video2phys.errors import BadInput
from video2phys.simulate.clock import substeps
from video2phys.simulate.rigid import rotation
from video2phys.simulate.rigid.shapes import Shape


@dataclass(frozen=True)
class Scene:
    """What never changes: the outline and the resolution in time."""

    shape: Shape
    largest_dt: float = 1 / 1920  # [s] longest step; impacts are placed exactly inside it
    settle: float = 0.01  # [length unit/s] restitution fades to zero between twice this normal speed and this: bounces end
    touch: float = 1e-5  # [of the shape's extent] a point this close to the plane touches


@dataclass(frozen=True)
class Params:
    """What may be learnt; leading axis B, or length 1 to share."""

    friction: np.ndarray  # (B,) Coulomb
    restitution: np.ndarray  # (B,) Newton, 0..1
    gravity: np.ndarray  # [length unit/s^2] (B, 3)
    normal: np.ndarray  # (B, 3) unit, of the plane
    offset: np.ndarray  # [length unit] (B,) of the plane; -inf for none
    inertia: np.ndarray  # [mass unit length unit^2] (B, 3, 3) body axes, about the centre of mass
    mass: np.ndarray  # (B,)
    centre: np.ndarray  # [length unit] (B, 3) centre of mass in the body frame
    drag: np.ndarray  # [1/length unit] (B,) quadratic: acceleration -drag |v| v
    contact_time: np.ndarray  # [s] (B,) pi / omega of a compliant contact, see `damping_ratio`; 0 = rigid contact


@dataclass(frozen=True)
class State:
    """What moves; leading axis B."""

    position: np.ndarray  # [length unit] (B, 3) of the body origin
    rotation: np.ndarray  # (B, 4) quaternion, body to world
    velocity: np.ndarray  # [length unit/s] (B, 3) of the body origin
    spin: np.ndarray  # [rad/s] (B, 3) world axes


@dataclass(frozen=True)
class Track:
    """States at the times asked for."""

    position: np.ndarray  # [length unit] (B, T, 3) of the body origin
    rotation: np.ndarray  # (B, T, 4)
    velocity: np.ndarray  # [length unit/s] (B, T, 3) of the body origin
    spin: np.ndarray  # [rad/s] (B, T, 3) world axes
    hits: np.ndarray  # (B, T) impacts of points since the time before

    def at(self, k: int) -> State:
        """The states at time number k."""
        return State(self.position[:, k], self.rotation[:, k], self.velocity[:, k], self.spin[:, k])


def params(
    *,
    friction: ArrayLike = 0.0,
    restitution: ArrayLike = 0.0,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    normal: ArrayLike = (0.0, 0.0, 1.0),
    offset: ArrayLike = -np.inf,
    inertia: ArrayLike | None = None,
    mass: ArrayLike = 1.0,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    drag: ArrayLike = 0.0,
    contact_time: ArrayLike = 0.0,
) -> Params:
    """Params from numbers or arrays. Inertia is per `mass` given; identity if absent. Raises BadInput for impossible values."""
    tensor = np.eye(3) if inertia is None else np.asarray(inertia, float)
    made = Params(
        friction=_column(friction),
        restitution=_column(restitution),
        gravity=np.atleast_2d(np.asarray(gravity, float)),
        normal=np.atleast_2d(np.asarray(normal, float)),
        offset=_column(offset),
        inertia=tensor if tensor.ndim == 3 else tensor[None],
        mass=_column(mass),
        centre=np.atleast_2d(np.asarray(centre, float)),
        drag=_column(drag),
        contact_time=_column(contact_time),
    )
    if not (np.all(made.mass > 0) and np.all(np.linalg.eigvalsh(made.inertia) > 0)):
        raise BadInput("mass and inertia must be positive.", fix="Check object.size and object.density.")
    if not (np.all(made.friction >= 0) and np.all(made.restitution >= 0)):
        raise BadInput("friction and restitution cannot be negative.", fix="Give values from 0 upwards.")
    return made


def rollout(params: Params, scene: Scene, state: State, times: np.ndarray) -> Track:
    """States at `times` [s] (T,) or (B, T), ascending; `state` holds at the first. A motion that is not finite is NaN throughout."""
    from video2phys.simulate.rigid.spatial_kernel import CONTACTS, kernels

    times = np.atleast_2d(np.asarray(times, float))
    if times.shape[1] < 1 or np.any(np.diff(times) < 0):
        raise BadInput("the times of a rollout must ascend.", fix="Sort the time stamps.")
    B, T = max(len(a) for a in (*_arrays(params), *_arrays(state), times)), times.shape[1]
    times = _batch(times, B)
    friction, restitution, gravity, normal, offset, inertia, mass, centre, drag, contact_time = (_batch(a, B) for a in _arrays(params))
    position, quaternion, velocity, spin = (_batch(a, B) for a in _arrays(state))
    R = rotation.matrix(quaternion)
    shift = np.einsum("bij,bj->bi", R, centre)
    bad = ~np.all([np.isfinite(a).reshape(B, -1).all(-1) for a in (position, quaternion, velocity, spin, inertia, mass)], 0)
    out = {name: np.zeros((B, T, size)) for name, size in (("x", 3), ("q", 4), ("v", 3), ("L", 3))}
    out["x"][:, 0], out["q"][:, 0] = position + shift, quaternion
    out["v"][:, 0] = velocity + np.cross(spin, shift)
    out["L"][:, 0] = np.einsum("bij,bjk,blk,bl->bi", R, inertia, R, spin)
    for a in out.values():
        a[bad] = 0.0
    out["q"][bad, :, 0] = 1.0
    hits = np.zeros((B, T), np.int32)
    steps = substeps(np.maximum(np.diff(times), 1e-12), scene.largest_dt, most=1_000_000)
    number = max(len(scene.shape.points), 1)
    radii = np.zeros(3) if scene.shape.radii is None else np.asarray(scene.shape.radii, float)
    omega = np.where(contact_time > 0, np.pi / np.maximum(contact_time, 1e-12), 0.0)
    touch = np.where(contact_time > 0, 1e-9, scene.touch) * scene.shape.extent
    kernels().roll(
        np.ascontiguousarray(scene.shape.points, float), radii, times, np.ascontiguousarray(steps), out["x"], out["q"], out["v"], out["L"],
        hits, gravity, normal, np.maximum(offset, -1e12), mass, centre, np.linalg.inv(np.where(bad[:, None, None], np.eye(3), inertia)),
        friction, restitution, drag, omega, damping_ratio(restitution), float(scene.settle), touch,
        np.zeros((B, number)), *(np.zeros((B, CONTACTS, 3)) for _ in range(3)), np.zeros((B, CONTACTS, 3)),
        np.zeros((B, CONTACTS, 3)), np.full((B, CONTACTS), -1, np.int32),
    )  # fmt: skip
    R = rotation.matrix(out["q"])
    w = np.einsum("btij,bjk,btlk,btl->bti", R, np.linalg.inv(inertia), R, out["L"])
    arm = np.einsum("btij,bj->bti", R, centre)
    track = Track(out["x"] - arm, out["q"], out["v"] - np.cross(w, arm), w, hits)
    failed = bad | ~np.isfinite(track.position).all((1, 2)) | ~np.isfinite(track.rotation).all((1, 2))
    for a in (track.position, track.rotation, track.velocity, track.spin):
        a[failed] = np.nan
    return track


def damping_ratio(restitution: np.ndarray) -> np.ndarray:
    """zeta of gap'' = -2 zeta omega gap' - omega^2 gap that returns the share `restitution` of the speed, where contact ends
    as its force vanishes (no adhesion).

    With zeta = sin a that share is exp(-tan(a) (pi - 2 a)), and exp(-2 s coth s) with zeta = cosh s beyond critical damping;
    both meet at exp(-2). Solved by bisection.
    """
    goal = -np.log(np.clip(np.asarray(restitution, float), 1e-12, 1 - 1e-12))
    low, high = np.zeros_like(goal), np.full_like(goal, np.pi / 2 + 20.0)
    for _ in range(60):
        middle = (low + high) / 2
        under = np.minimum(middle, np.pi / 2 - 1e-9)
        s = np.maximum(middle - np.pi / 2, 1e-9)
        loss = np.where(middle < np.pi / 2, np.tan(under) * (np.pi - 2 * under), 2 * s / np.tanh(s))
        low, high = np.where(loss < goal, middle, low), np.where(loss < goal, high, middle)
    return np.where(low < np.pi / 2, np.sin(low), np.cosh(np.maximum(low - np.pi / 2, 0.0)))


def energy(params: Params, state: State) -> np.ndarray:
    """Kinetic plus potential energy (B,), [mass unit length unit^2 / s^2]."""
    R = rotation.matrix(state.rotation)
    arm = np.einsum("bij,bj->bi", R, params.centre)
    v, w = state.velocity + np.cross(state.spin, arm), np.einsum("bji,bj->bi", R, state.spin)
    kinetic = 0.5 * params.mass * (v**2).sum(-1) + 0.5 * np.einsum("bi,bij,bj->b", w, params.inertia, w)
    return kinetic - params.mass * ((state.position + arm) * params.gravity).sum(-1)


def _arrays(owner: Params | State) -> list[np.ndarray]:
    return list(vars(owner).values())


def _column(a: ArrayLike) -> np.ndarray:
    return np.atleast_1d(np.asarray(a, float))


def _batch(a: np.ndarray, B: int) -> np.ndarray:
    a = np.asarray(a, float)
    return np.ascontiguousarray(np.broadcast_to(a, (B, *a.shape[1:])))
