"""Meshes: boxes of hexahedra or tetrahedra, quadrature, and the outer surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput

# corners of a hexahedron as bits (x, y, z), node 4 x + 2 y + z: the order of nested loops
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
HEXAHEDRON_FACES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
TETRAHEDRON_FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
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


@dataclass(frozen=True)
class Quadrature:
    """Points where energies are summed: one in a tetrahedron, exact; 2x2x2 Gauss points in a hexahedron."""

    gradient: np.ndarray  # [1/m] (E, Q, n, 3) of each node's shape function by rest position
    volume: np.ndarray  # [m^3] (E, Q)
    share: np.ndarray  # [m^3] (E, n) integral of each shape function: the volume lumped to each node


def quadrature(node: np.ndarray, element: np.ndarray) -> Quadrature:
    """Quadrature of tetrahedra (E, 4) or hexahedra (E, 8). Raises BadInput for other elements, and for those inside out."""
    if element.ndim != 2 or element.shape[1] not in (4, 8):
        raise BadInput(f"elements have shape {element.shape}, want (E, 4) or (E, 8).", fix="Use tetrahedra or hexahedra.")
    if element.shape[1] == 4:
        shape, local, weight = np.full((1, 4), 0.25), np.vstack([-np.ones(3), np.eye(3)])[None], np.array([1 / 6])
    else:
        at = 0.5 + (CORNERS - 0.5) / np.sqrt(3)  # Gauss points of the unit cube
        part = np.where(CORNERS[None] == 1, at[:, None], 1 - at[:, None])  # (Q, n, 3)
        sign = 2.0 * CORNERS - 1
        local = np.stack([sign[:, a] * np.delete(part, a, 2).prod(-1) for a in range(3)], -1)
        shape, weight = part.prod(-1), np.full(8, 1 / 8)
    jacobian = np.einsum("enx,qnl->eqxl", node[element], local)
    volume = np.linalg.det(jacobian) * weight
    if not (volume > 0).all():
        bad = int(np.argmax((volume <= 0).any(1)))
        raise BadInput(f"element {bad} is inside out or flat.", fix="Order its nodes so that its volume is positive, or remove it.")
    return Quadrature(np.einsum("qnl,eqlx->eqnx", local, np.linalg.inv(jacobian)), volume, np.einsum("eq,qn->en", volume, shape))


def surface(node: np.ndarray, element: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the outer surface (C,) and the area [m^2] (C,) that belongs to each."""
    corners = TETRAHEDRON_FACES if element.shape[1] == 4 else HEXAHEDRON_FACES
    faces = element[:, corners].reshape(-1, corners.shape[1])
    _, first, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    outer = faces[first[count == 1]]
    p = node[outer]
    cross = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    if outer.shape[1] == 4:
        cross = cross + np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 0])
    area = np.zeros(len(node))
    np.add.at(area, outer, np.linalg.norm(cross, axis=1)[:, None] / (2 * outer.shape[1]))
    index = np.unique(outer)
    return index.astype(np.int32), area[index]
