"""Artefacts survive the way to disk and back, and damage is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from video2phys import store
from video2phys.errors import BadInput
from video2phys.types import About, Camera, Frames, Parameter, Parameters, Plane, StateTrack, Status, Verdict, View


def track() -> StateTrack:
    position = np.array([[[0.0, 0, 1]], [[np.nan] * 3]])
    return StateTrack(np.array([0, 0.1]), "planar", position, np.full((2, 1, 3), np.inf), np.tile([1.0, 0, 0, 0], (2, 1, 1)),
                      np.full((2, 1, 3), np.inf), None, None, np.array([[True], [False]]), "px", notes=("a",))  # fmt: skip


def test_a_track_with_nan_and_infinity_survives(tmp_path: Path) -> None:
    store.save(track(), tmp_path)
    back = store.load(StateTrack, tmp_path)
    np.testing.assert_array_equal(back.position, track().position)
    assert back.notes == ("a",) and back.unit == "px" and back.deformation is None


def test_nested_artefacts_and_enums_survive(tmp_path: Path) -> None:
    view = View("cam", Camera.planar(4, 3, 10.0), ("a.png",), (("",),), np.array([[2]]))
    frames = Frames(tmp_path, np.array([0.0]), (view,), (), 1, About(ground=Plane(np.array([0, 0, 1.0]), 0.5), size=(1.0, 2.0, 3.0)), "x")
    store.save(frames, tmp_path)
    back = store.load(Frames, tmp_path)
    assert back.folder == tmp_path and back.about.size == (1.0, 2.0, 3.0)
    assert back.about.ground is not None and back.about.ground.offset == 0.5
    np.testing.assert_array_equal(back.views[0].camera.K, view.camera.K)
    assert back.mask(0, 0).shape == (3, 4)


def test_unbounded_intervals_survive(tmp_path: Path) -> None:
    p = Parameter("mass", [1.0, 2.0], "kg", [[0.0, float("inf")], [1.0, 3.0]], Verdict.NOT_IDENTIFIED)
    one = np.zeros((1, 1, 3))
    fit = Parameters("rigid", Status.UNSTABLE, (p,), np.zeros(1), np.ones(1, bool), np.zeros(1, bool), one, np.zeros((1, 1, 4)), None,
                     {"train_px": float("nan")}, np.zeros((1, 1)), ("x",), np.eye(1), ("mass",), "m")  # fmt: skip
    store.save(fit, tmp_path)
    back = store.load(Parameters, tmp_path)
    assert back.parameters == fit.parameters and back.status is Status.UNSTABLE and np.isnan(back.residual["train_px"])


@pytest.mark.parametrize("file", ["arrays.npz", "artefact.json"])
@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damage_is_named(tmp_path: Path, file: str, damage: bytes | None) -> None:
    store.save(track(), tmp_path)
    (tmp_path / file).unlink() if damage is None else (tmp_path / file).write_bytes(damage)
    with pytest.raises(BadInput, match="does not hold a readable StateTrack"):
        store.load(StateTrack, tmp_path)


def test_shapes_are_checked_where_an_artefact_is_made() -> None:
    good = vars(track())
    with pytest.raises(BadInput, match=r"StateTrack.valid has shape \(3, 1\), want \(2, 1\) to match"):
        StateTrack(**(good | {"valid": np.ones((3, 1), bool)}))


def test_images_survive(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (5, 7, 3), dtype=np.uint8)
    store.write_image(tmp_path / "sub/a.png", image)
    np.testing.assert_array_equal(store.read_image(tmp_path / "sub/a.png"), image)
    (tmp_path / "b.png").write_bytes(b"")
    with pytest.raises(BadInput, match="not a readable picture"):
        store.read_gray(tmp_path / "b.png")
    with pytest.raises(BadInput, match="cannot read"):
        store.read_gray(tmp_path / "none.png")


@pytest.mark.parametrize("model", ["perspective", "orthographic"])
def test_rays_pass_through_what_they_show(model: str) -> None:
    axes = np.eye(4)
    axes[:3, :3] = [[0, 1, 0], [0, 0, -1], [-1, 0, 0]]
    axes[:3, 3] = 0.1, 0.2, 3
    camera = Camera(np.array([[90.0, 0, 31], [0, 80, 22], [0, 0, 1]]), axes, 64, 48, model)  # type: ignore[arg-type]
    points = np.random.default_rng(0).normal(0, 0.3, (20, 3))
    origin, direction = camera.rays(camera.project(points))
    along = ((points - origin) * direction).sum(1, keepdims=True)
    np.testing.assert_allclose(origin + along * direction, points, atol=1e-9)
    assert (along[:, 0] > 0).all()
