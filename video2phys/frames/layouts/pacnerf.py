"""PAC-NeRF's layout: all_data.json and data/r_{camera}_{frame}.png, y up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.cameras import Lens, pose
from video2phys.frames.capture import Capture
from video2phys.frames.layouts.nerfstudio import METRES, load_json, time_of
from video2phys.frames.layouts.source import Layout, Source, Still

PATTERN = re.compile(r"^[a-z]+_(\d+)_(-?\d+)\.\w+$")
PLATE, OCCLUDER = -1, -2  # frame numbers with a meaning of their own


def read(capture: Path, keys: Capture, up: np.ndarray | None) -> Layout:
    """Raises BadInput when the list or a file name cannot be understood, or no picture is there."""
    file = capture / "all_data.json"
    entries = load_json(file)
    if not isinstance(entries, list) or not entries:
        raise BadInput(f"{file} holds no list of pictures.", fix="Export it again; docs/formats.md shows the layout.")
    lenses: dict[int, Lens] = {}
    stills: dict[int, dict[int, Still]] = {}
    plates: dict[int, Path] = {}
    missing = 0
    for i, entry in enumerate(entries):
        where = f"{file.name}[{i}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("file_path"), str):
            raise BadInput(f"{where}: file_path is missing.", fix="Export it again; docs/formats.md shows the layout.")
        path = capture / entry["file_path"]
        match = PATTERN.match(path.name)
        if match is None:
            raise BadInput(f"{where}: '{path.name}' is not named r_CAMERA_FRAME.png.", fix="Rename the pictures, or use transforms.json.")
        camera, frame = int(match[1]), int(match[2])
        matted = path.with_name(f"a_{camera}_{frame}{path.suffix}")  # the same picture with alpha
        path = next((p for p in (path.with_name(f"r_{camera}_{frame}{path.suffix}"), path, matted) if p.is_file()), None)
        if path is None:
            missing += 1
            continue
        lenses.setdefault(camera, Lens(_intrinsic(entry.get("intrinsic"), where), pose(entry.get("c2w"), where, up)))
        if frame == PLATE:
            plates[camera] = path
        elif frame != OCCLUDER:
            time = time_of(entry, where)
            if time is None and keys.fps is not None:
                time = frame / keys.fps
            stills.setdefault(camera, {})[frame] = Still(path, time, matted if matted.is_file() else None)
    if not stills:
        raise BadInput(f"none of the pictures named in {file} exists.", fix="Put the pictures where file_path says.")
    sources = tuple(
        Source(f"cam{c:02d}", stills=tuple(stills[c][f] for f in sorted(stills[c])), background=plates.get(c), lens=lenses[c])
        for c in sorted(stills)
    )
    notes = [METRES]
    if up is not None:
        notes.append("the capture's world has another axis up and was turned to z up.")
    warnings = [f"{missing} file(s) named in {file.name} are missing and were left out."] if missing else []
    return Layout("PAC-NeRF all_data", sources, notes=tuple(notes), warnings=tuple(warnings))


def _intrinsic(value: Any, where: str) -> np.ndarray:
    try:
        K = np.array(value, float)
    except (TypeError, ValueError):
        K = np.zeros(0)
    if K.shape not in ((3, 3), (3, 4), (4, 4)) or not np.all(np.isfinite(K)) or K[0, 0] <= 0:
        raise BadInput(f"{where}: intrinsic is not a 3x3 matrix.", fix="Give [[fx, 0, cx], [0, fy, cy], [0, 0, 1]] in pixels.")
    return K[:3, :3]
