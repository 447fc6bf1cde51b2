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
from video2phys.parameters.elastic.approach import approach, matter
from video2phys.parameters.elastic.carve import Matter, carved
from video2phys.parameters.elastic.fit import LEAST_FRAMES, Makes, first_contact, flight, impact, stretch
from video2phys.parameters.elastic.motion import Motion, motion
from video2phys.parameters.elastic.residuals import NAMES, Measured, unknowns
from video2phys.parameters.elastic.result import result
from video2phys.parameters.elastic.sight import sight
from video2phys.parameters.elastic.start import Start, rebounds
from video2phys.parameters.settings import Settings
from video2phys.parameters.split import split
from video2phys.parameters.unfitted import too_few
from video2phys.types import Frames, Gaussians, Parameters, StateTrack


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
        return too_few(states, 1, "elastic", NAMES, notes=notes)
    rho = float(density.value)  # pyright: ignore[reportArgumentType]
    train, heldout = split(states.valid[:, 0], own.heldout_share)
    way = approach(states, body, about, train)
    plane, path, begin, size = way.plane, way.path, way.begin, way.size
    last = int(np.flatnonzero(train)[-1]) + 1

    looks = sight(frames, body, states)

    def made(cells: Matter) -> Callable[[Start, int], Motion]:
        return lambda begin, count: motion(body, cells, looks, begin, plane, path.gravity, rho, own.law, count)

    make = Makes(made(cells), None if tighter is None else made(tighter))
    space = unknowns(begin, plane, way.found, size, own, float(np.sqrt(own.youngs_modulus_min * own.youngs_modulus_max)))
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
    notes = (*notes, *way.notes, "the body was taken as solid and of one material", *fit.notes)
    return result(frames, body, states, fit, own.law, density, plane, (train, heldout), notes, way.warnings)
