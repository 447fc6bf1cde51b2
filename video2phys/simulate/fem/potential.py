"""What a step or a body at rest minimises, with first and second derivatives.

    c/2 |x - goal|^2_M + drag/2 |x - from|^2_M - force . (x - from) + energies of the parts + contact + air

c = 1 / tau^2 and drag = alpha / tau for a stage of length tau, both zero at rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from video2phys.simulate.fem.air import Air
from video2phys.simulate.fem.contact import Plane
from video2phys.simulate.fem.elements import EPS, Energy, Rate
from video2phys.simulate.fem.factor import assemble
from video2phys.simulate.fem.scene import Params, Scene, node_mass

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True)
class Body:
    """A scene with its parameters, and what follows from both."""

    scene: Scene
    params: Params
    energies: tuple[Energy, ...]  # of all parts
    moduli: tuple[np.ndarray, ...]  # (K, E) of each
    mass: np.ndarray  # [kg] (V,) lumped
    force: np.ndarray  # [N] (V, 3) weight and loads

    @staticmethod
    def of(scene: Scene, params: Params) -> Body:
        """Raises BadInput for parameters out of bounds."""
        params.validate(scene)
        pairs = list(zip(scene.parts, params.material, strict=True))
        energies = tuple(e for part in scene.parts for e in part.energies)
        moduli = tuple(np.ascontiguousarray(m, float) for part, material in pairs for m in part.moduli(material))
        mass = node_mass(scene, params)
        return Body(scene, params, energies, moduli, mass, params.load + mass[:, None] * params.gravity)


@dataclass(frozen=True)
class Blocks:
    """Second derivatives at one place: of each energy, of the air at each part, of the plane."""

    energies: list[np.ndarray]
    air: list[np.ndarray]
    plane: np.ndarray | None  # (C, 3, 3)


@dataclass(frozen=True)
class Potential:
    """The function of node positions (V, 3) to be minimised."""

    body: Body
    origin: np.ndarray  # [m] (V, 3) `from` above
    goal: np.ndarray  # [m] (V, 3)
    inertia: float  # [1/s^2] c
    drag: float  # [1/s^2]
    rates: tuple[Rate, ...]  # of each energy
    plane: Plane | None
    air: tuple[Air, ...]

    @staticmethod
    def at_rest(body: Body, x: np.ndarray) -> Potential:
        """Of a body without inertia, viscosity, plane and air; loads do work from x (V, 3)."""
        return Potential(body, x, x, 0.0, 0.0, (Rate.none(),) * len(body.energies), None, ())

    def slope(self, x: np.ndarray) -> tuple[float, float, np.ndarray]:
        """The potential [J], what of it may be round-off [J], and its derivative (V, 3) [N]."""
        body = self.body
        m, to_goal, moved = body.mass[:, None], x - self.goal, x - self.origin
        g = m * (self.inertia * to_goal + self.drag * moved) - body.force
        parts = [
            0.5 * self.inertia * float((m * to_goal**2).sum()), 0.5 * self.drag * float((m * moved**2).sum()),
            -float((body.force * moved).sum()),
        ]  # fmt: skip
        noise = 0.0
        for energy, moduli, rate in zip(body.energies, body.moduli, self.rates, strict=True):
            value, off = energy.slope(x, moduli, rate, g)
            parts.append(value)
            noise += off
        parts += [air.slope(x, g) for air in self.air]
        if self.plane is not None:
            touching = body.scene.touching
            value, push = self.plane.slope(x[touching])
            parts.append(value)
            g[touching] += push
        g[body.scene.clamped] = 0.0
        return float(sum(parts)), EPS * max(map(abs, parts)) + noise, g

    def blocks(self, x: np.ndarray, *, project: bool = False) -> Blocks:
        """Second derivatives at x; with `project` each positive semidefinite."""
        body = self.body
        energies = [e.blocks(x, m, r, project) for e, m, r in zip(body.energies, body.moduli, self.rates, strict=True)]
        plane = None if self.plane is None else self.plane.curvature(x[body.scene.touching])
        return Blocks(energies, [air.blocks(x) for air in self.air], plane)

    def product(self, blocks: Blocks, dx: np.ndarray) -> np.ndarray:
        """The second derivative, whose blocks are given, times dx (V, 3)."""
        body = self.body
        out = (self.inertia + self.drag) * body.mass[:, None] * dx
        for term, block in (*zip(body.energies, blocks.energies, strict=True), *zip(self.air, blocks.air, strict=True)):
            term.product(block, dx, out)
        if blocks.plane is not None:
            out[body.scene.touching] += np.einsum("cij,cj->ci", blocks.plane, dx[body.scene.touching])
        return out

    def matrix(self, blocks: Blocks) -> csc_matrix:
        """The second derivative as a sparse matrix over the free nodes, coordinates of a node side by side."""
        scene = self.body.scene
        pieces = [(e.index, e.local(b)) for e, b in zip(self.body.energies, blocks.energies, strict=True)]
        pieces += [(a.facets.index, a.local(b)) for a, b in zip(self.air, blocks.air, strict=True)]
        inertia = (self.inertia + self.drag) * self.body.mass[:, None, None] * np.eye(3)
        pieces.append((np.arange(len(scene.node))[:, None], inertia))
        if blocks.plane is not None:
            pieces.append((scene.touching[:, None], blocks.plane))
        return assemble(pieces, ~scene.clamped, 3)
