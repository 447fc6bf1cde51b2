"""Identification of rigid motion parallel to the picture: which motion it is, and the parameters of that motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from video2phys.context import Context
from video2phys.parameters import unfitted
from video2phys.parameters.planar import (
    arc,
    bounce,
    collision,
    drag,
    flight,
    motion,
    pendulum,
    slide,
    table,
)
from video2phys.parameters.planar.fit import Fit, Law, Window, solve
from video2phys.parameters.planar.result import Found, result
from video2phys.parameters.planar.scale import Scale, scale
from video2phys.parameters.planar.track import Track
from video2phys.types import About, Frames, Gaussians, Parameter, Parameters, StateTrack

FEWEST = 8  # frames of a window: two thirds of it must still be more than a parabola
VERTICAL = float(np.radians(80))  # a straight way steeper than this is a fall: nothing would press the body on such a support
TILT = float(np.radians(15))  # a free body's acceleration points down within the roll of any camera that was meant to be level
STRAIGHT = 0.02  # bow over way of a straight track: what lenses of cameras and phones make of a line


def identify(frames: Frames, gaussians: Gaussians, states: StateTrack, settings: object, context: Context) -> Parameters:
    """Parameters of the planar motion in `states` (kind "planar" or "centroid").

    A motion with too few frames gives a result with Status.TOO_FEW_FRAMES, never an exception.
    """
    tracks = [Track.of(frames, states, o) for o in range(states.position.shape[1])]
    if len(tracks) == 2 and not _pulled(frames.about):
        return pair(frames, states, tracks, settings, context)
    return single(frames, states, tracks[0], settings, context)


def pair(frames: Frames, states: StateTrack, tracks: list[Track], settings: object, context: Context) -> Parameters:
    """Two objects on a table seen from above: their collision."""
    impact = collision.find(tracks)
    if impact is None:
        return too_few(states, "no moment is found at which both objects change their velocity: they do not collide in view")
    window = collision.window(tracks, impact)
    size = scale(frames)
    part = window.first(collision.training(window, impact))
    steps = int(getattr(settings, "max_steps", 40))
    early = solve(part, collision.law(part, impact), steps)
    fit = solve(window, collision.law(window, impact), steps, context.progress)
    found, notes, warnings = collision.report(fit, window, impact, size)
    mass = "masses enter a collision only as their ratio"
    return result(frames, states, Found(window, early, fit, found, size, (*size.notes, *notes), warnings, mass))


def too_few(states: StateTrack, why: str) -> Parameters:
    """The answer where the motion allows none."""
    return unfitted.rigid(states, tuple(f"{axis}{o}_px" for o in range(states.position.shape[1]) for axis in "xz"), why)


Builder = Callable[[Window], Law]
Teller = Callable[[Fit, Window], tuple[tuple[Parameter, ...], tuple[str, ...]]]
SENTENCE = {
    "slide": "a straight way with constant acceleration: it slides on a support along its track",
    "flight": "a parabola with gravity's direction: free flight",
    "table": "a straight way on a table seen from above",
    "pendulum": "it swings to and fro on an arc and trades height for speed: a pendulum",
}


def single(frames: Frames, states: StateTrack, track: Track, settings: object, context: Context) -> Parameters:
    """One object: a swing where the whole track is one, else the longest phase that is a motion of a known kind decides."""
    about = frames.about
    swing = arc.find(track) if _pulled(about) else None
    if swing is not None:
        return swinging(frames, states, track, swing, settings, context)
    kinds = [kind(p, about) for p in track.phases]
    ranked = sorted((p.path, k) for k, p in enumerate(track.phases) if kinds[k])
    if not ranked or len(track.phases[ranked[-1][1]].frames) < FEWEST:
        return too_few(states, _what_was_seen(track))
    k = ranked[-1][1]
    window = track.window(track.phases[k])
    size = scale(frames)
    build, tell = _laws(kinds[k], frames, track, k, size)
    early, fit = fit_twice(window, build, settings, context)
    found, warnings = tell(fit, window)
    notes = (*size.notes, *_excluded(track, k, kinds[k], frames))
    return result(frames, states, Found(window, early, fit, found, size, notes, (*warnings, *_others(states))))


def swinging(frames: Frames, states: StateTrack, track: Track, swing: arc.Swing, settings: object, context: Context) -> Parameters:
    """One object that swings throughout."""
    about, window, size = frames.about, swing.window, scale(frames)
    focal = flight.usual_focal(frames)
    early, fit = fit_twice(window, lambda w: pendulum.law(arc.Swing.of(w), focal), settings, context)
    gravity = None if about.gravity is None else float(np.linalg.norm(about.gravity))
    found, warnings = pendulum.report(fit, swing, size, gravity)
    span = f"{window.time[0]:.3f} to {window.time[-1]:.3f} s: {SENTENCE['pendulum']} ({len(window.time)} frames)"
    notes = (*size.notes, span, *_spikes(track))
    turn = pendulum.turn(fit, float(window.time[0]))
    told = Found(window, early, fit, found, size, notes, (*warnings, *_others(states)), pendulum.MASS, turn)
    return result(frames, states, told)


def _others(states: StateTrack) -> tuple[str, ...]:
    if states.position.shape[1] == 1:
        return ()
    return ("only object 0 is identified: several objects are a collision seen from above (gravity: none) or separate clips.",)


def _laws(which: str, frames: Frames, track: Track, k: int, size: Scale) -> tuple[Builder, Teller]:
    """How to build the law from a window of its kind, and how to report it."""
    about = frames.about
    g = float(np.linalg.norm(about.gravity)) if about.gravity is not None else flight.STANDARD
    incline = given_incline(about)
    if which == "slide":
        return (
            lambda w: slide.law(parabola(w), size, g, incline),
            lambda f, w: slide.report(f, parabola(w), size, g, incline),
        )
    if which == "flight":
        focal, half = flight.usual_focal(frames), flight.half_size(frames)
        gap = 2.5 * float(np.median(np.diff(frames.time)))
        before = track.phases[k - 1] if k else None
        began = flight.launch(track.phases[k], before, float(frames.time[0]), gap, half)

        def tell(fit: Fit, window: Window) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
            found, warnings = flight.report(fit, parabola(window), began, size, g, focal)
            scaled = size.px_per_m if size.known else fit.value("px_per_m")
            slowed = drag.probe(fit, window, scaled)
            return (*found, slowed, *bounce.report(bounce.bounces(track.phases))), warnings

        return lambda w: flight.law(parabola(w), size, g, focal), tell
    return lambda w: table.law(parabola(w)), lambda f, w: table.report(f, parabola(w), size)


def fit_twice(window: Window, build: Builder, settings: object, context: Context) -> tuple[Fit, Fit]:
    """The law fitted to the first two thirds of the window, which predicts the rest, and to all of it, which gives the values."""
    steps = int(getattr(settings, "max_steps", 40))
    part = window.first(-(-2 * len(window.time) // 3))
    early = solve(part, build(part), steps)
    return early, solve(window, build(window), steps, context.progress)


def parabola(window: Window) -> motion.Phase:
    """The parabola through a window of one object."""
    return motion.fit(window.time, window.measured[:, 0], np.arange(len(window.time)))


def _pulled(about: About) -> bool:
    """Whether gravity acts in the plane of motion, given or to be found."""
    return about.gravity is not None or about.gravity_free


def given_incline(about: About) -> float | None:
    """[rad] slope of the support where the user told it."""
    if about.incline_deg is not None:
        return float(np.radians(about.incline_deg))
    if about.ground is not None:
        return float(np.arccos(np.clip(abs(about.ground.normal[2]) / np.linalg.norm(about.ground.normal), 0, 1)))
    return None


def _excluded(track: Track, k: int, which: str, frames: Frames) -> tuple[str, ...]:
    """What was taken for the motion, and what was left out."""
    phase = track.phases[k]
    notes = [f"{phase.span[0]:.3f} to {phase.span[1]:.3f} s: {SENTENCE[which]} ({len(phase.frames)} frames)"]
    if k:
        before = track.phases[k - 1]
        how = "at rest or held" if before.rests else "in another motion (held, pushed, or before an impact)"
        notes.append(f"frames before {phase.span[0]:.3f} s are left out: the object is {how}")
    if k + 1 < len(track.phases):
        notes.append(f"frames after {phase.span[1]:.3f} s are left out: the motion changes there (impact, end stop, or out of sight)")
    return (*notes, *_spikes(track))


def _spikes(track: Track) -> tuple[str, ...]:
    if not track.spikes:
        return ()
    return (f"{track.spikes} of {len(track.frames) + track.spikes} frames set aside as outliers of the track",)


def _what_was_seen(track: Track) -> str:
    if not track.phases:
        return f"the object is measured in {len(track.frames)} frames only"
    if all(p.rests for p in track.phases):
        return "the object rests in every frame"
    return f"no phase of the motion is a slide or a flight of {FEWEST} frames or more"


def kind(phase: motion.Phase, about: About) -> str:
    """ "slide", "flight", "table", or "" where the phase is none of them: rest, a hand, an impact."""
    if phase.rests or phase.path < 10 or phase.noise > max(1.0, STRAIGHT * phase.path):
        return ""
    straight = phase.bow < max(3 * phase.noise, STRAIGHT * phase.path)
    if not _pulled(about):
        return "table" if straight else ""
    supported = about.ground_auto or about.incline_deg is not None or about.ground is not None
    if supported and straight and slide.Support(phase).slope < VERTICAL:
        return "slide"
    pull = np.hypot(*phase.acceleration)
    falls = pull > 5 * phase.acceleration_sigma and -phase.acceleration[1] > pull * np.cos(TILT)
    return "flight" if falls else ""
