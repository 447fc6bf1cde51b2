"""Several rigid bodies in space that collide with one another and with a plane, in batches of scenes.

The method is described with the kernel (several_kernel.py); one body alone moves as in spatial.py. Bodies are balls and
convex polyhedra. Friction and restitution of two bodies are the geometric means of their own, so that a smooth or a soft body
stays so whatever it meets; on the plane a body's own count. Derivatives are central differences of a batch of rollouts:
impacts are placed at their time inside a step, so the motion is smooth until another pair meets first.
Scale-free: with lengths in pixels and gravity to match, nothing changes. On one core a second of ten rolling balls, or of a
stack of boxes, costs some 0.03 s; of a falling heap of seven bodies 0.1 to 0.3 s; of six dominoes on the floor 1 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from video2phys.errors import BadInput
from video2phys.simulate.clock import substeps
from video2phys.simulate.rigid import inertia as moments
from video2phys.simulate.rigid import rotation
from video2phys.simulate.rigid import several_layout as at
from video2phys.simulate.rigid.several_shapes import Solids, solids
from video2phys.simulate.rigid.shapes import Shape


@dataclass(frozen=True)
class Scene:
    """What never changes: the outlines of the O bodies and the resolution in time."""

    shapes: tuple[Shape, ...]  # balls or convex polyhedra
    largest_dt: float = 1 / 1920  # [s] longest step; impacts are placed inside it
    settle: float = 0.01  # [length unit/s] restitution fades to zero between twice this normal speed and this: bounces end
    touch: float = 1e-5  # [of the smaller body's radius] bodies this close touch
    overlap: float = 0.01  # [of the smaller body's radius] bodies that overlap more than this at the start are refused

    @cached_property
    def solids(self) -> Solids:
        """Faces, edges and pairs. Raises BadInput for a body that can only meet a plane."""
        if not self.shapes:
            raise BadInput("a scene without bodies cannot move.", fix="Give at least one shape.")
        return solids(self.shapes)


@dataclass(frozen=True)
class Params:
    """What may be learnt; leading axis B, or length 1 to share; O bodies."""

    friction: np.ndarray  # (B, O) Coulomb
    restitution: np.ndarray  # (B, O) Newton, 0..1
    gravity: np.ndarray  # [length unit/s^2] (B, 3)
    normal: np.ndarray  # (B, 3) unit, of the plane
    offset: np.ndarray  # [length unit] (B,) of the plane; -inf for none
    inertia: np.ndarray  # [mass unit length unit^2] (B, O, 3, 3) body axes, about the centre of mass
    mass: np.ndarray  # (B, O)
    centre: np.ndarray  # [length unit] (B, O, 3) centre of mass in the body frame
    drag: np.ndarray  # [1/length unit] (B, O) quadratic: acceleration -drag |v| v


@dataclass(frozen=True)
class State:
    """What moves; leading axis B."""

    position: np.ndarray  # [length unit] (B, O, 3) of the body origins
    rotation: np.ndarray  # (B, O, 4) quaternions, body to world
    velocity: np.ndarray  # [length unit/s] (B, O, 3) of the body origins
    spin: np.ndarray  # [rad/s] (B, O, 3) world axes


@dataclass(frozen=True)
class Track:
    """States at the times asked for."""

    position: np.ndarray  # [length unit] (B, T, O, 3) of the body origins
    rotation: np.ndarray  # (B, T, O, 4)
    velocity: np.ndarray  # [length unit/s] (B, T, O, 3) of the body origins
    spin: np.ndarray  # [rad/s] (B, T, O, 3) world axes
    hits: np.ndarray  # (B, T, O) impacts of contact points since the time before

    def at(self, k: int) -> State:
        """The states at time number k."""
        return State(self.position[:, k], self.rotation[:, k], self.velocity[:, k], self.spin[:, k])


def params(
    scene: Scene,
    *,
    friction: ArrayLike = 0.0,
    restitution: ArrayLike = 0.0,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    normal: ArrayLike = (0.0, 0.0, 1.0),
    offset: ArrayLike = -np.inf,
    inertia: ArrayLike | None = None,
    mass: ArrayLike = 1.0,
    centre: ArrayLike | None = None,
    drag: ArrayLike = 0.0,
) -> Params:
    """Params from one value for all bodies, one a body (O, ...), or one a body and scene (B, O, ...).

    Without inertia and centre, bodies are filled uniformly. Raises BadInput for impossible values.
    """
    count = len(scene.solids.balls)
    weight = _bodies(mass, count, 0, "mass")
    if inertia is None or centre is None:
        middles, tensors = zip(*(moments.of_hull(shape) for shape in scene.shapes), strict=True)
        centre = np.stack(middles) if centre is None else centre
        inertia = weight[..., None, None] * np.stack(tensors) if inertia is None else inertia
    made = Params(
        friction=_bodies(friction, count, 0, "friction"),
        restitution=_bodies(restitution, count, 0, "restitution"),
        gravity=np.atleast_2d(np.asarray(gravity, float)),
        normal=np.atleast_2d(np.asarray(normal, float)),
        offset=np.atleast_1d(np.asarray(offset, float)),
        inertia=_bodies(inertia, count, 2, "inertia"),
        mass=weight,
        centre=_bodies(centre, count, 1, "centre"),
        drag=_bodies(drag, count, 0, "drag"),
    )
    if not (np.all(made.mass > 0) and np.all(np.linalg.eigvalsh(made.inertia) > 0)):
        raise BadInput("mass and inertia must be positive.", fix="Check object.size and object.density.")
    if not (np.all(made.friction >= 0) and np.all(made.restitution >= 0)):
        raise BadInput("friction and restitution cannot be negative.", fix="Give values from 0 upwards.")
    return made


def rollout(params: Params, scene: Scene, state: State, times: np.ndarray) -> Track:
    """States at `times` [s] (T,) or (B, T), ascending; `state` holds at the first. A scene whose motion is not finite is NaN throughout.

    Raises BadInput for times that do not ascend, for states of another number of bodies, and for bodies that overlap at the start.
    """
    from video2phys.simulate.rigid.several_kernel import kernels

    times = np.atleast_2d(np.asarray(times, float))
    if times.shape[1] < 1 or np.any(np.diff(times) < 0):
        raise BadInput("the times of a rollout must ascend.", fix="Sort the time stamps.")
    B, T, s, count = _size(params, state, len(times)), times.shape[1], scene.solids, len(scene.shapes)
    times = _batch(times, B)
    body, bad = _pack(params, scene, state, B)
    times = np.where(bad[:, None], times[:, :1], times)  # what is not finite stands still
    where = _workspace(s, B)
    radius = np.append(s.balls[:, 3], np.inf)[s.pairs].min(-1)
    overlap = -_measure(params, scene, body, where)[~bad] / radius
    if np.any(overlap > scene.overlap):
        i, j = s.pairs[overlap.max(0).argmax()]
        raise BadInput(
            f"body {i} overlaps {f'body {j}' if j < count else 'the plane'} at the start.", fix="Move it out, or make it smaller."
        )
    steps = substeps(np.maximum(np.diff(times), 1e-12), scene.largest_dt, most=1_000_000)
    out, hits = np.zeros((B, T, count, 13)), np.zeros((B, T, count), np.int32)
    most = at.POINTS * min(len(s.pairs), 6 * count)  # more than twelve neighbours find no room around a body of their size
    kernels().roll(
        *_arrays_of(s), times, np.ascontiguousarray(steps), *(_batch(a, B) for a in (params.gravity, params.normal)),
        np.maximum(_batch(params.offset, B), -1e12), scene.touch, scene.settle, body, *where, np.zeros((B, 2 * at.CORNERS, at.RING)),
        np.zeros((B, max(len(s.points), 1)), np.int32), np.zeros((B, most, at.CONTACT)), np.full((B, most, at.WHO), -1, np.int32),
        np.zeros((B, len(s.pairs)), np.int32), np.zeros((B, len(s.pairs))), out, hits,
    )  # fmt: skip
    q = out[..., 3:7]
    R, tensor = rotation.matrix(q), _batch(params.inertia, B)
    w = np.einsum("btoij,bojk,btolk,btol->btoi", R, np.linalg.inv(tensor), R, out[..., 10:13])
    arm = np.einsum("btoij,boj->btoi", R, _batch(params.centre, B))
    track = Track(out[..., :3] - arm, q, out[..., 7:10] - np.cross(w, arm), w, hits)
    failed = bad | ~np.isfinite(out).all((1, 2, 3))
    for a in (track.position, track.rotation, track.velocity, track.spin):
        a[failed] = np.nan
    return track


def gaps(params: Params, scene: Scene, state: State) -> np.ndarray:
    """Gap [length unit] of each pair of scene.solids.pairs (B, pairs), negative in overlap; a lower bound where two bodies are far apart.

    Of polyhedra it is the largest separation along a normal: below the distance where corners face one another.
    """
    B = _size(params, state, 1)
    body, bad = _pack(params, scene, state, B)
    found = _measure(params, scene, body, _workspace(scene.solids, B))
    found[bad] = np.nan
    return found


def energy(params: Params, state: State) -> np.ndarray:
    """Kinetic plus potential energy (B,) of all bodies, [mass unit length unit^2 / s^2]."""
    x, v, R = _centres(params, state)
    w = np.einsum("boji,boj->boi", R, state.spin)
    kinetic = 0.5 * params.mass * (v**2).sum(-1) + 0.5 * np.einsum("boi,boij,boj->bo", w, params.inertia, w)
    return (kinetic - params.mass * (x * params.gravity[:, None]).sum(-1)).sum(-1)


def momentum(params: Params, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Momentum (B, 3) and angular momentum about the world's origin (B, 3) of all bodies."""
    x, v, R = _centres(params, state)
    p = params.mass[..., None] * v
    return p.sum(1), (np.cross(x, p) + np.einsum("boij,bojk,bolk,bol->boi", R, params.inertia, R, state.spin)).sum(1)


def _centres(params: Params, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions and velocities (B, O, 3) of the centres of mass, and rotation matrices."""
    R = rotation.matrix(state.rotation)
    arm = np.einsum("boij,boj->boi", R, params.centre)
    return state.position + arm, state.velocity + np.cross(state.spin, arm), R


def _pack(params: Params, scene: Scene, state: State, B: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all bodies and of the plane for the kernel, and (B,) where something is not finite: such scenes are emptied of numbers."""
    count = len(scene.solids.balls)
    for name, a in vars(state).items():
        if a.ndim != 3 or a.shape[1] != count:
            raise BadInput(
                f"{name} of the state has shape {a.shape}, the scene has {count} bodies.", fix="Give (B, O, 3); rotation (B, O, 4)."
            )
    x, v, R = _centres(params, state)
    L = np.einsum("boij,bojk,bolk,bol->boi", R, params.inertia, R, state.spin)
    given = (x, state.rotation, v, L, params.mass, params.inertia, params.friction, params.restitution, params.gravity, params.normal)
    bad = ~np.all([np.isfinite(_batch(a, B)).reshape(B, -1).all(-1) for a in given], 0)
    body = np.zeros((B, count + 1, at.BODY))
    inverse = np.linalg.inv(np.where(np.isfinite(params.inertia), params.inertia, np.eye(3))).reshape(*params.inertia.shape[:2], 9)
    columns = (at.X, x), (at.Q, state.rotation), (at.V, v), (at.L, L), (at.INVERSE, inverse), (at.LIGHT, 1 / params.mass), (
        at.CENTRE, params.centre), (at.MU, params.friction), (at.E, params.restitution), (at.DRAG, params.drag)  # fmt: skip
    for k, a in columns:
        wide = a if a.ndim == 3 else a[..., None]
        body[:, :count, k : k + wide.shape[-1]] = wide
    body[bad, :, : at.INVERSE] = 0.0
    body[bad, :, at.Q] = 1.0
    return body, bad


def _workspace(s: Solids, B: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for corners and planes in world axes; Taichi takes no empty arrays."""
    return np.zeros((B, max(len(s.points), 1), 3)), np.zeros((B, max(len(s.planes), 1), 4))


def _arrays_of(s: Solids) -> list[np.ndarray]:
    return [np.ascontiguousarray(a if a.size else np.zeros((1, max(a.shape[1], 1)), a.dtype)) for a in vars(s).values()]


def _measure(params: Params, scene: Scene, body: np.ndarray, where: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    from video2phys.simulate.rigid.several_kernel import kernels

    B = len(body)
    found = np.zeros((B, len(scene.solids.pairs)))
    kernels().measure(*_arrays_of(scene.solids), _batch(params.normal, B), np.maximum(_batch(params.offset, B), -1e12), body, *where, found)
    return found


def _size(params: Params, state: State, least: int) -> int:
    return max(least, *(len(a) for owner in (params, state) for a in vars(owner).values()))


def _bodies(a: ArrayLike, count: int, tail: int, name: str) -> np.ndarray:
    """(B, O, ...) from a value of `tail` axes for all bodies, one a body, or one a body and scene."""
    a = np.asarray(a, float)
    lead = a.ndim - tail
    if not 0 <= lead <= 2 or (lead > 0 and a.shape[lead - 1] not in (1, count)):
        raise BadInput(f"{name} of shape {a.shape} does not fit {count} bodies.", fix="Give one value, or one a body.")
    a = a.reshape(*[1] * (2 - lead), *a.shape)
    return np.array(np.broadcast_to(a, (len(a), count, *a.shape[2:])))


def _batch(a: np.ndarray, B: int) -> np.ndarray:
    a = np.asarray(a, float)
    return np.ascontiguousarray(np.broadcast_to(a, (B, *a.shape[1:])))
