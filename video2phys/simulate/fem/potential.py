"""What a step or a body at rest minimises, with first and second derivatives.

    c/2 |x - goal|^2_M + drag/2 |x - from|^2_M - force . (x - from) + elastic and viscous energy + contact

c = 1 / tau^2 and drag = alpha / tau for a stage of length tau, both zero at rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from video2phys.simulate.fem.contact import Plane
from video2phys.simulate.fem.kernel import kernels
from video2phys.simulate.fem.scene import Params, Scene, node_mass
from video2phys.simulate.materials.elastic import lame

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Body:
    """A scene with its parameters, and what follows from both."""

    scene: Scene
    params: Params
    mu: np.ndarray  # [Pa] (E,)
    lam: np.ndarray  # [Pa] (E,)
    mass: np.ndarray  # [kg] (V,)
    force: np.ndarray  # [N] (V, 3) weight and loads

    @staticmethod
    def of(scene: Scene, params: Params) -> Body:
        mu, lam = (np.ascontiguousarray(a) for a in lame(params.youngs_modulus, params.poisson_ratio))
        mass = node_mass(scene, params)
        return Body(scene, params, mu, lam, mass, params.load + mass[:, None] * params.gravity)

    @cached_property
    def stiffness(self) -> float:
        """[J] sum V (2 mu + lam)."""
        return float((self.scene.quadrature.share.sum(1) * (2 * self.mu + self.lam)).sum())

    @cached_property
    def steepest(self) -> float:
        """[1/m] largest |grad N|."""
        return float(np.abs(self.scene.quadrature.gradient).max())

    def gradients(self, x: np.ndarray) -> np.ndarray:
        """Deformation gradients (E, Q, 3, 3) of nodes (V, 3)."""
        return np.ascontiguousarray(np.swapaxes(self.scene.quadrature.gradient, 2, 3) @ x[self.scene.element][:, None]).swapaxes(2, 3)


@dataclass(frozen=True)
class Potential:
    """The function of node positions (V, 3) to be minimised."""

    body: Body
    origin: np.ndarray  # [m] (V, 3) `from` above
    goal: np.ndarray  # [m] (V, 3)
    inertia: float  # [1/s^2] c
    drag: float  # [1/s^2]
    viscous: float  # beta / tau
    before: np.ndarray  # (E, Q, 3, 3) F0 of the viscous term
    ahead: np.ndarray  # (E, Q, 3, 3) G of the viscous term
    plane: Plane | None

    @property
    def _mesh(self) -> tuple[np.ndarray, np.ndarray]:
        return self.body.scene.element, self.body.scene.quadrature.gradient

    def slope(self, x: np.ndarray) -> tuple[float, float, np.ndarray]:
        """The potential [J], what of it may be round-off [J], and its derivative (V, 3) [N]."""
        body, q, g = self.body, self.body.scene.quadrature, np.zeros_like(x)
        m = body.mass[:, None]
        elastic = kernels(body.scene.law).slope(
            x, *self._mesh, q.volume, q.bulk, body.mu, body.lam, self.viscous, self.before, self.ahead, g
        )  # fmt: skip
        to_goal, moved = x - self.goal, x - self.origin
        parts = [
            elastic, 0.5 * self.inertia * float((m * to_goal**2).sum()), 0.5 * self.drag * float((m * moved**2).sum()),
            -float((body.force * moved).sum()),
        ]  # fmt: skip
        g += m * (self.inertia * to_goal + self.drag * moved) - body.force
        if self.plane is not None:
            touching = body.scene.touching
            energy, push = self.plane.slope(x[touching])
            parts.append(energy)
            g[touching] += push
        g[body.scene.clamped] = 0.0
        return float(sum(parts)), EPS * max(map(abs, parts)) + self._noise(x, elastic), g

    def _noise(self, x: np.ndarray, elastic: float) -> float:
        """Round-off of the elastic energy [J]. F is off by some EPS |x| |grad N|, V psi by V |P| times that, and sum V |P| is at most
        sqrt(2 energy * sum V (2 mu + lam)): near rest far more than EPS times the energy."""
        off, stiff = EPS * np.abs(x).max() * self.body.steepest * x.shape[1], self.body.stiffness * (1 + self.viscous)
        return off * (np.sqrt(2 * abs(elastic) * stiff) + off * stiff)

    def blocks(self, x: np.ndarray, *, project: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
        """V dP/dF (E, Q, 9, 9) and the plane's blocks (C, 3, 3); with `project` each positive semidefinite."""
        body, q = self.body, self.body.scene.quadrature
        out = np.empty((*q.volume.shape, 9, 9))
        kernels(body.scene.law).blocks(
            x, *self._mesh, q.volume, q.bulk, body.mu, body.lam, self.viscous, self.ahead, int(project), out
        )  # fmt: skip
        return out, None if self.plane is None else self.plane.curvature(x[body.scene.touching])

    def product(self, blocks: tuple[np.ndarray, np.ndarray | None], dx: np.ndarray) -> np.ndarray:
        """The second derivative, whose blocks are given, times dx (V, 3)."""
        body = self.body
        out = (self.inertia + self.drag) * body.mass[:, None] * dx
        kernels(body.scene.law).product(dx, *self._mesh, blocks[0], out)
        if blocks[1] is not None:
            out[body.scene.touching] += np.einsum("cij,cj->ci", blocks[1], dx[body.scene.touching])
        return out

    def matrix(self, blocks: tuple[np.ndarray, np.ndarray | None]) -> csc_matrix:
        """The second derivative as a sparse matrix over the free nodes, coordinates of a node side by side."""
        from scipy.sparse import csc_matrix

        scene = self.body.scene
        n = scene.element.shape[1]
        grad, H = scene.quadrature.gradient, blocks[0].reshape(*blocks[0].shape[:2], 3, 3, 3, 3)
        half = np.einsum("eqixjy,eqby->eqixbj", H, grad, optimize=True)
        local = np.einsum("eqax,eqixbj->eaibj", grad, half, optimize=True).reshape(len(grad), 3 * n, 3 * n)
        dof = (3 * scene.element[:, :, None] + np.arange(3)).reshape(-1, 3 * n)
        row, column = (np.broadcast_to(d, local.shape) for d in (dof[:, :, None], dof[:, None]))
        every = np.arange(3 * len(scene.node))
        rows, columns, values = [row.ravel(), every], [column.ravel(), every], [local.ravel(), np.repeat(self.body.mass, 3)]
        values[1] = values[1] * (self.inertia + self.drag)
        if blocks[1] is not None:
            at = 3 * scene.touching[:, None, None]
            row, column = (np.broadcast_to(at + d, blocks[1].shape) for d in (np.arange(3)[:, None], np.arange(3)))
            rows.append(row.ravel())
            columns.append(column.ravel())
            values.append(blocks[1].ravel())
        number = np.full(3 * len(scene.node), -1)
        free = (3 * scene.free[:, None] + np.arange(3)).ravel()
        number[free] = np.arange(len(free))
        i, j, v = number[np.concatenate(rows)], number[np.concatenate(columns)], np.concatenate(values)
        inside = (i >= 0) & (j >= 0)
        return csc_matrix((v[inside], (i[inside], j[inside])), shape=(len(free), len(free)))
