"""Where matter cannot go: planes, sampled signed distances and closed meshes, at rest or in steady motion.

Every boundary is one function of space, the distance to its surface, positive where matter is free:

    d(x) = n . x + sum_i w_i(x - u t) d_i - offset

A plane has the affine part alone and is endless. Samples d_i on a grid are joined by quadratic B-splines w (those of the transfers), so
that the direction of contact is continuous, flat surfaces are exact, and edges are rounded over about a cell of the samples; outside their
grid matter is free. `offset` is a parameter: it moves the surface out along its normal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.mpm.distance import to_mesh
from video2phys.types import check

AT_REST = (0.0, 0.0, 0.0)
FREE = 1e9  # [m] outside the samples
ROOM = 4  # cells of the samples around a mesh


@dataclass(frozen=True)
class Boundary:
    """One obstacle; never differentiated, but for its offset and friction in `scene.Params`."""

    normal: np.ndarray  # (3,) unit normal of a plane on its free side; zero for samples
    distance: np.ndarray  # [m] (I, J, K) samples; none for a plane
    origin: np.ndarray  # [m] (3,) of the first sample at time 0
    cell: float  # [m] between samples
    velocity: np.ndarray  # [m/s] (3,)

    def __post_init__(self) -> None:
        check(self, normal=(3,), distance=("I", "J", "K"), origin=(3,), velocity=(3,))
        numbers = (self.normal, self.distance, self.origin, self.velocity)
        if not all(np.isfinite(a).all() for a in numbers) or not (np.isfinite(self.cell) and self.cell > 0):
            raise BadInput("a boundary must have finite numbers and cells of positive size.", fix="Check its distances, normal and cell.")
        if not self.endless and min(self.distance.shape) < 3:
            raise BadInput(f"{self.distance.shape} samples of distance do not make a surface.", fix="Give at least 3 along each axis.")

    @property
    def endless(self) -> bool:
        """Whether it is a plane."""
        return self.distance.size == 0

    def at(self, x: np.ndarray, time: float = 0.0) -> np.ndarray:
        """Distance [m] (...) of points (..., 3) [m] at a time [s]; FREE outside the samples."""
        from scipy.ndimage import map_coordinates

        x = x - self.velocity * time
        if self.endless:
            return x @ self.normal
        place = np.moveaxis((x - self.origin) / self.cell, -1, 0)
        inside = np.all([(p >= 0.5) & (p < n - 1.5) for p, n in zip(place, self.distance.shape, strict=True)], axis=0)
        found = map_coordinates(self.distance, np.where(inside, place, 1.0), order=2, prefilter=False)
        return np.where(inside, found, FREE)


def plane(normal: np.ndarray | Sequence[float], velocity: np.ndarray | Sequence[float] = AT_REST) -> Boundary:
    """The plane through the origin with a normal (3,) of any length. Raises BadInput where that is zero or not finite."""
    n = np.asarray(normal, float)
    length = float(np.linalg.norm(n))
    if not (np.isfinite(length) and length > 0):
        raise BadInput(f"{normal} is no direction.", fix="Give a normal of three finite numbers that are not all zero.")
    return Boundary(n / length, np.zeros((0, 0, 0)), np.zeros(3), 1.0, np.asarray(velocity, float))


def sampled(
    distance: np.ndarray | Callable[[np.ndarray], np.ndarray], low: np.ndarray | Sequence[float], cell: float,
    high: np.ndarray | Sequence[float] | None = None, velocity: np.ndarray | Sequence[float] = AT_REST,
) -> Boundary:  # fmt: skip
    """Samples (I, J, K) of a signed distance [m], the first at `low` (3,) [m], or a function of points (..., 3), sampled up to `high`.

    Raises BadInput for samples that are not finite or too few, or a function without `high`.
    """
    low = np.asarray(low, float)
    if callable(distance):
        if high is None:
            raise BadInput("a function needs a box to be sampled in.", fix="Give `high`, the far corner.")
        distance = distance(_nodes(low, np.asarray(high, float), cell))
    return Boundary(np.zeros(3), np.asarray(distance, float), low, float(cell), np.asarray(velocity, float))


def of_mesh(vertices: np.ndarray, faces: np.ndarray, cell: float, velocity: np.ndarray | Sequence[float] = AT_REST) -> Boundary:
    """A closed mesh, vertices (V, 3) [m] and faces (F, 3), sampled every `cell` [m] in a box that exceeds it by a few cells.

    Matter is free where the faces point to: a mesh turned inside out is a container. Raises BadInput for a mesh that is open or degenerate.
    """
    vertices, cell = np.asarray(vertices, float), float(cell)
    if not len(faces) or not np.isfinite(vertices).all():
        raise BadInput("the mesh is empty, or its vertices are not finite.", fix="Check the file that it comes from.")
    low, high = vertices.min(0) - ROOM * cell, vertices.max(0) + ROOM * cell
    return sampled(to_mesh(vertices, np.asarray(faces), _nodes(low, high, cell)), low, cell, velocity=velocity)


def _nodes(low: np.ndarray, high: np.ndarray, cell: float) -> np.ndarray:
    """Grid points (I, J, K, 3) from `low` to at least `high`."""
    axes = [a + cell * np.arange(n) for a, n in zip(low, np.ceil((high - low) / cell - 1e-9).astype(int) + 1, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1)
