"""Which layout a capture has, judged by what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.capture import Capture
from video2phys.frames.layouts import colmap, folder, nerfstudio, pacnerf, splats, tracks
from video2phys.frames.layouts.source import Layout

FOREIGN = {  # a file that betrays a layout which is not read, and its name
    "calibrate.pkl": "PhysTwin",
    "camera.json": "Spring-Gaus",
    "dynamic": "Spring-Gaus",
}


def recognise(capture: Path, keys: Capture, up: Callable[[str], np.ndarray | None]) -> Layout:
    """The layout of `capture`, a folder, or one file of video, tracks or trained Gaussians. `up` gives the turn
    to z up for a layout's own up axis.

    Raises BadInput for a folder that holds nothing to read, or a layout that is known and not read.
    """
    layout = _read(capture, keys, up)
    home = capture.parent if capture.is_file() else capture
    sources = tuple(
        replace(s, name=re.sub(r"[^\w.-]|^\.+", "_", s.name), background=s.background or folder.background(home, keys, s.name))
        for s in layout.sources
    )  # names become folders of the run
    scan = tuple(replace(s, name=re.sub(r"[^\w.-]|^\.+", "_", s.name)) for s in layout.scan)
    return replace(layout, sources=sources, scan=scan)


def _read(capture: Path, keys: Capture, up: Callable[[str], np.ndarray | None]) -> Layout:
    if (table := tracks.find(capture, keys)) is not None:
        return tracks.read(table)
    if (trained := splats.find(capture)) is not None:
        return splats.read(trained)
    if capture.is_file():
        return folder.single(capture, keys, up("z"))
    if (capture / "transforms.json").is_file():
        return nerfstudio.read(capture, keys, up("z"))
    if (capture / "all_data.json").is_file():
        return pacnerf.read(capture, keys, up("y"))
    if any(capture.glob("transforms_*.json")):
        return nerfstudio.read(capture, keys, up("z"))
    if keys.video is None and keys.videos is None and not folder.holds_video(capture):
        if colmap.model(capture):
            return colmap.read(capture)
        for file, name in FOREIGN.items():
            if (capture / file).exists():
                raise BadInput(
                    f"{capture} looks like {name} ({file}), a layout that is not read.",
                    fix="Give videos, or transforms.json as nerfstudio writes it (docs/formats.md).",
                )
    return folder.read(capture, keys, up("z"))
