"""Moving Gaussians filmed by calibrated cameras, and written as a capture in PAC-NeRF's layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import yaml

from video2phys.frames.cameras import OPENGL_TO_OPENCV
from video2phys.render.api import rasterize
from video2phys.store import write_image
from video2phys.types import Camera

Y_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # from our world, z up, to the layout's
FINER = 2  # pictures are drawn this much larger and then averaged, as the rasteriser blurs by half a pixel
NOISE = 2.0  # [grey levels] of each pixel
RINGS = ((7, 14.0, 0.0), (4, 42.0, 27.0))  # cameras, their elevation [deg] and the azimuth [deg] of the first
WALL = np.array([0.10, 0.12, 0.20])


@dataclass(frozen=True)
class Film:
    """What is filmed: opaque Gaussians with a colour each."""

    time: np.ndarray  # [s] (T,)
    mean: np.ndarray  # [m] (T, G, 3)
    covariance: np.ndarray  # [m^2] (T, G, 3, 3)
    colour: np.ndarray  # (G, 3) 0..1


def cameras(target: np.ndarray, field: float, pixels: int, distance: float = 1.8) -> list[Camera]:
    """Cameras around a point [m] (3,) that each see `field` [m] across there."""
    focal = pixels * distance / field
    K = np.array([[focal, 0, pixels / 2], [0, focal, pixels / 2], [0, 0, 1.0]])
    out = []
    for count, elevation, first in RINGS:
        for turn in np.radians(first + np.arange(count) * 360 / count):
            up = np.radians(elevation)
            back = np.array([np.cos(turn) * np.cos(up), np.sin(turn) * np.cos(up), np.sin(up)])
            out.append(Camera.aimed(target + distance * back, target, K, pixels, pixels))
    return out


def texture(points: np.ndarray, size: float, rng: np.random.Generator, waves: int = 12) -> np.ndarray:
    """Smooth random patterns (N, 3), about -1..1, of points (N, 3) [m]: plane waves of a half to a sixth of `size` [m]."""
    direction = rng.normal(size=(waves, 3))
    direction *= (2 * np.pi / size * rng.uniform(2, 6, waves) / np.linalg.norm(direction, axis=1))[:, None]
    return np.sin(points @ direction.T + rng.uniform(0, 2 * np.pi, waves)) @ rng.normal(size=(waves, 3)) / np.sqrt(waves / 2)


def backdrop(camera: Camera, rng: np.random.Generator) -> np.ndarray:
    """The empty scene (H, W, 3), 0..1: a dull patterned ground z = 0 before a dark wall."""
    v, u = np.mgrid[: camera.height, : camera.width] + 0.5
    origin, ray = camera.rays(np.stack([u, v], -1))
    down = np.minimum(ray[..., 2], -1e-3)
    place = origin - ray * (origin[..., 2:] / down[..., None])
    ground = np.clip([0.30, 0.36, 0.42] + 0.05 * texture(place, 0.6, rng), 0, 1)
    return np.where((ray[..., 2] < -1e-3)[..., None] & (np.linalg.norm(place, axis=-1) < 4)[..., None], ground, WALL)


def pictures(film: Film, camera: Camera, plate: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Colour (H, W, 3) before the `plate` and coverage (H, W), 0..1, of every frame."""
    size = (FINER * camera.width, FINER * camera.height)
    colour, opaque, K, pose = (
        torch.tensor(a, dtype=torch.float32)
        for a in (film.colour, np.ones(len(film.colour)), camera.K * [[FINER], [FINER], [1]], camera.world_to_camera)
    )
    for mean, covariance in zip(film.mean, film.covariance, strict=True):
        x, S = (torch.tensor(a, dtype=torch.float32) for a in (mean, covariance))
        with torch.no_grad():
            drawn = rasterize(x, None, None, opaque, colour, K, pose, *size, covariance=S, antialias=True)
        seen = np.concatenate([drawn.colour.numpy(), drawn.alpha.numpy()[..., None]], -1)
        seen = seen.reshape(camera.height, FINER, camera.width, FINER, 4).mean((1, 3))
        yield seen[..., :3] + (1 - seen[..., 3:]) * plate, seen[..., 3]


def write(folder: Path, film: Film, views: list[Camera], told: dict, seed: int) -> None:
    """all_data.json, data/r_CAMERA_FRAME.png with frame -1 the empty scene, and capture.yaml of what is `told`."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    entries = []
    for c, camera in enumerate(views):
        rng = np.random.default_rng([seed, c])
        plate = backdrop(camera, np.random.default_rng(seed))  # one ground for all cameras
        c2w = np.linalg.inv(camera.world_to_camera) @ OPENGL_TO_OPENCV
        c2w[:3] = Y_UP @ c2w[:3]
        shots = [plate, *(picture for picture, _ in pictures(film, camera, plate))]
        for frame, picture in enumerate(shots, start=-1):
            noisy = np.clip(np.round(255 * picture + NOISE * rng.normal(size=picture.shape)), 0, 255).astype(np.uint8)
            name = f"data/r_{c}_{frame}.png"
            write_image(folder / name, noisy)
            time = float(film.time[max(frame, 0)])
            entries.append({"file_path": f"./{name}", "time": time, "c2w": c2w[:3].tolist(), "intrinsic": camera.K.tolist()})
    (folder / "all_data.json").write_text(json.dumps(entries))
    (folder / "capture.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
