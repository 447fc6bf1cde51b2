"""Gaussians carried by particles: each is bound to its nearest particles and follows their motion by moving least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput

NEIGHBOURS = 12
SOFT = 1e-9  # of the neighbours' spread: along a direction in which they do not spread, a Gaussian turns with the others


@dataclass(frozen=True)
class Binding:
    """Which particles carry which Gaussian."""

    rest: np.ndarray  # [length unit] (G, 3) means at rest
    index: np.ndarray  # (G, k) particles
    weight: np.ndarray  # (G, k) sum 1


def bind(mean: np.ndarray, particle: np.ndarray, k: int = NEIGHBOURS) -> Binding:
    """Bind Gaussians (G, 3) to their k nearest particles (P, 3) at rest, the nearer the more. Raises BadInput without particles."""
    from scipy.spatial import cKDTree

    if not len(particle):
        raise BadInput("there are no particles to carry the Gaussians.", fix="Fill the body first.")
    k = min(k, len(particle))
    distance, index = cKDTree(particle).query(mean, k=k)
    distance, index = distance.reshape(len(mean), k), index.reshape(len(mean), k)
    reach = distance.mean(1, keepdims=True) + 1e-12
    weight = np.exp(-0.5 * (distance / reach) ** 2)
    return Binding(np.asarray(mean, float), index, weight / weight.sum(1, keepdims=True))


def carry(binding: Binding, rest: np.ndarray, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (G, 3) and deformation gradients F (G, 3, 3) after the particles went from `rest` to `moved` (P, 3).

    With x, X the weighted means of the moved and resting neighbours: F minimises sum w |dx - F dX|^2 (moving least squares,
    Schaefer et al. 2006), mean' = x + F (mean - X). Exact for affine motions. A covariance becomes F S F^T.
    """
    w, near, there = binding.weight[..., None], rest[binding.index], moved[binding.index]
    X, x = (w * near).sum(1, keepdims=True), (w * there).sum(1, keepdims=True)
    A = np.einsum("gki,gkj->gij", w * (near - X), near - X)
    B = np.einsum("gki,gkj->gij", w * (there - x), near - X)
    u, _, vt = np.linalg.svd(B)
    u[..., -1] *= np.linalg.det(u @ vt)[:, None]  # a rotation, no mirror
    soft = (SOFT * np.trace(A, axis1=1, axis2=2) + 1e-300)[:, None, None]
    F = np.linalg.solve(A + soft * np.eye(3), (B + soft * (u @ vt)).mT).mT  # A is symmetric
    return (x + (F @ (binding.rest[:, None] - X).mT).mT)[:, 0], F
