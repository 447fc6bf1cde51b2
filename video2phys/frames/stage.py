"""From a capture folder to Frames: recognise, decode, put on one clock, find the object, settle the scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from video2phys.context import Context
from video2phys.frames import cameras, capture, masks, scale, splats, still, tracks
from video2phys.frames.about import about, up_axis
from video2phys.frames.layouts.recognise import recognise
from video2phys.frames.read import read, stills
from video2phys.frames.settings import Settings
from video2phys.progress import Progress
from video2phys.types import Camera, Frames, View


def run(folder: Path, settings: Settings, context: Context) -> Frames:
    """Read the capture at `folder` (or one file: video, tracks, trained Gaussians) and write its pictures and masks into context.folder.

    Raises BadInput, with a remedy, for anything that is not a capture of a moving object.
    """
    keys = capture.read(folder, settings.capture_yaml)
    turns: list[np.ndarray | None] = []

    def up(usual: str) -> np.ndarray | None:
        turns.append(cameras.to_z_up(up_axis(keys, usual)))
        return turns[-1]

    layout = recognise(folder, keys, up)
    if layout.tracks is not None:
        return tracks.run(layout, layout.tracks, keys, settings, context)
    if layout.splats is not None:
        return splats.run(layout, layout.splats, keys, context)
    if not layout.sources:
        return still.run(layout, keys, settings, context)
    clips, notes, warnings = read(layout, keys, settings, context.folder, _part(context.progress, 0.0, 0.5))
    planar = clips[0].camera.model == "orthographic"
    told, more_notes, more_warnings = about(keys, planar, turns[-1] if turns and not planar else None, clips[0].zoom)
    found = masks.segment(clips, keys.objects, settings, _part(context.progress, 0.5, 0.95))
    told, scale_notes, scale_warnings = scale.resolve(told, clips, found)
    views = tuple(
        View(c.name, _scaled(c.camera, told.px_per_m), c.images, m.masks, m.seen, m.background) for c, m in zip(clips, found, strict=True)
    )
    scan, scan_warnings = stills(layout.scan, settings, context.folder)
    notes += [*more_notes, *scale_notes, *(n for m in found for n in m.notes)]
    warnings += [*more_warnings, *scale_warnings, *scan_warnings, *(w for m in found for w in m.warnings)]
    context.progress(1.0, f"{len(views)} view(s), {len(clips[0].time)} frames")
    return Frames(context.folder, clips[0].time, views, scan, keys.objects, told, layout.name, tuple(notes), tuple(warnings))


def _scaled(camera: Camera, px_per_m: float | None) -> Camera:
    """A planar camera with its scale, where one is known."""
    if camera.model == "perspective" or px_per_m is None:
        return camera
    return Camera.planar(camera.width, camera.height, px_per_m)


def _part(progress: Progress, first: float, last: float) -> Progress:
    """Progress of one part of the stage."""

    def report(share: float, text: str = "") -> None:
        progress(first + (last - first) * share, text)

    return report
