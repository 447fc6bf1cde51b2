"""Shape functions of tetrahedra and hexahedra, and the points where their energies are summed.

Linear elements lock: near nu = 0.5 every point that keeps its volume is one more constraint, more than the nodes can satisfy, and thin
ones also resist bending by shear. Hexahedra of 27 nodes bend freely, and their lam terms are summed at fewer points than their mu terms
(selective reduced integration: Malkus & Hughes 1978, "Mixed finite element methods - reduced and selective integration techniques").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput

NODES = (4, 8, 27)  # of an element


@dataclass(frozen=True)
class Quadrature:
    """Points where energies are summed: one in a tetrahedron, 2x2x2 in a hexahedron of 8 nodes, in one of 27 nodes 3x3x3 for the terms
    with mu and 2x2x2 for those with lam. A point counts with one volume for mu and one for lam."""

    gradient: np.ndarray  # [1/m] (E, Q, n, 3) of each node's shape function by rest position
    volume: np.ndarray  # [m^3] (E, Q) of the terms with mu
    bulk: np.ndarray  # [m^3] (E, Q) of the terms with lam
    share: np.ndarray  # [m^3] (E, n) integral of each shape function: the volume lumped to each node


def shape(at: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Shape functions (Q, n) of an element with n nodes at local coordinates (Q, 3) in 0..1, and their local derivatives (Q, n, 3).

    Nodes of hexahedra are ordered as nested loops over x, y, z.
    """
    if n == 4:
        return np.c_[1 - at.sum(1), at], np.broadcast_to(np.vstack([-np.ones(3), np.eye(3)]), (len(at), 4, 3))
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
    """Quadrature of tetrahedra (E, 4) or hexahedra (E, 8 or 27). Raises BadInput for other elements, and for those inside out."""
    if element.ndim != 2 or element.shape[1] not in NODES:
        raise BadInput(f"elements have shape {element.shape}, want (E, 4), (E, 8) or (E, 27).", fix="Use tetrahedra or hexahedra.")
    n = element.shape[1]
    if n == 4:
        at, full, reduced = np.full((1, 3), 0.25), np.array([1 / 6]), np.array([1 / 6])
    elif n == 8:
        at, full = gauss(2)
        reduced = full
    else:
        (fine, weight), (coarse, other) = gauss(3), gauss(2)
        at = np.vstack([fine, coarse])
        full, reduced = np.r_[weight, np.zeros(len(other))], np.r_[np.zeros(len(weight)), other]
    value, local = shape(at, n)
    jacobian = np.einsum("enx,qnl->eqxl", node[element], local)
    size = np.linalg.det(jacobian)
    if not (size > 0).all():
        bad = int(np.argmax((size <= 0).any(1)))
        raise BadInput(f"element {bad} is inside out or flat.", fix="Order its nodes so that its volume is positive, or remove it.")
    gradient = np.einsum("qnl,eqlx->eqnx", local, np.linalg.inv(jacobian))
    return Quadrature(gradient, size * full, size * reduced, np.einsum("eq,qn->en", size * full, value))
