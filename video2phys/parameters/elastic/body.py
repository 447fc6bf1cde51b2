"""The body as the simulation sees it: fewer particles, and points that ride on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.lagrangian.lattice import Lattice
from video2phys.simulate.lagrangian.rollout import Track


def coarsen(particle: np.ndarray, volume: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """About `count` particles (N, 3) [m] and volumes (N,) [m^3] with the same total volume and centre.

    Particles are gathered on a cubic lattice; each lattice cell becomes one particle at the centre of what it holds, with
    its volume, so a cell cut by the surface keeps only its part. Cells that hold under a tenth of a full one join their
    fullest neighbour. A body of no more than `count` particles stays as it is.
    """
    if len(particle) == 0 or not np.isfinite(particle).all() or not (volume > 0).all():
        raise BadInput("the body has no usable particles.", fix="Run the gaussians stage again; its masks may be empty.")
    if len(particle) <= count:
        return particle, volume
    h = float(np.cbrt(volume.sum() / count))
    key = np.floor((particle - particle.mean(0)) / h).astype(int)
    cells, index = np.unique(key, axis=0, return_inverse=True)
    index = index.ravel()
    held = np.bincount(index, volume)
    home = {tuple(c): k for k, c in enumerate(cells)}
    for k in np.flatnonzero(held < 0.1 * h**3):
        near = [home.get((*(cells[k][:a]), cells[k][a] + s, *(cells[k][a + 1 :]))) for a in range(3) for s in (-1, 1)]
        near = [n for n in near if n is not None and held[n] >= 0.1 * h**3]
        if near:
            index[index == k] = max(near, key=lambda n: held[n])
    index = np.unique(index, return_inverse=True)[1].ravel()
    held = np.bincount(index, volume)
    center = np.stack([np.bincount(index, volume * particle[:, a]) / held for a in range(3)], -1)
    return center, held


@dataclass(frozen=True)
class Binding:
    """Points (K,) that follow their nearest particles: y = sum_j weight_j (x_j + F_j (Y - X_j))."""

    index: np.ndarray  # (K, J) particles
    weight: np.ndarray  # (K, J)
    arm: np.ndarray  # [m] (K, J, 3) from particle to point at rest

    def move(self, position: np.ndarray, deformation: np.ndarray) -> np.ndarray:
        """Particles (..., N, 3) and their gradients (..., N, 3, 3) to points (..., K, 3)."""
        x, F = position[..., self.index, :], deformation[..., self.index, :, :]
        return np.einsum("kj,...kji->...ki", self.weight, x + np.einsum("...kjil,kjl->...kji", F, self.arm))

    def affine(self, points: np.ndarray, weight: np.ndarray, lattice: Lattice) -> AffineReadout:
        """The affine motion of the points at rest (K, 3), by least squares with weights (T, K), as a function of the lattice's nodes."""
        from scipy.sparse import csr_matrix

        rows, shape = np.repeat(np.arange(len(points)), self.index.shape[1]), (len(points), len(lattice.first))

        def by_particle(values: np.ndarray) -> csr_matrix:
            return csr_matrix((values.ravel(), (rows, self.index.ravel())), shape=shape)

        to_particles, columns = lattice.operators
        by_position = by_particle(self.weight) @ to_particles
        by_gradient = sum(by_particle(self.weight * self.arm[..., axis]) @ column for axis, column in enumerate(columns))
        rest = np.concatenate([np.ones((len(points), 1)), points], 1)
        share = weight / weight.sum(1, keepdims=True)
        normal = np.einsum("tk,kr,ks->trs", share, rest, rest)
        solved = np.einsum("trs,ks,tk->tkr", np.linalg.pinv(normal), rest, share)  # rows give the centre and the columns of F
        return AffineReadout(*(np.stack([m.T @ s for s in solved]) for m in (by_position, by_gradient)))


@dataclass(frozen=True)
class AffineReadout:
    """Centre and gradient of a body from its nodes in each of T frames."""

    by_position: np.ndarray  # (T, G, 4)
    by_gradient: np.ndarray  # (T, G, 4) of a body of its size at rest; gradients are smaller in a larger one

    def __call__(self, node: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (T', B, G, 3) of the first T' frames and sizes (B,) to the image of the body origin (B, T', 3) and F (B, T', 3, 3)."""
        n = len(node)
        rows, bend = (np.einsum("tgr,tbgi->btri", m[:n], node, optimize=True) for m in (self.by_position, self.by_gradient))
        rows = rows + bend / size[:, None, None, None]
        return rows[..., 0, :], np.swapaxes(rows[..., 1:, :], -1, -2)

    def state(self, track: Track) -> np.ndarray:
        """Affine states (B, T, 12): centre, and F row by row."""
        center, gradient = self(track.node, track.size)
        return np.concatenate([center, gradient.reshape(*gradient.shape[:-2], 9)], -1)


def bind(points: np.ndarray, particle: np.ndarray, neighbours: int = 4) -> Binding:
    """Bind points (K, 3) to their nearest particles (N, 3), weights falling with the squared distance."""
    from scipy.spatial import cKDTree

    near = min(neighbours, len(particle))
    distance, index = cKDTree(particle).query(points, k=near)
    distance, index = distance.reshape(len(points), near), index.reshape(len(points), near)
    spacing = np.median(distance[:, -1]) + 1e-12
    weight = 1 / (distance**2 + (0.1 * spacing) ** 2)
    return Binding(index, weight / weight.sum(1, keepdims=True), points[:, None] - particle[index])
