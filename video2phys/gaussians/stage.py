"""Reconstruct each object: several views by hull and training, photographs without masks as a scene, one view or a track as a solid;
trained Gaussians are taken as they are."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from video2phys.context import Context
from video2phys.gaussians.hollow import hollow
from video2phys.gaussians.settings import Settings
from video2phys.gaussians.size import metric
from video2phys.types import Frames, Gaussians


def run(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """Frames to Gaussians. Raises BadInput where no frame shows the object whole, or particles are too coarse for its wall."""
    found: Gaussians = import_module(f"video2phys.gaussians.{way(frames)}").reconstruct(frames, settings, context)
    if not frames.views and frames.tracks is None and frames.about.scale == "unknown":
        found = metric(found, frames.about)
    if settings.wall is None:
        return found
    note = f"hollow: a wall of {settings.wall:.3g} {found.unit} was given; no picture shows it."
    return replace(found, bodies=tuple(hollow(body, settings.wall) for body in found.bodies), notes=(*found.notes, note))


def way(frames: Frames) -> str:
    """Which module reconstructs: standin, trained, scene, several or primitive."""
    if frames.tracks is not None:
        return "standin"
    if frames.splats:
        return "trained"
    if frames.scan:
        return "several" if frames.scan[0].masks else "scene"
    return "several" if len(frames.views) > 1 and frames.views[0].camera.model == "perspective" else "primitive"
