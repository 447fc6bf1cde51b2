"""Cameras against a point projected by hand: axes, rotation tags, distortion and resizing."""

from __future__ import annotations

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.frames.cameras import from_keys, pose
from video2phys.frames.geometry import Geometry

KEYS = {"fl_x": 120.0, "fl_y": 115.0, "cx": 47.0, "cy": 30.0, "w": 96, "h": 64}
MATRIX = [[1, 0, 0, 0.2], [0, 0, -1, -3], [0, 1, 0, 0.5]]  # at (0.2, -3, 0.5), looks along +y, z up in the picture
POINT = np.array([0.95, 0.3, 0.9])
DISTORTION = {"k1": -0.25, "k2": 0.1, "p1": 0.01, "p2": -0.02, "k3": 0.03}


def by_hand(point: np.ndarray, **distortion: float) -> np.ndarray:
    """Brown-Conrady: x_d = x (1 + k1 r2 + k2 r4 + k3 r6) + 2 p1 x y + p2 (r2 + 2 x2), y_d likewise."""
    x, depth, z = point - [0.2, -3, 0.5]
    x, y = x / depth, -z / depth
    k1, k2, p1, p2, k3 = (distortion.get(k, 0.0) for k in ("k1", "k2", "p1", "p2", "k3"))
    r2 = x * x + y * y
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    xd = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
    yd = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
    return np.array([120 * xd + 47, 115 * yd + 30])


def plan(width: int = 96, height: int = 64, *, turns: int = 0, max_pixels: int = 10**6, **keys: object) -> Geometry:
    lens = from_keys({**KEYS, "transform_matrix": MATRIX, **keys}, "test")
    return Geometry.plan(width, height, turns=turns, aspect=1.0, lens=lens, max_pixels=max_pixels)


def dot(at: np.ndarray, width: int = 96, height: int = 64) -> np.ndarray:
    """A blurred spot at `at` [px, pixel centres at +0.5] in a picture as stored."""
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return np.round(255 * np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / 8)).astype(np.uint8)


def spot(picture: np.ndarray) -> np.ndarray:
    y, x = np.mgrid[: picture.shape[0], : picture.shape[1]] + 0.5
    weight = picture.astype(float)
    return np.array([(x * weight).sum(), (y * weight).sum()]) / weight.sum()


def test_opengl_pose_projects_as_by_hand() -> None:
    for matrix in (MATRIX, [*MATRIX, [0, 0, 0, 1]]):  # 3x4 and 4x4
        camera = plan(transform_matrix=matrix).camera
        np.testing.assert_allclose(camera.project(POINT), by_hand(POINT), atol=1e-9)
    np.testing.assert_allclose(plan().camera.center, [0.2, -3, 0.5], atol=1e-12)


@pytest.mark.parametrize("max_pixels", [10**6, 96 * 64 // 4])
def test_distorted_picture_matches_its_pinhole(max_pixels: int) -> None:
    """Undistortion, then resizing, on a non-square picture: under 0.1 px of the final one."""
    geometry = plan(max_pixels=max_pixels, **DISTORTION)
    stored = by_hand(POINT, **DISTORTION)
    assert np.abs(stored - by_hand(POINT)).max() > 0.3  # the test would see a forgotten undistortion
    np.testing.assert_allclose(spot(geometry.apply(dot(stored))), geometry.camera.project(POINT), atol=0.1)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_camera_given_upright_fits_a_turned_picture(turns: int) -> None:
    stored = np.rot90(dot(by_hand(POINT)), -turns)
    geometry = plan(stored.shape[1], stored.shape[0], turns=turns)
    assert geometry.size == (96, 64)
    np.testing.assert_allclose(spot(geometry.apply(stored)), geometry.camera.project(POINT), atol=0.02)


@pytest.mark.parametrize("turns", [1, 3])
def test_camera_given_as_stored_is_turned_with_the_picture(turns: int) -> None:
    geometry = plan(turns=turns, **DISTORTION)
    assert geometry.size == (64, 96)
    picture = geometry.apply(dot(by_hand(POINT, **DISTORTION)))
    np.testing.assert_allclose(spot(picture), geometry.camera.project(POINT), atol=0.1)


def test_calibration_of_another_size_is_scaled_and_of_another_aspect_refused() -> None:
    np.testing.assert_allclose(plan(192, 128).camera.project(POINT), 2 * by_hand(POINT), atol=1e-9)
    with pytest.raises(BadInput, match="96x64"):
        plan(96, 96)


def test_planar_pictures_get_square_pixels_and_keep_their_aspect() -> None:
    geometry = Geometry.plan(720, 576, turns=0, aspect=64 / 45, lens=None, max_pixels=10**6)  # 16:9 on tape
    assert geometry.size == (1024, 576)
    big = Geometry.plan(1920, 1080, turns=1, aspect=1.0, lens=None, max_pixels=1280 * 720)
    assert big.size == (720, 1280) and big.camera.model == "orthographic"
    assert abs(big.zoom - 2 / 3) < 1e-12


@pytest.mark.parametrize("matrix", [None, [[1, 2], [3, 4]], np.zeros((3, 4)), np.diag([2.0, 2, 2, 1]), np.diag([1.0, 1, -1, 1]), "x"])
def test_bad_poses_are_refused(matrix: object) -> None:
    with pytest.raises(BadInput, match="camera matrix"):
        pose(matrix, "here")


@pytest.mark.parametrize("keys", [{"fl_x": None}, {"fl_x": "a"}, {"fl_x": -3.0}, {"camera_model": "OPENCV_FISHEYE"}, {"k4": 0.1}])
def test_bad_intrinsics_are_refused(keys: dict) -> None:
    with pytest.raises(BadInput):
        plan(**keys)
