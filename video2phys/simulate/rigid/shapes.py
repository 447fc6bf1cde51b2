"""Convex shapes that a plane can touch, and how many numbers describe them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput


@dataclass(frozen=True)
class Shape:
    """A convex solid in its body frame: the hull of points, or an ellipsoid (a sphere among them) about the origin."""

    points: np.ndarray  # [length unit] (N, 3) hull vertices; for an ellipsoid (0, 3)
    radii: np.ndarray | None = None  # [length unit] (3,) semi-axes of an ellipsoid

    @property
    def extent(self) -> float:
        """Largest distance of a surface point from the origin."""
        return float(np.linalg.norm(self.points, axis=-1).max()) if self.radii is None else float(self.radii.max())

    def lowest(self, rotation: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Signed height (...) of the lowest surface point over the origin along `normal` (3,), for rotations (..., 3, 3)."""
        down = np.einsum("...ji,j->...i", rotation, normal)
        if self.radii is not None:
            return -np.linalg.norm(down * self.radii, axis=-1)
        return (down @ self.points.T).min(-1)


def box(size: np.ndarray | tuple[float, float, float]) -> Shape:
    """A box with full extents `size` (3,)."""
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
    return Shape(corners * np.asarray(size, float) / 2)


def sphere(radius: float) -> Shape:
    return ellipsoid((radius, radius, radius))


def ellipsoid(radii: np.ndarray | tuple[float, float, float]) -> Shape:
    return Shape(np.zeros((0, 3)), np.asarray(radii, float))


def cylinder(radius: float, length: float, sides: int = 24) -> Shape:
    """A cylinder along body y as a prism whose corners lie on the rims."""
    a = 2 * np.pi * np.arange(sides) / sides
    rim = np.stack([radius * np.cos(a), np.zeros(sides), radius * np.sin(a)], -1)
    shift = np.array([0, length / 2, 0])
    return Shape(np.concatenate([rim - shift, rim + shift]))


def hull(points: np.ndarray, most: int = 64) -> Shape:
    """The convex hull of points (N, 3), thinned to at most `most` vertices that reach farthest in evenly spread directions."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.asarray(points, float)
    try:
        vertices = points[ConvexHull(points).vertices]
    except (QhullError, ValueError) as error:
        raise BadInput("the body is flat or has fewer than four points.", fix="Give a body with a volume.") from error
    if len(vertices) > most:
        k = np.arange(8 * most) + 0.5  # Fibonacci directions
        z, turn = 1 - 2 * k / len(k), np.pi * (1 + 5**0.5) * k
        d = np.stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z], -1)
        reached, count = np.unique((d @ vertices.T).argmax(-1), return_counts=True)
        vertices = vertices[reached[np.argsort(-count)[:most]]]
    return Shape(vertices)
