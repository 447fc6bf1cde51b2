"""From a start to a track: frames on the video's clock, whole steps between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.clock import substeps
from video2phys.simulate.mpm.forward import advance
from video2phys.simulate.mpm.scene import COURANT, Params, Scene, State, constants, largest_step, surfaces
from video2phys.simulate.mpm.transfer import KEEPS
from video2phys.types import check


@dataclass(frozen=True)
class Track:
    """Particles at the frame times. Rows of a failed member are NaN from the frame in which it failed."""

    time: np.ndarray  # [s] (T,)
    position: np.ndarray  # [m] (T, B, N, 3)
    deformation: np.ndarray  # (T, B, N, 3, 3)
    failed: np.ndarray  # (B,) bool: a position was no longer a number, or the body outgrew its grid
    end: State

    def __post_init__(self) -> None:
        check(self, time=("T",), position=("T", "B", "N", 3), deformation=("T", "B", "N", 3, 3), failed=("B",))


@dataclass(frozen=True)
class Arrays:
    """Contiguous copies in the scene's precision, in the order the kernels take them."""

    state: tuple[np.ndarray, ...]  # x, v, C, F (B, S, N, ...)
    matter: tuple[np.ndarray, ...]  # mass, volume that bears stress, width (B, N)
    law: tuple[np.ndarray, ...]  # constants (B, 4), gravity (B, 3), fading (B,)
    walls: tuple[np.ndarray, ...]  # scene.surfaces, then offset and friction (B, K)
    scratch: tuple[np.ndarray, ...]  # elastic F (B, N, 3, 3), grid (B, S, G, 4), push (B, S K, G, 3), before (B, S, G, 4), moved (B, G, 3)
    failed: np.ndarray  # (B,) int32


def arrays(params: Params, scene: Scene, state: State, slots: int = 1) -> Arrays:
    """Kernel arguments with `slots` time slots, the state in the first."""
    real = scene.dtype
    batch, count = state.position.shape[:2]
    if len(params.size) != batch or params.density.shape[1] != count or len(scene.volume) != count:
        raise BadInput(
            f"{len(params.size)} parameter sets for {params.density.shape[1]} particles do not fit a state of {batch} x {count}.",
            fix="Build parameters and state from the same scene and batch.",
        )

    def slot(a: np.ndarray) -> np.ndarray:
        out = np.zeros((batch, slots, *a.shape[1:]), real)
        out[:, 0] = a
        return out

    volume = scene.volume * params.size[:, None] ** 3
    there, walls = volume * params.presence, len(scene.boundaries)
    c = [np.ascontiguousarray(a, real) for a in
         (params.density * there, params.stiffness * there, np.cbrt(volume), constants(params, scene), params.gravity, params.fading,
          params.offset, params.friction)]  # fmt: skip
    gathers = max(slots - 1, 1)
    return Arrays(
        tuple(slot(a) for a in (state.position, state.velocity, state.affine, state.deformation)),
        tuple(c[:3]),
        tuple(c[3:6]),
        (*surfaces(scene), *c[6:]),
        (
            np.zeros((batch, count, 3, 3), real),
            np.zeros((batch, gathers, scene.nodes, 4), real),
            np.zeros((batch, gathers * walls, scene.nodes, 3), real),
            np.zeros((batch, gathers, scene.nodes if scene.law in KEEPS else 0, 4), real),
            np.zeros((batch, scene.nodes, 3), real),
        ),
        np.zeros(batch, np.int32),
    )


def ensure_free(params: Params, scene: Scene, state: State, time: float) -> None:
    """Raise BadInput where a particle's centre starts inside a sampled boundary: the nearest way out need not be the way it came in.

    Out of a plane there is one way only, and what starts below is pushed up.
    """
    for k, wall in enumerate(scene.boundaries):
        if wall.endless:
            continue
        d = wall.at(state.position, time) - params.offset[:, k, None]
        if d.min() < 0:
            member = int(np.argmin(d.min(1)))
            raise BadInput(
                f"{int((d[member] < 0).sum())} of {d.shape[1]} particles of member {member} start inside boundary {k}, "
                f"up to {-d[member].min():.3g} m deep.",
                fix="Start the body where the distance to every boundary is positive.",
            )


def schedule(params: Params, scene: Scene, time: np.ndarray, steps: np.ndarray | int | None, courant: float = COURANT) -> np.ndarray:
    """Steps (T - 1, B) between frames: given, or as many as stability asks for."""
    batch = len(params.size)
    if steps is None:
        return substeps(np.diff(time)[:, None], largest_step(params, scene, courant)[None])
    return np.ascontiguousarray(np.broadcast_to(steps, (len(time) - 1, batch)), np.int32)


def step(params: Params, scene: Scene, state: State, dt: float, steps: int = 1, *, begin: float = 0.0) -> tuple[State, np.ndarray]:
    """The state `steps` steps of dt [s] after the time `begin` [s], and which members failed (B,)."""
    end = rollout(params, scene, state, begin + np.array([0, dt * steps]), steps=steps)
    return end.end, end.failed


def rollout(params: Params, scene: Scene, state: State, time: np.ndarray, *, steps: np.ndarray | int | None = None) -> Track:
    """Simulate a batch from time[0] to time[-1], keeping the state at every time (T,) [s].

    `steps`: whole steps between frames, a number, (T - 1, 1) or (T - 1, B); by default from the wave speed.
    Raises BadInput where state and parameters do not belong together, or a body starts inside a sampled boundary.
    """
    ensure_free(params, scene, state, time[0])
    a = arrays(params, scene, state)
    states = list(march(scene, a, time, schedule(params, scene, time, steps)))
    return track(time, states, a)


def march(scene: Scene, a: Arrays, time: np.ndarray, count: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """The state (x, v, C, F), each (B, N, ...), at every time; `a.failed` is updated on the way."""
    kernel = advance(scene.precision, scene.law)
    yield tuple(s[:, 0].copy() for s in a.state)
    for k, gap in enumerate(np.diff(time)):
        dt = np.ascontiguousarray(gap / count[k], scene.dtype)
        kernel(*a.state, *a.matter, *a.law, *a.walls, time[k], dt, count[k], scene.cell, *a.scratch, a.failed, 0)
        a.failed[~np.isfinite(a.state[0]).all((1, 2, 3))] = 1
        now = tuple(s[:, 0].copy() for s in a.state)
        for s in now:
            s[a.failed > 0] = np.nan
        yield now


def track(time: np.ndarray, states: list[tuple[np.ndarray, ...]], a: Arrays) -> Track:
    """Collect the states of `march`."""
    position, deformation = np.stack([s[0] for s in states]), np.stack([s[3] for s in states])
    x, v, C, F = states[-1]
    return Track(np.asarray(time, float), position, deformation, a.failed > 0, State(x, v, C, F))
