"""Captures of something at rest: cameras given, read from COLMAP, or found from the photographs alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames import poses, still
from video2phys.frames.align import align
from video2phys.frames.settings import Settings
from video2phys.frames.stage import run
from video2phys.progress import silent
from video2phys.types import Camera, Frames

SIZE = (200, 150)
K = np.array([[210.0, 0, 98], [0, 210, 77], [0, 0, 1]])


def ring(count: int, radius: float = 2.0) -> list[Camera]:
    """Cameras that look at the origin from a ring, by turns lower and higher."""
    angles = 2 * np.pi * np.arange(count) / count
    eyes = [np.array([radius * np.cos(a), radius * np.sin(a), 0.8 + 0.5 * (k % 2)]) for k, a in enumerate(angles)]
    return [Camera.aimed(eye, np.zeros(3), K, *SIZE) for eye in eyes]


def context(folder: Path) -> Context:
    return Context(folder, "cpu", 0, silent, {})


def transforms(folder: Path, cameras: list[Camera]) -> None:
    """Write blank photographs and transforms.json."""
    import json

    (folder / "images").mkdir(parents=True)
    frames = []
    for k, camera in enumerate(cameras):
        cv2.imwrite(str(folder / f"images/{k:02d}.png"), np.full((SIZE[1], SIZE[0], 3), 20 * k % 255, np.uint8))
        matrix = np.linalg.inv(camera.world_to_camera) @ np.diag([1.0, -1, -1, 1])
        frames.append({"file_path": f"images/{k:02d}.png", "transform_matrix": matrix.tolist()})
    shared = {"fl_x": K[0, 0], "fl_y": K[1, 1], "cx": K[0, 2], "cy": K[1, 2], "w": SIZE[0], "h": SIZE[1], "frames": frames}
    (folder / "transforms.json").write_text(json.dumps(shared))


def test_alignment_undoes_any_similarity() -> None:
    first = ring(7)
    R, shift, scale = Rotation.from_rotvec([0.4, -1.0, 2.0]).as_matrix(), np.array([3.0, -1, 0.5]), 2.7
    second = []
    for camera in first:
        pose = np.eye(4)
        pose[:3, :3] = camera.world_to_camera[:3, :3] @ R.T
        pose[:3, 3] = -pose[:3, :3] @ (scale * R @ camera.center + shift)
        second.append(replace(camera, world_to_camera=pose))
    laid = align(first, second)
    np.testing.assert_allclose((laid.scale, *laid.shift), (scale, *shift), atol=1e-9)
    np.testing.assert_allclose(laid.rotation, R, atol=1e-9)
    assert laid.rotation_error.max() < 1e-5 and laid.centre_error.max() < 1e-9
    np.testing.assert_allclose(laid.apply(np.array([1.0, 2, 3])), scale * R @ [1, 2, 3] + shift)


def test_one_turned_camera_shows_in_its_rotation_error() -> None:
    first = ring(12)
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec([0, 0, np.radians(3)]).as_matrix()
    second = [*first[:-1], replace(first[-1], world_to_camera=pose @ first[-1].world_to_camera)]
    assert align(first, second).rotation_error[-1] == pytest.approx(3 * 11 / 12, abs=0.05)
    with pytest.raises(BadInput, match="cameras"):
        align(first[:1], second[:1])


def test_photographs_with_given_cameras_are_a_capture_at_rest(tmp_path: Path) -> None:
    transforms(tmp_path / "c", ring(4))
    frames = run(tmp_path / "c", Settings(sparse=False), context(tmp_path / "out"))
    assert frames.views == () and len(frames.scan) == 4 and frames.scan[0].masks == ()
    assert frames.about.scale == "given" and frames.points is None
    np.testing.assert_allclose(frames.scan[1].camera.world_to_camera, ring(4)[1].world_to_camera, atol=1e-9)
    assert frames.image(1, 0, scan=True).shape == (SIZE[1], SIZE[0], 3)


def test_motion_of_a_capture_at_rest_is_refused_with_the_stage_to_stop_at(tmp_path: Path) -> None:
    from video2phys.states.settings import Settings as StateSettings
    from video2phys.states.stage import run as states

    transforms(tmp_path / "c", ring(4))
    frames = run(tmp_path / "c", Settings(sparse=False), context(tmp_path / "out"))
    with pytest.raises(BadInput, match="no motion") as caught:
        states(frames, None, StateSettings(), context(tmp_path / "out"))  # type: ignore[arg-type]
    assert "--until gaussians" in caught.value.fix


def test_featureless_photographs_are_refused_with_a_remedy(tmp_path: Path) -> None:
    for k in range(4):
        cv2.imwrite(str(tmp_path / f"{k}.png"), np.full((60, 80, 3), 90, np.uint8))
    with pytest.raises(BadInput, match="cannot be brought together") as caught:
        run(tmp_path, Settings(), context(tmp_path / "out"))
    assert "overlap" in caught.value.fix
    assert not (tmp_path / "out/poses").exists()


def test_photographs_that_were_not_registered_are_named() -> None:
    from video2phys.frames.cameras import Lens
    from video2phys.frames.layouts.source import Source

    found = poses.Poses({f"{k}": Lens(K, c.world_to_camera, SIZE) for k, c in enumerate(ring(5))}, np.zeros((9, 3)), np.zeros((9, 3)), 0.4)
    notes, warnings = list[str](), list[str]()
    kept = still._registered(tuple(Source(f"{k}") for k in range(12)), found, notes, warnings)
    assert [s.name for s in kept] == ["0", "1", "2", "3", "4"]
    assert "5 of 12" in notes[0] and "7 of 12" in warnings[0] and "5, 6, 7, 8, 9, ..." in warnings[0] and "overlap" in warnings[0]


def test_colmap_text_model_with_distortion_and_sparse_ids(tmp_path: Path) -> None:
    cameras = ring(3)
    (tmp_path / "sparse/0").mkdir(parents=True)
    (tmp_path / "images/sub").mkdir(parents=True)
    (tmp_path / "sparse/0/cameras.txt").write_text("7 SIMPLE_RADIAL 200 150 210 98 77 -0.05\n")
    lines = []
    for k, camera in enumerate(cameras):
        x, y, z, w = Rotation.from_matrix(camera.world_to_camera[:3, :3]).as_quat()
        t = camera.world_to_camera[:3, 3]
        lines += [f"{11 + 3 * k} {w} {x} {y} {z} {t[0]} {t[1]} {t[2]} 7 sub/{k}.png", ""]
        cv2.imwrite(str(tmp_path / f"images/sub/{k}.png"), np.full((150, 200, 3), 90, np.uint8))
    (tmp_path / "sparse/0/images.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "sparse/0/points3D.txt").write_text("5 0.1 0.2 0.3 10 20 30 0.5\n9 -0.1 0.2 0 1 2 3 0.5\n")
    frames = run(tmp_path, Settings(), context(tmp_path / "out"))
    assert frames.layout == "COLMAP" and [v.name for v in frames.scan] == ["sub_0", "sub_1", "sub_2"]
    laid = align([v.camera for v in frames.scan], cameras)
    assert laid.rotation_error.max() < 1e-4 and laid.centre_error.max() < 1e-6
    assert frames.points is not None and frames.points_colour is not None
    order = np.argsort(frames.points_colour[:, 0])[::-1]
    np.testing.assert_allclose(laid.apply(frames.points)[order], [[0.1, 0.2, 0.3], [-0.1, 0.2, 0]], atol=1e-6)
    assert frames.about.scale == "unknown"
    up = np.mean([v.camera.world_to_camera[1, :3] for v in frames.scan], 0)
    assert up[2] < 0 and np.abs(up[:2]).max() < 1e-9  # the cameras' y points down


@pytest.mark.slow
def test_poses_of_real_photographs(shared_data: Path, tmp_path: Path) -> None:
    given: Frames = run(shared_data / "real/buddha_scan", Settings(sparse=False), context(tmp_path / "given"))
    found: Frames = run(shared_data / "real/buddha_scan", Settings(poses="estimated"), context(tmp_path / "found"))
    assert len(found.scan) >= 0.95 * len(given.scan)
    by_name = {v.name: v.camera for v in given.scan}
    laid = align([v.camera for v in found.scan], [by_name[v.name] for v in found.scan])
    assert np.median(laid.rotation_error) < 0.5 and laid.rotation_error.max() < 1.0
