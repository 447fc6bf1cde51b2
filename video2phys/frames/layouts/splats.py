"""Trained Gaussians: a .ply or .splat file, or what the training of 3D Gaussian Splatting leaves behind, with its cameras."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.cameras import Lens
from video2phys.frames.layouts import folder
from video2phys.frames.layouts.source import Layout, Source, natural, visible

ENDINGS = (".ply", ".splat")


def find(capture: Path) -> Path | None:
    """The file of Gaussians that the capture is or holds, or None: the last iteration of a training, or the only file
    in a folder without pictures."""
    if capture.is_file():
        return capture if capture.suffix.lower() in ENDINGS else None
    trained = sorted(capture.glob("point_cloud/iteration_*/point_cloud.ply"), key=natural)
    if trained:
        return trained[-1]
    files = [p for p in visible(capture) if p.is_file() and p.suffix.lower() in ENDINGS]
    described = any(capture.glob("transforms*.json")) or (capture / "all_data.json").is_file()  # then the file may hold sparse points
    return files[0] if len(files) == 1 and not (described or folder.holds_video(capture) or folder.holds_pictures(capture)) else None


def read(file: Path) -> Layout:
    """Gaussians, and cameras where cameras.json lies beside them or above their iteration. Raises BadInput for one that is damaged."""
    homes = (file.parent, *file.parents[1:3]) if file.parent.name.startswith("iteration_") else (file.parent,)
    cameras = next((p / "cameras.json" for p in homes if (p / "cameras.json").is_file()), None)
    return Layout("trained Gaussians", (), () if cameras is None else _cameras(cameras), metric=False, splats=file)


def _cameras(file: Path) -> tuple[Source, ...]:
    """cameras.json: centre and camera-to-world rotation, OpenCV axes, in the world of the Gaussians; the principal point is the middle."""
    try:
        found = [(str(c["img_name"]), int(c["width"]), int(c["height"]), float(c["fx"]), float(c["fy"]), np.array(c["rotation"], float),
                  np.array(c["position"], float)) for c in json.loads(file.read_text())]  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{file} does not hold the cameras of trained Gaussians: {error!r}", fix="Mend it, or leave it out.") from error
    sources = []
    for name, width, height, fx, fy, R, centre in found:
        if R.shape != (3, 3) or centre.shape != (3,) or not np.allclose(R @ R.T, np.eye(3), atol=1e-3):
            raise BadInput(f"{file}: the pose of {name} is no rotation and centre.", fix="Mend it, or leave the file out.")
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = R.T, -R.T @ centre
        K = np.array([[fx, 0, width / 2], [0, fy, height / 2], [0, 0, 1.0]])
        sources.append(Source(name.replace("/", "_"), lens=Lens(K, pose, (width, height))))
    return tuple(sources)
