"""Where a body touches: points of its surface, carried by the nodes of the matter below them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.types import check

MOBILITY = 3.0  # most of a point's mobility, in units of that of a cell of matter moved as a whole: lighter nodes would rattle
LEVEL = 0.05  # [widths] by which points of a patch may reach less far and still count as level
NEAR = 24  # particles that may carry a point


@dataclass(frozen=True)
class Surface:
    """Points that stand for pieces of a surface."""

    point: np.ndarray  # [m] (K, 3) body frame, at rest
    area: np.ndarray  # [m^2] (K,)

    def __post_init__(self) -> None:
        check(self, point=("K", 3), area=("K",))


def patches(vertices: np.ndarray, faces: np.ndarray, width: float) -> Surface:
    """A closed surface (V, 3) [m], (F, 3) in patches of about `width` [m], each by its point that reaches out furthest.

    Furthest is meant along a patch's mean normal, and of points that reach as far, the middle one: an edge or a corner is not blunted.
    Raises BadInput for a surface without faces.
    """
    import trimesh

    if not len(faces):
        raise BadInput("the body has no surface to touch with.", fix="Run the gaussians stage again; its masks may be empty.")
    x, faces = trimesh.remesh.subdivide_to_size(vertices, faces, max_edge=width / 2, max_iter=20)[:2]
    a, b, c = np.moveaxis(x[faces], 1, 0)
    normal, area = np.zeros_like(x), np.zeros(len(x))
    for corner in faces.T:
        vector = np.cross(b - a, c - a) / 6
        np.add.at(normal, corner, vector)
        np.add.at(area, corner, np.linalg.norm(vector, axis=1))
    patch = np.unique(np.floor((x - x.mean(0)) / width).astype(int), axis=0, return_inverse=True)[1].ravel()
    held = np.bincount(patch, area)
    middle, outward = (np.stack([np.bincount(patch, v[:, k]) for k in range(3)], 1) for v in (x * area[:, None], normal))
    middle, outward = middle / np.maximum(held, 1e-300)[:, None], outward / np.maximum(np.linalg.norm(outward, axis=1), 1e-300)[:, None]
    arm = x - middle[patch]
    reach = (arm * outward[patch]).sum(1)
    furthest = np.full(len(held), -np.inf)
    np.maximum.at(furthest, patch, reach)
    aside = np.where(reach >= furthest[patch] - LEVEL * width, (arm**2).sum(1), np.inf)
    order = np.lexsort((aside, patch))
    chosen = order[np.unique(patch[order], return_index=True)[1]]
    return Surface(x[chosen][held > 0], held[held > 0])


def weights(f: np.ndarray) -> np.ndarray:
    """Quadratic B-spline weights (..., 3) of three nodes at `f` cells from the first; outside 0.5 to 1.5 they go on as parabolas."""
    return np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2], -1)


def carriers(at: np.ndarray, particle: np.ndarray, base: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For points at `at` (K, 3) [cells] the particle (K,) whose 27 nodes carry each, and their weights (K, 3, 3) by axis.

    It is the nearest particle (N, 3) [cells] whose nodes, from `base` (N, 3) on, are heavy enough for the point's mobility
    sum_i w_i^2 / m_i, with `mass` on the grid (X, Y, Z) in units of a full cell; else the one with the least.
    """
    from scipy.spatial import cKDTree

    near = cKDTree(particle).query(at, k=min(NEAR, len(particle)))[1].reshape(len(at), -1)
    w = weights(at[:, None] - base[near])
    every = np.arange(3)
    i, j, k = (base[near][..., axis, None] + every for axis in range(3))
    held = mass[i[..., :, None, None], j[..., None, :, None], k[..., None, None, :]]
    product = np.einsum("kqi,kqj,kql->kqijl", w[:, :, 0], w[:, :, 1], w[:, :, 2])
    mobility = (product**2 / np.maximum(held, 1e-9)).sum((2, 3, 4))
    heavy = mobility <= MOBILITY
    rows, chosen = np.arange(len(at)), np.where(heavy.any(1), heavy.argmax(1), mobility.argmin(1))
    return near[rows, chosen], w[rows, chosen]
