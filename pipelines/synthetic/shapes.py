"""Solids by their signed distance: particles that fill them, points on their surface."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Distance = Callable[[np.ndarray], np.ndarray]  # points (N, 3) to their distance (N,) to the surface, negative inside
BOX = 0.8  # every shape lies within [-BOX, BOX]^3
FINE = 96  # cells along an axis of that box, to measure a volume


def ball(x: np.ndarray, radius: float = 0.5, at: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    return np.linalg.norm(x - at, axis=-1) - radius


def block(x: np.ndarray, half: tuple[float, float, float], at: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    return (np.abs(x - at) - half).max(-1)


def rod(x: np.ndarray, end: tuple[float, float, float], radius: float) -> np.ndarray:
    """A capsule from the origin to `end`."""
    axis = np.asarray(end, float)
    along = np.clip(x @ axis / (axis @ axis), 0, 1)
    return np.linalg.norm(x - along[..., None] * axis, axis=-1) - radius


SHAPES: dict[str, Distance] = {
    "ball": ball,
    "cube": lambda x: block(x, (0.4, 0.4, 0.4)),
    "brick": lambda x: block(x, (0.55, 0.35, 0.28)),
    "torus": lambda x: np.hypot(np.hypot(x[..., 0], x[..., 1]) - 0.42, x[..., 2]) - 0.2,
    "capsule": lambda x: rod(x - [-0.4, 0, 0], (0.8, 0, 0), 0.27),
    "column": lambda x: np.maximum(np.hypot(x[..., 0], x[..., 1]) - 0.35, np.abs(x[..., 2]) - 0.5),
    "cone": lambda x: np.maximum(0.8 * np.hypot(x[..., 0], x[..., 1]) - 0.6 * (0.5 - x[..., 2]), -0.5 - x[..., 2]),
    "letter": lambda x: np.minimum(block(x, (0.17, 0.2, 0.6), (-0.3, 0, 0)), block(x, (0.45, 0.2, 0.17), (0.02, 0, -0.43))),
    "jack": lambda x: np.min([rod(x, end, 0.2) for end in ((0.55, 0, 0), (-0.2, 0.5, 0), (-0.2, -0.4, 0.2), (0, 0, 0.55))], axis=0),
    "duck": lambda x: np.min([ball(x, 0.42, (-0.1, 0, -0.15)), ball(x, 0.27, (0.27, 0, 0.35)), rod(x, (-0.55, 0, 0.15), 0.16)], axis=0),
}


def scale(shape: str, width: float) -> float:
    """[m] per unit of a shape that then has the volume width^3."""
    return width / ((SHAPES[shape](lattice(2 * BOX / FINE)) < 0).mean() * (2 * BOX) ** 3) ** (1 / 3)


def filled(shape: str, width: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """About `count` particles (N, 3) [m] on a lattice in a shape of the volume width^3 [m^3], and the volumes (N,) of the cells."""
    step, unit = width / count ** (1 / 3), scale(shape, width)
    points = lattice(step / unit)
    points = points[SHAPES[shape](points) < 0]
    return unit * points, np.full(len(points), step**3)


def surface(shape: str, width: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (G, 3) [m] about `step` [m] apart all over the surface of that shape, and the unit normals (G, 3) there, of either sign."""
    from skimage.measure import marching_cubes

    unit = scale(shape, width)
    n = int(2 * BOX * unit / step)
    axis = np.linspace(-BOX, BOX, n)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1)
    vertices, _, normals, _ = marching_cubes(SHAPES[shape](grid), 0.0)
    return unit * (vertices * (axis[1] - axis[0]) - BOX), normals


def lattice(step: float) -> np.ndarray:
    """Points (N, 3) in the box of the shapes, symmetric about its centre."""
    axis = (np.arange(-int(BOX / step), int(BOX / step)) + 0.5) * step
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
