"""Each layout recognised by what it holds, and folders that are no capture refused with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from clips import HEIGHT, WIDTH, clips_of, film, layout_of, middle, square

from video2phys.errors import BadInput
from video2phys.frames import capture
from video2phys.frames.read import stills
from video2phys.frames.settings import Settings

LENS = {"fl_x": 120.0, "fl_y": 115.0, "cx": 47.0, "cy": 30.0, "w": WIDTH, "h": HEIGHT}
POSES = [[[1, 0, 0, 0.2 + i], [0, 0, -1, -3], [0, 1, 0, 0.5], [0, 0, 0, 1]] for i in range(3)]
FRAMES = range(6)


def matte(i: int) -> np.ndarray:
    return np.where(square(i).max(-1) > 150, 255, 0).astype(np.uint8)


def picture(file: Path, image: np.ndarray) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    flat = image if image.ndim == 2 else image[..., [2, 1, 0, 3][: image.shape[2]]]
    assert cv2.imwrite(str(file), flat)
    return file


def transforms(folder: Path, frames: list[dict], **shared: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "transforms.json").write_text(json.dumps({**LENS, **shared, "frames": frames}))
    return folder


def pacnerf(folder: Path, *, rows: int = 3, times: bool = True, plate: bool = True, alpha: bool = False) -> Path:
    """Two cameras, y up: our (x, y, z) is its (x, z, -y)."""
    entries = []
    for camera in (0, 1):
        ours = np.array(POSES[camera], float)
        c2w = np.stack([ours[0], ours[2], -ours[1], ours[3]])[:rows].tolist()
        K = [[LENS["fl_x"], 0, LENS["cx"]], [0, LENS["fl_y"], LENS["cy"]], [0, 0, 1]]
        for frame in [*([-1, -2] if plate else []), *FRAMES]:
            name = f"r_{camera}_{frame}.png"
            picture(folder / "data" / name, square(frame) if frame >= 0 else np.full_like(square(0), 40 if frame == -1 else 0))
            if alpha and frame >= 0:
                picture(folder / "data" / f"a_{camera}_{frame}.png", np.dstack([square(frame), matte(frame)]))
            entries.append({"file_path": f"./data/{name}", "c2w": c2w, "intrinsic": K} | ({"time": max(frame, 0) / 50} if times else {}))
    (folder / "all_data.json").write_text(json.dumps(entries))
    return folder


# --- bare folders


def test_folder_with_one_video(tmp_path: Path) -> None:
    film(tmp_path / "c/phone.MOV.mp4")
    layout, _ = layout_of(tmp_path / "c")
    assert layout.name == "folder with one video" and layout.sources[0].lens is None


def test_path_of_a_video_takes_the_capture_yaml_that_names_it(tmp_path: Path) -> None:
    film(tmp_path / "a.mp4")
    (tmp_path / "capture.yaml").write_text("video: a.mp4\nfps: 240")
    assert capture.read(tmp_path / "a.mp4").fps == 240
    (tmp_path / "capture.yaml").write_text("video: b.mp4\nfps: 240")
    assert capture.read(tmp_path / "a.mp4").fps is None


def test_several_videos_need_cameras(tmp_path: Path) -> None:
    for name in ("left", "right"):
        film(tmp_path / f"c/{name}.mp4")
    with pytest.raises(BadInput, match="2 views"):
        layout_of(tmp_path / "c")
    rows = "[[1, 0, 0, {}], [0, 0, -1, -3], [0, 1, 0, 0.5]]"
    lens = "{{fx: 120, w: 96, h: 64, transform_matrix: {}}}"
    cameras = "".join(f"\n  {n}: {lens.format(rows.format(i))}" for i, n in enumerate(("left", "right")))
    (tmp_path / "c/capture.yaml").write_text("cameras:" + cameras)
    clips, _, _ = clips_of(tmp_path / "c", tmp_path / "out")
    assert [c.camera.center[0] for c in clips] == [0, 1]
    (tmp_path / "c/capture.yaml").write_text("video: right.mp4")
    (clip,), _, _ = clips_of(tmp_path / "c", tmp_path / "out2")
    assert clip.name == "right"
    (tmp_path / "c/capture.yaml").write_text("video: rihgt.mp4")
    with pytest.raises(BadInput) as caught:
        layout_of(tmp_path / "c")
    assert "right.mp4" in caught.value.fix


def test_folder_of_pictures_with_masks_and_background(tmp_path: Path) -> None:
    for i in FRAMES:
        picture(tmp_path / f"c/images/frame{i}.png", square(i))
        picture(tmp_path / f"c/masks/frame{i}.png", matte(i))
    picture(tmp_path / "c/background.png", np.full_like(square(0), 40))
    layout, _ = layout_of(tmp_path / "c")
    assert (
        layout.sources == () and len(layout.scan) == 6 and "`fps:`" in layout.notes[0]
    )  # without a rate: photographs of something at rest
    assert layout.scan[2].stills[0].mask == tmp_path / "c/masks/frame2.png"
    (tmp_path / "c/capture.yaml").write_text("fps: 50")
    (clip,), _, _ = clips_of(tmp_path / "c", tmp_path / "o2")
    np.testing.assert_allclose(clip.time, np.arange(6) / 50)
    mask, plate = clip.given(4), clip.plate()
    assert mask is not None and mask.sum() == 144 and plate is not None and plate.max() == 40
    np.testing.assert_allclose(middle(clip.image(4)), middle(square(4)))


def test_masks_beside_a_video(tmp_path: Path) -> None:
    film(tmp_path / "c/a:b.mp4", count=6)
    for i in FRAMES:
        picture(tmp_path / f"c/masks/{i}.png", matte(i))
    (clip,), _, warnings = clips_of(tmp_path / "c", tmp_path / "o1", start=0.1)
    mask = clip.given(1)
    assert mask is not None and not warnings
    np.testing.assert_array_equal(mask * 255, matte(4))  # the frame at 0.1 s is frame 3
    (tmp_path / "c/masks/5.png").unlink()
    with pytest.raises(BadInput, match="5 masks"):
        clips_of(tmp_path / "c", tmp_path / "o2")
    film(tmp_path / "d/a.mp4")
    film(tmp_path / "d/masks/b.mp4")
    assert any("masks/" in w for w in clips_of(tmp_path / "d", tmp_path / "o3")[2])


def test_pictures_are_in_natural_order(tmp_path: Path) -> None:
    for i in range(12):
        picture(tmp_path / f"c/{i}.png", square(i))
    (tmp_path / "c/capture.yaml").write_text("fps: 50")
    (clip,), _, _ = clips_of(tmp_path / "c", tmp_path / "out")
    assert [round(middle(clip.image(i))[0]) for i in range(12)] == [6 + 3 * i for i in range(12)]


def test_a_damaged_picture_is_a_gap(tmp_path: Path) -> None:
    for i in FRAMES:
        picture(tmp_path / f"c/{i}.png", square(i))
    (tmp_path / "c/2.png").write_bytes(b"nothing")
    (tmp_path / "c/capture.yaml").write_text("fps: 50")
    (clip,), _, warnings = clips_of(tmp_path / "c", tmp_path / "out")
    np.testing.assert_allclose(clip.time, np.array([0, 1, 3, 4, 5]) / 50)
    assert any("5 of 6 frames" in w for w in warnings)


@pytest.mark.parametrize("kind", ["empty", "photos", "photos with fps", "text", "colmap"])
def test_what_is_no_capture_is_refused(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    if kind.startswith("photos"):
        picture(folder / "beach.jpg", np.full((60, 80, 3), 90, np.uint8))
        picture(folder / "sunset.jpg", np.full((80, 60, 3), 90, np.uint8))
    if kind == "photos with fps":
        (folder / "capture.yaml").write_text("fps: 30")
    if kind == "text":
        (folder / "notes.txt").write_text("a")
    if kind == "colmap":
        (folder / "sparse/0").mkdir(parents=True)
    with pytest.raises(BadInput) as caught:
        clips_of(folder, tmp_path / "out")
    assert caught.value.fix and "\n" not in str(caught.value) + caught.value.fix


# --- nerfstudio


def test_nerfstudio_with_videos_masks_and_a_missing_file(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    frames = []
    for i in range(3):
        frames.append(
            {"file_path": f"videos/cam{i}.mp4", "mask_path": f"masks/cam{i}.mp4", "transform_matrix": POSES[i], "fl_x": 100.0 + i}
        )
        if i < 2:
            film(folder / f"videos/cam{i}.mp4")
            film(folder / f"masks/cam{i}.mp4", draw=lambda k: np.repeat(matte(k)[..., None], 3, -1))
    transforms(folder, frames, fps=60)
    clips, notes, warnings = clips_of(folder, tmp_path / "out")
    assert [c.camera.K[0, 0] for c in clips] == [100, 101]  # intrinsics per frame win over the shared ones
    assert [c.camera.center[0] for c in clips] == [0.2, 1.2]
    assert any("1 file(s)" in w for w in warnings) and any("60" in n for n in notes)
    np.testing.assert_allclose(clips[0].time, np.arange(20) / 60, atol=1e-9)  # the layout's rate wins over the container's
    mask = clips[1].given(7)
    assert mask is not None
    np.testing.assert_allclose(middle(np.repeat((mask * 255)[..., None], 3, -1)), middle(square(7)), atol=0.6)


def test_nerfstudio_with_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    frames = []
    for i in reversed(FRAMES):  # in any order: the times sort them
        for camera in range(2):
            picture(folder / f"images/{camera}_{i}.png", square(i))
            frames.append({"file_path": f"images/{camera}_{i}", "transform_matrix": POSES[camera], "time": i / 25})
    transforms(folder, frames)
    clips, _, _ = clips_of(folder, tmp_path / "out")
    assert len(clips) == 2
    np.testing.assert_allclose(clips[0].time, np.arange(6) / 25)
    np.testing.assert_allclose(middle(clips[1].image(3)), middle(square(3)))


def test_normalised_times_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    frames = [{"file_path": picture(folder / f"{i}.png", square(i)).name, "transform_matrix": POSES[0], "time": i / 5} for i in FRAMES]
    transforms(folder, frames)
    with pytest.raises(BadInput, match="0 to 1"):
        layout_of(folder)
    (folder / "capture.yaml").write_text("fps: 50")
    (clip,), _, _ = clips_of(folder, tmp_path / "out")
    np.testing.assert_allclose(clip.time, np.arange(6) / 50)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"frames": 3}', '{"frames": [{"file_path": 3}]}', '{"frames": [{"file_path": "a.mp4"}]}']
)
def test_broken_transforms_are_refused(tmp_path: Path, text: str) -> None:
    film(tmp_path / "a.mp4")
    (tmp_path / "transforms.json").write_text(text)
    with pytest.raises(BadInput):
        clips_of(tmp_path, tmp_path / "out")


def test_scan_beside_the_motion(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    film(folder / "a.mp4")
    transforms(folder, [{"file_path": "a.mp4", "transform_matrix": POSES[0]}])
    entries = []
    for i in range(3):
        picture(folder / f"scan/images/{i}.png", square(i))
        entries.append({"file_path": f"images/{i}.png", "transform_matrix": POSES[i]})
        if i < 2:
            picture(folder / f"scan/masks/{i}.png", matte(i))
            entries[-1]["mask_path"] = f"masks/{i}.png"
    transforms(folder / "scan", entries)
    layout, _ = layout_of(folder)
    views, warnings = stills(layout.scan, Settings(), tmp_path / "out")
    assert len(views) == 2 and any("1 still" in w for w in warnings)
    assert (tmp_path / "out" / views[1].images[0]).is_file() and (tmp_path / "out" / views[1].masks[0][0]).is_file()


# --- PAC-NeRF


@pytest.mark.parametrize("rows", [3, 4])
def test_pacnerf_is_turned_to_z_up(tmp_path: Path, rows: int) -> None:
    clips, notes, _ = clips_of(pacnerf(tmp_path / "c", rows=rows), tmp_path / "out")
    assert [c.name for c in clips] == ["cam00", "cam01"] and any("z up" in n for n in notes)
    for clip, matrix in zip(clips, POSES, strict=False):
        np.testing.assert_allclose(clip.camera.center, np.array(matrix)[:3, 3])
        np.testing.assert_allclose(clip.camera.world_to_camera[2, :3], [0, 1, 0], atol=1e-12)  # it looks along +y
    np.testing.assert_allclose(clips[0].time, np.arange(6) / 50)
    plate = clips[0].plate()
    assert plate is not None and plate.max() == 40 and clips[0].masks == ()
    np.testing.assert_allclose(middle(clips[0].image(5)), middle(square(5)))


def test_pacnerf_with_z_up_gravity_is_left_alone(tmp_path: Path) -> None:
    folder = pacnerf(tmp_path / "c")
    (folder / "capture.yaml").write_text("gravity: [0, 0, -9.81]")
    clips, _, _ = clips_of(folder, tmp_path / "out")
    np.testing.assert_allclose(clips[0].camera.center, [0.2, 0.5, 3])


def test_pacnerf_alpha_files_and_missing_ones(tmp_path: Path) -> None:
    folder = pacnerf(tmp_path / "c", alpha=True)
    (folder / "data/r_0_3.png").unlink()
    (folder / "data/r_1_4.png").unlink()
    (folder / "data/a_1_4.png").unlink()
    clips, _, warnings = clips_of(folder, tmp_path / "out")
    assert len(clips[0].time) == 6 and all(clips[0].masks)
    mask = clips[0].given(2)
    assert mask is not None and mask.sum() == 144
    assert clips[1].images[4] == "" and any("1 file(s)" in w for w in warnings)


def test_pacnerf_without_times_needs_a_rate(tmp_path: Path) -> None:
    folder = pacnerf(tmp_path / "c", times=False)
    with pytest.raises(BadInput, match="no frame rate"):
        clips_of(folder, tmp_path / "o1")
    (folder / "capture.yaml").write_text("fps: 24")
    clips, _, _ = clips_of(folder, tmp_path / "o2")
    np.testing.assert_allclose(clips[0].time, np.arange(6) / 24)


def test_premultiplied_and_straight_alpha_are_the_same(tmp_path: Path) -> None:
    soft = cv2.GaussianBlur(matte(2), (9, 9), 0)
    colour = np.full((HEIGHT, WIDTH, 3), (200, 180, 40), np.uint8)
    for i in range(2):
        picture(tmp_path / f"straight/{i}.png", np.dstack([colour, soft]))
        picture(tmp_path / f"premultiplied/{i}.png", np.dstack([np.round(colour * (soft[..., None] / 255)).astype(np.uint8), soft]))
    read = []
    for name in ("straight", "premultiplied"):
        (tmp_path / name / "capture.yaml").write_text("fps: 30")
        (clip,), _, _ = clips_of(tmp_path / name, tmp_path / f"out_{name}")
        read.append((clip.image(0).astype(int), clip.given(0)))
    assert np.abs(read[0][0] - read[1][0]).max() <= 1
    np.testing.assert_array_equal(read[0][1], read[1][1])
    assert read[0][0][0, 0].max() == 0  # nothing of the colour outside the object


def test_elastic_cube_has_the_same_cameras_in_both_layouts(shared_data: Path, tmp_path: Path) -> None:
    scene = shared_data / "scenes/elastic_cube"
    a, _, _ = clips_of(scene, tmp_path / "a", max_frames=3)
    b, _, _ = clips_of(scene / "pacnerf", tmp_path / "b", max_frames=3)
    assert len(a) == len(b) == 8
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one.camera.world_to_camera, other.camera.world_to_camera, atol=1e-9)
        np.testing.assert_allclose(one.camera.K, other.camera.K, atol=1e-9)
        np.testing.assert_allclose(one.time, other.time, atol=1e-6)
        m, n = one.given(2), other.given(2)
        assert m is not None and n is not None
        assert (np.minimum(m, n) > 0.5).sum() / (np.maximum(m, n) > 0.5).sum() > 0.97


def test_shared_captures_are_recognised(shared_data: Path) -> None:
    names = {
        "scenes/elastic_cube": ("nerfstudio transforms", 8),
        "scenes/elastic_cube/pacnerf": ("PAC-NeRF all_data", 8),
        "scenes/interior_egg_insert": ("nerfstudio transforms", 2),
        "scenes/rigid_box": ("folder with one video", 1),
        "real/sliding_block_R1": ("folder with one video", 1),
    }
    for folder, (name, views) in names.items():
        layout, _ = layout_of(shared_data / folder)
        assert (layout.name, len(layout.sources)) == (name, views)
    layout, _ = layout_of(shared_data / "real/buddha_scan")
    assert (layout.name, len(layout.sources), len(layout.scan)) == ("transforms of photographs", 0, 67)
