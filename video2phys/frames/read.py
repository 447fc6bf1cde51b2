"""A recognised layout to clips: every view decoded onto one clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames import decode, sync
from video2phys.frames.capture import Capture
from video2phys.frames.decode import Clip
from video2phys.frames.layouts.source import Layout, Source
from video2phys.frames.probe import Reel, probe
from video2phys.frames.settings import Settings
from video2phys.progress import Progress
from video2phys.types import View

PHOTOS = "Give a video; if these are the frames of one, add `fps:` to capture.yaml."


def read(layout: Layout, keys: Capture, settings: Settings, folder: Path, progress: Progress) -> tuple[list[Clip], list[str], list[str]]:
    """Decode every view of a layout onto one clock. Returns clips, notes and warnings."""
    notes, warnings = list(layout.notes), list(layout.warnings)
    reels = [probe(s.video) if s.video else None for s in layout.sources]
    times = [_times(s, r, keys, layout, notes) for s, r in zip(layout.sources, reels, strict=True)]
    limit = min(settings.max_frames, keys.frames or settings.max_frames)
    time, index = sync.clock(times, settings.start, settings.stop, limit)
    _enough(len(time), max(map(len, times)), settings)
    if len(time) == settings.max_frames and max(map(len, times)) > len(time) and not keys.frames:
        warnings.append(f"only the first {len(time)} frames are read (frames.max_frames); choose others with frames.start and frames.stop.")
    if keys.frames and len(time) < min(keys.frames, limit):
        warnings.append(f"capture.yaml says frames: {keys.frames} and only {len(time)} are there.")
    total = sum(int((i >= 0).sum()) for i in index)
    tick = _counter(total, progress)
    clips = []
    for source, reel, frames in zip(layout.sources, reels, index, strict=True):
        clip, more = decode.write(source, reel, frames, time, folder, settings, tick)
        clips.append(clip)
        warnings += more
        lost = int((frames < 0).sum())
        if lost:
            warnings.append(f"{clip.name} has no frame for {lost} of {len(time)} instants.")
    there = np.flatnonzero([any(c.images[i] for c in clips) for i in range(len(time))])
    _enough(len(there), max(map(len, times)), settings)
    return [c.keep(there) for c in clips], list(dict.fromkeys(notes)), warnings


def stills(sources: tuple[Source, ...], settings: Settings, folder: Path) -> tuple[tuple[View, ...], list[str]]:
    """The stills of a scan, and warnings. Where some come with a mask, those without are left out."""
    views, damaged = [], []
    for source in sources:
        named = replace(source, name=f"scan/{source.name}")
        try:
            clip, _ = decode.write(named, None, np.zeros(1, int), np.zeros(1), folder, settings, lambda: None)
        except BadInput as error:
            damaged.append(error)
            continue
        views.append(View(source.name, clip.camera, clip.images, (clip.masks,) if clip.masks else ()))
    masked = [v for v in views if v.masks]
    bare = len(views) - len(masked) if masked else 0
    views = masked or views
    warnings = [f"{bare} still(s) have neither mask nor alpha and are not used."] if bare else []
    if damaged:
        warnings.append(f"{len(damaged)} photograph(s) cannot be used: {damaged[0]}")
    return tuple(views), warnings


def _times(source: Source, reel: Reel | None, keys: Capture, layout: Layout, notes: list[str]) -> np.ndarray:
    """[s] (N,) true time of each frame of a source."""
    if reel is not None:
        if reel.listed == 0:
            raise BadInput(f"{reel.file} holds no frames.", fix="Copy or record the video again.")
        seconds, note = sync.correct(reel.seconds, keys.fps or layout.fps)
        if not len(reel.stamps) and not keys.fps:
            notes.append(f"{reel.file.name} has no time stamps: a constant rate of {reel.rate or 25:g}/s is assumed.")
    else:
        stated = [s.time for s in source.stills]
        rate = keys.fps or layout.fps
        if all(t is not None for t in stated):
            seconds, note = sync.correct(np.array(stated, float), rate)
        elif rate is not None:
            seconds, note = sync.numbered([s.file.stem for s in source.stills]) / rate, ""
        else:
            folder = source.stills[0].file.parent
            raise BadInput(f"{folder}: {len(stated)} picture(s) and no frame rate; photographs show no motion.", fix=PHOTOS)
        if np.any(np.diff(seconds) <= 0):
            raise BadInput(f"the times of view {source.name} do not increase.", fix="Correct `time` in the layout's file.")
    if note:
        notes.append(note)
    return seconds


def _enough(frames: int, there: int, settings: Settings) -> None:
    if there < 2:
        raise BadInput("the capture holds a single frame, and a motion needs several.", fix="Give a longer clip.")
    if frames < 2:
        raise BadInput(
            f"{frames} of {there} frames can be used, and a motion needs several.",
            fix="Check frames.start and frames.stop, or give a clip that decodes.",
        )


def _counter(total: int, progress: Progress) -> Callable[[], None]:
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        progress(done / max(total, 1), f"decoding, {done} of {total}")

    return tick
