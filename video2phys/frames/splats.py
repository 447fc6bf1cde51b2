"""Trained Gaussians to Frames: something at rest that somebody else reconstructed, upright, with the cameras that came along."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from video2phys.context import Context
from video2phys.frames.capture import Capture
from video2phys.frames.layouts.source import Layout
from video2phys.frames.upright import World, turn_to, upright
from video2phys.render.files.ply import write_splats
from video2phys.render.files.read import read_splats
from video2phys.types import About, Frames, View

FILE = "splats.ply"
USUAL = np.array([0, -1.0, 0])  # up in most files of trained scenes: the first camera's, as structure from motion leaves it


def run(layout: Layout, file: Path, keys: Capture, context: Context) -> Frames:
    """Frames without pictures. Raises BadInput where the file holds no Gaussians that can be drawn."""
    splats, warnings = read_splats(file)
    world = _world(layout, file, keys)
    lenses = {s.name: world.lens(s.lens) for s in layout.scan if s.lens is not None}
    context.folder.mkdir(parents=True, exist_ok=True)
    write_splats(context.folder / FILE, splats.moved(world.turn, world.origin, world.scale), {"source": file.name, "axes": "z up"})
    size = keys.object.size
    about = About(scale="unknown", size=(size[0], size[1], size[2]) if size else None, diameter=keys.object.diameter, mass=keys.object.mass,
                  density=keys.object.density, model=keys.model)  # fmt: skip
    notes = (*layout.notes, f"{len(splats.mean)} Gaussians, {len(lenses)} cameras; {world.how}.",
             "lengths are those of the file, whose unit nothing tells (object.size in capture.yaml gives metres).")  # fmt: skip
    context.progress(1.0, f"{len(splats.mean)} Gaussians")
    return Frames(context.folder, np.zeros(1), (), tuple(View(name, lens.camera(), ("",)) for name, lens in lenses.items()), keys.objects,
                  about, layout.name, notes, (*layout.warnings, *warnings), splats=FILE)  # fmt: skip


def _world(layout: Layout, file: Path, keys: Capture) -> World:
    """The turn to z up, and how it is known: by gravity, a note of ours beside the file, the cameras, or custom."""
    lenses = [s.lens for s in layout.scan if s.lens is not None]
    beside = file.with_suffix(".json")
    turn, how = turn_to(USUAL), "up is taken as -y, as in most files of trained scenes (`gravity:` in capture.yaml tells it)"
    if isinstance(keys.gravity, list) and any(keys.gravity):
        turn, how = turn_to(-np.array(keys.gravity, float)), "up is against the gravity of capture.yaml"
    elif beside.is_file() and "z up" in beside.read_text(errors="replace"):
        turn, how = np.eye(3), f"z is up, as {beside.name} says"
    elif len(lenses) > 1:
        found = upright(lenses)
        turn, how = found.turn, found.how
    return World(turn, np.zeros(3), 1.0, how)
