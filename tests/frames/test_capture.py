"""capture.yaml: every documented key, and one clear line for every mistake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.frames.about import about, up_axis
from video2phys.frames.cameras import to_z_up
from video2phys.frames.capture import Capture, read


def written(folder: Path, text: str) -> Capture:
    (folder / "capture.yaml").write_text(text)
    return read(folder)


def test_every_key_of_the_reference(tmp_path: Path) -> None:
    keys = written(
        tmp_path,
        """
videos: {cam00: a.mp4, cam01: b.mp4}
fps: 240
frames: 36
objects: 2
background: empty.png
cameras:
  cam00: {fx: 706, fy: 700, cx: 160, cy: 120, w: 320, h: 240, k1: 0.1, transform_matrix: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2]]}
gravity: [0, 0, -9.81]
ground: {normal: [0, 0, 2], offset: 1}
object: {size: [0.12, 0.08, 0.06], density: 600, mass: 0.3, diameter: 0.1}
model: rigid
""",
    )
    told, notes, warnings = about(keys, planar=False, up=None, zoom=1.0)
    assert (keys.fps, keys.frames, keys.objects, told.model, told.density, told.unit, told.scale) == (
        240,
        36,
        2,
        "rigid",
        600,
        "m",
        "given",
    )
    assert told.ground is not None and told.ground.offset == 0.5 and told.ground.normal.tolist() == [0, 0, 1]
    assert not told.ground_auto and not notes and not warnings


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("fsp: 240", "'fsp' is not a key", "Did you mean 'fps'?"),
        ("camera: {mode: planar, px_per_meter: 3}", "'camera.px_per_meter' is not a key", "Did you mean 'px_per_m'?"),
        ("object: {radius: 3}", "'object.radius' is not a key", "Known: density, diameter, mass, size."),
        ("cameras: {a: {px_per_mm: 3}}", "'cameras.a.px_per_mm' is not a key", "'px_per_m'"),
        ("fps: fast", "fps", "docs/formats.md"),
        ("fps: 0", "fps", "docs/formats.md"),
        ("fps: .nan", "fps", "docs/formats.md"),
        ("fps: true", "not yes or no", "docs/formats.md"),
        ("frames: 1", "frames", "docs/formats.md"),
        ("gravity: down", "none, free or three numbers", "docs/formats.md"),
        ("gravity: [0, 9.81]", "none, free or three numbers", "docs/formats.md"),
        ("ground: floor", "ground", "docs/formats.md"),
        ("ground: {normal: [0, 0, 0]}", "length zero", "docs/formats.md"),
        ("ground: {incline_deg: 120}", "incline_deg", "docs/formats.md"),
        ("ground: {normal: [0, 0, 1], incline_deg: 3}", "ground should be", "docs/formats.md"),
        ("model: jelly", "rigid, elastic", "docs/formats.md"),
        ("object: {size: 3}", "object.size", "docs/formats.md"),
        ("object: {mass: -1}", "object.mass", "docs/formats.md"),
        ("camera: {mode: planar, fx: 3}", "planar and of a calibrated", "docs/formats.md"),
        ("camera: {fl_y: 3}", "transform_matrix", "docs/formats.md"),
        ("baseline: {between: [a.jpg], distance: 1}", "baseline.between", "docs/formats.md"),
        ("baseline: {between: [a.jpg, b.jpg]}", "baseline.distance", "docs/formats.md"),
        ("video: a.mp4\nvideos: {b: b.mp4}", "keep one", "docs/formats.md"),
        ("- 3", "no keys", "docs/formats.md"),
        ("a: [", "not YAML", "docs/formats.md"),
    ],
)
def test_mistakes_are_named_in_one_line(tmp_path: Path, text: str, what: str, fix: str) -> None:
    with pytest.raises(BadInput) as caught:
        written(tmp_path, text)
    assert what in str(caught.value) and fix in caught.value.fix
    assert "\n" not in str(caught.value) and "pydantic" not in str(caught.value)


def test_all_shared_captures_are_read(shared_data: Path) -> None:
    files = sorted(shared_data.glob("*/*/capture.yaml"))
    assert len(files) >= 12
    for file in files:
        read(file.parent)


def test_what_is_not_told_is_assumed_and_said(tmp_path: Path) -> None:
    told, notes, _ = about(read(tmp_path), planar=True, up=None, zoom=1.0)
    assert told.gravity is not None and told.gravity.tolist() == [0, 0, -9.81] and told.ground_auto
    assert (told.unit, told.scale) == ("px", "unknown")
    assert len(notes) == 3  # gravity, ground, camera


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ground: none\ngravity: none", (None, False, None, False)),
        ("gravity: none", (None, False, None, False)),
        ("ground: auto\ngravity: free", ([0, 0, -9.81], True, None, True)),
        ("ground: {incline_deg: 21.96}\ngravity: [0, 0, -9.81]", ([0, 0, -9.81], False, 21.96, True)),
    ],
)
def test_gravity_and_ground(tmp_path: Path, text: str, expected: tuple) -> None:
    told, _, _ = about(written(tmp_path, text + "\ncamera: {mode: planar, px_per_m: 460}"), planar=True, up=None, zoom=0.5)
    gravity, free, incline, auto = expected
    assert (None if told.gravity is None else told.gravity.tolist()) == gravity
    assert (told.gravity_free, told.incline_deg, told.ground_auto, told.ground) == (free, incline, auto, None)
    assert (told.px_per_m, told.scale, told.unit) == (230, "given", "m")  # the pictures were made half as wide


@pytest.mark.parametrize(
    ("gravity", "axis"), [("[0, -9.81, 0]", "y"), ("[0, 0, -9.81]", "z"), ("[0, 0, 9.81]", "-z"), ("[9.81, 0, 0]", "-x")]
)
def test_world_is_turned_so_that_gravity_points_down(tmp_path: Path, gravity: str, axis: str) -> None:
    keys = written(tmp_path, f"gravity: {gravity}")
    assert up_axis(keys, "z") == axis
    turn = to_z_up(axis)
    told, _, _ = about(keys, planar=False, up=turn, zoom=1.0)
    assert told.gravity is not None
    np.testing.assert_allclose(told.gravity, [0, 0, -9.81])
    if turn is not None:
        np.testing.assert_allclose(turn.T @ turn, np.eye(3))
        assert np.linalg.det(turn) > 0
