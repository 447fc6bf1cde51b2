"""Cameras and sparse points from photographs alone, by COLMAP's incremental structure from motion (through pycolmap)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from video2phys import store
from video2phys.errors import BadInput
from video2phys.frames.cameras import Lens
from video2phys.frames.settings import Settings
from video2phys.progress import Progress

if TYPE_CHECKING:
    import pycolmap

FEW = 3  # photographs from which a reconstruction can be tried
EXHAUSTIVE = 150  # photographs up to which every pair is matched
NEIGHBOURS = 12  # photographs before and after that each one is matched with, in order of name
REMEDY = "Take photographs that overlap by 70 % or more, in steps of at most 15 degrees, sharp and of something with texture."
LENSES = {  # COLMAP's camera models as fx, fy, cx, cy and k1, k2, p1, p2, k3
    "SIMPLE_PINHOLE": (0, 0, 1, 2),
    "PINHOLE": (0, 1, 2, 3),
    "SIMPLE_RADIAL": (0, 0, 1, 2, 3),
    "RADIAL": (0, 0, 1, 2, 3, 4),
    "OPENCV": (0, 1, 2, 3, 4, 5, 6, 7),
}


@dataclass(frozen=True)
class Poses:
    """What structure from motion found."""

    lenses: dict[str, Lens]  # per registered photograph, by name
    points: np.ndarray  # [length unit] (N, 3)
    colour: np.ndarray  # (N, 3) uint8
    error: float  # [px] mean reprojection error


def estimate(photographs: dict[str, np.ndarray], settings: Settings, seed: int, folder: Path, progress: Progress,
             focal: float | None = None) -> Poses:  # fmt: skip
    """Poses of upright photographs (H, W, 3) uint8 by name. The world is COLMAP's: unknown scale, any axes.

    focal: [px] known focal length, held fixed. Works in `folder`, which is removed. Raises BadInput, with a remedy, where fewer than FEW
    photographs can be brought together.
    """

    if len(photographs) < FEW:
        raise BadInput(f"{len(photographs)} photograph(s): poses need {FEW} or more.", fix=REMEDY)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for name, image in photographs.items():
            store.write_image(folder / "images" / f"{name}.png", image)
        models = _map(folder, next(iter(photographs.values())).shape[1::-1], settings, seed, progress, focal)
        if not models:
            raise BadInput(f"the {len(photographs)} photographs cannot be brought together: too few points match.", fix=REMEDY)
        best = max(models.values(), key=lambda m: m.num_reg_images())
        if best.num_reg_images() < FEW:
            raise BadInput(f"only {best.num_reg_images()} of {len(photographs)} photographs can be brought together.", fix=REMEDY)
        return read(best)
    except (RuntimeError, ValueError) as error:  # what pycolmap raises
        raise BadInput(f"the photographs cannot be brought together: {error}", fix=REMEDY) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _map(folder: Path, size: tuple[int, int], settings: Settings, seed: int, progress: Progress, focal: float | None) -> dict[int, Any]:
    import pycolmap

    pycolmap.logging.minloglevel = 3
    pycolmap.set_random_seed(seed)
    database, images = folder / "database.db", folder / "images"
    mode = pycolmap.CameraMode.SINGLE if settings.shared_intrinsics else pycolmap.CameraMode.PER_IMAGE
    reader = pycolmap.ImageReaderOptions(camera_model=settings.lens)
    if focal is not None:
        count = len(pycolmap.Camera.create_from_model_name(1, settings.lens, focal, *size).params)
        middle = (size[0] / 2, size[1] / 2)
        start = (focal, focal, *middle) if settings.lens in ("PINHOLE", "OPENCV") else (focal, *middle)
        reader.camera_params = ",".join(map(str, (*start, *(0.0,) * (count - len(start)))))
    progress(0.05, f"{len(list(images.iterdir()))} photographs: looking for features")
    pycolmap.extract_features(database, images, camera_mode=mode, reader_options=reader, device=pycolmap.Device.cpu)
    exhaustive = settings.matching == "exhaustive" or (settings.matching == "auto" and len(list(images.iterdir())) <= EXHAUSTIVE)
    progress(0.3, "matching every pair" if exhaustive else "matching neighbours")
    if exhaustive:
        pycolmap.match_exhaustive(database, device=pycolmap.Device.cpu)
    else:
        pairing = pycolmap.SequentialPairingOptions(overlap=NEIGHBOURS)
        pycolmap.match_sequential(database, pairing_options=pairing, device=pycolmap.Device.cpu)
    options = pycolmap.IncrementalPipelineOptions(random_seed=seed, min_model_size=FEW, ba_refine_focal_length=focal is None)
    progress(0.8, "finding the cameras")
    return pycolmap.incremental_mapping(database, images, folder, options=options)


def read(model: pycolmap.Reconstruction) -> Poses:
    """Lenses by name (without suffix) and points of a COLMAP model. Raises BadInput for a camera model that cannot be undistorted."""
    lenses = {}
    for image in model.images.values():
        if not image.has_pose:
            continue
        pose = np.eye(4)
        pose[:3] = image.cam_from_world().matrix()
        lenses[image.name] = _lens(model.cameras[image.camera_id], pose)
    points = list(model.points3D.values())
    where = np.array([p.xyz for p in points]).reshape(-1, 3)
    colour = np.array([p.color for p in points], np.uint8).reshape(-1, 3)
    return Poses({Path(name).with_suffix("").as_posix(): lens for name, lens in lenses.items()}, where, colour,
                 float(model.compute_mean_reprojection_error()))  # fmt: skip


def _lens(camera: pycolmap.Camera, pose: np.ndarray) -> Lens:
    name = camera.model.name
    if name not in LENSES:
        raise BadInput(f"COLMAP camera model {name} is not supported.", fix="Undistort the pictures with COLMAP's image_undistorter first.")
    fx, fy, cx, cy, *distortion = (float(camera.params[i]) for i in LENSES[name])
    K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]])
    return Lens(K, pose, (camera.width, camera.height), (*distortion, *(0.0,) * (5 - len(distortion))))
