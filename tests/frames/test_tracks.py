"""Files of measured tracks: what is read from them, in which world, and one clear line for every mistake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from video2phys import store
from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames.layouts import tracks as table
from video2phys.frames.settings import Settings
from video2phys.frames.stage import run
from video2phys.types import Frames


def read(folder: Path, header: str, rows: np.ndarray | list[str], keys: str = "", **settings: object) -> Frames:
    folder.mkdir(exist_ok=True)
    lines = rows if isinstance(rows, list) else [",".join(f"{v:.9g}" for v in row) for row in rows]
    (folder / "tracks.csv").write_text("\n".join([header, *lines]) + "\n")
    (folder / "capture.yaml").write_text(keys)
    return run(folder, Settings(**settings), Context(folder / "run"))  # type: ignore[arg-type]


def test_pixels_with_a_scale(tmp_path: Path) -> None:
    keys = "fps: 50\ncamera: {mode: planar, px_per_m: 200, w: 640, h: 480}\nground: none"
    frames = read(tmp_path, "frame,x_px,y_px,angle_deg", np.array([[7, 320, 240, 0], [8, 420, 140, 90], [10, 520, 240, 180.0]]), keys)
    store.save(frames, tmp_path / "run")
    again = store.load(Frames, tmp_path / "run")
    states = again.tracks
    assert states is not None and states.kind == "planar" and states.unit == "m" and again.layout == "measured tracks"
    np.testing.assert_allclose(states.time, [0, 0.02, 0.06], atol=1e-12)
    np.testing.assert_allclose(states.position[:, 0], [[0, 0, 0], [0.5, 0, 0.5], [1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(again.views[0].camera.project(states.position[:, 0]), [[320, 240], [420, 140], [520, 240]], atol=1e-9)
    up = Rotation.from_quat(states.rotation[1, 0], scalar_first=True).apply([1, 0, 0])
    np.testing.assert_allclose(up, [0, 0, 1], atol=1e-12)  # anticlockwise in the picture: from right to up
    assert np.isinf(states.position_sigma[..., 1]).all() and np.isfinite(states.rotation_sigma[:, 0, 1]).all()


def test_pixels_without_a_scale_stay_pixels(tmp_path: Path) -> None:
    frames = read(tmp_path, "time_s;u_px;v_px", ["0;10;90", "0.1;30;50", "0.2;50;30"], "camera: {mode: planar, scale: gravity}")
    assert frames.tracks is not None and (frames.tracks.unit, frames.tracks.kind, frames.about.scale) == ("px", "centroid", "gravity")
    np.testing.assert_allclose(np.diff(frames.tracks.position[:, 0, [0, 2]], axis=0), [[20, 40], [20, 20]])
    assert any("50x90 px" in n for n in frames.notes)


def test_several_objects_by_column_or_by_prefix(tmp_path: Path) -> None:
    place = np.array([[[0.0, 1], [5, 5]], [[0.1, 1.1], [4, 5]], [[0.2, 1.3], [3, 5]]])
    long = [f"{t / 10},{name},{x},{y}" for t, row in enumerate(place) for name, (x, y) in zip("ba", row, strict=True)]
    by_column = read(tmp_path / "long", "time_s,ball,x_m,y_m", long, "gravity: none")
    wide = np.array([[t / 10, *row[1], *row[0]] for t, row in enumerate(place)])
    by_prefix = read(tmp_path / "wide", "time_s,a_x_m,a_y_m,b_x_m,b_y_m", wide, "gravity: none")
    for frames in (by_column, by_prefix):
        assert frames.tracks is not None and frames.objects == 2 and any("0 = a, 1 = b" in n for n in frames.notes)
        np.testing.assert_allclose(frames.tracks.position[:, :, [0, 2]], place[:, ::-1])


def test_rows_without_numbers_are_not_seen(tmp_path: Path) -> None:
    rows = ["# from a tracker", "0,0,1,0.01", "0.1,nan,,", "0.2,0.2,1,0.03", "", "0.3,0.3,1,0.01"]
    states = read(tmp_path, "time_s,x_mm,z_mm,sigma", rows, "gravity: none").tracks
    assert states is not None
    assert states.valid[:, 0].tolist() == [True, False, True, True]
    np.testing.assert_allclose(states.position[2, 0], [2e-4, 0, 1e-3])
    assert states.position_sigma[2, 0, 0] == pytest.approx(3e-5)


def test_gravity_tells_which_axis_of_the_file_is_up(tmp_path: Path) -> None:
    t = np.arange(20) / 50
    fall = np.c_[t, 1 - 4.905 * t**2, 2 * t, 0 * t + 3]  # up is x
    states = read(tmp_path, "time_s,x_m,y_m,z_m", fall, "gravity: [-9.81, 0, 0]").tracks
    assert states is not None and states.kind == "centroid"
    np.testing.assert_allclose(states.position[:, 0, 2], fall[:, 1], atol=1e-9)
    np.testing.assert_allclose(np.abs(np.diff(states.position[:, 0, 0])), 2 * np.diff(t), atol=1e-8)
    with pytest.raises(BadInput, match="leaves a vertical plane") as caught:
        read(tmp_path / "b", "time_s,x_m,y_m,z_m", np.c_[t, t, t**2, 0 * t])
    assert "gravity: none" in caught.value.fix


def test_a_plane_with_its_own_axis_down(tmp_path: Path) -> None:
    t = np.arange(20) / 50
    down = np.c_[t, 2 * t, 4.905 * t**2 - 1]
    for k, (header, keys) in enumerate((("x_m,y_m", "gravity: [0, 9.81, 0]"), ("x_m,z_m", "gravity: [0, 0, 9.81]"))):
        frames = read(tmp_path / str(k), f"time_s,{header}", down, keys)
        assert frames.tracks is not None and not frames.warnings
        np.testing.assert_allclose(frames.tracks.position[:, 0], np.c_[2 * t, 0 * t, 1 - 4.905 * t**2], atol=1e-8)
        np.testing.assert_allclose(frames.about.gravity, [0, 0, -9.81])


def test_poses_turn_with_the_world(tmp_path: Path) -> None:
    t = np.arange(12) / 60
    q = Rotation.from_rotvec(np.outer(t, [0.5, 2, 1])).as_quat(scalar_first=True)
    q[5:] *= -1  # the same rotations
    rows = np.c_[t, t, 1 - t, 0 * t, q]
    states = read(tmp_path, "time_s,x_m,y_m,z_m,qw,qx,qy,qz", rows, "gravity: [0, -9.81, 0]\nobject: {diameter: 0.1}").tracks
    assert states is not None and states.kind == "pose"
    turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    np.testing.assert_allclose(states.position[:, 0], rows[:, 1:4] @ turn.T, atol=1e-9)
    seen = Rotation.from_quat(states.rotation[:, 0], scalar_first=True).as_matrix()
    np.testing.assert_allclose(seen, turn @ Rotation.from_quat(q, scalar_first=True).as_matrix(), atol=1e-8)
    assert ((states.rotation[1:] * states.rotation[:-1]).sum(-1) > 0).all()


def test_sigma_from_the_scatter(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    t = np.arange(200) / 100
    rows = np.c_[t, t, t**2] + np.c_[0 * t, 0.01 * rng.normal(size=(200, 2))]
    frames = read(tmp_path, "time_s,x_m,y_m", rows)
    assert frames.tracks is not None
    assert frames.tracks.position_sigma[0, 0, 0] == pytest.approx(0.01, rel=0.2)


def test_a_part_of_the_rows(tmp_path: Path) -> None:
    rows = np.c_[np.arange(10) / 10, np.arange(10), np.arange(10.0) ** 2]
    frames = read(tmp_path, "time_s,x_m,y_m", rows, "frames: 4", start=0.2)
    assert frames.tracks is not None
    np.testing.assert_allclose(frames.tracks.position[:, 0, 0], [2, 3, 4, 5])


GOOD = ["0,0,1", "0.1,1,1", "0.2,2,1"]


@pytest.mark.parametrize(
    ("header", "rows", "keys", "what", "fix"),
    [
        ("time_s,x_m,y_metres", GOOD, "", "'y_metres' is no column", "Did you mean"),
        ("time,x_m,y_m", GOOD, "", "'time' is no column", "'time_s'"),
        ("x_m,y_m,z_m", GOOD, "", "neither time_s nor frame", "header such as"),
        ("frame,x_m,y_m", GOOD, "", "gives no time", "fps"),
        ("time_s,x_m,sigma", GOOD, "", "y_m is missing", "docs/formats.md"),
        ("time_s,sigma,sigma_rad", GOOD, "", "no position", "x_px and y_px"),
        ("time_s,x_m,x_m", GOOD, "", "two columns 'x_m'", "prefixes"),
        ("time_s,x_m,y_m", ["0,0,1", "0.1,1", "0.2,2,1"], "", "line 3: 2 cells under 3 columns", "Complete"),
        ("time_s,x_m,y_m", ["0,0,1", "0.1,left,1", "0.2,2,1"], "", "line 3: x_m is no number", "docs/formats.md"),
        ("time_s,x_m,y_m", ["0,0,1", ",1,1", "0.2,2,1"], "", "line 3: no time", "time"),
        ("time_s,x_m,y_m", ["0,0,1", "0.2,1,1", "0.1,2,1"], "", "line 4: the time goes back", "Sort"),
        ("time_s,x_m,y_m", ["0,0,1", "0,1,1", "0.1,2,1"], "", "two rows for one time", "one row"),
        ("time_s,x_m,y_m", ["0,0,1"], "", "holds 1 row", "header such as"),
        ("time_s,x_m,y_m", ["0,,1", "1,,2", "2,,3"], "", "never shows the object", "positions"),
        ("time_s,a_x_m,a_y_m,b_x_m", [f"{row},1" for row in GOOD], "", "y_m is missing of 'b'", "docs/formats.md"),
        ("time_s,x_px,y_px", GOOD, "camera: {fx: 700, transform_matrix: [[1]]}", "need a planar camera", "px_per_m"),
        ("time_s,x_m,y_m,qw,qx,qy,qz", [f"{row},1,0,0,0" for row in GOOD], "", "a pose (qw", "missing axis"),
        ("time_s,x_m,y_m,sigma", [f"{row},0" for row in GOOD], "gravity: none", "sigma is not above zero", "leave the column out"),
        ("time_s,x_m,y_m,z_m,qw,qx,qy,qz", [f"{row},0,2,0,0,0" for row in GOOD], "", "no unit quaternions", "w, x, y, z"),
    ],
)
def test_mistakes(tmp_path: Path, header: str, rows: list[str], keys: str, what: str, fix: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, header, rows, keys)
    assert what in str(caught.value) and fix in caught.value.fix


def test_which_file(tmp_path: Path) -> None:
    frames = read(tmp_path, "time_s,x_m,y_m", GOOD, "gravity: none")
    (tmp_path / "more.csv").write_text("time_s,x_m,y_m\n0,5,5\n1,6,6\n2,7,7\n")
    with pytest.raises(BadInput, match="2 CSV files"):
        run(tmp_path, Settings(), Context(tmp_path / "run"))
    (tmp_path / "capture.yaml").write_text("gravity: none\ntracks: more.csv")
    named = run(tmp_path, Settings(), Context(tmp_path / "run"))
    alone = run(tmp_path / "more.csv", Settings(), Context(tmp_path / "run"))
    told = tmp_path / "other" / "told.yaml"
    told.parent.mkdir()
    told.write_text("fps: 5\ngravity: none")
    other = run(tmp_path / "tracks.csv", Settings(capture_yaml=told), Context(tmp_path / "run"))  # type: ignore[call-arg]
    assert frames.tracks and named.tracks and alone.tracks and other.tracks
    assert named.tracks.position[0, 0, 0] == alone.tracks.position[0, 0, 0] == 5
    assert other.time[1] == pytest.approx(0.2)
    (tmp_path / "tracks.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="is not text"):
        table.read(tmp_path / "tracks.csv")
