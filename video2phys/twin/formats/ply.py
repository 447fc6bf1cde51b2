"""The look (3DGS PLY) and the matter (points PLY) of a body, in its body frame, with the pose in the JSON beside them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.render.files.ply import read_points, read_splats, write_points, write_splats
from video2phys.render.files.splats import Splats
from video2phys.types import Body, TwinFile


def convention(body: Body, unit: str) -> dict[str, Any]:
    """Axes, unit and pose: world = rotation x + position."""
    return {
        "unit": unit, "axes": "right-handed; the world has z up", "frame": "body; origin at the volume centroid",
        "pose": {"frame_of_video": body.reference_frame, "position": body.position.tolist(), "rotation_wxyz": body.rotation.tolist()},
    }  # fmt: skip


def gaussians(folder: Path, name: str, body: Body, unit: str) -> TwinFile:
    """Write the Gaussians and compare what is read back: float32 keeps seven digits."""
    splats = Splats(body.mean, body.quaternion, body.scale, body.opacity, body.harmonics)
    write_splats(folder / f"{name}.ply", splats, convention(body, unit))
    back = read_splats(folder / f"{name}.ply")
    same = all(np.allclose(getattr(back, f.name), getattr(splats, f.name), rtol=1e-4, atol=1e-5 * _size(body)) for f in fields(Splats))
    return TwinFile(f"{name}.ply", "3DGS PLY", "reads back to the same Gaussians", same)


def particles(folder: Path, name: str, body: Body, density: np.ndarray, unit: str) -> TwinFile:
    """Write the filled solid with volume and density per particle, and compare what is read back."""
    write_points(folder / f"{name}.ply", body.particle, {"volume": body.volume, "density": density}, convention(body, unit))
    points, values = read_points(folder / f"{name}.ply")
    same = np.allclose(points, body.particle, atol=1e-5 * _size(body)) and np.allclose(values["volume"], body.volume, rtol=1e-5)
    return TwinFile(f"{name}.ply", "PLY", "reads back to the same points and volumes", bool(same))


def _size(body: Body) -> float:
    return float(np.abs(body.particle).max()) if len(body.particle) else 1.0
