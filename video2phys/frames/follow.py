"""Follow blobs through time and tell the object from hands, shadows, flicker and people.

Blobs of neighbouring frames are joined by predicted position, size and colour (Hungarian assignment); the tracks are then
ranked over the whole clip: what travels far, smoothly, with a steady size, sharp against the scene and free of the border.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from video2phys.frames import regions

THRESHOLD = 6.0  # noise deviations: well above what compression leaves, below what an eye sees
MOST = 12  # blobs kept per frame, the strongest first
GAP = 6  # frames that a track survives unseen


@dataclass(frozen=True)
class Blob:
    """A connected piece of foreground in one frame."""

    center: np.ndarray  # [px] (2,) x, y, pixel centres at +0.5
    area: float  # [px^2]
    colour: np.ndarray  # (3,)
    contrast: float  # mean departure from the scene in noise deviations
    shade: float  # share that is only shaded
    border: bool  # touches the border of the picture
    corner: tuple[int, int]  # row, column of the mask's first pixel
    mask: np.ndarray  # bool, the bounding box

    @property
    def width(self) -> float:
        """Diameter [px] of the disc of equal area."""
        return 2 * float(np.sqrt(self.area / np.pi))

    @property
    def diagonal(self) -> float:
        """Diagonal [px] of the bounding box."""
        return float(np.hypot(*self.mask.shape))

    def covers(self, point: np.ndarray, reach: float = 0.0) -> bool:
        """Whether `point` (x, y) lies in the mask, or within `reach` pixels of it."""
        y, x = np.nonzero(self.mask)
        return bool((np.hypot(x + self.corner[1] + 0.5 - point[0], y + self.corner[0] + 0.5 - point[1])).min() <= reach + 0.75)


@dataclass
class Track:
    """One thing through time; `merged` are frames in which its blob also holds another thing."""

    frames: list[int] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)
    merged: set[int] = field(default_factory=set)

    def predict(self, frame: int) -> np.ndarray:
        """Expected centre (2,) from a line or parabola through the last free frames."""
        own = [i for i, f in enumerate(self.frames) if f not in self.merged][-6:] or list(range(len(self.frames)))[-6:]
        t = np.array([self.frames[i] for i in own], float) - frame
        x = np.array([self.blobs[i].center for i in own])
        order = 0 if len(t) == 1 else 1 if len(t) < 6 else 2
        return np.polynomial.polynomial.polyfit(t, x, order)[0] if len(t) > 1 else x[-1]

    def step(self) -> float:
        """Recent speed [px/frame]."""
        if len(self.frames) < 2:
            return 0.0
        k = max(len(self.frames) - 4, 0)
        return float(np.linalg.norm(self.blobs[-1].center - self.blobs[k].center)) / max(self.frames[-1] - self.frames[k], 1)

    def width(self) -> float:
        """Median width [px] of the last free frames."""
        own = [b.width for b, f in zip(self.blobs[-15:], self.frames[-15:], strict=True) if f not in self.merged]
        return float(np.median(own or [self.blobs[-1].width]))


def find_blobs(image: np.ndarray, deviation: np.ndarray, shaded: np.ndarray) -> list[Blob]:
    """Pieces of foreground, the strongest first. A piece that is mostly object loses its shaded part; a shadow stays whole."""
    import cv2

    strong = cv2.morphologyEx((deviation > THRESHOLD).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    _, label, stats, _ = cv2.connectedComponentsWithStats(strong, connectivity=4, ltype=cv2.CV_32S)
    found: list[Blob] = []
    for k in (np.argsort(-stats[1:, cv2.CC_STAT_AREA]) + 1)[: 3 * MOST]:
        x, y, w, h, size = stats[k]
        if size < 4:
            break
        box = (slice(y, y + h), slice(x, x + w))
        piece = label[box] == k
        body = regions.opened(piece & ~shaded[box] & (deviation[box] > THRESHOLD), 2)
        whole = body.sum() < max(4, 0.1 * size)
        body = regions.grow(body, within=piece)  # the rim mixes object and scene, which looks like shade
        parts = [piece] if whole else _parts(body)
        found += [_blob(image, deviation, shaded, box, part) for part in parts]
    found.sort(key=lambda b: -b.area * b.contrast)
    return found[:MOST]


def _parts(body: np.ndarray) -> list[np.ndarray]:
    """Closed, filled and smoothed pieces of `body`; crumbs are dropped."""
    wide = 2 * float(np.sqrt(body.sum() / np.pi))
    room = int(0.1 * wide) + 4
    padded = np.pad(body, room, mode="edge")
    closed = regions.solid(padded, 2 if wide > 14 else 1)
    if wide > 30:  # spikes and notches narrower than a twentieth of the object are noise of the outline
        closed = ndimage.gaussian_filter(closed.astype(np.float32), 0.025 * wide) > 0.5
    label, count = regions.label(closed[room:-room, room:-room], diagonal=True)
    sizes = np.bincount(label.ravel())[1:]
    return [label == k + 1 for k in range(count) if sizes[k] >= max(4, 0.05 * sizes.max())]


def _blob(image: np.ndarray, deviation: np.ndarray, shaded: np.ndarray, box: tuple[slice, ...], part: np.ndarray) -> Blob:
    rows, columns = np.nonzero(part.any(1))[0], np.nonzero(part.any(0))[0]
    y0, x0 = box[0].start + rows[0], box[1].start + columns[0]
    mask = part[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    window = (slice(y0, y0 + mask.shape[0]), slice(x0, x0 + mask.shape[1]))
    y, x = np.nonzero(mask)
    weight = np.minimum(deviation[window][mask], 30.0) + 1e-3
    center = np.array([(x * weight).sum(), (y * weight).sum()]) / weight.sum() + (x0 + 0.5, y0 + 0.5)
    H, W = deviation.shape
    border = bool(y0 <= 1 or x0 <= 1 or y0 + mask.shape[0] >= H - 1 or x0 + mask.shape[1] >= W - 1)
    return Blob(center, float(mask.sum()), image[window][mask].mean(0), float(deviation[window][mask].mean()),
                float(shaded[window][mask].mean()), border, (int(y0), int(x0)), mask)  # fmt: skip


def link(blobs: list[list[Blob]]) -> list[Track]:
    """Blobs per frame to tracks of at least four frames."""
    live: list[Track] = []
    done: list[Track] = []
    for frame, here in enumerate(blobs):
        done += [t for t in live if frame - t.frames[-1] > GAP]
        live = [t for t in live if frame - t.frames[-1] <= GAP]
        taken = _assign(live, here, frame)
        for t, track in enumerate(live):
            if t in taken:
                _extend(track, frame, here[taken[t]], live)
            elif len(track.frames) >= 5:  # is it hidden in a blob that another track took?
                place = track.predict(frame)
                host = next((b for u, b in taken.items() if here[b].area > 1.3 * track.blobs[-1].area and here[b].covers(place, 2.0)), None)
                if host is not None:
                    track.frames.append(frame)
                    track.blobs.append(here[host])
                    track.merged.add(frame)
        used = set(taken.values())
        live += [Track([frame], [blob]) for b, blob in enumerate(here) if b not in used]
    return [t for t in done + live if len(t.frames) - len(t.merged) >= 4]


def _extend(track: Track, frame: int, blob: Blob, live: list[Track]) -> None:
    if len(track.frames) >= 5 and blob.area > 1.4 * np.pi / 4 * track.width() ** 2:
        others = [u for u in live if u is not track and len(u.frames) >= 5 and blob.covers(u.predict(frame), 2.0)]
        if others:
            track.merged.add(frame)
    track.frames.append(frame)
    track.blobs.append(blob)


def _assign(live: list[Track], here: list[Blob], frame: int) -> dict[int, int]:
    """Track number to blob number: the cheapest joint assignment; a pair outside its gate is never made."""
    if not live or not here:
        return {}
    cost = np.full((len(live), len(here)), 1e3)
    for t, track in enumerate(live):
        place, wide, step = track.predict(frame), track.width(), track.step()
        gap = frame - track.frames[-1]
        # a new track may go anywhere near; a known one may bounce, which turns its step round
        gate = max(3 * wide, 10.0) if len(track.frames) == 1 else 0.5 * wide + 2.2 * step * gap + 3.0
        last = track.blobs[-1]
        for b, blob in enumerate(here):
            far = float(np.linalg.norm(blob.center - place)) / gate
            grown = abs(np.log(blob.area / (np.pi / 4 * wide**2)))
            longer = abs(np.log(blob.diagonal / last.diagonal))
            if far < 1 and grown < np.log(3.5 if len(track.frames) < 8 else 2.5) and longer < np.log(2.2):
                tint = float(np.abs(blob.colour - last.colour).mean()) / 60
                age = 0.03 * min(len(track.frames), 10)  # an old track goes before a new one
                cost[t, b] = far + 0.5 * grown + tint + abs(blob.shade - last.shade) - age
    rows, columns = linear_sum_assignment(cost)
    return {int(t): int(b) for t, b in zip(rows, columns, strict=True) if cost[t, b] < 500}


def rank(tracks: list[Track], size: tuple[int, int], placed: bool = False) -> list[tuple[float, Track]]:
    """Tracks with their score, best first; a track that does not move (within 1.5 px or a tenth of its width) is left out.

    Where nothing moves but what is `placed` in a scene that is known empty, tracks are ranked by the pixels that differ from it.
    """
    scored = [(score(t, size), t) for t in tracks]
    if placed and not any(s > 0 for s, _ in scored):
        scored = [(float(sum(b.area * b.contrast * (1 - b.shade) for b in t.blobs)), t) for t in tracks]
    return sorted([s for s in scored if s[0] > 0], key=lambda s: -s[0])


def score(track: Track, size: tuple[int, int]) -> float:
    """How well a track answers to "the object": frames in motion, travel, smoothness, steadiness, contrast, freedom of the border."""
    own = [i for i, f in enumerate(track.frames) if f not in track.merged]
    t = np.array([track.frames[i] for i in own], float)
    x = np.array([track.blobs[i].center for i in own])
    area = np.array([track.blobs[i].area for i in own])
    free = np.array([not track.blobs[i].border for i in own])
    wide = float(np.median([track.blobs[i].width for i in own]))
    smooth = np.array([np.median(x[max(0, k - 2) : k + 3], axis=0) for k in range(len(x))])
    extent = float(np.linalg.norm(np.percentile(smooth, 97, axis=0) - np.percentile(smooth, 3, axis=0)))
    if extent < max(1.5, 0.1 * wide):
        return 0.0
    speed = np.linalg.norm(np.gradient(smooth, t, axis=0), axis=-1)
    moving = speed > max(0.1, 0.1 * float(np.percentile(speed, 90)))
    path = float((speed * np.gradient(t))[moving].sum()) / np.hypot(*size)
    rough = _roughness(t, x) / (0.05 * wide + 0.5)
    spread = float(np.median(np.abs(np.log(area / np.median(area)))))
    contrast = float(np.median([track.blobs[i].contrast for i in own]))
    shade = float(np.mean([track.blobs[i].shade for i in own]))
    travel = extent / np.hypot(*size)
    return float(
        np.sqrt(len(t) * path) * travel * min(extent / wide, 10.0) ** 0.5 / (1 + rough**2) / (1 + (spread / 0.25) ** 2)
        * np.sqrt(contrast) * (1 - 0.7 * shade) * (0.02 + free[moving].mean() if moving.any() else 0.02)
    )  # fmt: skip


def _roughness(t: np.ndarray, x: np.ndarray) -> float:
    """Median distance [px] of a centre from the parabola through its neighbours within three frames."""
    left = []
    for k in range(3, len(t) - 3):
        s = np.r_[k - 3 : k, k + 1 : k + 4]
        if t[s[-1]] - t[s[0]] <= 12:
            left.append(np.linalg.norm(np.polynomial.polynomial.polyfit(t[s] - t[k], x[s], 2)[0] - x[k]))
    return float(np.median(left)) if left else 1.0
