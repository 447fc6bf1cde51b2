"""Shape functions of simplices and hexahedra, and the points where their energies are summed.

Linear elements lock: near nu = 0.5 every point that keeps its volume is one more constraint, more than the nodes can satisfy, and thin
ones also resist bending by shear. Hexahedra of 27 nodes bend freely, and their lam terms are summed at fewer points than their mu terms
(selective reduced integration: Malkus & Hughes 1978, "Mixed finite element methods - reduced and selective integration techniques").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from video2phys.errors import BadInput

NODES = (2, 3, 4, 8, 27)  # of segments, triangles, tetrahedra, hexahedra


@dataclass(frozen=True)
class Quadrature:
    """Points where energies are summed: one in a simplex, exact for its linear shape functions, 2x2x2 Gauss points in a hexahedron of 8
    nodes, in one of 27 nodes 3x3x3 for the terms with mu and 2x2x2 for those with lam. A point counts with one volume for each."""

    gradient: np.ndarray  # [1/m] (E, Q, n, 3) of each node's shape function by rest position
    volume: np.ndarray  # (2, E, Q) of the terms with mu, and with lam: [m^3], [m^2] of triangles, [m] of segments
    share: np.ndarray  # (E, n) integral of each shape function: the volume lumped to each node


def shape(at: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Shape functions (Q, n) of an element with n nodes at local coordinates (Q, D) in 0..1, and their local derivatives (Q, n, D).

    D is 3, or less of segments and triangles. Nodes of hexahedra are ordered as nested loops over x, y, z.
    """
    if n <= 4:
        return np.c_[1 - at.sum(1), at], np.broadcast_to(np.vstack([-np.ones(n - 1), np.eye(n - 1)]), (len(at), n, n - 1))
    if n == 8:
        value, slope = np.stack([1 - at, at], 1), np.stack([-np.ones_like(at), np.ones_like(at)], 1)
    else:
        value = np.stack([(1 - at) * (1 - 2 * at), 4 * at * (1 - at), at * (2 * at - 1)], 1)
        slope = np.stack([4 * at - 3, 4 - 8 * at, 4 * at - 1], 1)

    def product(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.einsum("qi,qj,qk->qijk", x[..., 0], y[..., 1], z[..., 2]).reshape(len(at), n)

    local = (product(slope, value, value), product(value, slope, value), product(value, value, slope))
    return product(value, value, value), np.stack(local, -1)


def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (count^3, 3) and weights (count^3,) of Gauss's rule on the unit cube."""
    x, w = np.polynomial.legendre.leggauss(count)
    points = np.stack(np.meshgrid(*[(1 + x) / 2] * 3, indexing="ij"), -1).reshape(-1, 3)
    return points, np.einsum("i,j,k->ijk", w, w, w).ravel() / 8


def quadrature(node: np.ndarray, element: np.ndarray) -> Quadrature:
    """Quadrature of segments (E, 2), triangles (E, 3), tetrahedra (E, 4) or hexahedra (E, 8 or 27).

    Raises BadInput for other elements, for those without extent, and for solid ones that are inside out.
    """
    if element.ndim != 2 or element.shape[1] not in NODES:
        raise BadInput(f"elements have shape {element.shape}, want (E, n) with n in {NODES}.", fix="Use segments to hexahedra.")
    n = element.shape[1]
    if n == 27:
        (fine, full), (coarse, reduced) = gauss(3), gauss(2)
        at = np.vstack([fine, coarse])
        weight = np.stack([np.r_[full, 0 * reduced], np.r_[0 * full, reduced]])
    else:
        at, full = gauss(2) if n == 8 else (np.full((1, n - 1), 1 / n), np.array([1 / factorial(n - 1)]))
        weight = np.stack([full, full])
    value, local = shape(at, n)
    jacobian = np.einsum("enx,qnl->eqxl", node[element], local)
    gram = np.swapaxes(jacobian, 2, 3) @ jacobian
    size = np.linalg.det(jacobian) if n >= 4 else np.sqrt(np.maximum(np.linalg.det(gram), 0.0))
    if not (size > 0).all():
        bad = int(np.argmax((size <= 0).any(1)))
        raise BadInput(f"element {bad} is inside out or flat.", fix="Order its nodes so that its volume is positive, or remove it.")
    inverse = np.linalg.inv(jacobian) if n >= 4 else np.linalg.solve(gram, np.swapaxes(jacobian, 2, 3))
    volume = size * weight[:, None]
    return Quadrature(np.einsum("qnl,eqlx->eqnx", local, inverse), volume, np.einsum("eq,qn->en", volume[0], value))
