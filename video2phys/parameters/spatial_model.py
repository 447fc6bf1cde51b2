"""The rigid body of a capture as a simulation with free parameters, restarted at the beginning of each segment of frames.

A tumbling body magnifies small errors at every impact, so a single shot over the whole video has no smooth optimum. Each
segment of frames therefore has a start state of its own (multiple shooting; Bock and Plitt 1984), tied to the end of the
segment before as loosely as an impact law describes a real impact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from video2phys.parameters.spatial_solid import Solid
from video2phys.parameters.spatial_track import Track
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.simulate.rigid import spatial
from video2phys.solve.robust import soft_l1
from video2phys.solve.space import Free, Space
from video2phys.types import Plane

KNEE = 3.0  # [sigma] beyond this an error counts linearly
KINDS = ("position", "turn", "velocity", "spin")
UNIT = {"position": "m", "turn": "rad", "velocity": "m/s", "spin": "rad/s"}
STEP = {"position": 1e-6, "turn": 1e-5, "velocity": 1e-5, "spin": 1e-4}  # far below what a video resolves
LAW = 0.1  # share of a velocity that a rigid impact law leaves unexplained: restitution scatters by a tenth from impact to impact


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

    def state_names(self, segment: int) -> tuple[str, ...]:
        return tuple(f"{kind}_{axis}.{segment}" for kind in KINDS for axis in "xyz")

    def space(self, contact: dict[str, Free], states: np.ndarray) -> Space:
        """Contact parameters, then the start states (S, 12) of the segments."""
        free = list(contact.values())
        for s, values in enumerate(states):
            names = self.state_names(s)
            free += [Free(n, UNIT[n.split("_")[0]], float(v), step=STEP[n.split("_")[0]]) for n, v in zip(names, values, strict=True)]
        return Space(tuple(free))

    def rollout(self, names: tuple[str, ...], values: np.ndarray, times: list[np.ndarray] | None = None) -> list[spatial.Track]:
        """One track per segment, batch B each, at the frames of the segment and then at the first frame of the next.

        `times`, one array per segment and none before its start, replaces these frames.
        """
        B, S = len(values), len(self.segments)
        given = {**{n: np.full(B, v) for n, v in self.fixed.items()}, **dict(zip(names, values.T, strict=True))}
        wanted = [self._times(s) for s in range(S)] if times is None else times
        longest = max(len(t) for t in wanted) + 1
        clock = np.stack([np.pad(np.concatenate([[self.track.time[g.first]], t]), (0, longest - 1 - len(t)), mode="edge")
                          for g, t in zip(self.segments, wanted, strict=True)])  # fmt: skip

        def stacked(kind: str) -> np.ndarray:
            return np.stack([[given[f"{kind}_{axis}.{s}"] for axis in "xyz"] for s in range(S)]).transpose(0, 2, 1).reshape(S * B, 3)

        def shared(name: str, absent: float) -> np.ndarray:
            return np.tile(given.get(name, np.full(B, absent)), S)

        base = np.repeat(np.stack([g.base for g in self.segments]), B, 0)
        start = spatial.State(
            stacked("position"), quaternions.times(quaternions.exp(stacked("turn")), base), stacked("velocity"), stacked("spin")
        )
        gravity = self.gravity
        if "gravity_x" in given:
            gravity = np.tile(np.stack([given[f"gravity_{axis}"] for axis in "xyz"], -1), (S, 1))
        centre, inertia = self.solid.varied(given, S)
        plane = self.ground
        params = spatial.params(
            friction=shared("friction", 0.0),
            restitution=shared("restitution", 0.0),
            contact_time=shared("contact_time", 0.0),
            gravity=gravity,
            normal=(0.0, 0.0, 1.0) if plane is None else plane.normal,
            offset=-np.inf if plane is None else plane.offset + shared("ground_height", 0.0),
            inertia=inertia,
            centre=centre,
        )
        moved = spatial.rollout(params, spatial.Scene(self.solid.shape), start, np.repeat(clock, B, 0))
        return [spatial.Track(*(a[s * B : (s + 1) * B, 1 : 1 + len(t)] for a in vars(moved).values())) for s, t in enumerate(wanted)]

    def residuals(self, names: tuple[str, ...]) -> Callable[[np.ndarray], np.ndarray]:
        """Batched robust residuals over sigma: values (B, P) -> (B, 6 N + 12 (S - 1)), frames first, then the ties of the segments."""

        def residual(values: np.ndarray) -> np.ndarray:
            tracks = self.rollout(names, values)
            rows = []
            for g, moved in zip(self.segments, tracks, strict=True):
                n = g.last + 1 - g.first
                seen = self.track.part(slice(g.first, g.last + 1))
                rows.append(soft_l1(seen.misfit(moved.position[:, :n], moved.rotation[:, :n]), KNEE).reshape(len(values), -1))
            given = dict(zip(names, values.T, strict=True))
            rows += [self._tie(s, tracks[s - 1], given) for s in range(1, len(self.segments))]
            return np.concatenate(rows, -1)

        return residual

    def _times(self, s: int) -> np.ndarray:
        after = self.track.time[self.segments[s + 1].first] if s + 1 < len(self.segments) else []
        return np.append(self.track.time[self.segments[s].first : self.segments[s].last + 1], after)

    def _tie(self, s: int, before: spatial.Track, given: dict[str, np.ndarray]) -> np.ndarray:
        """Start of segment s minus the end of the one before, over sigma (B, 12): a pose as measured, velocities within LAW."""
        g = self.segments[s]
        several = {kind: np.stack([given[f"{kind}_{axis}.{s}"] for axis in "xyz"], -1) for kind in KINDS}
        turned = quaternions.times(quaternions.exp(several["turn"]), g.base)
        seen = self.track.part(slice(g.first, g.first + 1))
        away = np.einsum("ij,bj->bi", seen.basis[0], several["position"] - before.position[:, -1]) / seen.position_sigma[0]
        spun = quaternions.between(turned, before.rotation[:, -1]) / seen.rotation_sigma[0]
        speed, turning = self.track.speed, self.track.turning
        rows = [
            away,
            spun,
            (several["velocity"] - before.velocity[:, -1]) / (LAW * speed),
            (several["spin"] - before.spin[:, -1]) / (LAW * turning),
        ]
        return soft_l1(np.concatenate(rows, -1), KNEE)

    def until(self, last: int) -> Model:
        """The same with its last segment ending at frame `last` of the track."""
        return replace(self, segments=(*self.segments[:-1], replace(self.segments[-1], last=last)))

    def restarted(self, first: int, last: int) -> Model:
        """With a further segment first..last; the one before ends ahead of it."""
        return replace(self, segments=(*self.until(first - 1).segments, Segment(first, last, self.track.rotation[first])))
