"""A picture as training sees it: cut to its mask, at some fraction of its size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from video2phys.gaussians.hull import Shot
from video2phys.types import Camera

MARGIN = 4  # [px] kept around the outline
SMALLEST = 24  # [px] no side is made shorter


@dataclass(frozen=True)
class Level:
    """One picture at one size."""

    camera: Camera
    image: Tensor  # (H, W, 3) 0..1
    mask: Tensor | None  # (H, W) 0..1


def level(shot: Shot, zoom: int, device: torch.device | str) -> Level:
    """A shot made `zoom` times smaller by averaging."""
    import cv2

    if shot.mask is not None:
        shot = crop(shot)
    camera, image, mask = shot.camera, shot.image, shot.mask
    if zoom > 1 and min(camera.width, camera.height) >= zoom * SMALLEST:
        width, height = camera.width // zoom, camera.height // zoom
        K = np.diag([width / camera.width, height / camera.height, 1.0]) @ camera.K
        camera = Camera(K, camera.world_to_camera, width, height, camera.model)
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
        mask = None if mask is None else cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA)

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Level(camera, tensor(image), None if mask is None else tensor(mask))


def crop(shot: Shot) -> Shot:
    """The part of a picture around the outline."""
    rows, columns = np.flatnonzero(shot.outline.max(1) > 0.1), np.flatnonzero(shot.outline.max(0) > 0.1)
    top, left = max(0, rows[0] - MARGIN), max(0, columns[0] - MARGIN)
    part = slice(top, rows[-1] + 1 + MARGIN), slice(left, columns[-1] + 1 + MARGIN)
    image, mask = shot.image[part], shot.outline[part]
    K = shot.camera.K.copy()
    K[:2, 2] -= (left, top)
    return Shot(shot.name, Camera(K, shot.camera.world_to_camera, mask.shape[1], mask.shape[0], shot.camera.model), image, mask)
