"""The order of a fit: a scan over stiffness, the first contact on a coarse grid, then all training frames on a fine one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from video2phys.parameters.elastic.motion import Motion, Prediction
from video2phys.parameters.elastic.profile import profile
from video2phys.parameters.elastic.residuals import CHANNELS, EXTRAPOLATION, OUTLINE, UNSEEN, Change, Measured, start_unknowns
from video2phys.parameters.elastic.search import KEPT, MATERIAL, SHORT, around, scan, valleys
from video2phys.parameters.elastic.segment import Segment, residuals
from video2phys.parameters.elastic.settings import ElasticSettings
from video2phys.parameters.elastic.start import Path, Start
from video2phys.progress import Progress, part
from video2phys.simulate.lagrangian.rollout import COURANT
from video2phys.simulate.materials.elastic import wave_speed
from video2phys.solve.covariance import unsettled
from video2phys.solve.explanations import weights
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.multistart import multistart
from video2phys.solve.profile import stretches
from video2phys.solve.space import Space

FEW = 3  # starts for all frames
UNLIKELY = 1e-3  # an explanation of this probability moves no end of a 95 % interval
PROFILED = ("friction",)  # a contact that sticks tells no more
LEAST_FRAMES = 4
FEWEST_PARTICLES = 512


@dataclass(frozen=True)
class Fit:
    """A fitted motion."""

    segments: tuple[Segment, ...]
    space: Space
    estimate: Estimate
    notes: tuple[str, ...] = ()
    profiles: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # intervals of parameters whose effect may end
    contact: int = 0  # frames of the longest contact
    rivals: tuple[tuple[float, Estimate], ...] = ()  # other explanations with their probabilities

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The fitted values, each (1,)."""
        return dict(zip(self.space.names, self.estimate.values[:, None], strict=True))

    def prediction(self) -> Prediction:
        """The fitted motion from the first start to the last frame; every frame by the latest segment that has begun."""
        starts = [segment.motion.begin.frame for segment in self.segments]
        parts = []
        for segment, begin, end in zip(self.segments, starts, [*starts[1:], None], strict=True):
            parts.append(segment.predicted(self.values).frames(slice(0, None if end is None else end - begin)))
        return Prediction(*(np.concatenate(arrays) for arrays in zip(*(vars(p).values() for p in parts), strict=True)))


@dataclass(frozen=True)
class Makes:
    """Motions from a start with about `count` particles: of the body, and of one with tighter outlines where they can be told."""

    body: Callable[[Start, int], Motion]
    tight: Callable[[Start, int], Motion] | None = None


def flight(make: Makes, begin: Start, measured: Measured, space: Space, settings: ElasticSettings) -> Fit:
    """Fit a body that touches nothing: its start; the probes tell that stiffness has no effect."""
    alone = (Segment("", make.body(begin, FEWEST_PARTICLES), measured),)
    estimate = levenberg(residuals(alone, space), space, max_steps=settings.max_steps, tolerance=1e-3)
    return Fit(alone, space, estimate, ("the body touches nothing in the frames of the fit",))


def impact(
    make: Makes, starts: list[Start], seen: list[Measured], space: Space, window: int, density: float, size: float,
    settings: ElasticSettings, progress: Progress,
) -> Fit:  # fmt: skip
    """Fit a body that meets the plane, from the start of each flight with what is seen from there on."""
    begin, measured = starts[0], seen[0]
    rough = scan(Segment("", make.body(begin, settings.particles // 8), measured), space, window, settings, stretch(progress, 0.0, 0.3))
    longest = max(float(m.time[m.count - 1]) for m in seen)
    count = affordable(size, rough.best.values, density, longest, settings)
    fewer = round(count / 2**1.5)
    alone = residuals((Segment("", make.body(begin, fewer), measured),), space, window)
    begun = np.array([e.values for e in valleys(rough.fits, space)])
    first = multistart(alone, space, begun, keep=KEPT, max_steps=settings.max_steps, tolerance=1e-2, probe=False, finish=False,
                       progress=stretch(progress, 0.3, 0.5))  # fmt: skip
    seeds = valleys(first.fits, space)
    keys = ["", *(f".{k}" for k in range(1, len(starts)))]
    extra = tuple(f for b, key in zip(starts[1:], keys[1:], strict=True) for f in start_unknowns(b, size, key))
    space = Space((*space.started(first.best.values).free, *extra))
    values = {f.name: np.array([f.start]) for f in space.free}
    pairs = [_segments(make, b, m, key, values, count, fewer) for b, m, key in zip(starts, seen, keys, strict=True)]
    fine, coarse = (tuple(pair[k] for pair in pairs) for k in (0, 1))
    space = Space((*space.free, *(c.free for c in fine[0].changes)))
    cheap = residuals(coarse, space)
    found = multistart(cheap, space, around(space, seeds), keep=FEW, max_steps=SHORT, tolerance=1e-2, probe=False, finish=False,
                       progress=stretch(progress, 0.5, 0.7))  # fmt: skip
    near = first.best.values
    coarser = np.append(near, np.full(len(space) - len(near), np.nan))
    ends, likely = [], explanations(found.fits, space)
    for k, (_, start) in enumerate(likely):
        # the slopes of the coarse grid cost a quarter and lead to the same place
        end = levenberg(residuals(fine, space), space.started(start.values), slope=cheap, max_steps=settings.max_steps, tolerance=1e-3,
                        probe=False, progress=part(stretch(progress, 0.7, 0.85), k, len(likely)))  # fmt: skip
        ends.append(unsettled(replace(end, alike=CHANNELS), space, coarser, CHANNELS))
    (share, best), *rivals = explanations(ends, space)
    notes = tuple(_told(space, *each) for each in ((share, best), *rivals)) if rivals else ()
    note = f"the first contact alone, on a coarser grid, gives a stiffness of {near[0]:.3g} Pa; intervals include such changes"
    profiles = stretches(cheap, space, best, found, CHANNELS, PROFILED, ())
    for name, (low, high) in profile(cheap, space, best, CHANNELS, stretch(progress, 0.85, 1.0)).items():
        known = profiles.get(name, (low, high))
        profiles[name] = min(low, known[0]), max(high, known[1])
    return Fit(fine, space, best, (*notes, note), profiles, rivals=tuple(rivals))


def explanations(fits: Sequence[Estimate], space: Space) -> list[tuple[float, Estimate]]:
    """One fit of every valley, cheapest first, with their probabilities; without those that are UNLIKELY."""
    found = [replace(fit, alike=CHANNELS) for fit in valleys(fits, space)]
    weight = weights(found, space, CHANNELS)
    kept = [k for k, w in enumerate(weight) if w >= UNLIKELY or k == 0]
    return [(float(weight[k] / weight[kept].sum()), found[k]) for k in kept]


def _told(space: Space, share: float, fit: Estimate) -> str:
    values = ", ".join(f"{name} {fit.values[space.names.index(name)]:.3g}" for name in (*MATERIAL, "friction"))
    return f"an explanation of the motion, likely by {100 * share:.0f} %: {values}"


def _segments(
    make: Makes, begin: Start, measured: Measured, key: str, values: dict[str, np.ndarray], count: int, fewer: int
) -> tuple[Segment, Segment]:
    """A segment on the fine and on the coarse grid, with the changes that its nuisances stand for at `values`."""
    fine, coarse = make.body(begin, count), make.body(begin, fewer)
    mine, time = Segment(key, fine, measured).own(values), measured.time
    base = coarse.prediction(mine, time)
    seen, whole = fine.predictions(mine, time)
    refinement = Change.of(EXTRAPOLATION, seen, base)
    changes = (refinement, Change.of(UNSEEN, whole, seen))
    if make.tight is not None:
        changes += (Change.of(OUTLINE, make.tight(begin, fewer).prediction(mine, time), base),)
    measured = measured.widened(refinement)
    return Segment(key, fine, measured, changes), Segment(key, coarse, measured, changes)


def affordable(size: float, x: np.ndarray, density: float, duration: float, settings: ElasticSettings) -> int:
    """Particles of the finest grid (at most settings.particles) whose rollout stays within settings.effort.

    With N particles of a volume V the cell is 2 (V / N)^(1/3), and a rollout takes duration / step * N particle steps:
    effort = N^(4/3) c duration / (2 COURANT V^(1/3)).
    """
    speed = float(wave_speed(x[:1], x[1:2], np.array([density]))[0])
    count = (settings.effort * 2 * COURANT * size / (speed * max(duration, 1e-9))) ** 0.75
    return int(np.clip(count, FEWEST_PARTICLES, settings.particles))


def first_contact(begin: Start, path: Path, count: int) -> int:
    """Frames up to the first one that is free again after contact, and a few more of the rebound; at most `count`."""
    stay = path.stay(begin.contact)
    return int(np.clip(begin.contact + stay - begin.frame + max(2, stay // 2), min(LEAST_FRAMES, count), count))


def stretch(progress: Progress, low: float, high: float) -> Progress:
    """Report a part's progress as a share of the whole."""
    return lambda share, text="": progress(low + share * (high - low), text)
