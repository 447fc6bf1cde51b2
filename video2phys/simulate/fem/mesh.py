"""Meshes: boxes of hexahedra or tetrahedra, hexahedra of second order, sheets of triangles, and the outer surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.quadrature import shape

# corners of a hexahedron as bits (x, y, z), node 4 x + 2 y + z: the order of nested loops
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
GRID = np.arange(27).reshape(3, 3, 3)
SIDES = [(axis, side, GRID.take(side, axis)) for axis in range(3) for side in (0, 2)]
FACES = {  # of elements of so many nodes, seen from outside counter-clockwise
    4: np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]),
    8: np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]),
    27: np.array([face.ravel() if (axis == 1) == (side == 2) else face.T.ravel() for axis, side, face in SIDES]),
}
RIM = {2: [0, 1], 3: [0, 1, 2], 4: [0, 1, 2, 3], 9: [0, 1, 2, 5, 8, 7, 6, 3]}  # around a facet
SHARE = {n: np.full(n, 1 / n) for n in (2, 3, 4)} | {9: np.outer([1, 4, 1], [1, 4, 1]).ravel() / 36}  # of its size, for each node
# six tetrahedra around the diagonal from corner 0 to corner 7: neighbouring boxes meet in the same diagonals
KUHN = np.array([[0, 4, 6, 7], [0, 6, 2, 7], [0, 2, 3, 7], [0, 3, 1, 7], [0, 1, 5, 7], [0, 5, 4, 7]])


def hexahedra(counts: tuple[int, int, int], size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (V, 3) [m] and hexahedra (E, 8) of a box from the origin to `size` [m], `counts` elements along each axis."""
    axes = [np.linspace(0, s, n + 1) for n, s in zip(counts, size, strict=True)]
    node = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    cell = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), -1).reshape(-1, 1, 3) + CORNERS
    strides = np.array([(counts[1] + 1) * (counts[2] + 1), counts[2] + 1, 1])
    return node, (cell @ strides).reshape(-1, 8).astype(np.int32)


def tetrahedra(counts: tuple[int, int, int], size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """The same box with each hexahedron cut into six tetrahedra (E, 4)."""
    node, element = hexahedra(counts, size)
    return node, element[:, KUHN].reshape(-1, 4)


def triangles(counts: tuple[int, int], size: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (V, 3) [m] and triangles (T, 3) of a rectangle in the plane z = 0, facing up, all diagonals alike."""
    axes = [np.linspace(0, s, n + 1) for n, s in zip(counts, size, strict=True)]
    node = np.stack([*np.meshgrid(*axes, indexing="ij"), np.zeros((counts[0] + 1, counts[1] + 1))], -1).reshape(-1, 3)
    corner = (np.arange(counts[0])[:, None] * (counts[1] + 1) + np.arange(counts[1])).reshape(-1, 1, 1)
    up = counts[1] + 1
    return node, (corner + np.array([[0, up, up + 1], [0, up + 1, 1]])).reshape(-1, 3).astype(np.int32)


def quadratic(node: np.ndarray, element: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hexahedra (E, 8) with nodes added amid edges, faces and elements: nodes (V, 3) [m] and hexahedra (E, 27).

    Raises BadInput for other elements.
    """
    if element.ndim != 2 or element.shape[1] != 8:
        raise BadInput(f"elements have shape {element.shape}, want (E, 8).", fix="Give hexahedra: linear tetrahedra lock near nu = 0.5.")
    local = np.stack(np.meshgrid(*[(0.0, 0.5, 1.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
    point = np.einsum("qa,eax->eqx", shape(local, 8)[0], node[element]).reshape(-1, 3)
    grain = 1e-6 * np.linalg.norm(node[element[0, 0]] - node[element[0, 7]])
    _, first, index = np.unique(np.round(point / grain).astype(np.int64), axis=0, return_index=True, return_inverse=True)
    return point[first], index.reshape(-1, 27).astype(np.int32)


def outer(element: np.ndarray) -> np.ndarray:
    """Faces (F, 3, 4 or 9) of solid elements that belong to one element only, seen from outside counter-clockwise."""
    corners = FACES[element.shape[1]]
    faces = element[:, corners].reshape(-1, corners.shape[1])
    _, first, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    return faces[first[count == 1]]


@dataclass(frozen=True)
class Facets:
    """What touches and meets the air: faces of three, four or nine nodes, or segments of two and some width."""

    index: np.ndarray  # (S, m) int32
    width: float  # [m] of segments; 1 for faces

    @property
    def weight(self) -> np.ndarray:
        """(m,) what of a facet belongs to each of its nodes."""
        return SHARE[self.index.shape[1]]

    @property
    def _rim(self) -> np.ndarray:
        return self.index[:, RIM[self.index.shape[1]]]

    def vector(self, x: np.ndarray) -> np.ndarray:
        """Vector area (S, 3) [m^2] of faces, or the segments themselves [m]."""
        p = x[self._rim]
        return p[:, 1] - p[:, 0] if p.shape[1] == 2 else 0.5 * np.cross(p, np.roll(p, -1, 1)).sum(1)

    def vector_pullback(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Derivatives by x (V, 3) from those (S, 3) by `vector`."""
        p, out = x[self._rim], np.zeros_like(x)
        if p.shape[1] == 2:
            local = np.stack([-d, d], 1)
        else:
            local = 0.5 * np.cross(np.roll(p, -1, 1) - np.roll(p, 1, 1), d[:, None])
        np.add.at(out, self._rim, local)
        return out

    def share(self, x: np.ndarray) -> np.ndarray:
        """Area [m^2] (V,) that belongs to each node."""
        area = np.linalg.norm(self.vector(x), axis=1)[:, None] * self.width * self.weight
        return np.bincount(self.index.ravel(), area.ravel(), len(x))
