"""Identify an elastic body from its affine motion: stiffness, contact and start, with intervals and a prediction.

The order is that of growing trust: the contact-free frames give the start in closed form; a coarse simulation scans the
stiffness, whose misfit has several valleys, up to the end of the first contact; a finer one refines everything there and
then on all training frames. The last frames are only predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.parameters.elastic.carve import Matter, carved
from video2phys.parameters.elastic.fit import LEAST_FRAMES, Makes, first_contact, flight, impact, stretch
from video2phys.parameters.elastic.motion import Motion, motion
from video2phys.parameters.elastic.residuals import Measured, unknowns
from video2phys.parameters.elastic.result import empty, result
from video2phys.parameters.elastic.sight import sight
from video2phys.parameters.elastic.start import Path, Start, ballistic, rebounds
from video2phys.parameters.settings import Settings
from video2phys.parameters.split import split
from video2phys.types import Body, Frames, Gaussians, Parameter, Parameters, Plane, StateTrack, Verdict

WATER = 1000.0  # [kg/m^3] when nothing is said: soft solids are mostly near it
MARGIN = 0.03  # [body sizes] a body closer than this to the plane may touch it: reconstruction and state errors are smaller
SUNK = 0.08  # [body sizes] that an affine body reaches below the ground in an impact, give or take FOUND_HEIGHT_SIGMA


def identify(frames: Frames, gaussians: Gaussians, states: StateTrack, settings: Settings, context: Context) -> Parameters:
    """Fit an elastic solid to affine states of one object.

    Raises BadInput for states without a deformation, lengths in pixels, or a body without particles.
    """
    about, body, own = frames.about, gaussians.bodies[0], settings.elastic
    if states.kind != "affine" or states.deformation is None:
        raise BadInput(
            f"an elastic fit needs the deformation in each frame, and the states are of kind {states.kind}.",
            fix="Use several calibrated views, or set states.kind: affine.",
        )
    if states.unit != "m":
        raise BadInput("an elastic fit needs lengths in metres.", fix="Give calibrated cameras, or object.size in capture.yaml.")
    if about.gravity_free:
        raise BadInput("an elastic fit cannot find gravity beside the stiffness.", fix="Give gravity in capture.yaml, or `none`.")
    body, cells, tighter = carved(frames, body, states)
    density, notes = matter(about.density, about.mass, float(body.volume.sum()))
    if states.valid[:, 0].sum() < LEAST_FRAMES:
        return empty(frames, states, notes)
    rho = float(density.value)  # pyright: ignore[reportArgumentType]
    gravity = np.zeros(3) if about.gravity is None else np.asarray(about.gravity, float)
    size = float(np.cbrt(body.volume.sum()))
    train, heldout = split(states.valid[:, 0], own.heldout_share)
    lowest = clearance(states, body, -gravity if about.ground is None else about.ground.normal)
    plane, found = support(about.ground, about.ground_auto, gravity, lowest[train], size)
    if found:
        notes = (*notes, "the ground was looked for near the lowest point that the body reached")
    height = np.full(len(states.time), np.inf) if plane is None else lowest - plane.offset
    path = Path(states.time, states.position[:, 0], states.position_sigma[:, 0], states.deformation[:, 0], height, MARGIN * size, gravity)
    begin = ballistic(path, states.valid[:, 0])
    warnings: tuple[str, ...] = ()
    if begin.contact - begin.frame < 2:
        warnings = ("the body touches the ground from the first frames on: it was taken as undeformed there",)
    last = int(np.flatnonzero(train)[-1]) + 1

    looks = sight(frames, body, states)

    def made(cells: Matter) -> Callable[[Start, int], Motion]:
        return lambda begin, count: motion(body, cells, looks, begin, plane, gravity, rho, own.law, count)

    make = Makes(made(cells), None if tighter is None else made(tighter))
    space = unknowns(begin, plane, found, size, own, float(np.sqrt(own.youngs_modulus_min * own.youngs_modulus_max)))
    progress = stretch(context.progress, 0.0, 0.95)
    if begin.contact < last:
        starts = [begin, *rebounds(path, train, begin)]
        ends = [min(after.contact, last) for after in starts[1:]] + [last]
        seen = [Measured.of(states, b.frame, end - b.frame) for b, end in zip(starts, ends, strict=True)]
        window = first_contact(begin, path, seen[0].count)
        fit = impact(make, starts, seen, space, window, rho, size, own, progress)
        fit = replace(fit, contact=max(path.stay(s.contact) for s in starts if s.contact < last))
    else:
        fit = flight(make, begin, Measured.of(states, begin.frame, last - begin.frame), space, own)
    notes = (*notes, "the body was taken as solid and of one material", *fit.notes)
    return result(frames, body, states, fit, own.law, density, plane, (train, heldout), notes, warnings)


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
