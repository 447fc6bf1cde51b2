"""The rigid body of a capture as a simulation with free parameters, restarted at the beginning of each segment of frames.

A tumbling body magnifies small errors at every impact, so a single shot over the whole video has no smooth optimum. Each
segment of frames therefore has a start state of its own (multiple shooting; Bock and Plitt 1984), tied to the end of the
segment before as loosely as an impact law describes a real impact (spatial_error.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from video2phys.parameters.spatial.error import Error, Whitening, none, of_motion, whitening
from video2phys.parameters.spatial.solid import Solid
from video2phys.parameters.spatial.track import Track
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.simulate.rigid import spatial
from video2phys.solve.robust import soft_l1
from video2phys.solve.space import Free, Space
from video2phys.types import Plane

KNEE = 3.0  # [sigma] beyond this an error counts linearly
KINDS = ("position", "turn", "velocity", "spin")
UNIT = {"position": "m", "turn": "rad", "velocity": "m/s", "spin": "rad/s"}
STEP = {"position": 1e-6, "turn": 1e-5, "velocity": 1e-5, "spin": 1e-4}  # far below what a video resolves


@dataclass(frozen=True)
class Segment:
    """Frames first..last of a track, simulated from the state at the first."""

    first: int
    last: int  # inclusive
    base: np.ndarray  # (4,) the start rotation is a small turn of this


@dataclass(frozen=True)
class Model:
    """Everything about a motion but the values of its free parameters."""

    solid: Solid
    gravity: np.ndarray  # [length unit/s^2] (3,)
    ground: Plane | None
    track: Track
    segments: tuple[Segment, ...]
    fixed: dict[str, float] = field(default_factory=dict)  # values of contact parameters that are not free
    errors: tuple[Error, ...] = ()  # of the prediction, per segment; empty = none

    def state_names(self, segment: int) -> tuple[str, ...]:
        return tuple(f"{kind}_{axis}.{segment}" for kind in KINDS for axis in "xyz")

    def space(self, contact: dict[str, Free], states: np.ndarray) -> Space:
        """Contact parameters, then the start states (S, 12) of the segments."""
        free = list(contact.values())
        for s, values in enumerate(states):
            names = self.state_names(s)
            free += [Free(n, UNIT[n.split("_")[0]], float(v), step=STEP[n.split("_")[0]]) for n, v in zip(names, values, strict=True)]
        return Space(tuple(free))

    def times(self, s: int) -> np.ndarray:
        """[s] of the frames of segment s, and of the first frame of the next."""
        after = self.track.time[self.segments[s + 1].first] if s + 1 < len(self.segments) else []
        return np.append(self.track.time[self.segments[s].first : self.segments[s].last + 1], after)

    def rollout(self, names: tuple[str, ...], values: np.ndarray, times: list[np.ndarray] | None = None) -> list[spatial.Track]:
        """One track per segment, batch B each, at `Model.times`, or at `times` (one array per segment, none before its start).

        Rows of the batch that differ only in other segments' states are simulated once.
        """
        wanted = [self.times(s) for s in range(len(self.segments))] if times is None else times
        longest = max(len(t) for t in wanted) + 1
        rows, owner, clock, inverse = [], [], [], []
        for s, (g, t) in enumerate(zip(self.segments, wanted, strict=True)):
            columns = [k for k, n in enumerate(names) if "." not in n or n.endswith(f".{s}")]
            part, back = np.unique(values[:, columns], axis=0, return_inverse=True)
            inverse.append(sum(map(len, rows)) + back.ravel())
            rows.append(part)
            owner += [s] * len(part)
            clock.append(np.pad(np.concatenate([[self.track.time[g.first]], t]), (0, longest - 1 - len(t)), mode="edge"))
        stripped = [tuple(n.split(".")[0] for n in names if "." not in n or n.endswith(f".{s}")) for s in range(len(rows))]
        given = {n: np.concatenate([part[:, own.index(n)] for part, own in zip(rows, stripped, strict=True)]) for n in stripped[0]}
        moved = self._move({**{n: np.full(len(owner), v) for n, v in self.fixed.items()}, **given}, np.array(owner), np.array(clock)[owner])
        return [spatial.Track(*(a[i, 1 : 1 + len(t)] for a in vars(moved).values())) for i, t in zip(inverse, wanted, strict=True)]

    def _move(self, given: dict[str, np.ndarray], owner: np.ndarray, clock: np.ndarray) -> spatial.Track:
        """Simulate rows with parameters `given`, each (B,), of segments `owner` (B,) at times `clock` (B, T)."""
        several = {kind: np.stack([given[f"{kind}_{axis}"] for axis in "xyz"], -1) for kind in KINDS}
        base = np.stack([g.base for g in self.segments])[owner]
        rotation = quaternions.times(quaternions.exp(several["turn"]), base)
        start = spatial.State(several["position"], rotation, several["velocity"], several["spin"])
        centre, inertia = self.solid.varied(given)
        plane = self.ground
        params = spatial.params(
            friction=given.get("friction", 0.0),
            restitution=given.get("restitution", 0.0),
            contact_time=given.get("contact_time", 0.0),
            gravity=np.stack([given[f"gravity_{axis}"] for axis in "xyz"], -1) if "gravity_x" in given else self.gravity,
            normal=(0.0, 0.0, 1.0) if plane is None else plane.normal,
            offset=-np.inf if plane is None else plane.offset + given.get("ground_height", 0.0),
            inertia=inertia,
            centre=centre,
        )
        return spatial.rollout(params, spatial.Scene(self.solid.shape), start, clock)

    def residuals(self, names: tuple[str, ...]) -> Callable[[np.ndarray], np.ndarray]:
        """Batched robust residuals over sigma: values (B, P) -> (B, M), in rows of six (place, turn).

        Per segment: its frames, then, if another follows, how far that one starts from the end of this: pose, then rates.
        """
        parts = [self.track.part(slice(g.first, g.last + 1)) for g in self.segments]
        white = self.whitenings()

        def residual(values: np.ndarray) -> np.ndarray:
            tracks = self.rollout(names, values)
            given = dict(zip(names, values.T, strict=True))
            out = []
            for s, (part, moved, (place, turn)) in enumerate(zip(parts, tracks, white, strict=True)):
                n = len(part)
                away, turned = part.away(moved.position[:, :n], moved.rotation[:, :n])
                if s + 1 < len(parts):
                    more = self._tie(s + 1, moved, given)
                    away, turned = np.concatenate([away, more[0]], 1), np.concatenate([turned, more[1]], 1)
                out.append(np.concatenate([place(away), turn(turned)], -1).reshape(len(values), -1))
            return soft_l1(np.concatenate(out, -1), KNEE)

        return residual

    def whitenings(self) -> list[tuple[Whitening, Whitening]]:
        """Of the errors in place and in turn, per segment."""
        out = []
        for s, g in enumerate(self.segments):
            part, tied = self.track.part(slice(g.first, g.last + 1)), s + 1 < len(self.segments)
            e = self.errors[s] if self.errors else none(self.times(s))
            world = np.broadcast_to(np.eye(3), part.basis.shape)
            out.append(
                (
                    whitening(e.push, e.clock, part.basis, part.position_sigma, e.speed, tied),
                    whitening(e.twist, e.clock, world, part.rotation_sigma, e.turning, tied),
                )
            )
        return out

    @property
    def log_determinant(self) -> float:
        """Of the covariance of all residuals."""
        return sum(w.log_determinant for pair in self.whitenings() for w in pair)

    def _tie(self, s: int, before: spatial.Track, given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """End of the segment before s minus the start of s: place and velocity (B, 2, 3), turn and spin (B, 2, 3)."""
        several = {kind: np.stack([given[f"{kind}_{axis}.{s}"] for axis in "xyz"], -1) for kind in KINDS}
        turned = quaternions.times(quaternions.exp(several["turn"]), self.segments[s].base)
        apart = quaternions.between(before.rotation[:, -1], turned)
        return (
            np.stack([before.position[:, -1] - several["position"], before.velocity[:, -1] - several["velocity"]], 1),
            np.stack([apart, before.spin[:, -1] - several["spin"]], 1),
        )

    def weighed(self, names: tuple[str, ...], values: np.ndarray) -> Model:
        """With the errors of the motion at parameter values (P,)."""
        times = [self.times(s) for s in range(len(self.segments))]
        moved = self.rollout(names, values[None])
        normal = np.array([0.0, 0.0, 1.0]) if self.ground is None else self.ground.normal
        speed, turning = self.track.speed, self.track.turning
        errors = tuple(of_motion(m, t, self.gravity, normal, speed, turning) for m, t in zip(moved, times, strict=True))
        return replace(self, errors=errors)

    def until(self, last: int) -> Model:
        """The same with its last segment ending at frame `last` of the track."""
        return replace(self, segments=(*self.segments[:-1], replace(self.segments[-1], last=last)), errors=())

    def restarted(self, first: int, last: int) -> Model:
        """With a further segment first..last; the one before ends ahead of it."""
        return replace(self.until(first - 1), segments=(*self.until(first - 1).segments, Segment(first, last, self.track.rotation[first])))
