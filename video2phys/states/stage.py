"""Measure the motion: choose the kind of state that the cameras and the object allow, and hand over to its tracker."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.states.settings import Settings
from video2phys.types import Frames, Gaussians, Seen, StateTrack


def run(frames: Frames, gaussians: Gaussians, settings: Settings, context: Context) -> StateTrack:
    """Frames and the reconstruction to a StateTrack of the chosen kind. Raises BadInput where the object is nowhere whole."""
    if frames.tracks is not None:
        if settings.kind not in ("auto", frames.tracks.kind):
            raise BadInput(f"the tracks measure states of kind {frames.tracks.kind}.", fix="Leave states.kind at auto for measured tracks.")
        return frames.tracks
    if not frames.views:
        raise BadInput("the capture shows something at rest: there is no motion to measure.", fix="Stop before it, with --until gaussians.")
    kind = choose(frames, settings)
    if settings.method == "risp" and kind in ("centroid", "planar"):
        raise BadInput(
            "the rendering-invariant network needs a calibrated camera.", fix="Use states.method=photometric for planar captures."
        )
    module = "risp.stage" if settings.method == "risp" else "planar" if kind == "centroid" else kind
    chosen = settings.model_copy(update={"kind": kind})
    return import_module(f"video2phys.states.{module}").track(frames, gaussians, chosen, context)


def choose(frames: Frames, settings: Settings) -> str:
    """The kind of state: as set, or planar for orthographic cameras, pose for rigid or single-view captures, affine for soft bodies."""
    if settings.kind != "auto":
        return settings.kind
    if frames.views[0].camera.model == "orthographic":
        return "centroid" if width_px(frames) < settings.centroid_below_px else "planar"
    return "pose" if len(frames.views) == 1 or frames.about.model == "rigid" else "affine"


def width_px(frames: Frames) -> float:
    """Median width [px] of the narrowest object in the first view, as the diameter of the disc of equal area."""
    seen = frames.views[0].seen
    widths = []
    for obj in range(frames.objects):
        whole = np.flatnonzero(seen[:, obj] == Seen.WHOLE) if seen is not None else np.arange(len(frames.time))
        area = [float(frames.mask(0, int(k), obj).sum()) for k in whole[:: max(1, len(whole) // 15)]]
        widths.append(2 * np.sqrt(np.median(area) / np.pi) if area else 0.0)
    return float(min(widths))
