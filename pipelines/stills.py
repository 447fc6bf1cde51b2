"""How good reconstructions of things at rest are: photographs held out, cameras found against cameras given, surfaces against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from video2phys.config import resolve
from video2phys.frames.align import align
from video2phys.gaussians import initialise, scene, train
from video2phys.gaussians.losses import ssim
from video2phys.pipeline import run_capture
from video2phys.types import Body, Frames

Row = dict[str, Any]
MARKS = (2.0, 5.0, 10.0)  # [min] of training
LONG = 30_000  # steps
NEAR = 0.5  # dB that ten minutes may be behind the long training; deg that cameras found may be off
SAMPLES = 20_000  # points on each surface


def still_rows(capture: Path, out: Path, marks: tuple[float, ...] = MARKS, long: int = LONG) -> list[Row]:
    """Rows of a capture at rest with given cameras: every eighth photograph held out, at half resolution, with given and own cameras.

    long: steps of the long training; 0 = none.
    """
    table: list[Row] = []
    full = run_capture(capture, out / "given", resolve(overrides=["frames.poses=given"]), until="frames")["frames"]
    half = full.scan[0].camera.width // 2 * (full.scan[0].camera.height // 2)
    given = run_capture(capture, out / "given_half", resolve(overrides=[f"frames.max_pixels={half}"]), until="frames")["frames"]
    own = run_capture(capture, out / "own", resolve(overrides=[f"frames.max_pixels={half}", "frames.poses=estimated"]), until="frames")[
        "frames"
    ]
    cameras = {view.name: view.camera for view in given.scan}
    laid = align([view.camera for view in own.scan], [cameras[view.name] for view in own.scan])
    share = len(own.scan) / len(given.scan)
    table.append({"parameter": "registered_share", "value": share, "unit": "1", "met": share >= 0.95})
    error = float(laid.rotation_error.max())
    table.append({"parameter": "rotation_error_deg", "value": error, "unit": "deg", "met": error <= NEAR,
                  "text": f"median {np.median(laid.rotation_error):.2f}"})  # fmt: skip
    for frames, suffix in ((given, ""), (own, "_own_poses")):
        found = {f"{m:g}min": _train(frames, minutes=m) for m in marks}
        if long:
            found["long"] = _train(frames, iterations=long)
        for mark, (psnr, similarity, steps) in found.items():
            met = psnr > found["long"][0] - NEAR if "long" in found and mark == "10min" else None
            table.append({"parameter": f"psnr_{mark}{suffix}", "value": psnr, "unit": "dB", "met": met, "text": f"{steps} steps"})
            table.append({"parameter": f"ssim_{mark}{suffix}", "value": similarity, "unit": "1"})
    return table


def _train(frames: Frames, minutes: float | None = None, iterations: int = LONG) -> tuple[float, float, int]:
    """PSNR and SSIM on the photographs held out, and steps done. Early stop is off: the last Gaussians count, not the best."""
    from video2phys.gaussians.settings import Settings

    shots = scene.shots_of(frames)
    held, others = shots[:: scene.EIGHTH], [s for k, s in enumerate(shots) if k % scene.EIGHTH]
    settings = Settings.model_validate({"iterations": None if minutes else iterations, "minutes": minutes, "early_stop": False})
    plan = scene.plan_of(settings, shots, 0)
    cloud = scene.start(frames, others, settings, plan, 0)
    last: list[train.Moment] = []

    def watch(moment: train.Moment) -> None:
        last[:] = [moment]

    train.train(cloud, others, initialise.region([s.camera for s in shots])[1], plan, watch=watch)
    done = last[0].cloud
    similar = []
    for shot in held:
        seen = train.level(shot, 1, "cpu")
        similar.append(float(ssim(done.draw(seen.camera, antialias=plan.antialias).colour.detach(), seen.image)))
    return float(np.mean([train.look(done, s, plan.antialias) for s in held])), float(np.mean(similar)), last[0].step


def scan_rows(capture: Path, body: Body, psnr: float | None) -> list[Row]:
    """Rows of a body reconstructed from scan/ against the true surface; none without a scan or its truth."""
    mesh = _true_surface(capture)
    if mesh is None or not (capture / "scan").is_dir():
        return []
    import trimesh
    from scipy.spatial import cKDTree

    found = trimesh.Trimesh(body.vertices + body.position, body.faces, process=False)
    a, b = (m.sample(SAMPLES, seed=0) for m in (found, mesh))
    apart = (cKDTree(a).query(b)[0].mean() + cKDTree(b).query(a)[0].mean()) / 2 / float(np.ptp(mesh.vertices, axis=0).max())
    volume = float(found.volume / mesh.volume - 1)
    table: list[Row] = [
        {"parameter": "scan: volume", "value": float(found.volume), "unit": "m3", "truth": float(mesh.volume), "error": volume,
         "met": abs(volume) <= 0.04},
        {"parameter": "scan: surface distance / size", "value": float(apart), "unit": "1", "truth": 0.0, "met": apart <= 0.015},
    ]  # fmt: skip
    if psnr is not None:
        table.append({"parameter": "scan: psnr held out", "value": psnr, "unit": "dB", "met": psnr >= 30})
    return table


def _true_surface(capture: Path) -> Any:
    """Outer surface in the world at frame 0, or None."""
    import trimesh
    from scipy.ndimage import binary_fill_holes
    from scipy.spatial.transform import Rotation

    if not (capture / "truth_interior.npz").is_file():
        return None
    with np.load(capture / "truth.npz") as truth, np.load(capture / "truth_interior.npz") as inner:
        if "vertices" in truth.files:
            R = Rotation.from_quat(np.roll(truth["quaternion_wxyz"][0], -1)).as_matrix()
            return trimesh.Trimesh(truth["vertices"] @ R.T + truth["position"][0], truth["faces"])
        solid = binary_fill_holes(inner["grid"] > 0)
        points = trimesh.voxel.ops.matrix_to_marching_cubes(solid, pitch=float(inner["voxel_size"]))
        points.vertices += inner["origin"]
        return points.apply_transform(inner["body_to_world0"])
