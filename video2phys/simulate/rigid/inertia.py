"""Mass properties of simple solids and of weighted points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from video2phys.simulate.rigid.shapes import Shape


def of_box(size: ArrayLike) -> np.ndarray:
    """Inertia (3, 3) of a uniform box per unit mass: (b^2 + c^2) / 12 about each axis."""
    s = np.asarray(size, float) ** 2
    return np.diag(s.sum() - s) / 12


def of_ellipsoid(radii: ArrayLike) -> np.ndarray:
    """Inertia (3, 3) of a uniform ellipsoid per unit mass: (b^2 + c^2) / 5; 2 r^2 / 5 for a sphere."""
    s = np.asarray(radii, float) ** 2
    return np.diag(s.sum() - s) / 5


def of_cylinder(radius: float, length: float) -> np.ndarray:
    """Inertia (3, 3) of a uniform cylinder along y per unit mass."""
    across, along = (3 * radius**2 + length**2) / 12, radius**2 / 2
    return np.diag([across, along, across])


def of_points(points: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre (3,) and inertia per unit mass about it (3, 3) of points (P, 3) with weights (P,): sum w (|r|^2 E - r r^T) / sum w."""
    w = np.asarray(weight, float) / np.sum(weight)
    centre = w @ points
    r = points - centre
    return centre, np.eye(3) * (w @ (r**2).sum(-1)) - (w[:, None] * r).T @ r


def of_hull(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Centre (3,) and inertia per unit mass about it (3, 3) of a shape filled uniformly."""
    if shape.radii is not None:
        return np.zeros(3), of_ellipsoid(shape.radii)
    import trimesh

    solid = trimesh.PointCloud(shape.points).convex_hull
    return np.asarray(solid.center_mass), np.asarray(solid.moment_inertia) / float(solid.volume)
