"""Measured tracks through every stage: parameters recovered from motions that other code integrated, with noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from synthetic.planar import G, integrate, slide
from synthetic.spatial import Thrown, path
from typer.testing import CliRunner

from video2phys import cli
from video2phys.pipeline import run_capture
from video2phys.simulate.rigid import rotation


def written(folder: Path, header: str, rows: np.ndarray, keys: str) -> Path:
    folder.mkdir()
    np.savetxt(folder / "track.csv", rows, delimiter=",", header=header, comments="", fmt="%.8g")
    (folder / "capture.yaml").write_text(keys)
    return folder


def test_a_projectile_in_metres(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    t = np.arange(70) / 100
    seen = integrate([0.2, 1.0], [1.5, 2.0], lambda p, v: np.array([0, -G]), t) + 8e-4 * rng.normal(size=(70, 2))
    seen[20:24] = np.nan
    folder = written(tmp_path / "c", "time_s,x_m,y_m", np.c_[t, seen], "object: {diameter: 0.05}")
    made = run_capture(folder, tmp_path / "run")
    gravity, speed = made["parameters"].get("gravity"), made["parameters"].get("launch_speed")
    assert abs(gravity.value - G) < 0.1 and gravity.interval[0] < G < gravity.interval[1]
    assert abs(speed.value - 2.5) < 0.01 and speed.interval[0] < 2.5 < speed.interval[1]
    assert made["parameters"].get("px_per_m") is None
    assert not made["states"].valid[20:24].any()
    twin = made["twin"]
    assert all(f.passed for f in twin.files) and {"MJCF", "HTML"} <= {f.format for f in twin.files}
    assert twin.replay["heldout_rms_m"] < 3e-3
    page = (twin.folder / "report.html").read_text()
    assert "of measured tracks" in page and "of video" not in page


def test_a_sliding_block_in_pixels_from_the_command_line(tmp_path: Path) -> None:
    t, px = slide(3, mu=0.3, slope=25.0, ppm=400.0, fps=120)
    rows = np.c_[np.arange(len(t)), 320 + px[:, 0, 0], 240 - px[:, 0, 1]]
    folder = written(tmp_path / "c", "frame,x_px,y_px", rows, "this is another capture's: 1")
    told = tmp_path / "told.yaml"
    told.write_text("fps: 120\ncamera: {px_per_m: 400, w: 640, h: 480}\nground: {incline_deg: 25}\nobject: {size: [0.1, 0.08, 0.06]}")
    run = tmp_path / "run"
    asked = ["--tracks", str(folder / "track.csv"), "--capture", str(told), "-o", str(run), "--json", "-q"]
    result = CliRunner().invoke(cli.app, ["parameters", *asked])
    assert result.exit_code == 0
    friction = json.loads(result.stdout)["parameters"]["friction"]
    assert abs(friction["value"] - 0.3) < 0.015 and friction["interval"][0] < 0.3 < friction["interval"][1]
    twin = json.loads(
        CliRunner().invoke(cli.app, ["twin", str(run), "--json", "-q"]).stdout
    )  # the box lies along its way: it does not topple
    assert not any("replay leaves" in w for w in twin["warnings"])
    assert CliRunner().invoke(cli.app, ["parameters"]).exit_code == 2


def test_a_tumbling_box_with_poses(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    thrown = Thrown((0.12, 0.09, 0.07), friction=0.35, restitution=0.5, contact_time=3e-3)
    place, turned = path(thrown, 50)
    place = place + 5e-4 * rng.normal(size=place.shape)
    turned = rotation.times(rotation.exp(5e-3 * rng.normal(size=(50, 3))), turned)
    keys = "ground: {normal: [0, 0, 1]}\nobject: {size: [0.12, 0.09, 0.07], density: 600}"
    folder = written(tmp_path / "c", "time_s,x_m,y_m,z_m,qw,qx,qy,qz", np.c_[np.arange(50) / 60, place, turned], keys)
    made = run_capture(folder, tmp_path / "run", until="parameters")
    assert made["states"].kind == "pose"
    for name, truth, near in (("friction", 0.35, 0.05), ("restitution", 0.5, 0.08)):
        found = made["parameters"].get(name)
        assert abs(found.value - truth) < near and found.interval[0] < truth < found.interval[1]
