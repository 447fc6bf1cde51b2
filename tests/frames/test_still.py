"""Captures of something at rest: cameras given, read from COLMAP, or found from the photographs alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import room
from clips import layout_of
from scipy.spatial.transform import Rotation

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames import standing, still
from video2phys.frames.align import align
from video2phys.frames.cameras import Lens
from video2phys.frames.layouts.source import Source
from video2phys.frames.model import Poses
from video2phys.frames.settings import Settings
from video2phys.frames.stage import run
from video2phys.frames.upright import upright
from video2phys.progress import silent
from video2phys.types import Camera

SIZE = (200, 150)
K = np.array([[210.0, 0, 98], [0, 210, 77], [0, 0, 1]])


def ring(count: int, radius: float = 2.0) -> list[Camera]:
    """Cameras that look at the origin from a ring, by turns lower and higher."""
    angles = 2 * np.pi * np.arange(count) / count
    eyes = [np.array([radius * np.cos(a), radius * np.sin(a), 0.8 + 0.5 * (k % 2)]) for k, a in enumerate(angles)]
    return [Camera.aimed(eye, np.zeros(3), K, *SIZE) for eye in eyes]


def context(folder: Path) -> Context:
    return Context(folder, "cpu", 0, silent, {})


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
    room.transforms(tmp_path / "c", ring(4))
    frames = run(tmp_path / "c", Settings(sparse=False), context(tmp_path / "out"))
    assert frames.views == () and len(frames.scan) == 4 and frames.scan[0].masks == ()
    assert frames.about.scale == "given" and frames.points is None
    np.testing.assert_allclose(frames.scan[1].camera.world_to_camera, ring(4)[1].world_to_camera, atol=1e-9)
    assert frames.image(1, 0, scan=True).shape == (SIZE[1], SIZE[0], 3)


def test_motion_of_a_capture_at_rest_is_refused_with_the_stage_to_stop_at(tmp_path: Path) -> None:
    from video2phys.states.settings import Settings as StateSettings
    from video2phys.states.stage import run as states

    room.transforms(tmp_path / "c", ring(4))
    frames = run(tmp_path / "c", Settings(sparse=False), context(tmp_path / "out"))
    with pytest.raises(BadInput, match="no motion") as caught:
        states(frames, None, StateSettings(), context(tmp_path / "out"))  # type: ignore[arg-type]
    assert "--until gaussians" in caught.value.fix


def test_photographs_that_were_not_registered_are_named() -> None:
    found = Poses({f"{k}": Lens(K, c.world_to_camera, SIZE) for k, c in enumerate(ring(5))}, np.zeros((9, 3)), np.zeros((9, 3)), 0.4)
    notes, warnings = list[str](), list[str]()
    kept = still._registered(tuple(Source(f"{k}") for k in range(12)), found, "More overlap.", notes, warnings)
    assert [s.name for s in kept] == ["0", "1", "2", "3", "4"]
    assert "5 of 12" in notes[0] and "7 of 12" in warnings[0] and "5, 6, 7, 8, 9, ..." in warnings[0] and "More overlap." in warnings[0]


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
    np.testing.assert_allclose(laid.rotation @ [0, 0, 1], [0, 0, 1], atol=1e-9)  # the cameras are level: up is found again


def test_points_that_transforms_name_are_taken(tmp_path: Path) -> None:
    import trimesh

    where, colour = np.array([[0.1, 0.2, 0.3], [-1, 0, 2]]), np.array([[10, 20, 30, 255], [200, 100, 0, 255]], np.uint8)
    room.transforms(tmp_path / "c", ring(4), ply_file_path="sparse.ply")
    trimesh.PointCloud(where, colors=colour).export(tmp_path / "c/sparse.ply")
    frames = run(tmp_path / "c", Settings(), context(tmp_path / "out"))
    np.testing.assert_allclose(frames.points, where, atol=1e-6)  # type: ignore[arg-type]
    np.testing.assert_array_equal(frames.points_colour, colour[:, :3])  # type: ignore[arg-type]
    (tmp_path / "c/sparse.ply").write_text("nothing")
    with pytest.raises(BadInput, match=r"sparse\.ply"):
        run(tmp_path / "c", Settings(), context(tmp_path / "out2"))


def test_two_photographs_from_one_place_are_still_photographs(tmp_path: Path) -> None:
    cameras = ring(20)
    room.transforms(tmp_path / "c", [*cameras, cameras[3]])
    frames = run(tmp_path / "c", Settings(sparse=False), context(tmp_path / "out"))
    assert len(frames.scan) == 21 and not frames.views


def test_frames_of_a_video_without_a_rate_are_told_from_photographs(tmp_path: Path) -> None:
    room_ = room.photograph(room.cameras(3)[1])
    shots = {f"{k}.png": room_.copy() for k in range(8)}
    for k, image in enumerate(shots.values()):
        image[60:100, 20 * k : 20 * k + 40] = 250
    room.write(tmp_path / "c", shots)
    with pytest.raises(BadInput, match="stands still") as caught:
        run(tmp_path / "c", Settings(), context(tmp_path / "out"))
    assert "`fps:`" in caught.value.fix and "masks/" in caught.value.fix
    room.write(tmp_path / "c/masks", {f"{k}.png": np.full((*room_.shape[:2], 3), 255, np.uint8) for k in range(8)})
    layout, _ = layout_of(tmp_path / "c")
    assert standing.check(layout.scan)  # a turntable: what the masks show may turn


def test_photographs_from_different_places_do_not_stand_still(tmp_path: Path, shared_data: Path) -> None:
    room.write(tmp_path, {f"{k}.png": room.photograph(c) for k, c in enumerate(room.cameras(4))})
    assert not standing.stands_still(sorted(tmp_path.glob("*.png")))
    assert not standing.stands_still(sorted((shared_data / "real/buddha_scan/images").glob("*.jpg")))


def test_gravity_of_a_layout_with_arbitrary_axes_is_up() -> None:
    lenses = [Lens(K, c.world_to_camera, SIZE) for c in ring(6)]
    world = upright(lenses, np.array([0, -2.0, 0]))
    np.testing.assert_allclose(world.turn @ [0, -1, 0], [0, 0, 1], atol=1e-12)
    moved = [world.lens(lens).camera() for lens in lenses]
    laid = align(moved, [lens.camera() for lens in lenses])
    assert laid.rotation_error.max() < 1e-5 and laid.centre_error.max() < 1e-9
    np.testing.assert_allclose(world.points(np.zeros(3)), 0, atol=1e-9)  # all cameras look at the origin
    assert np.median([np.linalg.norm(c.center) for c in moved]) == pytest.approx(1)


def test_a_fisheye_camera_of_colmap_is_undistorted(tmp_path: Path) -> None:
    (tmp_path / "sparse").mkdir()
    (tmp_path / "sparse/cameras.txt").write_text("3 OPENCV_FISHEYE 200 150 90 90 98 77 0 0 0 0\n")
    (tmp_path / "sparse/images.txt").write_text("".join(f"{k} 1 0 0 0 {k} 0 2 3 {k}.png\n\n" for k in (4, 8)))
    (tmp_path / "sparse/points3D.txt").write_text("")
    angle = np.radians(40)
    row, column = np.mgrid[:150, :200] + 0.5
    spot = np.exp(-((column - 98 - 90 * angle) ** 2 + (row - 77) ** 2) / 8)  # an equidistant lens: r = f angle
    for k in (4, 8):
        room.write(tmp_path / "images", {f"{k}.png": np.repeat((250 * spot).astype(np.uint8)[..., None], 3, -1)})
    frames = run(tmp_path, Settings(), context(tmp_path / "out"))
    image = frames.image(0, 0, scan=True)[..., 0].astype(float)
    seen = np.array([(image * column).sum(), (image * row).sum()]) / image.sum()
    np.testing.assert_allclose(seen, [98 + 90 * np.tan(angle), 77], atol=0.35)  # a pinhole camera: r = f tan angle
