"""Photographs of a corner of three walls with random texture, cast ray by ray: enough for structure from motion, with known cameras."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np

from video2phys.types import Camera

SIZE = (256, 192)
K = np.array([[230.0, 0, 128], [0, 230, 96], [0, 0, 1]])
WALL = 2.0  # [m] the walls are x = 0, y = 0 and z = 0, from 0 to this far


def cameras(count: int) -> list[Camera]:
    """An arc about the corner, by turns lower and higher, level."""
    angles = np.radians(np.linspace(20, 70, count))
    eyes = [np.array([2.6 * np.cos(a), 2.6 * np.sin(a), 1.3 + 0.3 * (k % 2)]) for k, a in enumerate(angles)]
    return [Camera.aimed(eye, np.array([0.4, 0.4, 0.5]), K, *SIZE) for eye in eyes]


def photograph(camera: Camera, seed: int = 0) -> np.ndarray:
    """RGB (H, W, 3) uint8. `seed` chooses the wallpaper."""
    rng = np.random.default_rng(seed)
    papers = [cv2.GaussianBlur(rng.uniform(-400, 650, (260, 260, 3)), (0, 0), 1.5) for _ in range(3)]
    x, y = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    origin, direction = camera.rays(np.stack([x, y], -1))
    far = np.full(x.shape, np.inf)
    image = np.zeros((*x.shape, 3))
    for axis in range(3):
        with np.errstate(divide="ignore"):
            distance = -origin[..., axis] / direction[..., axis]
        place = origin + distance[..., None] * direction
        u, v = (place[..., i].astype(np.float32) * 130 - 0.5 for i in range(3) if i != axis)
        hit = (distance > 0) & (distance < far) & np.all((place > -1e-6) & (place < WALL), -1)
        paper = cv2.remap(papers[axis].astype(np.float32), u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        image[hit], far = paper[hit], np.where(hit, distance, far)
    return np.clip(image, 0, 255).round().astype(np.uint8)


def write(folder: Path, shots: dict[str, np.ndarray]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in shots.items():
        assert cv2.imwrite(str(folder / name), image[..., ::-1])
    return folder


def transforms(folder: Path, cameras: list[Camera], **more: object) -> None:
    """Write blank photographs and transforms.json."""
    (folder / "images").mkdir(parents=True)
    frames: list[dict[str, object]] = []
    first = cameras[0]
    for k, camera in enumerate(cameras):
        cv2.imwrite(str(folder / f"images/{k:02d}.png"), np.full((first.height, first.width, 3), 20 * k % 255, np.uint8))
        matrix = np.linalg.inv(camera.world_to_camera) @ np.diag([1.0, -1, -1, 1])
        frames.append({"file_path": f"images/{k:02d}.png", "transform_matrix": matrix.tolist()})
    (fx, _, cx), (_, fy, cy), _ = first.K.tolist()
    shared = {"fl_x": fx, "fl_y": fy, "cx": cx, "cy": cy, "w": first.width, "h": first.height, "frames": frames}
    (folder / "transforms.json").write_text(json.dumps(shared | more))
