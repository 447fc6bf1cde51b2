"""Calibrated lenses as files give them, and how rotation, undistortion and resizing change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.types import Camera

OPENGL_TO_OPENCV = np.diag([1.0, -1.0, -1.0, 1.0])  # camera axes: y up, z back -> y down, z forward


@dataclass(frozen=True)
class Projection:
    """Fisheye and other lenses that are no pinhole with Brown-Conrady distortion, in COLMAP's terms."""

    model: str  # COLMAP's name of the camera model
    params: tuple[float, ...]  # for pictures of `size`
    size: tuple[int, int]  # [px] (width, height)

    def camera(self, size: tuple[int, int]) -> Any:
        """pycolmap's camera for pictures of another size."""
        import pycolmap

        camera = pycolmap.Camera(model=self.model, width=self.size[0], height=self.size[1], params=list(self.params))
        if size != self.size:
            camera.rescale(*size)
        return camera

    def pixels(self, rays: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """Pixels (N, 2) in which directions (N, 3) in camera axes are seen; NaN where the model does not see them."""
        return np.asarray(self.camera(size).img_from_cam(np.ascontiguousarray(rays, float)))


@dataclass(frozen=True)
class Lens:
    """A calibrated camera with its distortion."""

    K: np.ndarray  # [px] (3, 3), pixel centres at +0.5
    world_to_camera: np.ndarray  # [m] (4, 4) OpenCV axes
    size: tuple[int, int] | None = None  # [px] (width, height) that K refers to; None = that of the pictures
    distortion: tuple[float, ...] = (0.0,) * 5  # k1, k2, p1, p2, k3 (Brown-Conrady)
    projection: Projection | None = None  # instead of the distortion

    @property
    def distorted(self) -> bool:
        return any(self.distortion) or self.projection is not None

    def quarter_turn(self, turns: int) -> Lens:
        """The lens of the same picture turned counter-clockwise by `turns` quarters (size must be known).

        One quarter: u' = v, v' = width - u, so x' = y and y' = -x in camera axes.
        """
        lens = self
        for _ in range(turns % 4):
            assert lens.size is not None
            width, height = lens.size
            K = np.array([[lens.K[1, 1], 0, lens.K[1, 2]], [0, lens.K[0, 0], width - lens.K[0, 2]], [0, 0, 1.0]])
            turn = np.array([[0.0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
            k1, k2, p1, p2, k3 = lens.distortion  # p1 acts along y, p2 along x
            lens = Lens(K, turn @ lens.world_to_camera, (height, width), (k1, k2, -p2, p1, k3))
        return lens

    def fit(self, width: int, height: int) -> Lens:
        """The same lens for pictures of another size with the same aspect. Raises BadInput for another aspect."""
        if self.size is None or self.size == (width, height):
            return replace(self, size=(width, height))
        sx, sy = width / self.size[0], height / self.size[1]
        if abs(sx - sy) * max(self.size) > 1.5 * max(1.0, sx):  # more than rounding to whole pixels explains
            raise BadInput(
                f"the camera is calibrated for {self.size[0]}x{self.size[1]} and the pictures are {width}x{height}.",
                fix="Give the intrinsics and w, h of the pictures as they are (upright).",
            )
        return self.resize(width, height)

    def resize(self, width: int, height: int) -> Lens:
        """The lens after the pictures were resized; with centres at +0.5 this is a pure scaling of K."""
        assert self.size is not None
        scale = np.diag([width / self.size[0], height / self.size[1], 1.0])
        return replace(self, K=scale @ self.K, size=(width, height))

    def camera(self) -> Camera:
        """The pinhole camera of the undistorted pictures: K is kept."""
        assert self.size is not None
        return Camera(self.K, self.world_to_camera, *self.size)

    def maps(self) -> tuple[np.ndarray, np.ndarray]:
        """cv2.remap tables (H, W) that undistort a picture and keep K. OpenCV puts pixel centres at whole numbers."""
        import cv2

        assert self.size is not None
        if self.projection is not None:
            column, row = np.meshgrid(np.arange(self.size[0]) + 0.5, np.arange(self.size[1]) + 0.5)
            rays = np.stack([column, row, np.ones_like(row)], -1).reshape(-1, 3) @ np.linalg.inv(self.K).T
            seen = np.nan_to_num(self.projection.pixels(rays, self.size) - 0.5, nan=-1e4).astype(np.float32)
            return seen[:, 0].reshape(row.shape), seen[:, 1].reshape(row.shape)
        K = self.K - np.array([[0, 0, 0.5], [0, 0, 0.5], [0, 0, 0]])
        x, y = cv2.initUndistortRectifyMap(K, np.array(self.distortion), np.eye(3), K, self.size, cv2.CV_32FC1)
        return x, y


def pose(matrix: Any, where: str, up: np.ndarray | None = None) -> np.ndarray:
    """OpenGL camera-to-world, 3x4 or 4x4, to OpenCV world-to-camera (4, 4).

    `up` (3, 3) turns the file's world axes into ours (z up). Raises BadInput for anything but a rigid motion.
    """
    try:
        given = np.array(matrix, float)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape not in ((3, 4), (4, 4)) or not np.all(np.isfinite(given)):
        raise BadInput(f"{where}: the camera matrix is not 3x4 or 4x4 numbers.", fix="Give camera-to-world in OpenGL axes.")
    to_world = np.eye(4)
    to_world[:3] = given[:3]
    R = to_world[:3, :3]
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-2 or np.linalg.det(R) < 0:
        raise BadInput(
            f"{where}: the camera matrix holds no rotation.", fix="Give camera-to-world in OpenGL axes, without scale or mirror."
        )
    u, _, vt = np.linalg.svd(R)
    to_world[:3, :3] = u @ vt  # files round their numbers
    if up is not None:
        to_world[:3] = up @ to_world[:3]
    return np.linalg.inv(to_world @ OPENGL_TO_OPENCV)


def from_keys(keys: Mapping[str, Any], where: str, up: np.ndarray | None = None) -> Lens:
    """A lens from nerfstudio's keys: fl_x (or fx), fl_y, cx, cy, w, h, k1, k2, p1, p2, k3, transform_matrix."""
    if keys.get("camera_model", "OPENCV") not in ("OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL", "PERSPECTIVE"):
        raise BadInput(
            f"{where}: camera model {keys['camera_model']} is not supported.", fix="Undistort the pictures to a pinhole camera first."
        )
    if any(_number(keys, k, 0.0, where) for k in ("k4", "k5", "k6")):
        raise BadInput(f"{where}: distortion beyond k1, k2, p1, p2, k3 is not supported.", fix="Undistort the pictures first.")
    w, h = _number(keys, "w", None, where), _number(keys, "h", None, where)
    fx = _number(keys, "fl_x", _number(keys, "fx", None, where), where)
    if fx is None and w is not None and "camera_angle_x" in keys:
        angle = _number(keys, "camera_angle_x", 1.0, where)
        fx = 0.5 * w / np.tan(0.5 * float(angle or 1.0))
    if fx is None or fx <= 0:
        raise BadInput(f"{where}: no focal length.", fix="Give fl_x (and fl_y) in pixels.")
    fy = _number(keys, "fl_y", _number(keys, "fy", fx, where), where)
    cx, cy = _number(keys, "cx", None if w is None else w / 2, where), _number(keys, "cy", None if h is None else h / 2, where)
    if cx is None or cy is None or fy is None:
        raise BadInput(f"{where}: no principal point.", fix="Give cx and cy, or w and h, in pixels.")
    distortion = tuple(float(_number(keys, k, 0.0, where) or 0.0) for k in ("k1", "k2", "p1", "p2", "k3"))
    K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]])
    size = (int(w), int(h)) if w is not None and h is not None else None
    return Lens(K, pose(keys.get("transform_matrix"), where, up), size, distortion)


def _number(keys: Mapping[str, Any], name: str, default: float | None, where: str) -> float | None:
    value = keys.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise BadInput(f"{where}: {name} is not a number (given: {value!r}).", fix=f"Give {name} as a number.")
    return float(value)


def to_z_up(axis: str) -> np.ndarray | None:
    """Rotation (3, 3) from a world whose `axis` ('x', 'y', 'z', '-x', ...) points up to ours with z up; None = the same."""
    turns = {
        "z": None,
        "y": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
        "x": [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
        "-z": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
        "-y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
        "-x": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    }
    turn = turns[axis]
    return None if turn is None else np.array(turn, float)
