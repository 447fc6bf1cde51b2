"""Where to start: which simple solid explains the outlines, in which frame, in which pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from video2phys.errors import BadInput
from video2phys.solids.pose import Pose
from video2phys.solids.shot import Shot, crop
from video2phys.solids.silhouette import Contour, contour, hypotheses
from video2phys.solids.track import Shots, Track, begin, follow
from video2phys.types import Frames, Primitive, Seen


def shots_of(frames: Frames, obj: int) -> Shots:
    """Frame to the crops of the views that see the object there; empty where none does."""
    backgrounds = [frames.background(v) for v in range(len(frames.views))]

    @lru_cache(maxsize=256)
    def shots(frame: int) -> tuple[Shot, ...]:
        found = []
        for v, view in enumerate(frames.views):
            if seen(frames, v, frame, obj) == Seen.ABSENT:
                continue
            if shot := crop(view.camera, frames.image(v, frame), frames.mask(v, frame, obj), backgrounds[v]):
                found.append(shot)
        return tuple(found)

    return shots


def seen(frames: Frames, view: int, frame: int, obj: int) -> int:
    """How the object stands in a view's frame; a missing picture counts as ABSENT."""
    v = frames.views[view]
    if not v.images[frame]:
        return Seen.ABSENT
    return int(v.seen[frame, obj]) if v.seen is not None else Seen.WHOLE


@dataclass(frozen=True)
class Start:
    """The solid, and the pose in the frame where its outline is explained best."""

    solid: Primitive
    frame: int
    poses: tuple[Pose, ...]  # distinct poses that explain the outline, best first
    rms: dict[str, float]  # [px] mean outline distance of each kind tried


def choose(frames: Frames, obj: int, candidates: Sequence[Primitive], seed: int, most: int = 4) -> Start:
    """Try every candidate on the outlines of a few whole frames; the kind with the smallest mean distance wins, and the start
    is the frame it fits best. Raises BadInput where the object is nowhere whole.
    """
    picked = whole_frames(frames, obj, most)
    if not picked:
        raise BadInput(
            "the object is nowhere whole in the pictures.", fix="Use frames in which the object is inside the picture and uncovered."
        )
    found: dict[str, dict[int, list[tuple[Pose, float]]]] = {}
    for solid in candidates:
        for frame, contours in picked.items():
            fits = hypotheses(solid, contours, np.random.default_rng(seed), tries=1 if is_ball(solid) else 400)
            if fits:
                found.setdefault(solid.kind, {})[frame] = fits
    if not found:
        raise BadInput(
            "no simple solid of the given size explains the object's outline.", fix="Check object.size and the camera in capture.yaml."
        )
    rms = {kind: float(np.mean([fits[0][1] for fits in by.values()])) for kind, by in found.items()}
    best = next(s for s in candidates if s.kind == min(rms, key=lambda k: rms[k]))
    frame = min(found[best.kind], key=lambda k: found[best.kind][k][0][1])
    return Start(best, frame, tuple(p for p, _ in found[best.kind][frame]), rms)


def is_ball(solid: Primitive) -> bool:
    """A sphere with equal extents: its rotation does not show in the outline."""
    return solid.kind == "sphere" and float(np.ptp(solid.size)) < 0.01 * float(np.mean(solid.size))


def whole_frames(frames: Frames, obj: int, most: int) -> dict[int, list[Contour]]:
    """Contours of up to `most` frames that show the object whole, spread evenly over the path it travels in the picture,
    so that a long rest at the end does not crowd out the motion."""
    outlines: dict[int, list[Contour]] = {}
    for frame in range(len(frames.time)):
        views = [v for v in range(len(frames.views)) if seen(frames, v, frame, obj) == Seen.WHOLE]
        got = [c for v in views if (c := contour(frames.views[v].camera, frames.mask(v, frame, obj))) is not None]
        if got:
            outlines[frame] = got
    if not outlines:
        return {}
    order = sorted(outlines)
    middle = np.array([outlines[k][0].centroid for k in order])
    path = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(middle, axis=0), axis=1))])
    wanted = np.linspace(0, path[-1], most + 2)[1:-1] if path[-1] > 1 else np.array([path[-1] / 2])
    return {order[i]: outlines[order[i]] for i in sorted({int(np.argmin(np.abs(path - w))) for w in wanted})}


def first_track(
    start: Start, shots: Shots, count: int, seed: int, window: int = 4, progress: Callable[[int], None] = lambda k: None
) -> Track:
    """Follow each of the start's poses for a few frames both ways and keep the one whose texture stays consistent: a pose
    mirrored in depth explains the outline, but turns the wrong way in the next frames."""
    tracks = []
    for pose in start.poses[:4]:
        track = begin(start.solid, pose, start.frame, shots)
        both(track, start.frame, max(0, start.frame - window), min(count, start.frame + window + 1), shots, None, progress)
        tracks.append(track)
    return min(tracks, key=lambda t: float(np.mean([a.cost for a in t.found.values()])))


def both(
    track: Track, frame: int, first: int, last: int, shots: Shots, seed: int | None, progress: Callable[[int], None] = lambda k: None
) -> None:
    """Follow from `frame` to `last` (excluded) and back to `first`, leaving out what is found already. Without a seed, no wide search."""
    rng = None if seed is None else np.random.default_rng(seed)
    follow(track, [k for k in range(frame + 1, last) if k not in track.found], shots, rng, progress)
    follow(track, [k for k in range(frame - 1, first - 1, -1) if k not in track.found], shots, rng, progress)
