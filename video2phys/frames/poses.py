"""Cameras and sparse points from photographs alone (incremental structure from motion, through pycolmap), and points from given cameras."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames import matching
from video2phys.frames.capture import CameraKeys
from video2phys.frames.layouts.source import Source
from video2phys.frames.matching import Photograph
from video2phys.frames.model import Poses, read
from video2phys.frames.settings import Settings
from video2phys.progress import Progress

if TYPE_CHECKING:
    import pycolmap

FEW = 3  # photographs from which a reconstruction can be tried
SCATTER = 0.5  # [px] of a feature's place: residuals well above it hardly count in the last adjustment
REMEDY = "Take photographs that overlap by 70 % or more, in steps of at most 15 degrees, sharp and of something with texture"


def estimate(
    sources: Sequence[Source],
    settings: Settings,
    seed: int,
    folder: Path,
    progress: Progress,
    camera: CameraKeys | None = None,
    *,
    masked: bool = False,
) -> Poses:
    """Poses of photographs, one still a source. The world is COLMAP's: unknown scale, any axes. Equal seeds give equal results.

    Schoenberger and Frahm, "Structure-from-motion revisited", 2016; of several models the largest is taken. Its last bundle adjustment is
    repeated with the Cauchy loss: least squares let the wrong matches within COLMAP's 4 px turn a camera that sees few points. camera: its
    focal length, where known, is held fixed. masked: only what the masks show counts. Works in `folder`, which is removed. Raises BadInput,
    with a remedy, where fewer than FEW photographs can be brought together.
    """
    fixed = camera is not None and camera.fx is not None
    fix = remedy(len(sources), settings)
    if len(sources) < FEW:
        raise BadInput(f"{len(sources)} photograph(s): poses need {FEW} or more.", fix=fix)

    def solve(database: Path, photographs: list[Photograph]) -> Poses:
        models = _map(database, folder, len(photographs), seed, progress, fixed)
        best = max(models, key=lambda m: m.num_reg_images(), default=None)
        if best is None or best.num_reg_images() < FEW:
            many = f"no more than {best.num_reg_images()}" if best else "none"
            raise BadInput(f"{many} of {len(sources)} photographs can be brought together: too few points match.", fix=fix)
        _adjust(best, fixed)
        return read(best, {p.file: p.name for p in photographs})

    return _inside(folder, lambda: solve(*matching.database(folder, sources, settings, seed, progress, camera=camera, masked=masked)))


def remedy(count: int, settings: Settings) -> str:
    """What to do about photographs that cannot be brought together."""
    every = len(matching.pairs(count, settings.matching)) == count * (count - 1) // 2
    return f"{REMEDY}." if every else f"{REMEDY}; frames.matching=exhaustive compares every pair, and takes longer."


def triangulate(sources: Sequence[Source], settings: Settings, seed: int, folder: Path, progress: Progress) -> Poses:
    """Sparse points of photographs whose lenses and poses are given and stay as they are; none where nothing matches.

    Works in `folder`, which is removed. Raises BadInput where the photographs cannot be read.
    """

    def solve(database: Path, photographs: list[Photograph]) -> Poses:
        import pycolmap

        model, lenses = pycolmap.Reconstruction(), {s.name: s.lens for s in sources if s.lens is not None}
        with pycolmap.Database.open(str(database)) as opened:
            model.load(pycolmap.DatabaseCache.create(opened, pycolmap.DatabaseCacheOptions()))
        names = {p.file: p.name for p in photographs}
        for image in model.images.values():
            image.frame.rig_from_world = pycolmap.Rigid3d(lenses[names[image.name]].world_to_camera[:3].copy())
            model.register_frame(image.frame_id)
        if model.num_images() < 2:
            return Poses(lenses, np.zeros((0, 3)), np.zeros((0, 3), np.uint8), 0.0)
        progress(0.8, "triangulating points")
        options = _options(seed)
        (folder / "model").mkdir()
        done = pycolmap.triangulate_points(model, database, folder / "images", folder / "model", options=options)
        return read(done, names)

    return _inside(folder, lambda: solve(*matching.database(folder, sources, settings, seed, progress, given=True)))


def _inside(folder: Path, work: Callable[[], Poses]) -> Poses:
    """Do the work in an empty folder that is removed afterwards; what pycolmap raises becomes BadInput."""
    import pycolmap

    pycolmap.logging.minloglevel = 3
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        return work()
    except (RuntimeError, ValueError) as error:
        raise BadInput(f"the photographs cannot be brought together: {' '.join(str(error).split())}", fix=f"{REMEDY}.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _options(seed: int) -> pycolmap.IncrementalPipelineOptions:
    import pycolmap

    options = pycolmap.IncrementalPipelineOptions(random_seed=seed, min_model_size=FEW, num_threads=1)  # sums of one order: same results
    options.mapper.random_seed = options.triangulation.random_seed = seed
    return options


def _map(database: Path, folder: Path, count: int, seed: int, progress: Progress, fixed: bool) -> list[pycolmap.Reconstruction]:
    import pycolmap

    options = _options(seed)
    options.ba_refine_focal_length = options.mapper.abs_pose_refine_focal_length = not fixed
    pycolmap.set_random_seed(seed)
    placed = 2

    def tick() -> None:
        nonlocal placed
        placed += 1
        progress(0.8 + 0.15 * min(1.0, placed / count), f"finding the cameras: {min(placed, count)} of {count}")

    progress(0.8, "finding the first two cameras")
    (folder / "model").mkdir()
    return list(
        pycolmap.incremental_mapping(database, folder / "images", folder / "model", options=options, next_image_callback=tick).values()
    )


def _adjust(model: pycolmap.Reconstruction, fixed: bool) -> None:
    """Bundle adjustment with rho(r^2) = s^2 log(1 + r^2 / s^2), s = SCATTER."""
    import pycolmap

    options = pycolmap.BundleAdjustmentOptions(print_summary=False, refine_focal_length=not fixed)
    options.ceres.loss_function_type = pycolmap.LossFunctionType.CAUCHY
    options.ceres.loss_function_scale = SCATTER
    options.ceres.solver_options.num_threads = 1
    everything = pycolmap.BundleAdjustmentConfig()
    for image in model.reg_image_ids():
        everything.add_image(image)
    everything.fix_gauge(pycolmap.BundleAdjustmentGauge.TWO_CAMS_FROM_WORLD)
    pycolmap.create_default_bundle_adjuster(options, everything, model).solve()  # pycolmap.bundle_adjustment prints, whatever its log level
    model.update_point_3d_errors()
