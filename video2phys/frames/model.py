"""COLMAP's cameras and models as lenses and points, and lenses as COLMAP's cameras."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.cameras import Lens, Projection

if TYPE_CHECKING:
    import pycolmap

BROWN = {  # COLMAP's camera models as fx, fy, cx, cy and k1, k2, p1, p2
    "SIMPLE_PINHOLE": (0, 0, 1, 2),
    "PINHOLE": (0, 1, 2, 3),
    "SIMPLE_RADIAL": (0, 0, 1, 2, 3),
    "RADIAL": (0, 0, 1, 2, 3, 4),
    "OPENCV": (0, 1, 2, 3, 4, 5, 6, 7),
}


@dataclass(frozen=True)
class Poses:
    """Cameras and sparse points, in the world of the model."""

    lenses: dict[str, Lens]  # per registered photograph, by name
    points: np.ndarray  # [length unit] (N, 3)
    colour: np.ndarray  # (N, 3) uint8
    error: float  # [px] mean reprojection error


def read(model: pycolmap.Reconstruction, names: dict[str, str] | None = None) -> Poses:
    """Lenses of the pictures with a pose, and points. names: of the photographs by file; None = the file without its suffix.

    Raises BadInput for a camera that no pinhole camera can stand for.
    """
    lenses = {}
    for image in model.images.values():
        if not image.has_pose:
            continue
        pose = np.eye(4)
        pose[:3] = image.cam_from_world().matrix()
        name = names[image.name] if names is not None else Path(image.name).with_suffix("").as_posix()
        lenses[name] = lens_of(model.cameras[image.camera_id], pose)
    points = list(model.points3D.values())
    where = np.array([p.xyz for p in points]).reshape(-1, 3)
    colour = np.array([p.color for p in points], np.uint8).reshape(-1, 3)
    return Poses(lenses, where, colour, float(model.compute_mean_reprojection_error()))


def lens_of(camera: pycolmap.Camera, pose: np.ndarray) -> Lens:
    """The lens of a COLMAP camera with world-to-camera `pose` (4, 4); pixel centres are at +0.5 in both conventions.

    Raises BadInput for panoramas.
    """
    name, size = camera.model.name, (camera.width, camera.height)
    if camera.is_spherical():
        raise BadInput(f"COLMAP camera model {name} sees all around.", fix="Cut the pictures into perspective ones first.")
    if name in BROWN:
        fx, fy, cx, cy, *distortion = (float(camera.params[i]) for i in BROWN[name])
        K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]])
        return Lens(K, pose, size, (*distortion, *(0.0,) * (5 - len(distortion))))
    K = np.array([[camera.focal_length_x, 0, camera.principal_point_x], [0, camera.focal_length_y, camera.principal_point_y], [0, 0, 1.0]])
    return Lens(K, pose, size, projection=Projection(name, tuple(map(float, camera.params)), size))


def params_of(lens: Lens) -> tuple[str, tuple[float, ...]]:
    """COLMAP's name and parameters of a lens, for pictures of `lens.size`."""
    assert lens.size is not None
    if lens.projection is not None:
        return lens.projection.model, tuple(map(float, lens.projection.camera(lens.size).params))
    k1, k2, p1, p2, k3 = lens.distortion
    pinhole = (float(lens.K[0, 0]), float(lens.K[1, 1]), float(lens.K[0, 2]), float(lens.K[1, 2]))
    if k3:
        return "FULL_OPENCV", (*pinhole, k1, k2, p1, p2, k3, 0.0, 0.0, 0.0)
    return "OPENCV", (*pinhole, k1, k2, p1, p2)
