"""Crops as small cameras: turned towards the object, so that its picture does not depend on where in the image it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.types import Camera, Frames

SIZE = 64  # [px]
MARGIN = 1.5  # side of the crop over the longer side of the object's box
GREY = 0.5  # what stands behind the object


@dataclass(frozen=True)
class Crop:
    """A camera of SIZE x SIZE pixels at the real camera's centre that looks along the ray through the object's box."""

    view: int
    frame: int
    rotation: np.ndarray  # (3, 3) world to crop axes (x right, y down, z forward)
    center: np.ndarray  # [length unit] (3,) of the camera, world
    focal: float  # [px of the crop]

    @property
    def K(self) -> np.ndarray:
        """(3, 3) [px of the crop]."""
        return np.array([[self.focal, 0, SIZE / 2], [0, self.focal, SIZE / 2], [0, 0, 1.0]])

    @property
    def world_to_camera(self) -> np.ndarray:
        """(4, 4)."""
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.rotation, -self.rotation @ self.center
        return pose

    def place(self, target: np.ndarray, radius: float) -> np.ndarray:
        """World point (3,) of the network's place (3,): offset over half the crop, log of apparent radius over half the crop."""
        half = SIZE / 2
        depth = self.focal * radius / (half * np.exp(target[2]))
        return self.center + self.rotation.T @ (depth * np.array([target[0] * half / self.focal, target[1] * half / self.focal, 1.0]))


def crop(camera: Camera, mask: np.ndarray, view: int, frame: int) -> Crop | None:
    """The crop around a mask (H, W) in 0..1, or None where it is empty."""
    rows, columns = np.flatnonzero((mask > 0.5).any(1)), np.flatnonzero((mask > 0.5).any(0))
    if len(rows) == 0:
        return None
    low, high = np.array([columns[0], rows[0]], float), np.array([columns[-1], rows[-1]], float) + 1
    ray = camera.rays((low + high) / 2)[1]
    z = ray @ camera.world_to_camera[:3, :3].T
    x = np.cross([0.0, 1, 0], z)
    x /= np.linalg.norm(x)
    turn = np.stack([x, np.cross(z, x), z])  # camera to crop axes
    half_angle = MARGIN * (high - low).max() / 2 / camera.K[0, 0] * z[2]  # to first order in the box's size
    return Crop(view, frame, turn @ camera.world_to_camera[:3, :3], camera.center, float(SIZE / 2 / half_angle))


def cut(camera: Camera, crop: Crop, picture: np.ndarray) -> np.ndarray:
    """The real picture (H, W, ...) as the crop's camera sees it, (SIZE, SIZE, ...) float32: a homography, as only the axes turn."""
    import cv2

    turn = crop.rotation @ camera.world_to_camera[:3, :3].T
    fine = int(np.clip(np.ceil(camera.K[0, 0] / crop.focal), 1, 8))  # sampled finely and averaged, against aliasing
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    K = np.diag([fine, fine, 1.0]) @ crop.K
    H = np.linalg.inv(half) @ K @ turn @ np.linalg.inv(camera.K) @ half
    big = cv2.warpPerspective(picture.astype(np.float32), H, (SIZE * fine, SIZE * fine), flags=cv2.INTER_LINEAR)
    return cv2.resize(big, (SIZE, SIZE), interpolation=cv2.INTER_AREA) if fine > 1 else big


def gather(frames: Frames, obj: int = 0) -> list[Crop]:
    """Every view and frame in which the object is whole."""
    found = []
    for v, view in enumerate(frames.views):
        for k in range(len(frames.time)):
            if view.whole(k, obj) and view.images[k] and (made := crop(view.camera, frames.mask(v, k, obj), v, k)) is not None:
                found.append(made)
    return found


def seen(frames: Frames, crop: Crop, obj: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Picture (3, SIZE, SIZE) in 0..1 of the object on grey, and its mask (SIZE, SIZE)."""
    camera = frames.views[crop.view].camera
    mask = cut(camera, crop, frames.mask(crop.view, crop.frame, obj))
    image = cut(camera, crop, frames.image(crop.view, crop.frame)) / 255
    return (mask[..., None] * image + (1 - mask[..., None]) * GREY).transpose(2, 0, 1), mask
