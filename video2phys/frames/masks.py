"""Find the moving object(s) in every view: given masks as they are, else departure from the scene, followed through time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from video2phys import store
from video2phys.errors import BadInput
from video2phys.frames import background as scene
from video2phys.frames import regions
from video2phys.frames.drift import drift
from video2phys.frames.follow import Blob, Track, find_blobs, link, rank
from video2phys.frames.refine import soften
from video2phys.frames.settings import Settings
from video2phys.progress import Progress, silent
from video2phys.types import Seen

if TYPE_CHECKING:
    from video2phys.frames.decode import Clip


@dataclass(frozen=True)
class Masked:
    """The object(s) of one view."""

    masks: tuple[tuple[str, ...], ...]  # per object, file per frame relative to the clip's folder, "" = empty
    seen: np.ndarray  # (T, O) of Seen
    background: str  # picture of the scene without the object, or ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def segment(clips: list[Clip], objects: int, settings: Settings, progress: Progress = silent) -> list[Masked]:
    """Masks of `objects` moving things in every view. Raises BadInput where nothing moves or fewer things than asked for are found."""
    result = []
    for number, clip in enumerate(clips):

        def tick(share: float, text: str = "", number: int = number) -> None:
            progress((number + share) / len(clips), text)

        given = any(clip.masks) and objects == 1
        result.append(_given(clip) if given else _found(clip, objects, settings, tick))
    return result


def _given(clip: Clip) -> Masked:
    seen = np.full((len(clip.time), 1), Seen.ABSENT, int)
    for i, file in enumerate(clip.masks):
        mask = clip.given(i) if file else None
        if mask is not None and (mask > 0.5).sum() >= 4:
            seen[i, 0] = Seen.CLIPPED if _at_border(mask > 0.5) else Seen.WHOLE
    if not (seen != Seen.ABSENT).any():
        raise BadInput(f"the masks given for view {clip.name} are empty.", fix="Check the mask files: the object must be bright.")
    files = tuple(file if seen[i, 0] != Seen.ABSENT else "" for i, file in enumerate(clip.masks))
    return Masked((files,), seen, clip.background)


def _at_border(mask: np.ndarray) -> bool:
    return bool(mask[:2].any() or mask[-2:].any() or mask[:, :2].any() or mask[:, -2:].any())


def _found(clip: Clip, objects: int, settings: Settings, tick: Callable[..., None]) -> Masked:
    present = [i for i, file in enumerate(clip.images) if file]
    if len(present) < 4:
        raise BadInput(f"view {clip.name} has only {len(present)} pictures.", fix="Give a clip of at least four frames.")
    plate = clip.plate()
    tick(0.0, f"scene of {clip.name}")
    warp = drift(lambda k: clip.image(present[k]), len(present), plate)
    empty = scene.estimate(lambda k: clip.image(present[k]), len(present), plate=plate, warp=warp)
    blobs: list[list[Blob]] = []
    for k, i in enumerate(present):
        image = clip.image(i)
        given = clip.given(i)
        deviation, shaded = scene.foreground(image, empty, k) if given is None else (100.0 * given, np.zeros(given.shape, bool))
        blobs.append(find_blobs(image, deviation, shaded))
        if k % 20 == 0:
            tick(0.2 + 0.5 * k / len(present), f"looking for what moves in {clip.name}")
    size = (clip.camera.width, clip.camera.height)
    ranked = rank(link(blobs), size, placed=plate is not None)
    tracks = _pick([track for _, track in ranked], objects)
    if len(tracks) < objects:
        what = "nothing moves" if not tracks else f"only {len(tracks)} thing(s) move, {objects} are wanted"
        raise BadInput(
            f"{what} in view {clip.name}.",
            fix="The camera must stand still and the object must move by more than its noise; give masks, or set objects in capture.yaml.",
        )
    warnings = []
    if warp is not None:
        far = float(np.abs(warp - np.eye(2, 3)).max(0)[:, 2].max())
        warnings.append(
            f"view {clip.name}: the camera moves by up to {far:.1f} px; masks allow for it, positions are the picture's. Use a tripod."
        )
    if len(ranked) > objects and ranked[objects][0] > 0.5 * ranked[objects - 1][0]:
        warnings.append(
            f"view {clip.name}: another thing moves much like the object; masks or objects in capture.yaml would settle which is meant"
        )
    masks, seen = _write(clip, present, tracks, blobs, empty, tick)
    picture = clip.background or f"{clip.name}/background.png"
    if not clip.background:
        store.write_image(clip.folder / picture, np.clip(empty.colour, 0, 255).round().astype(np.uint8))
    return Masked(masks, seen, picture, warnings=tuple(warnings))


def _pick(tracks: list[Track], objects: int) -> list[Track]:
    """The best track, and the best others that are seen while it is."""
    chosen = tracks[:1]
    for track in tracks[1:]:
        if len(chosen) < objects and all(len(set(track.frames) & set(other.frames)) >= 4 for other in chosen):
            chosen.append(track)
    return chosen[:objects]


def _write(
    clip: Clip, present: list[int], tracks: list[Track], blobs: list[list[Blob]], empty: scene.Background, tick: Callable[..., None]
) -> tuple[tuple[tuple[str, ...], ...], np.ndarray]:
    """Refine and write the masks; returns the files per object and frame and Seen (T, O)."""
    files = [[""] * len(clip.time) for _ in tracks]
    seen = np.full((len(clip.time), len(tracks)), Seen.ABSENT, int)
    at = [{f: j for j, f in enumerate(track.frames)} for track in tracks]
    for k, i in enumerate(present):
        if not any(k in index for index in at):
            continue
        image = clip.image(i)
        for o, track in enumerate(tracks):
            if k not in at[o]:
                continue
            j = at[o][k]
            seen[i, o] = Seen.WHOLE if _whole(track, j, blobs[k]) else Seen.CLIPPED
            mask = _refined(image, empty, k, track, j)
            files[o][i] = f"{clip.name}/mask{o}_{i:05d}.png"
            store.write_image(clip.folder / files[o][i], (255 * mask).round().astype(np.uint8))
        if k % 20 == 0:
            tick(0.7 + 0.3 * k / len(present), f"outlines in {clip.name}")
    return tuple(tuple(f) for f in files), seen


def _whole(track: Track, j: int, here: list[Blob]) -> bool:
    """Whether the outline in the track's j-th frame is the object's own: off the border, by itself, of the usual size."""
    blob = track.blobs[j]
    if blob.border or track.frames[j] in track.merged:
        return False
    near = [
        b.area
        for b, f in zip(track.blobs[max(0, j - 7) : j + 8], track.frames[max(0, j - 7) : j + 8], strict=True)
        if f not in track.merged
    ]
    return abs(np.log(blob.area / np.median(near))) < np.log(1.4) and not any(
        _touch(blob, b) for b in here if b is not blob and b.shade < 0.5 and b.area > 0.1 * blob.area
    )


def _touch(a: Blob, b: Blob, reach: int = 2) -> bool:
    """Whether the boxes, then the masks of two blobs come within `reach` pixels."""
    for axis in (0, 1):
        if a.corner[axis] > b.corner[axis] + b.mask.shape[axis] + reach or b.corner[axis] > a.corner[axis] + a.mask.shape[axis] + reach:
            return False
    grown = regions.grow(np.pad(a.mask, reach + 1), reach + 1)
    y, x = np.nonzero(b.mask)
    y, x = y + b.corner[0] - a.corner[0] + reach + 1, x + b.corner[1] - a.corner[1] + reach + 1
    inside = (y >= 0) & (x >= 0) & (y < grown.shape[0]) & (x < grown.shape[1])
    return bool(grown[y[inside], x[inside]].any())


def _refined(image: np.ndarray, empty: scene.Background, frame: int, track: Track, j: int) -> np.ndarray:
    """Mask with soft edges, (H, W) float32 in 0..1."""
    blob = track.blobs[j]
    full = np.zeros(image.shape[:2], np.float32)
    y0, x0 = max(blob.corner[0] - 6, 0), max(blob.corner[1] - 6, 0)
    window = (slice(y0, blob.corner[0] + blob.mask.shape[0] + 6), slice(x0, blob.corner[1] + blob.mask.shape[1] + 6))
    mask = np.zeros_like(full[window], bool)
    r, c = blob.corner[0] - y0, blob.corner[1] - x0
    mask[r : r + blob.mask.shape[0], c : c + blob.mask.shape[1]] = blob.mask
    if track.frames[j] in track.merged:
        mask &= _own_disc(track, j, mask, (y0, x0))
        full[window] = mask
        return full
    colour, noise, known, _ = empty.at(frame)
    light = scene.gain(image, colour)
    full[window] = soften(image[window].astype(np.float32), colour[window] * light, noise[window], mask, known[window])
    return full


def _own_disc(track: Track, j: int, mask: np.ndarray, corner: tuple[int, int]) -> np.ndarray:
    """Disc of the object's width about the place interpolated from the frames in which it is by itself."""
    own = [m for m, f in enumerate(track.frames) if f not in track.merged]
    frames = [track.frames[m] for m in own]
    x, y = (np.interp(track.frames[j], frames, [track.blobs[m].center[axis] for m in own]) for axis in (0, 1))
    radius = float(np.median([track.blobs[m].width for m in own])) / 2
    rows, columns = np.mgrid[: mask.shape[0], : mask.shape[1]]
    return np.hypot(columns + corner[1] + 0.5 - x, rows + corner[0] + 0.5 - y) <= radius
