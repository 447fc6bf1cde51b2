"""Any splat file to Gaussians that can be drawn."""

from __future__ import annotations

from pathlib import Path

from video2phys.errors import BadInput
from video2phys.render.files import dotsplat, ply
from video2phys.render.files.splats import Splats, sound

WRITERS = {"ply": ply.write_splats, "splat": dotsplat.write_splat}


def read_splats(file: Path) -> tuple[Splats, tuple[str, ...]]:
    """Gaussians of a 3DGS PLY or a .splat file, and warnings that count what was dropped or changed. Raises BadInput."""
    suffix = file.suffix.lower()
    if suffix not in (".ply", ".splat"):
        raise BadInput(f"{file.name} is no splat file that is read.", fix="Give a .ply or a .splat file.")
    found, warnings = sound(ply.read_splats(file) if suffix == ".ply" else dotsplat.read_splat(file))
    if not len(found.mean):
        raise BadInput(f"{file.name} holds no Gaussian that can be drawn.", fix="Give another splat file.")
    return found, warnings
