"""Several throws of one body share its contact parameters: those with which the free flight of each foretells the rest of it best.

Each throw starts from its own contact-free frames, and nothing after them is fitted but the shared numbers. The distance of a throw is the
rms between its predicted and its measured path. Their mean over the throws is least at the answer: a throw that tumbles another way
than predicted, as some always do, then counts by its distance and not by the square. The mean has kinks wherever a throw changes its way of
tumbling, so it is looked up on a lattice and not followed by its slope. Intervals come from drawing as many throws again, with
replacement (bootstrap; Efron 1979): what scatters from throw to throw, the errors of the contact law among it, is then inside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.rigid_spatial import support
from video2phys.parameters.settings import Settings
from video2phys.parameters.spatial_fit import FIRST
from video2phys.parameters.spatial_model import Model, Segment
from video2phys.parameters.spatial_solid import Solid, solid
from video2phys.parameters.spatial_start import free_frames, state
from video2phys.parameters.spatial_track import Track, measured
from video2phys.progress import Progress, silent
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.simulate.rigid import spatial
from video2phys.solve.levenberg import levenberg
from video2phys.types import Frames, Gaussians, Parameter, Plane, StateTrack, Verdict

FEWEST = 5  # throws: fewer, drawn again, are too often the same ones
RATIO, SLIPPERY = 1.35, 0.05  # of neighbouring frictions on the first lattice, and the least of them
FINE = 4  # steps of the second lattice in one of the first
MOVES = 3  # times that the second lattice may follow a lowest point that lies on its edge
DRAWS = 1000


@dataclass(frozen=True)
class Axis:
    """One shared number, and where it is looked for."""

    name: str
    law: str
    first: np.ndarray  # (F,) values of the first lattice; one value = given
    top: float  # nothing above, nor below 0
    ratio: bool = False  # steps are ratios

    def around(self, at: float) -> np.ndarray:
        """Values of the second lattice, one step of the first to each side."""
        if len(self.first) == 1:
            return self.first
        steps = np.arange(-FINE, FINE + 1) / FINE
        values = at * RATIO**steps if self.ratio else at + steps * (self.first[1] - self.first[0])
        return values[(values > -1e-9) & (values < self.top + 1e-9)]

    def cut(self, value: float, lattice: np.ndarray) -> bool:
        """Whether a value lies on an edge of a lattice that could go on."""
        low, high = lattice[0] > 1e-9, lattice[-1] < self.top - 1e-9
        return len(lattice) > 1 and ((low and value <= lattice[0]) or (high and value >= lattice[-1]))


def axes(settings: Settings) -> tuple[Axis, ...]:
    """Friction, restitution, and the inertia over that of a uniform solid: a thin shell of a cube or ball has 5/3."""
    count = int(np.ceil(np.log(settings.friction_max / SLIPPERY) / np.log(RATIO))) + 1
    return (
        Axis("friction", "Coulomb", settings.friction_max * RATIO ** -np.arange(count)[::-1], settings.friction_max, ratio=True),
        Axis("restitution", "Newton, share of the normal speed", np.arange(5) / 5, 1.0),
        Axis("inertia_ratio", "over that of a uniform solid", np.arange(2, 6) / 3 if settings.free_inertia else np.ones(1), 5 / 3),
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
        """The motion at the measured frames from the flight alone, for rows of friction, restitution, inertia ratio (B, 3)."""
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

    parameters: tuple[Parameter, ...]  # friction, restitution and, where it was free, inertia_ratio
    values: np.ndarray  # (3,) the same as `Throw.predict` takes them
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
    lattice = [axis.first for axis in told]
    at = _least(_table(throws, lattice).mean(0))
    for move in range(MOVES):
        progress((move + 1) / (MOVES + 1), "friction and restitution of all throws")
        lattice = [axis.around(values[k]) for axis, values, k in zip(told, lattice, at, strict=True)]
        table = _table(throws, lattice)
        at = _least(table.mean(0))
        if not any(axis.cut(values[k], values) for axis, values, k in zip(told, lattice, at, strict=True)):
            break
    best = lowest(table.mean(0), lattice)
    rng = np.random.default_rng(seed)
    draws = np.array([lowest(table[rng.integers(len(table), size=len(table))].mean(0), lattice) for _ in range(DRAWS)])
    note = f"with which the flights of {len(throws)} throws foretell the rest best"
    found = tuple(_parameter(axis, best[d], draws[:, d], lattice[d], note) for d, axis in enumerate(told) if len(axis.first) > 1)
    return Shared(found, best, np.array([throw.distance(best[None])[0] for throw in throws]))


def _table(throws: Sequence[Throw], lattice: Sequence[np.ndarray]) -> np.ndarray:
    """Distance (K, F, E, H) of each throw on a lattice of friction, restitution, inertia ratio; inf where a motion is not finite."""
    grid = np.stack(np.meshgrid(*lattice, indexing="ij"), -1)
    table = np.array([throw.distance(grid.reshape(-1, len(lattice))).reshape(grid.shape[:-1]) for throw in throws])
    return np.nan_to_num(table, nan=np.inf)


def _least(cost: np.ndarray) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(np.argmin(cost), cost.shape))


def lowest(cost: np.ndarray, lattice: Sequence[np.ndarray]) -> np.ndarray:
    """Where a table over a lattice is least (D,), by a parabola through its neighbours along each axis."""
    at = _least(cost)
    return np.array([_vertex(axis, cost[(*at[:d], slice(None), *at[d + 1 :])], at[d]) for d, axis in enumerate(lattice)])


def _vertex(x: np.ndarray, cost: np.ndarray, k: int) -> float:
    if k in (0, len(x) - 1) or not np.isfinite(cost[k - 1 : k + 2]).all():
        return float(x[k])
    a, b, _ = np.polyfit(x[k - 1 : k + 2] - x[k], cost[k - 1 : k + 2], 2)
    return float(x[k] - np.clip(b / (2 * a), x[k] - x[k + 1], x[k] - x[k - 1])) if a > 0 else float(x[k])


def _parameter(axis: Axis, value: float, draws: np.ndarray, lattice: np.ndarray, note: str) -> Parameter:
    """Weak where the interval is wide, or cut off by an edge of the lattice."""
    low, high = (float(end) for end in np.percentile(draws, [2.5, 97.5]))
    narrow = (high - low) / 2 < (0.1 if axis.name == "restitution" else 0.25 * value)  # near zero there is no relative precision
    verdict = Verdict.IDENTIFIED if narrow and not axis.cut(low, lattice) and not axis.cut(high, lattice) else Verdict.WEAK
    if axis.top - high < 1e-9 and verdict is Verdict.IDENTIFIED:
        verdict = Verdict.AT_BOUND
    return Parameter(axis.name, float(value), "1", [low, high], verdict, axis.law, note)
