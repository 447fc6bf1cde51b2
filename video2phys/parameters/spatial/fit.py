"""Contact-free frames first, then the first contact from many starts, then more and more frames, with restarts where a
prediction breaks down.

One impact seen by a few frames has several explanations (much friction and a short contact, little friction and a long one,
...), and only what follows tells them apart. So a handful of explanations is carried along and pruned as the window grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from video2phys.parameters.spatial.model import Model, Segment
from video2phys.parameters.spatial.solid import Solid
from video2phys.parameters.spatial.start import free_frames, state
from video2phys.parameters.spatial.track import Track
from video2phys.progress import Progress, silent
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.solve.explanations import fineness
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.space import Free, Space
from video2phys.types import Plane, Status

FIRST = 4  # frames after the first contact that the first contact fit sees: enough to know the state after it
GROWTH = 1.4  # of the number of frames, per window
SHORTEST = 5  # frames of a segment: 12 numbers of a state from 6 a frame, and some to spare
RESTART_AT = 5.0  # times the measured sigma: the prediction then says nothing beside the measurement
STARTS, CARRIED = 16, 6  # explanations refined at the first contact, and carried on
ALIKE = {"friction": 0.03, "restitution": 0.03, "contact_time": 0.15}  # relative for contact_time: closer explanations are one
STEPS = 12  # per window; the last one runs to convergence
ROUGH, FINE = 1e-3, 1e-5  # share of the cost: a fall that ends a window's fit, and the last one. A cost is some hundred sigma^2
HOPELESS = 60.0  # [sigma^2] an explanation this much dearer than the best is not carried on: e^-30 as likely
FRICTIONS = (0.7, 1.4)  # times the best friction: last starts, because the explanations carried along tend to fall into one
GRID = {"friction": (0.1, 0.3, 0.6), "restitution": (0.1, 0.35, 0.6, 0.8), "contact_time": (1.5e-3, 4e-3, 1e-2)}


@dataclass(frozen=True)
class Fit:
    """A fitted motion."""

    model: Model
    space: Space
    estimate: Estimate
    free: int  # contact-free frames at the start
    flight: Estimate | None  # of these frames alone
    rivals: tuple[Fit, ...] = ()  # other explanations of the same frames, best first

    @property
    def contact(self) -> dict[str, float]:
        """Values of all parameters that are not states."""
        return {n: float(v) for n, v in zip(self.space.names, self.estimate.values, strict=True) if "." not in n}

    @property
    def states(self) -> np.ndarray:
        """(S, 12) start states of the segments."""
        return self.estimate.values[len(self.contact) :].reshape(-1, 12)

    @cached_property
    def price(self) -> float:
        """-2 log evidence that explanations are compared by, up to a constant (Laplace's approximation; MacKay 2003, chapter 27).

        Beside the cost it counts how wide errors are believed to be, and how finely the parameters must be set.
        """
        return self.estimate.cost + self.model.log_determinant + fineness(self.estimate, self.space)


def fit(track: Track, solid: Solid, gravity: np.ndarray, plane: Plane | None, contact: dict[str, Free], steps: int,
        progress: Progress = silent) -> Fit:  # fmt: skip
    """Fit contact parameters and states to a track (the training frames); see the module's head for the order."""
    free = free_frames(track, solid, plane)
    begin = min(max(free, SHORTEST), len(track))
    whole = Model(solid, gravity, plane, track, (Segment(0, begin - 1, track.rotation[0]),))
    start, flight = state(track.first(begin), gravity), None
    if free >= FIRST:
        flying = replace(whole, ground=None)
        space = flying.space({n: f for n, f in contact.items() if not touches(n)}, start[None])
        flight = levenberg(flying.residuals(space.names), space, max_steps=steps, probe=False)
        start = flight.values[-12:]
        progress(0.1, "contact-free frames")
    if free == len(track):
        space = whole.space({n: f for n, f in contact.items() if not touches(n)}, start[None])
        return Fit(whole, space, levenberg(whole.residuals(space.names), space, max_steps=steps), free, flight)
    last = min(begin - 1 + FIRST, len(track) - 1)
    carried = _first_contact(whole.until(last), contact, start, free, flight)
    while last < len(track) - 1:
        last = min(max(last + FIRST, int(GROWTH * last)), len(track) - 1)
        last = last if len(track) - 1 - last >= SHORTEST else len(track) - 1
        carried = _prune([_extend(f, contact, last) for f in carried])
        best = carried[0].estimate
        progress(0.1 + 0.8 * last / len(track), f"{last + 1} of {len(track)} frames, chi2 {best.cost / len(best.residual):.2f}")
    carried = [_refit(f.model, f, f.states, contact, steps, FINE) for f in carried[:3]]
    best = min(carried, key=lambda f: f.price)
    if "friction" in contact:
        others = [{"friction": share * best.contact["friction"]} for share in FRICTIONS]
        carried += [_refit(best.model, best, best.states, contact, steps, FINE, other) for other in others]
    carried = _prune(carried)
    return replace(carried[0], rivals=tuple(carried[1:]))


def touches(name: str) -> bool:
    """Whether a parameter matters only in contact."""
    return name in ("friction", "restitution", "contact_time", "ground_height")


def _first_contact(model: Model, contact: dict[str, Free], start: np.ndarray, free: int, flight: Estimate | None) -> list[Fit]:
    """The best explanations of the first contact, from a grid over the contact parameters."""
    space = model.space(contact, start[None])
    model = model.weighed(space.names, space.to_physical(space.start))
    residual = model.residuals(space.names)
    points = np.repeat(np.array([f.start for f in space.free])[None], np.prod([len(g) for g in GRID.values()]), 0)
    for point, values in zip(points, product(*GRID.values()), strict=True):
        for n, v in zip(GRID, values, strict=True):
            if n in contact:
                point[space.names.index(n)] = np.clip(v, contact[n].lower, contact[n].upper)
    cost = (residual(points) ** 2).sum(-1)
    found = []
    for k in np.argsort(np.where(np.isfinite(cost), cost, np.inf))[:STARTS]:
        begun = space.started(points[k])
        found.append(Fit(model, begun, levenberg(residual, begun, max_steps=STEPS, tolerance=ROUGH, probe=False), free, flight))
    return _prune(found)


def _prune(fits: list[Fit]) -> list[Fit]:
    """The CARRIED cheapest of the explanations that differ and are not hopeless."""
    kept: list[Fit] = []
    for f in sorted((f for f in fits if f.estimate.status is not Status.UNSTABLE), key=lambda f: f.price):
        if not any(_alike(f, other) for other in kept) and f.price < (kept or [f])[0].price + HOPELESS:
            kept.append(f)
    return kept[:CARRIED] or fits[:1]


def _alike(a: Fit, b: Fit) -> bool:
    close = []
    for n, near in ALIKE.items():
        if n in a.contact:
            scale = a.contact[n] if n == "contact_time" else 1.0
            close.append(abs(a.contact[n] - b.contact[n]) < near * scale)
    return all(close)


def _extend(now: Fit, contact: dict[str, Free], last: int) -> Fit:
    """Frames up to `last`; restarts where the data know the state much better than the prediction does."""
    longer = _refit(now.model.until(last), now, now.states, contact, STEPS)
    while (first := _restart(longer)) is not None:
        parted = longer.model.restarted(first, last)
        track, before = longer.model.track, longer.model.until(first)
        end = before.rollout(longer.space.names, longer.estimate.values[None])[-1].at(-1)
        ahead = np.concatenate([end.position[0], quaternions.between(end.rotation[0], track.rotation[first]), end.velocity[0], end.spin[0]])
        seen = state(track.part(slice(first, first + FIRST)), longer.model.gravity)
        starts = [np.concatenate([longer.states, fresh[None]]) for fresh in (ahead, seen)]
        longer = _refit(parted, longer, min(starts, key=lambda states: _started(parted, longer, states, contact)), contact, STEPS)
    return longer


def _restart(now: Fit) -> int | None:
    """The first frame of the last segment between impacts at which the prediction errs more than RESTART_AT times the measurement."""
    segment, error = now.model.segments[-1], now.model.errors[-1]
    part = now.model.track.part(slice(segment.first, segment.last + 1))
    blind = (error.position / part.position_sigma.min(-1) > RESTART_AT) | (error.turn / part.rotation_sigma.min(-1) > RESTART_AT)
    quiet = ~error.struck & ~np.append(error.struck[1:], True)
    k = np.arange(len(part))
    able = np.flatnonzero(blind & quiet & (k >= FIRST) & (k <= len(part) - FIRST))
    return segment.first + int(able[0]) if len(able) else None


def _weighed(
    model: Model, now: Fit, states: np.ndarray, contact: dict[str, Free], instead: Mapping[str, float] | None = None
) -> tuple[Model, Space]:
    """The model weighed by its errors at the values of `now` (or `instead`) and `states`, and the space that starts there."""
    values = now.contact | dict(instead or {})
    moved = {n: replace(f, start=float(np.clip(values[n], f.lower, f.upper)), center=f.start) for n, f in contact.items()}
    space = model.space(moved, states)
    return model.weighed(space.names, space.to_physical(space.start)), space


def _started(model: Model, now: Fit, states: np.ndarray, contact: dict[str, Free]) -> float:
    """Cost before a fit."""
    weighed, space = _weighed(model, now, states, contact)
    cost = float((weighed.residuals(space.names)(space.to_physical(space.start)[None]) ** 2).sum())
    return cost if np.isfinite(cost) else np.inf


def _refit(
    model: Model, now: Fit, states: np.ndarray, contact: dict[str, Free], steps: int, tolerance: float = ROUGH,
    instead: Mapping[str, float] | None = None,
) -> Fit:  # fmt: skip
    """Weigh the model by its errors at the start, then fit."""
    weighed, space = _weighed(model, now, states, contact, instead)
    estimate = levenberg(weighed.residuals(space.names), space, max_steps=steps, tolerance=tolerance, probe=False)
    return replace(now, model=weighed, space=space, estimate=estimate)
