"""A textured box before a textured wall, rendered by a slab test written apart from the package: 4 x 4 rays a pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys import store
from video2phys.types import About, Camera, Frames, Seen, View

SIZE = np.array([0.10, 0.07, 0.05])
W, H = 128, 96
FINE = 4


def camera() -> Camera:
    return Camera(np.array([[300.0, 0, 64], [0, 300.0, 48], [0, 0, 1]]), np.eye(4), W, H)


def poses(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rotation matrix and position per frame: a toss with a steady spin, camera axes = world axes."""
    start = Rotation.from_euler("xyz", [0.5, 0.6, 0.2])
    out = []
    for k in range(count):
        spin = Rotation.from_rotvec(np.array([0.03, 0.09, 0.05]) * k)
        out.append(((spin * start).as_matrix(), np.array([-0.03 + 0.008 * k, 0.01 - 0.006 * k + 0.0006 * k * k, 0.75 + 0.004 * k])))
    return out


def render(R: np.ndarray, t: np.ndarray, patches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Picture (H, W, 3) uint8 and coverage (H, W)."""
    f = 300.0 * FINE
    x, y = np.meshgrid(np.arange(W * FINE) + 0.5, np.arange(H * FINE) + 0.5)
    d = np.stack([(x - 64 * FINE) / f, (y - 48 * FINE) / f, np.ones_like(x)], -1) @ R  # body frame
    o = -R.T @ t
    first, second = (-SIZE / 2 - o) / d, (SIZE / 2 - o) / d
    near = np.minimum(first, second)
    enter, leave = near.max(-1), np.maximum(first, second).min(-1)
    hit = enter < leave
    face = near.argmax(-1)
    p = o + np.where(hit, enter, 0)[..., None] * d
    cell = np.floor((p + 0.2) / 0.008).astype(int) % 32
    side = (np.take_along_axis(p, face[..., None], -1)[..., 0] > 0).astype(int)
    index = np.stack([np.take_along_axis(cell, ((face + i) % 3)[..., None], -1)[..., 0] for i in (1, 2)], -1)
    colour = patches[face * 2 + side, index[..., 0], index[..., 1]] * (0.75 + 0.1 * face)[..., None]
    wall = 120 + 30 * np.sin(x / 37)[..., None] * np.cos(y / 23)[..., None] * np.array([1, 0.9, 0.6])
    full = np.where(hit[..., None], colour, wall)
    pooled = full.reshape(H, FINE, W, FINE, 3).mean((1, 3))
    return np.clip(pooled, 0, 255).astype(np.uint8), hit.reshape(H, FINE, W, FINE).mean((1, 3)).astype(np.float32)


def frames(folder: Path, count: int = 9) -> Frames:
    """The clip as Frames with masks and a background."""
    patches = np.random.default_rng(3).uniform(20, 250, (6, 32, 32, 3))
    images, masks = [], []
    for k, (R, t) in enumerate(poses(count)):
        image, cover = render(R, t, patches)
        store.write_image(folder / f"i{k}.png", image)
        store.write_image(folder / f"m{k}.png", (cover * 255).astype(np.uint8))
        images.append(f"i{k}.png")
        masks.append(f"m{k}.png")
    store.write_image(folder / "empty.png", render(np.eye(3), np.array([0, 0, -5.0]), patches)[0])
    view = View("cam", camera(), tuple(images), (tuple(masks),), np.full((count, 1), int(Seen.WHOLE)), "empty.png")
    return Frames(folder, np.arange(count) / 60, (view,), (), 1, About(size=(0.10, 0.07, 0.05)), "test")
