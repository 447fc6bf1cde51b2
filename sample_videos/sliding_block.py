"""A block released on an inclined plank, seen from the side by one fixed camera: the smallest useful capture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from video import write_truth, write_video

FPS, FRAMES = 120, 110
WIDTH, HEIGHT, PX_PER_M = 320, 240, 400.0
SLOPE, FRICTION, GRAVITY = np.radians(24.0), 0.27, 9.81
BLOCK = np.array([0.06, 0.04])  # [m] length, height
RELEASE = 0.1  # [s]
SUPERSAMPLE = 4


def distance(time: float, step: float = 1e-5) -> float:
    """Way down the plank [m] after `time` by explicit integration at a step far below the frame time."""
    a = GRAVITY * (np.sin(SLOPE) - FRICTION * np.cos(SLOPE))
    s = v = 0.0
    for _ in range(max(0, round((time - RELEASE) / step))):
        v += a * step
        s += v * step
    return s


def picture(way: float, noise: np.random.Generator) -> np.ndarray:
    """One frame: wall with a light fall-off, plank, block with a darker stripe; box-filtered, with sensor noise."""
    n = SUPERSAMPLE
    y, x = np.mgrid[0 : HEIGHT * n, 0 : WIDTH * n]
    px, pz = ((x + 0.5) / n - WIDTH / 2) / PX_PER_M, -((y + 0.5) / n - HEIGHT / 2) / PX_PER_M
    along = px * -np.cos(SLOPE) + pz * -np.sin(SLOPE)  # down the plank, to the left
    above = px * -np.sin(SLOPE) + pz * np.cos(SLOPE)
    image = np.empty((HEIGHT * n, WIDTH * n, 3))
    image[:] = (188 + 30 * px / 0.4 + 10 * np.sin(60 * pz))[..., None] * np.array([1.0, 0.97, 0.92])
    image[(above < 0) & (above > -0.02)] = (96, 62, 40)
    u = along - (-0.24 + way)
    inside = (np.abs(u) < BLOCK[0] / 2) & (above > 0) & (above < BLOCK[1])
    image[inside] = (40, 130, 70)
    image[inside & (np.abs(u) < 0.006)] = (20, 60, 40)
    small = image.reshape(HEIGHT, n, WIDTH, n, 3).mean((1, 3))
    return np.clip(small + noise.normal(0, 2.0, small.shape), 0, 255).astype(np.uint8)


def make(folder: Path) -> None:
    noise = np.random.default_rng(7)
    write_video(folder / "video.mp4", [picture(distance(k / FPS), noise) for k in range(FRAMES)], FPS)
    (folder / "capture.yaml").write_text(
        f"video: video.mp4\ncamera: {{mode: planar, px_per_m: {PX_PER_M:g}}}\ngravity: [0, 0, -{GRAVITY}]\nground: auto\nmodel: rigid\n"
    )
    a = GRAVITY * (np.sin(SLOPE) - FRICTION * np.cos(SLOPE))
    write_truth(folder, friction=FRICTION, slope=float(np.degrees(SLOPE)), acceleration=float(a))
