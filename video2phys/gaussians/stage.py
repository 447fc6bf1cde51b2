"""Reconstruct each object: from several views by hull and training, from one view as a simple solid."""

from __future__ import annotations

from importlib import import_module

from video2phys.context import Context
from video2phys.gaussians.settings import Settings
from video2phys.types import Frames, Gaussians


def run(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """Frames to Gaussians. Raises BadInput where no frame shows the object whole."""
    several = bool(frames.scan) or (len(frames.views) > 1 and frames.views[0].camera.model == "perspective")
    return import_module(f"video2phys.gaussians.{'several' if several else 'primitive'}").reconstruct(frames, settings, context)
