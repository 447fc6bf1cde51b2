"""A solid followed through time: align to the colour map, extend the map, go on; then refine against the whole map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys.solids.align import Aligned, align, cost_of, system
from video2phys.solids.atlas import Atlas, texels_for
from video2phys.solids.pose import Pose, angle, extrapolate
from video2phys.solids.shot import GREY, Shot
from video2phys.solids.silhouette import centred, contour, place
from video2phys.types import Primitive

Shots = Callable[[int], Sequence[Shot]]  # frame to the shots of the views that see the object there


@dataclass
class Track:
    """Poses found so far, by frame, and the map they share."""

    solid: Primitive
    atlas: Atlas
    found: dict[int, Aligned]

    def cost(self) -> float:
        """Median cost of the frames found: what a good fit looks like in this capture."""
        return float(np.median([a.cost for a in self.found.values()])) if self.found else np.inf


def begin(solid: Primitive, pose: Pose, frame: int, shots: Shots) -> Track:
    """Fit the rim at the first frame and take its colours."""
    here = shots(frame)
    first = align(solid, pose, here, None)
    track = Track(solid, Atlas.empty(texels_for(solid, first.pose, here)), {frame: first})
    _learn(track, frame, here, first)
    return track


def follow(
    track: Track, frames: Sequence[int], shots: Shots, rng: np.random.Generator | None, progress: Callable[[int], None] = lambda k: None
) -> None:
    """Go through neighbouring frames in order, away from frames already found. Frames without the object are skipped."""
    for frame in frames:
        here = shots(frame)
        progress(frame)
        if not here:
            continue
        best = locate(track, frame, here, rng)
        track.found[frame] = best
        if best.cost < 2 * track.cost() + 0.5:
            _learn(track, frame, here, best)


def locate(track: Track, frame: int, here: Sequence[Shot], rng: np.random.Generator | None) -> Aligned:
    """Best pose at a frame: from the motion so far, from the last pose, and from a wide search when both are poor."""
    known = sorted(track.found, key=lambda k: abs(k - frame))
    last = track.found[known[0]].pose
    starts = [last]
    if len(known) > 1:
        starts.insert(0, extrapolate(track.found[known[1]].pose, last, (frame - known[0]) / (known[0] - known[1])))
    starts += [moved for pose in starts if (moved := centred(track.solid, pose, here[0])) is not None]
    best = align(track.solid, nearest(track, starts, here), here, track.atlas)
    usual = float(np.median([track.found[k].cost for k in known[:5]]))
    if rng is not None and len(known) > 2 and best.cost > 1.4 * usual + 0.1:
        best = min([best, *search(track, last, here, rng)], key=lambda a: a.cost)
    return best


def nearest(track: Track, poses: Sequence[Pose], here: Sequence[Shot]) -> Pose:
    """The pose with the lowest cost at half resolution, before any refinement."""
    radius, small = float(np.linalg.norm(track.solid.size)) / 2, [s.halved for s in here]
    return min(poses, key=lambda pose: cost_of(track.solid, pose, small, track.atlas.half, radius))


def search(track: Track, around: Pose, here: Sequence[Shot], rng: np.random.Generator, tries: int = 120, keep: int = 4) -> list[Aligned]:
    """Many rotations up to about 60 degrees from `around`, placed by the outline, scored at half resolution, the best refined."""
    seen = [c for c in (contour(s.camera, s.mask) for s in here) if c is not None]
    if not seen:
        return []
    main = max(seen, key=lambda c: c.area)
    radius = float(np.linalg.norm(track.solid.size)) / 2
    small = [s.halved for s in here]
    scored: list[tuple[float, Pose]] = []
    for turn in rng.normal(0, np.radians(25), (tries, 3)):
        pose = place(track.solid, Rotation.from_rotvec(turn).as_matrix() @ around.R, main)
        if pose is not None and (cost := cost_of(track.solid, pose, small, track.atlas.half, radius)) < np.inf:
            scored.append((cost, pose))
    scored.sort(key=lambda s: s[0])
    return [align(track.solid, pose, here, track.atlas) for _, pose in scored[:keep]]


def refine(track: Track, shots: Shots, rounds: int = 2, progress: Callable[[float], None] = lambda share: None) -> None:
    """Settle the map in the body, rebuild it from all frames and align every frame to it again, `rounds` times."""
    frames = sorted(track.found)
    for turn in range(rounds):
        settle(track, shots)
        track.atlas = _mapped(track, {k: track.found[k].pose for k in _good(track)}, shots)
        for k, frame in enumerate(frames):
            track.found[frame] = align(track.solid, track.found[frame].pose, shots(frame), track.atlas, coarse=False)
            progress((turn + (k + 1) / len(frames)) / rounds)


def settle(track: Track, shots: Shots, steps: int = 2, most: int = 24) -> None:
    """Fit the seven motions that the texture alone leaves open, for all frames at once.

    A map taken from the pictures at wrong poses agrees with those pictures: shifting or turning the texture in the body, or
    scaling the scene from the first camera, changes nothing but how the texture sits on the edges and the outline. Aligning
    frames and map in turns corrects these slowly. Here they are unknowns of one Gauss-Newton problem whose residuals are
    those of a map rebuilt for each trial (variable projection; the derivative is a forward difference).
    """
    solid, radius = track.solid, float(np.linalg.norm(track.solid.size)) / 2
    chosen = _varied(track, _good(track), most)
    if len(chosen) < 2:
        return
    camera = shots(chosen[0])[0].camera
    distance = float(np.median([np.linalg.norm(track.found[k].pose.t - camera.center) for k in chosen]))
    scale = np.array([radius] * 6 + [distance])

    def moved(pose: Pose, u: np.ndarray) -> Pose:
        turned = Pose(pose.R @ Rotation.from_rotvec(u[3:6]).as_matrix(), pose.t + pose.R @ u[:3] * radius)
        return replace(turned, t=camera.center + (turned.t - camera.center) * (1 + u[6]))

    def trial(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        poses = {k: moved(track.found[k].pose, u) for k in chosen}
        atlas = _mapped(track, poses, shots)
        parts = [s for k in chosen for shot in shots(k) if (s := system(solid, poses[k], shot, atlas, radius)) is not None]
        return np.concatenate([p.residual for p in parts]) / GREY, np.concatenate([p.part for p in parts])

    u, pixel = np.zeros(7), distance / float(camera.K[0, 0])
    step = 0.3 * pixel / scale
    step[6] *= distance / radius  # a change of depth shows only through the size
    for _ in range(steps):
        r, kind = trial(u)
        columns = []
        for h in np.diag(step):
            more, kind_more = trial(u + h)
            same = (kind == kind_more) & ((kind == 1) | (kind == 2))  # a pixel that changes its part says nothing about the derivative
            columns.append(np.where(same[:, None], more - r, 0) / h.sum())
        J = np.stack(columns, -1)
        weight = 1 / (1 + (r * r).sum(1) / 48) ** 2
        H, g = np.einsum("mci,m,mcj->ij", J, weight, J), np.einsum("mci,m,mc->i", J, weight, r)
        u = u + np.linalg.solve(H + 1e-3 * np.diag(np.diag(H)), -g)
    track.found = {k: replace(a, pose=moved(a.pose, u)) for k, a in track.found.items()}


def _good(track: Track) -> list[int]:
    limit = 2 * track.cost() + 0.5
    return [k for k in sorted(track.found) if track.found[k].cost < limit]


def _varied(track: Track, frames: list[int], most: int) -> list[int]:
    """Up to `most` frames whose rotations differ the most from one another (farthest first)."""
    chosen = frames[:1]
    gap = {k: np.inf for k in frames}
    while len(chosen) < min(most, len(frames)):
        gap = {k: min(g, angle(track.found[k].pose.R, track.found[chosen[-1]].pose.R)) for k, g in gap.items()}
        chosen.append(max((k for k in frames if k not in chosen), key=lambda k: gap[k]))
    return chosen


def _mapped(track: Track, poses: dict[int, Pose], shots: Shots) -> Atlas:
    """A map made afresh from some frames."""
    atlas = Atlas.empty(track.atlas.texels)
    for k, pose in poses.items():
        for shot, gain in zip(shots(k), track.found[k].gain, strict=False):
            atlas.add(track.solid, pose, shot, gain, np.inf)
    return atlas


def _learn(track: Track, frame: int, here: Sequence[Shot], fit: Aligned, most: float = 8.0) -> None:
    for shot, gain in zip(here, fit.gain, strict=False):
        track.atlas.add(track.solid, fit.pose, shot, gain, most)
