"""The nodes that carry a body: quadratic B-splines on a lattice laid through the body at rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from video2phys.simulate.lagrangian.surface import Surface, carriers, weights
from video2phys.simulate.mpm.scene import Params, Scene, Vector
from video2phys.types import check

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Lattice:
    """Weights of N particles on G nodes. They never change, so a motion takes no energy from the body."""

    scene: Scene
    node: np.ndarray  # [m] (G, 3) body frame, at rest
    first: np.ndarray  # (N,) int32 index of the first of a particle's 27 nodes
    stride: np.ndarray  # (2,) int32 between nodes along x and along y; along z it is one
    weight: np.ndarray  # (N, 3, 3) of three nodes in a row, by axis
    slope: np.ndarray  # [1/m] (N, 3, 3) derivative of the weight by the particle's rest position, by axis
    touch_first: np.ndarray  # (K,) int32 the same of points of the surface
    touch_weight: np.ndarray  # (K, 3, 3)
    touch_area: np.ndarray  # [m^2] (K,)

    def __post_init__(self) -> None:
        check(self, node=("G", 3), first=("N",), stride=(2,), weight=("N", 3, 3), slope=("N", 3, 3), touch_first=("K",),
              touch_weight=("K", 3, 3), touch_area=("K",))  # fmt: skip

    @cached_property
    def operators(self) -> tuple[csr_matrix, list[csr_matrix]]:
        """Sparse (N, G): particle positions from nodes, and their three derivatives [1/m] by rest position, the columns of F."""
        on, w, s = (self.first, self.stride, len(self.node)), self.weight, self.slope
        return products(*on, w), [products(*on, np.where(np.arange(3)[:, None] == a, s, w)) for a in range(3)]

    @cached_property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Particles in the order of cells (N,), each cell's first node (C,), and where its particles begin in that order (C + 1,)."""
        order = np.argsort(self.first, kind="stable")
        cell, begin = np.unique(self.first[order], return_index=True)
        return order, cell.astype(np.int32), np.append(begin, len(order)).astype(np.int32)

    @cached_property
    def offset(self) -> np.ndarray:
        """(27,) int32 from a particle's first node to all of its nodes."""
        return neighbours(self.stride)

    @cached_property
    def touch_shares(self) -> csr_matrix:
        """Sparse (K, G): shares of the nodes that carry a point of the surface."""
        return products(self.touch_first, self.stride, len(self.node), self.touch_weight)


def neighbours(stride: np.ndarray) -> np.ndarray:
    """(27,) int32 from the first node of a point to all the nodes that carry it; `stride` (2,) as in Lattice."""
    steps = np.arange(3)
    return (steps[:, None, None] * stride[0] + steps[:, None] * stride[1] + steps).ravel().astype(np.int32)


def products(first: np.ndarray, stride: np.ndarray, nodes: int, factor: np.ndarray) -> csr_matrix:
    """Sparse (N, nodes): the products of `factor` (N, 3, 3), three nodes in a row by axis, over the 27 nodes of each particle."""
    from scipy.sparse import csr_matrix

    index = first[:, None] + neighbours(stride)
    values = np.einsum("ni,nj,nk->nijk", *np.moveaxis(factor, 1, 0))
    return csr_matrix((values.ravel(), (np.repeat(np.arange(len(first)), 27), index.ravel())), shape=(len(first), nodes))


@dataclass(frozen=True)
class Nodes:
    """What moves."""

    position: np.ndarray  # [m] (B, G, 3)
    velocity: np.ndarray  # [m/s] (B, G, 3)

    def __post_init__(self) -> None:
        check(self, position=("B", "G", 3), velocity=("B", "G", 3))


def embed(scene: Scene, surface: Surface) -> Lattice:
    """Lay a lattice of `scene.cell` through the particles at rest, its planes halfway between the body's outermost particles.

    The body touches with `surface`, whose points are carried by nodes of nearby particles.
    """
    low, high, cell = scene.particle.min(0), scene.particle.max(0), scene.cell
    shape = np.ceil((high - low) / cell - 1e-9).astype(int) + 3
    origin = (low + high) / 2 - cell * (shape - 1) / 2
    at = (scene.particle - origin) / cell
    base = np.clip(np.floor(at - 0.5).astype(int), 0, shape - 3)
    f = at - base
    stride = np.array([shape[1] * shape[2], shape[2]], np.int32)
    slope = np.stack([f - 1.5, -2 * (f - 1), f - 0.5], -1) / cell
    index = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), -1).reshape(-1, 3)
    first = (base[:, 0] * stride[0] + base[:, 1] * stride[1] + base[:, 2]).astype(np.int32)
    w = weights(f)
    mass = (products(first, stride, len(index), w).T @ (scene.volume / cell**3)).reshape(shape)
    carrier, touch = carriers((surface.point - origin) / cell, at, base, mass)
    return Lattice(scene, origin + cell * index, first, stride, w, slope, first[carrier], touch, surface.area)


def begin(
    lattice: Lattice, params: Params, *, position: np.ndarray | Vector = (0.0, 0.0, 0.0), rotation: np.ndarray | None = None,
    velocity: np.ndarray | Vector = (0.0, 0.0, 0.0), angular_velocity: np.ndarray | Vector = (0.0, 0.0, 0.0),
) -> Nodes:  # fmt: skip
    """An undeformed body in rigid motion: x = position + R X, v = velocity + omega x (x - position); one of each or one per member."""
    batch = len(params.size)
    R = np.broadcast_to(np.eye(3) if rotation is None else rotation, (batch, 3, 3))
    arm = np.einsum("bij,gj->bgi", R, lattice.node) * params.size[:, None, None]
    place, v, w = (np.broadcast_to(a, (batch, 3))[:, None] for a in (position, velocity, angular_velocity))
    return Nodes(place + arm, v + np.cross(w, arm))
