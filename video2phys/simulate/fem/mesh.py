"""Meshes: boxes of hexahedra or tetrahedra, hexahedra of second order, and the outer surface."""

from __future__ import annotations

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.element import shape

# corners of a hexahedron as bits (x, y, z), node 4 x + 2 y + z: the order of nested loops
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
GRID = np.arange(27).reshape(3, 3, 3)
FACES = {
    4: np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]),
    8: np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]),
    27: np.array([GRID.take(side, axis).ravel() for axis in range(3) for side in (0, 2)]),
}
RIM = {3: [0, 1, 2], 4: [0, 1, 2, 3], 9: [0, 2, 8, 6]}  # corners of a face, around it
SHARE = {3: np.full(3, 1 / 3), 4: np.full(4, 1 / 4), 9: np.outer([1, 4, 1], [1, 4, 1]).ravel() / 36}  # of its area, per node
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


def faces(element: np.ndarray) -> np.ndarray:
    """Nodes (F, 3, 4 or 9) of the faces that belong to one element only, of elements (E, 4, 8 or 27)."""
    corners = FACES[element.shape[1]]
    every = element[:, corners].reshape(-1, corners.shape[1])
    _, first, count = np.unique(np.sort(every, 1), axis=0, return_index=True, return_counts=True)
    return every[first[count == 1]]


def surface(node: np.ndarray, element: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the outer surface (C,) and the area [m^2] (C,) that belongs to each."""
    outer = faces(element)
    share = SHARE[outer.shape[1]]
    p = node[outer[:, RIM[outer.shape[1]]]]
    cross = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    if p.shape[1] == 4:
        cross = cross + np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 0])
    area = np.zeros(len(node))
    np.add.at(area, outer, np.linalg.norm(cross, axis=1)[:, None] / 2 * share)
    index = np.unique(outer)
    return index.astype(np.int32), area[index]
