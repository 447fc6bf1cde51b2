"""What is known of a body that deforms before any fit: its density, the ground that it may meet, and its flight up to there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.elastic.start import Path, Start, ballistic
from video2phys.types import About, Body, Parameter, Plane, StateTrack, Verdict

WATER = 1000.0  # [kg/m^3] when nothing is said: soft solids are mostly near it
MARGIN = 0.03  # [body sizes] a body closer than this to the plane may touch it: reconstruction and state errors are smaller
SUNK = 0.08  # [body sizes] that an affine body reaches below the ground in an impact, give or take FOUND_HEIGHT_SIGMA


@dataclass(frozen=True)
class Approach:
    """The body's way to the ground."""

    size: float  # [m] of the cube of its volume
    plane: Plane | None
    found: bool  # the plane, from the motion
    path: Path
    begin: Start
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def approach(states: StateTrack, body: Body, about: About, used: np.ndarray) -> Approach:
    """The ground, looked for in the frames `used` (T,) bool where the capture does not state it, and the flight before it."""
    if states.deformation is None:
        raise ValueError("affine states carry a deformation")
    gravity = np.zeros(3) if about.gravity is None else np.asarray(about.gravity, float)
    size = float(np.cbrt(body.volume.sum()))
    lowest = clearance(states, body, -gravity if about.ground is None else about.ground.normal)
    plane, found = support(about.ground, about.ground_auto, gravity, lowest[used], size)
    height = np.full(len(states.time), np.inf) if plane is None else lowest - plane.offset
    path = Path(states.time, states.position[:, 0], states.position_sigma[:, 0], states.deformation[:, 0], height, MARGIN * size, gravity)
    begin = ballistic(path, states.valid[:, 0])
    early = begin.contact - begin.frame < 2
    return Approach(
        size, plane, found, path, begin,
        ("the ground was looked for near the lowest point that the body reached",) if found else (),
        ("the body touches the ground from the first frames on: it was taken as undeformed there",) if early else (),
    )  # fmt: skip


def matter(density: float | None, mass: float | None, volume: float) -> tuple[Parameter, tuple[str, ...]]:
    """The density to simulate with, and what rests on it."""
    if density is None and mass is not None:
        density = mass / volume
    if density is not None:
        return Parameter("density", float(density), "kg/m^3", None, Verdict.GIVEN), ()
    note = "density was not given and taken as 1000 kg/m^3; youngs_modulus is proportional to it"
    return Parameter("density", WATER, "kg/m^3", None, Verdict.NOT_IDENTIFIED, note="assumed; motion gives E / density only"), (note,)


def clearance(states: StateTrack, body: Body, normal: np.ndarray) -> np.ndarray:
    """Lowest height (T,) of the body's surface along `normal`; inf where not valid or without a direction."""
    length = float(np.linalg.norm(normal))
    if length == 0 or states.deformation is None:
        return np.full(len(states.time), np.inf)
    up = normal / length
    surface = body.vertices if len(body.vertices) else body.particle
    low = (states.position[:, 0] @ up) + np.einsum("i,tij,vj->tv", up, states.deformation[:, 0], surface).min(1)
    return np.where(states.valid[:, 0], low, np.inf)


def support(ground: Plane | None, auto: bool, gravity: np.ndarray, lowest: np.ndarray, size: float) -> tuple[Plane | None, bool]:
    """The plane the body may meet, and whether it was found from the motion, SUNK above the lowest point reached.

    At an impact the affine motion of the whole carries corners below the ground that are in truth pressed flat there.
    """
    if ground is not None or not auto or not np.any(gravity):
        return ground, False
    return Plane(-gravity / np.linalg.norm(gravity), float(lowest[np.isfinite(lowest)].min()) + SUNK * size), True
