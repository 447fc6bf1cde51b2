"""Several throws of one body share its contact parameters: those with which the free flight of each foretells the rest of it best.

Each throw starts from its own contact-free frames, and nothing after them is fitted but the shared numbers. The distance of a throw is the
rms between its predicted and its measured path. Their mean over the throws is least at the answer: a throw that tumbles another way
than predicted, as some always do, then counts by its distance and not by the square. The mean has kinks wherever a throw changes its way of
tumbling, so no slope is followed: it is sampled in a box that closes in on the best sample, and the answer is the lowest point of a
quadratic through the best samples of the last box (response surface; Box and Wilson 1951). Intervals come from drawing as many throws
again, with replacement (bootstrap; Efron 1979): what scatters from throw to throw, the errors of the contact law among it, is inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.settings import Settings
from video2phys.parameters.spatial.fit import FIRST
from video2phys.parameters.spatial.identify import support
from video2phys.parameters.spatial.model import Model, Segment
from video2phys.parameters.spatial.solid import Solid, solid
from video2phys.parameters.spatial.start import free_frames, state
from video2phys.parameters.spatial.track import Track, measured
from video2phys.progress import Progress, silent
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.simulate.rigid import spatial
from video2phys.solve.levenberg import levenberg
from video2phys.types import Frames, Gaussians, Parameter, Plane, StateTrack, Verdict

FEWEST = 5  # throws: fewer, drawn again, are too often the same ones
SAMPLES = 256  # in each box
BOXES = 3  # each half as wide as the one before
BEST = 1 / 6  # of the samples of the last box, which the quadratic goes through
DRAWS = 300


@dataclass(frozen=True)
class Axis:
    """One shared number, and where it is looked for."""

    name: str
    law: str
    low: float
    high: float  # equal to low: given
    log: bool = False


def axes(settings: Settings) -> tuple[Axis, ...]:
    """Friction, restitution, and inertia over that of a uniform solid."""
    hollow = (0.5, 5 / 3) if settings.free_inertia else (1.0, 1.0)  # a thin shell of a cube or ball has 5/3
    return (
        Axis("friction", "Coulomb", 0.05, settings.friction_max, log=True),
        Axis("restitution", "Newton, share of the normal speed", 0.0, 0.95),
        Axis("inertia_ratio", "over that of a uniform solid", *hollow),
    )


@dataclass(frozen=True)
class Throw:
    """One throw, and the state its flight begins with."""

    track: Track
    body: Solid
    gravity: np.ndarray  # [m/s^2] (3,)
    ground: Plane
    free: int  # contact-free frames at the start
    start: spatial.State  # at the first frame, batch 1

    @staticmethod
    def of(frames: Frames, gaussians: Gaussians, states: StateTrack) -> Throw | None:
        """The throw of a capture; None where it never touches the ground, or is first seen when it does."""
        body, track = solid(gaussians.bodies[0]), measured(frames, states)
        ground, _ = support(frames.about, track, body)
        free = free_frames(track, body, ground)
        if ground is None or frames.about.gravity is None or free < FIRST or free == len(track):
            return None
        gravity = np.asarray(frames.about.gravity, float)
        flying = track.first(free)
        model = Model(body, gravity, None, flying, (Segment(0, free - 1, flying.rotation[0]),))
        space = model.space({}, state(flying, gravity)[None])
        x, turn, v, w = levenberg(model.residuals(space.names), space, probe=False).values.reshape(4, 1, 3)
        start = spatial.State(x, quaternions.times(quaternions.exp(turn), flying.rotation[:1]), v, w)
        return Throw(track, body, gravity, ground, free, start)

    def predict(self, values: np.ndarray) -> spatial.Track:
        """The motion at the measured frames from the flight alone, for rows of values in the order of `axes` (B, 3)."""
        params = spatial.params(
            friction=values[:, 0], restitution=values[:, 1], gravity=self.gravity, normal=self.ground.normal, offset=self.ground.offset,
            inertia=self.body.inertia * values[:, 2, None, None], centre=self.body.centre,
        )  # fmt: skip
        return spatial.rollout(params, spatial.Scene(self.body.shape), self.start, self.track.time)

    def distance(self, values: np.ndarray) -> np.ndarray:
        """[m] (B,) rms between the predicted and the measured path after the flight."""
        away = (self.predict(values).position - self.track.position)[:, self.free :]
        return np.sqrt((away**2).sum(-1).mean(-1))


@dataclass(frozen=True)
class Shared:
    """What several throws say together."""

    parameters: tuple[Parameter, ...]  # those that were free
    values: np.ndarray  # (3,) in the order of `axes`
    distance: np.ndarray  # [m] (K,) of each throw at these values


def identify(throws: Sequence[Throw], settings: Settings, seed: int = 0, progress: Progress = silent) -> Shared:
    """Friction and restitution with 95 % intervals, and with settings.free_inertia how hollow the body is.

    Raises BadInput for too few throws to tell how they scatter.
    """
    if len(throws) < FEWEST:
        raise BadInput(
            f"{len(throws)} throw(s) reach the ground after a flight; {FEWEST} are needed.", fix="Add throws, or fit each alone."
        )
    told = axes(settings)
    free = np.array([axis.high > axis.low for axis in told])
    ends = np.array([[np.log(e) if axis.log else e for e in (axis.low, axis.high)] for axis in told])
    logs = np.array([axis.log for axis in told])
    rng = np.random.default_rng(seed)

    def physical(inner: np.ndarray) -> np.ndarray:
        return np.where(logs, np.exp(inner), inner)

    low, high = ends.T
    for round_ in range(BOXES):
        sample = low + (high - low) * _spread(rng, free)
        table = np.nan_to_num(np.array([t.distance(physical(sample)) for t in throws]), nan=np.inf)
        best = sample[np.argmin(table.mean(0))]
        if round_ < BOXES - 1:
            reach = (high - low) / 4
            low, high = np.maximum(best - reach, ends[:, 0]), np.minimum(best + reach, ends[:, 1])
        progress((round_ + 1) / BOXES, f"mean distance {table.mean(0).min():.2g}")
    values = physical(lowest(sample, table.mean(0), free, low, high))
    again = rng.integers(len(table), size=(DRAWS, len(table)))
    draws = physical(np.array([lowest(sample, table[k].mean(0), free, low, high) for k in again]))
    note = f"with which the flights of {len(throws)} throws foretell the rest best"
    box = np.stack([physical(low), physical(high)], -1)
    found = tuple(_parameter(axis, values[d], draws[:, d], box[d], len(throws), note) for d, axis in enumerate(told) if free[d])
    return Shared(found, values, np.array([t.distance(values[None])[0] for t in throws]))


def _spread(rng: np.random.Generator, free: np.ndarray) -> np.ndarray:
    """Samples (S, D) of the unit box, evenly along each free axis (Latin hypercube; McKay et al. 1979); 0 on the others."""
    rank = rng.permuted(np.tile(np.arange(SAMPLES)[:, None], (1, len(free))), axis=0)
    return np.where(free, (rank + rng.uniform(size=rank.shape)) / SAMPLES, 0.0)


def lowest(sample: np.ndarray, cost: np.ndarray, free: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where a cost (S,) at samples (S, D) is least in a box (D,): the lowest point of a quadratic through the cheapest samples.

    Where the quadratic has no lowest point, the cheapest sample.
    """
    cheap = np.argsort(cost)[: int(BEST * len(cost))]
    best = sample[cheap[0]]
    wide = (high - low)[free] / 2
    x = (sample[cheap][:, free] - best[free]) / wide
    i, j = np.triu_indices(x.shape[1])
    solved, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x, x[:, i] * x[:, j]]), cost[cheap], rcond=None)
    hessian = np.zeros((x.shape[1],) * 2)
    hessian[i, j] = solved[1 + x.shape[1] :]
    hessian = hessian + hessian.T
    out = best.copy()
    if np.linalg.eigvalsh(hessian)[0] > 0:
        out[free] += wide * np.linalg.solve(hessian, -solved[1 : 1 + x.shape[1]])
    return np.clip(out, low, high)


def _parameter(axis: Axis, value: float, draws: np.ndarray, box: np.ndarray, throws: int, note: str) -> Parameter:
    """Identified where the interval is narrow and ends within the range and the last box (2,); a restitution of zero is no end.

    Percentiles of a bootstrap are too narrow for few throws: they are stretched as Student's t is (Hesterberg 2015).
    """
    from scipy.stats import t as student

    stretch = float(student.ppf(0.975, throws - 1)) / 1.96 * np.sqrt(throws / (throws - 1))
    ends = np.percentile(draws, [2.5, 97.5])
    cut = 0 < ends[0] <= box[0] or ends[1] >= box[1]  # the last box cuts the interval off
    low, high = np.clip(value + stretch * (ends - value), axis.low, axis.high)
    narrow = (high - low) / 2 < (0.1 if axis.name == "restitution" else 0.25 * value)  # near zero there is no relative precision
    bound = high >= axis.high - 1e-9 or 0 < low <= axis.low + 1e-9
    verdict = Verdict.AT_BOUND if bound else Verdict.IDENTIFIED if narrow and not cut else Verdict.WEAK
    return Parameter(axis.name, float(value), "1", [float(low), float(high)], verdict, axis.law, note)
