"""Identification of a rigid body seen in space: friction, restitution and start state from its poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.context import Context
from video2phys.parameters import unfitted
from video2phys.parameters.settings import Settings
from video2phys.parameters.spatial.fit import fit
from video2phys.parameters.spatial.result import NAMES, result
from video2phys.parameters.spatial.solid import MOMENTS, Solid, solid
from video2phys.parameters.spatial.start import height
from video2phys.parameters.spatial.track import Track, measured
from video2phys.parameters.split import split
from video2phys.solve.space import Free
from video2phys.types import About, Frames, Gaussians, Parameters, Plane, StateTrack

FEWEST = 9  # valid frames: six for the fit, three to predict
GROUND = 0.05  # of the body's extent: how well its outline and the given ground are known relative to one another
GROUND_FOUND = 0.2  # the same for a ground that was found from the motion
EARTH = 9.81


def identify(frames: Frames, gaussians: Gaussians, states: StateTrack, settings: Settings, context: Context) -> Parameters:
    """Parameters of the motion in `states` (kind "pose", or "affine" of a body that stays rigid).

    A motion with too few frames gives a result with Status.TOO_FEW_FRAMES, never an exception.
    """
    body = solid(gaussians.bodies[0])
    train, heldout = split(states.valid[:, 0])
    track = measured(frames, states)
    if len(track) < FEWEST:
        why = f"the body is measured in {len(track)} frames, {FEWEST} are needed"
        return unfitted.rigid(states, NAMES, why, ground=frames.about.ground, gravity=frames.about.gravity)
    plane, notes = support(frames.about, track, body)
    gravity = np.zeros(3) if frames.about.gravity is None else np.asarray(frames.about.gravity, float)
    interior = settings.free_inertia or bool(frames.scan and frames.about.density)
    contact = unknowns(frames.about, body, settings, ground_found=frames.about.ground is None, interior=interior)
    seen = track.first(int(train.sum()))
    found = fit(seen, body, gravity, plane, contact, settings.max_steps, context.progress)
    if states.position.shape[1] > 1:
        notes = (*notes, "several objects: the first one was identified")
    return result(frames, states, track, found, train, heldout, notes)


def support(about: About, track: Track, body: Solid) -> tuple[Plane | None, tuple[str, ...]]:
    """The ground the body may touch: as told, or level under the lowest points of the track."""
    if about.ground is not None or not about.ground_auto or about.gravity is None:
        return about.ground, ()
    g = np.asarray(about.gravity, float)
    level = Plane(-g / np.linalg.norm(g), 0.0)
    above, _ = height(track, body, level)
    found = replace(level, offset=float(np.percentile(above, 5)))
    return found, ("the ground was taken as level, under the lowest points of the motion",)


def unknowns(about: About, body: Solid, settings: Settings, *, ground_found: bool, interior: bool) -> dict[str, Free]:
    """Free parameters beside the states."""
    extent = body.shape.extent
    free = [
        Free("friction", "1", 0.4, 0.0, settings.friction_max, step=1e-5),
        Free("restitution", "1", 0.4, 0.0, 1.0, step=1e-5),
        # hard bodies part after a millisecond or less, soft ones and most simulators' after some more: half a decade either way
        Free("contact_time", "s", 3e-3, 1e-3, settings.contact_time_max, "log", prior=0.5, step=1e-4),
        Free("ground_height", "m", 0.0, prior=(GROUND_FOUND if ground_found else GROUND) * extent, step=1e-5 * extent),
    ]
    if about.gravity_free:
        start = np.zeros(3) if about.gravity is None else np.asarray(about.gravity, float)
        free += [Free(f"gravity_{a}", "m/s^2", float(s), -3 * EARTH, 3 * EARTH, step=1e-4) for a, s in zip("xyz", start, strict=True)]
    if interior:
        free += [Free(f"center_{a}", "m", float(c), -extent, extent, step=1e-5 * extent) for a, c in zip("xyz", body.centre, strict=True)]
        size = float(np.trace(body.inertia)) / 3
        for name in MOMENTS:
            start = float(body.inertia["xyz".index(name[0]), "xyz".index(name[1])])
            # an interior can at most move all mass to the middle or to the surface; free flight leaves the scale to this prior
            free.append(Free(f"inertia_{name}", "m^2", start, prior=0.5 * size, step=1e-5 * size))
    return {f.name: f for f in free}
