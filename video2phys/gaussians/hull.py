"""The visual hull: the largest body that fits every outline, as a distance on a grid.

The value at a point is the smallest, over the views, of the distance from its projection to the outline, so that the surface
lies between grid points to a fraction of a pixel (Laurentini 1994 for the hull; the minimum is the intersection of the cones).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.silhouette import signed_distance
from video2phys.types import Camera


@dataclass(frozen=True)
class Shot:
    """One picture that shows the whole object."""

    name: str
    camera: Camera
    image: np.ndarray  # RGB (H, W, 3) float32 0..1
    mask: np.ndarray | None  # (H, W) float32 0..1; None = all that it shows

    @property
    def outline(self) -> np.ndarray:
        """The mask of a picture that has one."""
        assert self.mask is not None
        return self.mask


@dataclass(frozen=True)
class Grid:
    """Values on a regular grid, positive inside the body."""

    value: np.ndarray  # [length unit] (X, Y, Z)
    origin: np.ndarray  # [length unit] (3,) of value[0, 0, 0]
    step: float  # [length unit]

    def points(self) -> np.ndarray:
        """Places of the values (X, Y, Z, 3)."""
        return self.origin + self.step * np.stack(np.meshgrid(*map(np.arange, self.value.shape), indexing="ij"), -1)

    def at(self, points: np.ndarray) -> np.ndarray:
        """Values at points (..., 3) by linear interpolation; the nearest border value outside."""
        from scipy.ndimage import map_coordinates

        where = np.moveaxis((points - self.origin) / self.step, -1, 0)
        return map_coordinates(self.value, where, order=1, mode="nearest")


def carve(shots: list[Shot], cells: int) -> Grid:
    """Hull on a grid of about `cells` points along its longest side. Raises BadInput where the outlines have nothing in common."""
    centre, radius = enclose(shots)
    grid = _carve(shots, centre - radius, centre + radius, 2 * radius / 40)
    inside = np.argwhere(grid.value > -grid.step)
    if not (grid.value > 0).any():
        raise BadInput("The outlines of the views have no body in common.", fix="Check the cameras and the masks; leave out a wrong view.")
    low, high = grid.origin + grid.step * (inside.min(0) - 1), grid.origin + grid.step * (inside.max(0) + 1)
    return _carve(shots, low, high, float((high - low).max()) / cells)


def enclose(shots: list[Shot]) -> tuple[np.ndarray, float]:
    """A ball around the object: the point nearest to the rays through the mask centres, and the widest outline seen from there."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    centres = []
    for shot in shots:
        rows, columns = np.nonzero(shot.outline > 0.5)
        centres.append(np.array([columns.mean() + 0.5, rows.mean() + 0.5]))
        origin, direction = shot.camera.rays(centres[-1])
        across = np.eye(3) - np.outer(direction, direction)
        A, b = A + across, b + across @ origin
    point = np.linalg.solve(A, b)
    radius = 0.0
    for shot, centre in zip(shots, centres, strict=True):
        rows, columns = np.nonzero(shot.outline > 0.5)
        widest = np.hypot(columns + 0.5 - centre[0], rows + 0.5 - centre[1]).max()
        radius = max(radius, float(widest * shot.camera.pixel(point)))
    return point, 2 * radius


def depth_inside(points: np.ndarray, shot: Shot, distance: np.ndarray) -> np.ndarray:
    """How far [length unit] points (..., 3) lie inside the cone of one outline with signed_distance `distance`."""
    from scipy.ndimage import map_coordinates

    pixel = np.nan_to_num(shot.camera.project(points), nan=-1e3) - 0.5
    height, width = distance.shape
    beyond = np.hypot(*(pixel[..., k] - pixel[..., k].clip(0, size - 1) for k, size in ((0, width), (1, height))))
    value = map_coordinates(distance, [pixel[..., 1], pixel[..., 0]], order=1, mode="nearest")
    return (np.where(beyond > 0, np.minimum(value, 0) - beyond, value)) * shot.camera.pixel(points)


def _carve(shots: list[Shot], low: np.ndarray, high: np.ndarray, step: float) -> Grid:
    shape = np.ceil((high - low) / step).astype(int) + 1
    grid = Grid(np.full(shape, np.inf), low, step)
    points = grid.points()
    for shot in shots:
        np.minimum(grid.value, depth_inside(points, shot, signed_distance(shot.outline)), out=grid.value)
    return grid
