"""Pictures of a striped ball and a box from a ring of cameras, exact to a fraction of a pixel."""

from __future__ import annotations

import numpy as np

from video2phys.gaussians.hull import Shot
from video2phys.types import Camera

CENTRE, RADIUS = np.array([0.03, -0.02, 0.15]), 0.1
BOX = np.array([0.14, 0.10, 0.12])


def camera(angle: float, height: float, size: int = 96, f: float = 260.0) -> Camera:
    """A camera on a circle of radius 1.2 about the z axis that looks at CENTRE."""
    eye = np.array([1.2 * np.cos(angle), 1.2 * np.sin(angle), height])
    return Camera.aimed(eye, CENTRE, np.array([[f, 0, size / 2 - 3], [0, f, size / 2 + 2], [0, 0, 1.0]]), size, size)


def hits(view: Camera, kind: str, fine: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Where the rays of a finer picture meet the solid (h, w, 3), and whether they do (h, w)."""
    rows, columns = np.mgrid[: view.height * fine, : view.width * fine]
    origin, d = view.rays((np.stack([columns, rows], -1) + 0.5) / fine)
    o = origin - CENTRE
    if kind == "ball":
        b, c = (o * d).sum(-1), (o * o).sum(-1) - RADIUS**2
        root = b * b - c
        t, met = -b - np.sqrt(np.maximum(root, 0)), root > 0
    else:
        one, two = (-BOX / 2 - o) / d, (BOX / 2 - o) / d
        t, far = np.minimum(one, two).max(-1), np.maximum(one, two).min(-1)
        met = far > t
    return o + t[..., None] * d, met


def shots(kind: str, views: int = 8) -> list[Shot]:
    """Pictures with a smooth coloured pattern fixed to the solid, in turn from above and below."""
    out = []
    for k in range(views):
        view = camera(2 * np.pi * k / views, 0.15 + (0.6 if k % 2 else -0.5))
        point, met = hits(view, kind)
        colour = 0.5 + 0.4 * np.sin(point * [60.0, 70, 80] + [0, 1, 2]) * np.cos(point[..., ::-1] * 50)
        small = [np.where(met[..., None], colour, 0.3), met[..., None].astype(float)]
        image, mask = (a.reshape(view.height, 4, view.width, 4, -1).mean((1, 3)).astype(np.float32) for a in small)
        out.append(Shot(f"view{k}", view, image, mask[..., 0]))
    return out
