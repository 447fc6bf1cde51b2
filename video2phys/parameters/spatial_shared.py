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
RATIO = 1.35  # of neighbouring frictions on the first lattice
BOUNCES = np.arange(0, 0.91, 0.1)  # restitutions on the first lattice
FINE = 4  # steps of the second lattice in one of the first
DRAWS = 1000
WIDE = {"friction": 0.25, "restitution": 0.25}  # half-width of the interval, of the value and absolute, beyond which it is weak


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

    def predict(self, friction: np.ndarray, restitution: np.ndarray) -> spatial.Track:
        """The motion at the measured frames for parameters (B,), from the flight alone."""
        params = spatial.params(
            friction=friction, restitution=restitution, gravity=self.gravity, normal=self.ground.normal, offset=self.ground.offset,
            inertia=self.body.inertia, centre=self.body.centre,
        )  # fmt: skip
        return spatial.rollout(params, spatial.Scene(self.body.shape), self.start, self.track.time)

    def distance(self, friction: np.ndarray, restitution: np.ndarray) -> np.ndarray:
        """[m] (B,) rms between the predicted and the measured path after the flight."""
        away = (self.predict(friction, restitution).position - self.track.position)[:, self.free :]
        return np.sqrt((away**2).sum(-1).mean(-1))


@dataclass(frozen=True)
class Shared:
    """What several throws say together."""

    friction: Parameter
    restitution: Parameter
    distance: np.ndarray  # [m] (K,) of each throw at these values


def identify(throws: Sequence[Throw], settings: Settings, seed: int = 0, progress: Progress = silent) -> Shared:
    """Friction and restitution with 95 % intervals. Raises BadInput for too few throws to tell how they scatter."""
    if len(throws) < FEWEST:
        raise BadInput(f"{len(throws)} throws reach the ground after a flight; {FEWEST} are needed.", fix="Add throws, or fit each alone.")
    frictions = settings.friction_max * RATIO ** -np.arange(np.ceil(np.log(settings.friction_max / 0.05) / np.log(RATIO)) + 1)[::-1]
    table = _table(throws, frictions, BOUNCES)
    progress(0.5, "first lattice")
    i, j = np.unravel_index(np.argmin(table.mean(0)), table.shape[1:])
    steps = np.arange(-FINE, FINE + 1) / FINE
    frictions = frictions[i] * RATIO**steps
    bounces = BOUNCES[j] + steps * (BOUNCES[1] - BOUNCES[0])
    frictions, bounces = frictions[frictions <= settings.friction_max], bounces[(bounces >= 0) & (bounces <= 1)]
    table = _table(throws, frictions, bounces)
    progress(1.0, "second lattice")
    mu, e = lowest(table.mean(0), frictions, bounces)
    rng = np.random.default_rng(seed)
    draws = np.array([lowest(table[rng.integers(len(table), size=len(table))].mean(0), frictions, bounces) for _ in range(DRAWS)])
    note = f"with which the flights of {len(throws)} throws foretell the rest best"
    friction = _parameter("friction", mu, draws[:, 0], frictions, "Coulomb", note)
    restitution = _parameter("restitution", e, draws[:, 1], bounces, "Newton, share of the normal speed", note)
    at = np.array([throw.distance(np.array([mu]), np.array([e]))[0] for throw in throws])
    return Shared(friction, restitution, at)


def _table(throws: Sequence[Throw], frictions: np.ndarray, bounces: np.ndarray) -> np.ndarray:
    """Distance (K, F, E) of each throw on a lattice; inf where a motion is not finite."""
    mu, e = (a.ravel() for a in np.meshgrid(frictions, bounces, indexing="ij"))
    table = np.array([throw.distance(mu, e).reshape(len(frictions), len(bounces)) for throw in throws])
    return np.nan_to_num(table, nan=np.inf)


def lowest(cost: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Where a table (F, E) over x (F,), y (E,) is least, by a parabola through its neighbours along each axis."""
    i, j = np.unravel_index(np.argmin(cost), cost.shape)
    return _vertex(x, cost[:, j], int(i)), _vertex(y, cost[i], int(j))


def _vertex(x: np.ndarray, cost: np.ndarray, k: int) -> float:
    if k in (0, len(x) - 1) or not np.isfinite(cost[k - 1 : k + 2]).all():
        return float(x[k])
    a, b, _ = np.polyfit(x[k - 1 : k + 2] - x[k], cost[k - 1 : k + 2], 2)
    return float(x[k] - np.clip(b / (2 * a), x[k] - x[k + 1], x[k] - x[k - 1])) if a > 0 else float(x[k])


def _parameter(name: str, value: float, draws: np.ndarray, lattice: np.ndarray, law: str, note: str) -> Parameter:
    """Weak where the interval is wide, or cut off by the edge of the lattice; 0 is an edge of nature."""
    low, high = np.percentile(draws, [2.5, 97.5])
    cut = high >= lattice[-1] or (low <= lattice[0] and low > 0)
    known = (high - low) / 2 < WIDE[name] * (value if name == "friction" else 1.0) and not cut
    return Parameter(name, value, "1", [float(low), float(high)], Verdict.IDENTIFIED if known else Verdict.WEAK, law, note)
