"""Cameras and points found from photographs: of a room that is known exactly, and of a statue with given cameras."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import room

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames import capture, matching, poses
from video2phys.frames.align import align
from video2phys.frames.layouts.source import Source, Still
from video2phys.frames.settings import Settings
from video2phys.frames.stage import run
from video2phys.progress import silent
from video2phys.types import Camera, Frames


def context(folder: Path) -> Context:
    return Context(folder, "cpu", 0)


def test_featureless_photographs_are_refused_with_a_remedy(tmp_path: Path) -> None:
    for k in range(4):
        cv2.imwrite(str(tmp_path / f"{k}.png"), np.full((60, 80, 3), 90, np.uint8))
    with pytest.raises(BadInput, match="none of 4 photographs can be brought together") as caught:
        run(tmp_path, Settings(), context(tmp_path / "out"))
    assert "overlap" in caught.value.fix and "`fps:`" in caught.value.fix and "exhaustive" not in caught.value.fix
    with pytest.raises(BadInput) as caught:
        poses.estimate((), Settings(matching="sequential"), 0, tmp_path / "p", silent)
    assert "poses need 3" in str(caught.value)
    assert "exhaustive" in poses.remedy(30, Settings(matching="sequential"))
    assert not (tmp_path / "out/poses").exists()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Frames, dict[str, Camera]]:
    """Photographs 1, 2, 3, 4, 10 of a room corner and one of another room, with a known distance between two of them."""
    folder = tmp_path_factory.mktemp("room")
    cameras = dict(zip(("1", "2", "3", "4", "10"), room.cameras(5), strict=True))
    shots = {f"{name}.png": room.photograph(camera) for name, camera in cameras.items()}
    room.write(folder / "c", shots | {"other.png": room.photograph(cameras["3"], seed=5)})
    far = float(np.linalg.norm(cameras["1"].center - cameras["10"].center))
    (folder / "c/capture.yaml").write_text(f'baseline: {{between: [1.png, "10"], distance: {far}}}\nobject: {{density: 700}}')
    return run(folder / "c", Settings(), context(folder / "out")), cameras


def test_cameras_and_points_are_found_from_photographs_alone(found: tuple[Frames, dict[str, Camera]]) -> None:
    frames, cameras = found
    assert frames.layout == "folder of photographs" and [v.name for v in frames.scan] == ["1", "2", "3", "4", "10"]
    laid = align([v.camera for v in frames.scan], [cameras[v.name] for v in frames.scan])
    assert laid.rotation_error.max() < 0.05 and laid.centre_error.max() < 0.003
    assert frames.scan[0].camera.K[0, 0] == pytest.approx(room.K[0, 0], rel=3e-3)
    assert frames.points is not None and frames.points_colour is not None and len(frames.points) > 500
    walls = np.abs(laid.apply(frames.points)).min(1)
    assert np.percentile(walls, 90) < 0.02
    assert frames.points_colour.std(0).min() > 30 and frames.points_colour.dtype == np.uint8


def test_a_baseline_gives_metres_and_level_cameras_give_up(found: tuple[Frames, dict[str, Camera]]) -> None:
    frames, cameras = found
    laid = align([v.camera for v in frames.scan], [cameras[v.name] for v in frames.scan])
    assert laid.scale == pytest.approx(1, abs=1e-3) and frames.about.scale == "given" and frames.about.density == 700
    np.testing.assert_allclose(laid.rotation @ [0, 0, 1], [0, 0, 1], atol=2e-3)
    assert any("baseline" in n for n in frames.notes) and not any("up to scale" in n for n in frames.notes)


def test_a_photograph_of_something_else_is_left_out_and_named(found: tuple[Frames, dict[str, Camera]]) -> None:
    frames, _ = found
    assert any("1 of 6 photographs" in w and "(other)" in w and "overlap" in w for w in frames.warnings)
    assert any("5 of 6 registered" in n for n in frames.notes)


def test_the_same_photographs_give_the_same_cameras(found: tuple[Frames, dict[str, Camera]], tmp_path: Path) -> None:
    frames, _ = found
    again = run(frames.folder.parent / "c", Settings(), context(tmp_path / "out"))
    for one, other in zip(frames.scan, again.scan, strict=True):
        np.testing.assert_array_equal(one.camera.world_to_camera, other.camera.world_to_camera)
    np.testing.assert_array_equal(frames.points, again.points)  # type: ignore[arg-type]


def test_points_are_triangulated_with_given_cameras(tmp_path: Path) -> None:
    cameras = room.cameras(4)
    room.transforms(tmp_path / "c", cameras)
    room.write(tmp_path / "c/images", {f"{k:02d}.png": room.photograph(c) for k, c in enumerate(cameras)})
    frames = run(tmp_path / "c", Settings(), context(tmp_path / "out"))
    assert frames.points is not None and len(frames.points) > 300
    assert np.percentile(np.abs(frames.points).min(1), 90) < 0.02  # on the walls, in the world of the given cameras
    np.testing.assert_allclose(frames.scan[2].camera.world_to_camera, cameras[2].world_to_camera, atol=1e-9)
    assert frames.about.scale == "given" and any("triangulated" in n for n in frames.notes) and not frames.warnings


def test_pairs_to_compare() -> None:
    assert len(matching.pairs(20, "auto")) == 190 and len(matching.pairs(151, "exhaustive")) == 151 * 150 / 2
    few = matching.pairs(200, "auto")
    assert {j - i for i, j in few} == {*range(1, 13), 16, 32, 64, 128} and len(few) == len(set(few)) and max(j for _, j in few) == 199


def test_a_known_focal_length_is_scaled_to_the_photograph(tmp_path: Path) -> None:
    (tmp_path / "capture.yaml").write_text("camera: {fx: 920, w: 1024, h: 768}")
    source = Source("a", stills=(Still(room.write(tmp_path, {"a.png": room.photograph(room.cameras(1)[0])}) / "a.png"),))
    written = matching._write(tmp_path / "out", 0, source, Settings(), capture.read(tmp_path).camera, False, False)
    assert written is not None and written.camera == ("SIMPLE_RADIAL", "230, 128, 96, 0")


def test_the_focal_length_of_exif_is_read(tmp_path: Path) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x8769] = {0xA405: 36}  # FocalLengthIn35mmFilm [mm]: a picture 36 mm wide
    Image.fromarray(np.full((400, 600, 3), 90, np.uint8)).save(tmp_path / "a.jpg", exif=exif)
    Image.fromarray(np.full((400, 600, 3), 90, np.uint8)).save(tmp_path / "b.jpg")
    assert matching._exif_focal(tmp_path / "b.jpg") is None
    assert matching._exif_focal(tmp_path / "a.jpg") == pytest.approx(600, rel=0.03)


@pytest.mark.slow
def test_poses_of_real_photographs(shared_data: Path, tmp_path: Path) -> None:
    given: Frames = run(shared_data / "real/buddha_scan", Settings(sparse=False), context(tmp_path / "given"))
    found: Frames = run(shared_data / "real/buddha_scan", Settings(poses="estimated"), context(tmp_path / "found"))
    assert len(found.scan) >= 0.95 * len(given.scan)
    by_name = {v.name: v.camera for v in given.scan}
    laid = align([v.camera for v in found.scan], [by_name[v.name] for v in found.scan])
    assert laid.rotation_error.max() < 0.5 and laid.rotation_error.mean() < 0.25
