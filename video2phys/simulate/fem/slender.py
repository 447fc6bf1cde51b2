"""Sheets and rods: parts that stretch and bend.

Sheet: a membrane in plane stress, of two principal stretches; moduli times thickness. Bending by the second derivatives of the quadratic
through the nodes of a triangle and those across its edges, unfolded into its plane (Reisman, Grinspun & Zorin 2007, "A note on the
triangle-centered quadratic interpolation discretization of the shape operator"): exact where they are constant. Where neighbours lack,
the smallest that fits. Where the diagonals of a grid alternate only every other bend is seen, and strips sag some 40 % too far: let
diagonals lie alike (`mesh.triangles`) or at random (off by some 5 %). They are linear in the nodes (Bergou et al. 2006, "A quadratic
bending model for inextensible surfaces"), and in an isometric sheet |K| is the root of the sum of squares of the principal curvatures:

    B / 2 (|K| - |K_rest|)^2 an area,   K = (x_uu, sqrt(2) x_uv, x_vv)

Rod: springs, and at each inner node B / 2 (|k| - |k_rest|)^2 a length, k = (e_2 / l_2 - e_1 / l_1) / a, a = (l_1 + l_2) / 2; it bends
alike in all directions and does not twist. Both are made for matter that bends far more easily than it stretches. Bending has a stiffness
of its own, for cloth and cables are not homogeneous; homogeneous plates have B = E h^3 / (12 (1 - nu^2)). Internal friction acts on
stretch, not on bending.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.elements import Elements
from video2phys.simulate.fem.mesh import Facets
from video2phys.simulate.fem.parts import Number, bounded, spread
from video2phys.simulate.fem.quadrature import quadrature
from video2phys.simulate.materials.elastic import plane_stress, plane_stress_pullback


@dataclass(frozen=True)
class Fabric:
    """Of a sheet."""

    youngs_modulus: np.ndarray  # [Pa] (T,)
    poisson_ratio: np.ndarray  # (T,)
    thickness: np.ndarray  # [m] (T,)
    density: np.ndarray  # [kg/m^3] (T,)
    bending: np.ndarray  # [N m] (T,) moment per length and curvature


@dataclass(frozen=True)
class Sheet:
    """Triangles; a shell where they do not lie in a plane at rest."""

    energies: tuple[Elements, Elements]  # membrane (T, 3), curvature (T, 6)
    facets: Facets
    share: np.ndarray  # [m^2] (T, 3)
    curved: np.ndarray  # [1/m] (T,) |K| at rest

    @staticmethod
    def of(node: np.ndarray, triangle: np.ndarray) -> Sheet:
        """From nodes (V, 3) [m] and triangles (T, 3). Raises BadInput for flat triangles, and for edges of more than two."""
        node, index = np.asarray(node, float), np.array(triangle, np.int32, order="C")
        if index.ndim != 2 or index.shape[1] != 3:
            raise BadInput(f"triangles have shape {index.shape}, want (T, 3).", fix="Use triangles.")
        q = quadrature(node, index)
        bends, curved = _bends(node, *_curvature(node, index), q.volume)
        return Sheet((Elements(index, q.gradient, q.volume, "membrane"), bends), Facets(index, 1.0), q.share, curved)

    def material(
        self, *, youngs_modulus: Number, poisson_ratio: Number, thickness: Number, bending: Number, density: Number = 1000.0
    ) -> Fabric:  # fmt: skip
        return Fabric(*spread(len(self.share), youngs_modulus, poisson_ratio, thickness, density, bending))

    def validate(self, material: Fabric) -> None:
        sizes = dict.fromkeys(vars(material), (len(self.share),))
        bounded(material, Fabric, sizes, ("youngs_modulus", "thickness", "density"), ("bending",))

    def moduli(self, material: Fabric) -> tuple[np.ndarray, ...]:
        mu, lam = plane_stress(material.youngs_modulus, material.poisson_ratio)
        B = material.bending
        return np.stack([mu, lam]) * material.thickness, np.stack([B, B * self.curved])

    def mass(self, material: Fabric) -> tuple[np.ndarray, np.ndarray]:
        return self.energies[0].index, self.share * (material.density * material.thickness)[:, None]

    def pullback(self, material: Fabric, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Fabric:
        h, d, (d_mu, d_lam) = material.thickness, d_moduli[0], d_moduli[1]
        E, nu = plane_stress_pullback(material.youngs_modulus, material.poisson_ratio, *(h * d))
        by_mass = (self.share * d_mass[self.energies[0].index]).sum(1)  # by the mass per area
        by_h = (d * plane_stress(material.youngs_modulus, material.poisson_ratio)).sum(0) + material.density * by_mass
        return Fabric(E, nu, by_h, h * by_mass, d_mu + self.curved * d_lam)


@dataclass(frozen=True)
class Wire:
    """Of a rod. Solid ones have stretching E A and bending E I, a round one I = A^2 / (4 pi)."""

    stretching: np.ndarray  # [N] (R,) of each segment: force per strain
    bending: np.ndarray  # [N m^2] (B,) of each inner node: moment per curvature
    density: np.ndarray  # [kg/m] (R,)


@dataclass(frozen=True)
class Rod:
    """A chain of segments, closed where its path ends at its first node."""

    energies: tuple[Elements, Elements]  # segments (R, 2), inner nodes (B, 3)
    facets: Facets
    share: np.ndarray  # [m] (R, 2)
    curved: np.ndarray  # [1/m] (B,) curvature at rest

    @staticmethod
    def of(node: np.ndarray, path: np.ndarray, *, width: float) -> Rod:
        """From nodes (V, 3) [m] and those along the rod (R + 1,); `width` [m] is what touches and what the air meets.

        Raises BadInput for segments without length.
        """
        node, path = np.asarray(node, float), np.asarray(path, np.int32)
        if path.ndim != 1 or len(path) < 2 or not width > 0:
            raise BadInput("a rod needs two nodes or more, and a positive width.", fix="Give the nodes along it, in order.")
        index = np.stack([path[:-1], path[1:]], 1)
        q = quadrature(node, index)
        triple = np.stack([path[:-2], path[1:-1], path[2:]], 1)
        if path[0] == path[-1]:
            triple = np.vstack([triple, [path[-2], path[0], path[1]]]).astype(np.int32)
        l1, l2 = (np.linalg.norm(node[triple[:, k + 1]] - node[triple[:, k]], axis=1) for k in (0, 1))
        length = (l1 + l2) / 2
        second = np.stack([1 / l1, -1 / l1 - 1 / l2, 1 / l2], -1) / length[:, None]
        bends, curved = _bends(node, triple, second[:, :, None] * np.array([1.0, 0, 0]), np.stack([length, length])[:, :, None])
        return Rod((Elements(index, q.gradient, q.volume, "norm"), bends), Facets(index, width), q.share, curved)

    def material(self, *, stretching: Number, bending: Number, density: Number) -> Wire:
        R, B = len(self.share), len(self.curved)
        return Wire(*spread(R, stretching), *spread(B, bending), *spread(R, density))

    def validate(self, material: Wire) -> None:
        R, B = (len(self.share),), (len(self.curved),)
        bounded(material, Wire, {"stretching": R, "bending": B, "density": R}, ("stretching", "density"), ("bending",))

    def moduli(self, material: Wire) -> tuple[np.ndarray, ...]:
        k, B = material.stretching, material.bending
        return np.stack([k, k]), np.stack([B, B * self.curved])

    def mass(self, material: Wire) -> tuple[np.ndarray, np.ndarray]:
        return self.energies[0].index, self.share * material.density[:, None]

    def pullback(self, material: Wire, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Wire:
        (by_k, by_pull), (d_mu, d_lam) = d_moduli
        by_mass = (self.share * d_mass[self.energies[0].index]).sum(1)
        return Wire(by_k + by_pull, d_mu + self.curved * d_lam, by_mass)


def _across(triangle: np.ndarray) -> np.ndarray:
    """The node (T, 3) across the edge from each corner to the next, -1 at the border. Raises BadInput for edges of more than two."""
    edge = np.sort(np.stack([triangle, np.roll(triangle, -1, 1)], -1), -1).reshape(-1, 2)
    opposite, order = np.roll(triangle, -2, 1).ravel(), np.lexsort(edge.T)
    same = (edge[order[1:]] == edge[order[:-1]]).all(1)
    if (same[1:] & same[:-1]).any():
        raise BadInput("an edge belongs to more than two triangles.", fix="Split the sheet there, and join its parts by their nodes.")
    one, other = order[:-1][same], order[1:][same]
    out = np.full(len(edge), -1)
    out[one], out[other] = opposite[other], opposite[one]
    return out.reshape(-1, 3)


def _curvature(node: np.ndarray, triangle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (T, 6) of triangles and those across, and the vectors (T, 6, 3) g_a of K = sum_a x_a (x) g_a."""
    across = _across(triangle)
    corner = node[triangle]
    frame = np.linalg.qr(np.stack([corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]], 2))[0]  # (T, 3, 2) of each plane
    flat = (corner - corner[:, :1]) @ frame
    length = np.sqrt(np.abs(np.linalg.det(flat[:, 1:])))  # [m] the unit below: coefficients of order one
    flat = flat / length[:, None, None]
    begin, end = np.arange(3), np.array([1, 2, 0])
    along, there = corner[:, end] - corner, node[across] - corner
    size = np.linalg.norm(along, axis=2)
    share = (there * along).sum(2) / size**2  # where the node across lies along its edge, and how far from it
    height = np.linalg.norm(there - share[:, :, None] * along, axis=2) / length[:, None]
    way = flat[:, end] - flat[:, begin]
    out = flat[:, begin] - flat[:, [2, 0, 1]]
    out = out - (out * way).sum(2, keepdims=True) / (way * way).sum(2, keepdims=True) * way
    place = flat + share[:, :, None] * way + height[:, :, None] * out / np.linalg.norm(out, axis=2, keepdims=True)
    plane = np.concatenate([np.ones((len(flat), 1, 3)), np.swapaxes(flat, 1, 2)], 1)
    weight = np.linalg.solve(plane, np.concatenate([np.ones((len(flat), 1, 3)), np.swapaxes(place, 1, 2)], 1))  # (T, corner, across)
    bow = _quadratic(place) - np.einsum("tca,tcq->taq", weight, _quadratic(flat))
    bow[across < 0] = 0.0
    inverse = np.linalg.pinv(bow, rcond=1e-3) / length[:, None, None] ** 2  # (T, 3, across): the smallest K where rows lack
    gradient = np.concatenate([-np.einsum("tqa,tca->tcq", inverse, weight), np.swapaxes(inverse, 1, 2)], 1)
    return np.concatenate([triangle, np.where(across < 0, triangle, across)], 1).astype(np.int32), gradient


def _quadratic(p: np.ndarray) -> np.ndarray:
    """What second derivatives (uu, sqrt(2) uv, vv) add at points (..., 2)."""
    return np.stack([0.5 * p[..., 0] ** 2, p[..., 0] * p[..., 1] / np.sqrt(2), 0.5 * p[..., 1] ** 2], -1)


def _bends(node: np.ndarray, index: np.ndarray, gradient: np.ndarray, volume: np.ndarray) -> tuple[Elements, np.ndarray]:
    """Elements (E, n) whose F is a curvature sum x_a (x) g_a, and its norm at rest (E,)."""
    curved = np.linalg.norm(np.einsum("enx,enq->exq", node[index], gradient), axis=(1, 2))
    noise = 1e-12 * (np.linalg.norm(gradient, axis=2) * np.abs(node[index]).max(2)).sum(1)
    return Elements(index, gradient[:, None], volume, "norm", viscid=False), np.where(curved > noise, curved, 0.0)
