"""Points that a mesh carries along."""

from __future__ import annotations

import numpy as np

from video2phys.simulate.fem.quadrature import shape

NEWTON = 8  # iterations: elements are nearly parallelepipeds, whose map is linear


def attach(node: np.ndarray, solid: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (N, n) and weights (N, n) that carry points (N, 3) [m] of a body at rest: x = sum_a weight_a x_a.

    The body is made of nodes (V, 3) [m] and solid elements (E, n).

    A point outside is carried by the nearest point X of the mesh and keeps its offset d, turned and stretched as the matter there:
    x = x(X) + F(X) d, which is linear in the nodes with weight_a = N_a(X) + grad N_a(X) . d.
    """
    n, corner = solid.shape[1], node[solid]  # (E, n, 3)
    element, weight = np.empty((len(point), n), np.int32), np.empty((len(point), n))
    for k, p in enumerate(point):
        at = np.full((len(corner), 3), 0.25 if n == 4 else 0.5)
        for _ in range(NEWTON):
            value, local = shape(at, n)
            away = p - np.einsum("en,enx->ex", value, corner)
            at = _inside(at + np.linalg.solve(np.einsum("enx,enl->exl", corner, local), away[..., None])[..., 0], n)
        value, local = shape(at, n)
        away = p - np.einsum("en,enx->ex", value, corner)
        e = int(np.argmin((away**2).sum(1)))
        inverse = np.linalg.inv(np.einsum("nx,nl->xl", corner[e], local[e]))
        element[k], weight[k] = solid[e], value[e] + local[e] @ inverse @ away[e]
    return element, weight


def _inside(at: np.ndarray, n: int) -> np.ndarray:
    """Local coordinates (E, 3) brought back into elements of n nodes."""
    at = np.clip(at, 0.0, 1.0)
    return at / np.maximum(at.sum(1, keepdims=True), 1.0) if n == 4 else at


def carried(position: np.ndarray, element: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Points (..., N, 3) from nodes (..., V, 3)."""
    return np.einsum("nk,...nkx->...nx", weight, position[..., element, :])
