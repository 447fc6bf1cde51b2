"""What drives a body from within: gas behind a surface, cables that pull, and muscles. Their materials are the drive; a drive that
changes in time is a list of Params, one for each gap between frames.

Pressure:  -p V, V the volume that the triangles enclose; p follows the surface (follower load);
           nodes share it as triangles do, which is what tetrahedra want: hexahedra warp a little under it
Cable:     T l, l the length of straight segments through the nodes, along which the cable slides freely
Muscle:    k/2 (|F m| - a)^2 per rest volume of solid elements with fibres m: contracts them to the length a (Du et al. 2022, section 3)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.elements import Elements, Rate
from video2phys.simulate.fem.parts import Number, bounded, spread
from video2phys.simulate.fem.quadrature import quadrature

NOTHING = np.zeros((0, 0), np.int32), np.zeros((0, 0))
LEVI_CIVITA = np.zeros((3, 3, 3))
LEVI_CIVITA[[0, 1, 2], [1, 2, 0], [2, 0, 1]], LEVI_CIVITA[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = 1.0, -1.0


@dataclass(frozen=True)
class Enclosed:
    """-p times the volume between triangles (T, 3) and a centre; the only modulus is p."""

    index: np.ndarray  # (T, 3) int32, counter-clockwise when seen from outside the gas
    centre: np.ndarray  # [m] (3,) inside: a fixed point, of no consequence for a closed surface

    def rate(self, x: np.ndarray, ahead: np.ndarray, viscous: float) -> Rate:
        return Rate.none()

    def _areas(self, x: np.ndarray) -> np.ndarray:
        """Six times the derivative of the volume by each triangle's nodes (T, 3, 3)."""
        p = x[self.index] - self.centre
        return np.cross(np.roll(p, -1, 1), np.roll(p, -2, 1))

    def volume(self, x: np.ndarray) -> float:
        """[m^3]"""
        return float(((x[self.index[:, 0]] - self.centre) * self._areas(x)[:, 0]).sum()) / 6

    def slope(self, x: np.ndarray, moduli: np.ndarray, rate: Rate, g: np.ndarray) -> tuple[float, float]:
        areas = self._areas(x)
        np.add.at(g, self.index, -moduli[0][:, None, None] / 6 * areas)
        parts = -moduli[0] / 6 * ((x[self.index[:, 0]] - self.centre) * areas[:, 0]).sum(1)
        return float(parts.sum()), float(np.finfo(float).eps * np.abs(parts).sum())

    def blocks(self, x: np.ndarray, moduli: np.ndarray, rate: Rate, project: bool) -> np.ndarray:
        """(T, 9, 9)."""
        turned = np.einsum("ijk,tck->tcij", LEVI_CIVITA, x[self.index] - self.centre) * (-moduli[0] / 6)[:, None, None, None]
        out = np.zeros((len(self.index), 3, 3, 3, 3))
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            out[:, a, :, b], out[:, b, :, a] = turned[:, c], -turned[:, c]
        out = out.reshape(-1, 9, 9)
        if project:
            value, vector = np.linalg.eigh(out)
            out = (vector * np.maximum(value, 0.0)[:, None]) @ np.swapaxes(vector, 1, 2)
        return out

    def product(self, blocks: np.ndarray, dx: np.ndarray, out: np.ndarray) -> None:
        np.add.at(out, self.index, (blocks @ dx[self.index].reshape(-1, 9, 1)).reshape(-1, 3, 3))

    def local(self, blocks: np.ndarray) -> np.ndarray:
        return blocks

    def constant(self, moduli: np.ndarray, viscous: float, rest: bool) -> np.ndarray:
        return np.zeros((len(self.index), 3, 3))

    def pullback(self, x: np.ndarray, z: np.ndarray, moduli: np.ndarray, rate: Rate) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        d = -(z[self.index] * self._areas(x)).sum((1, 2)) / 6
        return d[None], 0.0, np.zeros_like(x), np.zeros_like(x)


@dataclass(frozen=True)
class Gas:
    pressure: np.ndarray  # [Pa] () above that outside; negative sucks


@dataclass(frozen=True)
class Pressure:
    """Gas behind triangles that close around it, or end on clamped nodes."""

    energies: tuple[Enclosed]
    facets: None = None

    @staticmethod
    def of(node: np.ndarray, triangle: np.ndarray, *, clamped: np.ndarray | None = None) -> Pressure:
        """From nodes (V, 3) [m] and triangles (T, 3), counter-clockwise from outside the gas.

        Raises BadInput where they end on a node that is not clamped (V,): what holds the gas there is not known.
        """
        node, index = np.asarray(node, float), np.array(triangle, np.int32, order="C")
        edge = index[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        way = edge[:, 0] * np.int64(len(node)) + edge[:, 1]
        open_ = edge[~np.isin(way, edge[:, 1] * np.int64(len(node)) + edge[:, 0])]
        if len(open_) and (clamped is None or not np.asarray(clamped)[open_].all()):
            raise BadInput("the surface of a gas is open.", fix="Close it, turn its triangles one way, or clamp the nodes where it ends.")
        return Pressure((Enclosed(index, node[index].mean((0, 1))),))

    def material(self, *, pressure: float) -> Gas:
        return Gas(np.asarray(pressure, float))

    def validate(self, material: Gas) -> None:
        bounded(material, Gas, {"pressure": ()}, ())

    def moduli(self, material: Gas) -> tuple[np.ndarray, ...]:
        return (np.full((1, len(self.energies[0].index)), material.pressure),)

    def mass(self, material: Gas) -> tuple[np.ndarray, np.ndarray]:
        return NOTHING

    def pullback(self, material: Gas, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Gas:
        return Gas(d_moduli[0].sum())


@dataclass(frozen=True)
class Pull:
    tension: np.ndarray  # [N] ()


@dataclass(frozen=True)
class Cable:
    """A tendon without mass that a motor pulls: the same tension all along."""

    energies: tuple[Elements]
    facets: None = None

    @staticmethod
    def of(node: np.ndarray, path: np.ndarray) -> Cable:
        """Through nodes (R + 1,) in order. Raises BadInput where two that follow each other coincide."""
        path = np.asarray(path, np.int32)
        index = np.stack([path[:-1], path[1:]], 1)
        q = quadrature(np.asarray(node, float), index)
        return Cable((Elements(index, q.gradient, q.volume, "norm", viscid=False),))

    def material(self, *, tension: float) -> Pull:
        return Pull(np.asarray(tension, float))

    def validate(self, material: Pull) -> None:
        bounded(material, Pull, {"tension": ()}, (), ("tension",))

    def moduli(self, material: Pull) -> tuple[np.ndarray, ...]:
        pull = np.full(len(self.energies[0].index), material.tension)
        return (np.stack([np.zeros_like(pull), -pull]),)

    def mass(self, material: Pull) -> tuple[np.ndarray, np.ndarray]:
        return NOTHING

    def pullback(self, material: Pull, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Pull:
        return Pull(-d_moduli[0][1].sum())


@dataclass(frozen=True)
class Contraction:
    stiffness: np.ndarray  # [Pa] (E,) k
    length: np.ndarray  # () a: that fibres want, over that at rest


@dataclass(frozen=True)
class Muscle:
    """Fibres in solid elements that share one activation."""

    energies: tuple[Elements]
    facets: None = None

    @staticmethod
    def of(node: np.ndarray, element: np.ndarray, *, fibre: np.ndarray | tuple[float, float, float]) -> Muscle:
        """In elements (E, 4, 8 or 27), along `fibre` (3,) or (E, 3) at rest. Raises BadInput for elements inside out."""
        index, m = np.array(element, np.int32, order="C"), np.asarray(fibre, float)
        q = quadrature(np.asarray(node, float), index)
        m = np.broadcast_to(m / np.linalg.norm(m, axis=-1, keepdims=True), (len(index), 3))
        along = np.einsum("eqnx,ex,ey->eqny", q.gradient, m, m)
        used = q.volume[0].any(0)  # both moduli of a spring belong to the same points
        return Muscle((Elements(index, np.ascontiguousarray(along[:, used]), np.stack([q.volume[0][:, used]] * 2), "norm"),))

    def material(self, *, stiffness: Number, length: float) -> Contraction:
        return Contraction(spread(len(self.energies[0].index), stiffness)[0], np.asarray(length, float))

    def validate(self, material: Contraction) -> None:
        sizes = {"stiffness": (len(self.energies[0].index),), "length": ()}
        bounded(material, Contraction, sizes, ("stiffness",), ("length",))

    def moduli(self, material: Contraction) -> tuple[np.ndarray, ...]:
        k = material.stiffness
        return (np.stack([k, k * material.length]),)

    def mass(self, material: Contraction) -> tuple[np.ndarray, np.ndarray]:
        return NOTHING

    def pullback(self, material: Contraction, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Contraction:
        d_k, d_pull = d_moduli[0]
        return Contraction(d_k + material.length * d_pull, (material.stiffness * d_pull).sum())
