"""Gaussians that somebody else trained: recognised, put upright, and turned into a body with and without their cameras."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from video2phys.config import resolve
from video2phys.errors import BadInput
from video2phys.gaussians.size import metric
from video2phys.pipeline import run_capture
from video2phys.render.files.dotsplat import write_splat
from video2phys.render.files.ply import write_splats
from video2phys.render.files.splats import Splats
from video2phys.render.harmonics import colour
from video2phys.types import About

AXES = np.array([0.3, 0.2, 0.15])  # of an ellipsoid, the longest along the file's x
PLACE = np.array([1.0, 2.0, 3.0])
COARSE = resolve(overrides=["gaussians.cells=48"])
VOLUME = 4 / 3 * np.pi * AXES.prod()


def ellipsoid(degree: int = 0) -> Splats:
    """A closed shell of small opaque Gaussians, coloured by chance."""
    gen = np.random.default_rng(0)
    where = gen.normal(size=(40_000, 3))
    where *= AXES / np.linalg.norm(where, axis=1, keepdims=True)
    count = len(where)
    return Splats(where + PLACE, np.tile([1.0, 0, 0, 0], (count, 1)), np.full((count, 3), 0.0025), np.full(count, 0.95),
                  0.3 * gen.normal(size=(count, (degree + 1) ** 2, 3)))  # fmt: skip


def cameras() -> list[dict]:
    """cameras.json of cameras about the ellipsoid; their up is the file's z."""
    found = []
    for turn in np.linspace(0, 2 * np.pi, 12, endpoint=False):
        for height in (-0.7, 0.2, 0.8):
            back = np.array([np.cos(turn) * np.sqrt(1 - height**2), np.sin(turn) * np.sqrt(1 - height**2), height])
            right = np.cross(-back, [0, 0, 1.0])
            right /= np.linalg.norm(right)
            rotation = np.stack([right, np.cross(-back, right), -back], 1)
            found.append({"id": len(found), "img_name": f"{len(found):03}", "width": 320, "height": 240, "fx": 400.0, "fy": 400.0,
                          "position": (PLACE + 1.5 * back).tolist(), "rotation": rotation.tolist()})  # fmt: skip
    return found


def test_a_splat_file_alone_becomes_a_body_in_metres(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    capture.mkdir()
    write_splat(capture / "thing.splat", ellipsoid(), {})
    (capture / "thing.json").unlink()  # as other programs write it
    (capture / "capture.yaml").write_text("object: {size: [0.06, 0.04, 0.03]}\n")
    made = run_capture(capture, tmp_path / "run", COARSE, until="gaussians")
    frames, found = made["frames"], made["gaussians"]
    assert frames.layout == "trained Gaussians" and any("up is taken as -y" in n for n in frames.notes)
    body = found.bodies[0]
    # cells are 13 mm wide here, and the shell is some 5 mm thick
    assert body.volume.sum() == pytest.approx(VOLUME / 10**3, rel=0.1)
    np.testing.assert_allclose(np.ptp(body.vertices, axis=0), [0.06, 0.03, 0.04], rtol=0.05)  # the file's y lies along z
    np.testing.assert_allclose(body.position, 0.1 * np.array([1.0, 3.0, -2.0]), rtol=0.05)
    assert not found.warnings


def test_a_training_with_cameras_is_put_upright_by_them(tmp_path: Path) -> None:
    for step in (7000, 30000):
        (tmp_path / f"capture/point_cloud/iteration_{step}").mkdir(parents=True)
    file = tmp_path / "capture/point_cloud/iteration_30000/point_cloud.ply"
    (file.parents[1] / "iteration_7000/point_cloud.ply").write_text("not the one that counts")
    write_splats(file, ellipsoid(degree=2), {})
    file.with_suffix(".json").unlink()
    (tmp_path / "capture/cameras.json").write_text(json.dumps(cameras()))
    made = run_capture(tmp_path / "capture", tmp_path / "run", COARSE, until="gaussians")
    frames, body = made["frames"], made["gaussians"].bodies[0]
    assert len(frames.scan) == 36 and "upright in all pictures" in " ".join(frames.notes)
    assert np.ptp(body.vertices, axis=0)[2] == pytest.approx(2 * AXES[2], rel=0.08)
    assert body.volume.sum() == pytest.approx(VOLUME, rel=0.1)
    strange = metric(made["gaussians"], About(size=(0.6, 0.1, 0.1)))
    assert any("proportions" in w for w in strange.warnings)


@pytest.mark.parametrize("damage", [{"rotation": [[1, 0], [0, 1]]}, {"fx": None}, {"rotation": np.diag([2, 1, 1]).tolist()}])
def test_damaged_cameras_are_one_clear_error(tmp_path: Path, damage: dict) -> None:
    write_splat(tmp_path / "thing.splat", ellipsoid(), {})
    (tmp_path / "cameras.json").write_text(json.dumps([cameras()[0] | damage]))
    with pytest.raises(BadInput, match=r"cameras\.json"):
        run_capture(tmp_path, tmp_path / "run", until="frames")


def test_colours_turn_with_the_world() -> None:
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_rotvec([0.3, -1.1, 2.0]).as_matrix()
    before = ellipsoid(degree=3)[np.arange(200)]
    after = before.moved(turn, np.array([0.1, 0.2, 0.3]), 2.0)
    towards = np.random.default_rng(1).normal(size=(200, 3))
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    seen = [colour(torch.from_numpy(s.harmonics), torch.from_numpy(d)).numpy() for s, d in ((before, towards), (after, towards @ turn.T))]
    np.testing.assert_allclose(*seen, atol=1e-12)
    np.testing.assert_allclose(after.mean, 2 * (before.mean - [0.1, 0.2, 0.3]) @ turn.T)
