"""What every layout reader returns: cameras with the files of their pictures, nothing decoded yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from video2phys.frames.cameras import Lens

VIDEOS = frozenset(
    ".mp4 .mov .avi .mkv .webm .m4v .mpg .mpeg .mts .m2ts .ts .3gp .wmv .flv .ogv .gif .hevc .h264 .265 .264 .ivf .y4m".split()
)
PICTURES = frozenset(".png .jpg .jpeg .bmp .tif .tiff .webp .ppm .pgm".split())


@dataclass(frozen=True)
class Still:
    """One picture of a camera."""

    file: Path
    time: float | None = None  # [s]
    mask: Path | None = None


@dataclass(frozen=True)
class Source:
    """One camera: a video, or stills in order."""

    name: str
    video: Path | None = None
    stills: tuple[Still, ...] = ()
    mask_video: Path | None = None
    mask_files: tuple[Path, ...] = ()  # one per frame of the video, where masks are pictures
    background: Path | None = None  # picture of the empty scene
    lens: Lens | None = None  # None = motion parallel to the image


@dataclass(frozen=True)
class Tracks:
    """Measured tracks as a file gives them: T instants of O objects."""

    file: Path
    time: np.ndarray | None  # [s] (T,); None = only frames are numbered
    frame: np.ndarray | None  # (T,)
    objects: tuple[str, ...]  # names
    # (T, O) each, NaN = not seen: u, v [px] | x, y, z [m] | angle [rad] | qw, qx, qy, qz | sigma [px or m] | turn_sigma [rad]
    columns: dict[str, np.ndarray]


@dataclass(frozen=True)
class Layout:
    """A capture as its files describe it."""

    name: str
    sources: tuple[Source, ...]
    scan: tuple[Source, ...] = ()  # one still each; without `sources`, a capture of something at rest
    fps: float | None = None  # [1/s] that the layout states
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metric: bool = True  # whether the world is upright and in metres, as far as the layout tells
    points: np.ndarray | None = None  # [length unit] (N, 3) sparse points, where the layout has some
    points_colour: np.ndarray | None = None  # (N, 3) uint8
    tracks: Tracks | None = None  # instead of pictures
    splats: Path | None = None  # file of trained Gaussians, instead of pictures


def is_video(file: Path) -> bool:
    return file.suffix.lower() in VIDEOS


def is_picture(file: Path) -> bool:
    return file.suffix.lower() in PICTURES


def natural(file: Path | str) -> list[tuple[int, int, str]]:
    """Sort key that puts frame 2 before frame 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(file)) if part]


def visible(folder: Path) -> list[Path]:
    """Entries of a folder in natural order, without hidden ones."""
    return sorted((p for p in folder.iterdir() if not p.name.startswith(".")), key=lambda p: natural(p.name))
