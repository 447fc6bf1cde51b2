"""Drag and wind: the air pushes each facet by its area and the square of the velocity against it.

    f = c/2 S |q| q,   q = P (wind - v),   P = n n^T for faces,   P = I - t t^T for segments of a rod,   c = air density * drag coefficient

v is the mean velocity of the facet's nodes, which share f, each with its weight. S, n and t are those of the stage as the velocity
predicts it, so the force of a stage of length tau is the slope of a convex potential, tau c S / 6 |P ((x - x_0) / tau - wind)|^3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.simulate.fem.mesh import Facets


@dataclass(frozen=True)
class Air:
    """The air around some facets as one step sees it."""

    facets: Facets
    before: np.ndarray  # [m] (V, 3) x_0
    ahead: np.ndarray  # [m] (V, 3)
    size: np.ndarray  # [m^2] (S,)
    way: np.ndarray  # (S, 3) n or t
    density: float  # [kg/m^3] c
    wind: np.ndarray  # [m/s] (3,)
    length: float  # [s] tau

    @staticmethod
    def of(facets: Facets, before: np.ndarray, ahead: np.ndarray, *, density: float, wind: np.ndarray, length: float) -> Air:
        vector = facets.vector(ahead)
        size = np.linalg.norm(vector, axis=1)
        return Air(facets, before, ahead, size * facets.width, vector / size[:, None], density, wind, length)

    def _across(self, u: np.ndarray) -> np.ndarray:
        """P u for u (S, 3)."""
        along = (u * self.way).sum(1, keepdims=True) * self.way
        return along if self.facets.index.shape[1] > 2 else u - along

    def _mean(self, x: np.ndarray) -> np.ndarray:
        """Over each facet (S, 3), of nodes (V, 3)."""
        return np.einsum("m,smi->si", self.facets.weight, x[self.facets.index])

    def _speed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocity against the air u (S, 3), q = P u, and |q| (S, 1) [m/s]."""
        u = self._mean(x - self.before) / self.length - self.wind
        q = self._across(u)
        return u, q, np.linalg.norm(q, axis=1, keepdims=True)

    def _scatter(self, f: np.ndarray, out: np.ndarray) -> None:
        np.add.at(out, self.facets.index, f[:, None] * self.facets.weight[:, None])

    def slope(self, x: np.ndarray, g: np.ndarray) -> float:
        """The potential [J]; its derivative is added to g (V, 3) [N]."""
        _, q, speed = self._speed(x)
        c = self.density * self.size
        self._scatter(0.5 * c[:, None] * speed * q, g)
        return float((c * speed[:, 0] ** 3).sum()) * self.length / 6

    def blocks(self, x: np.ndarray) -> np.ndarray:
        """Second derivative by the place of each facet (S, 3, 3) [N/m]."""
        _, q, speed = self._speed(x)
        P = np.stack([self._across(np.broadcast_to(e, q.shape)) for e in np.eye(3)], 2)
        unit = np.divide(q, speed, out=np.zeros_like(q), where=speed > 0)
        weight = self.density * self.size[:, None] * speed / (2 * self.length)
        return weight[:, :, None] * (P + unit[:, :, None] * unit[:, None])

    def product(self, blocks: np.ndarray, dx: np.ndarray, out: np.ndarray) -> None:
        """Adds the second derivative times dx (V, 3)."""
        self._scatter(np.einsum("sij,sj->si", blocks, self._mean(dx)), out)

    def local(self, blocks: np.ndarray) -> np.ndarray:
        """By the coordinates of each facet's nodes (S, 3 m, 3 m)."""
        w = self.facets.weight
        return np.einsum("a,b,sij->saibj", w, w, blocks).reshape(len(blocks), 3 * len(w), 3 * len(w))

    def pullback(self, x: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives of z . slope(x): by density, wind (3,), and the nodes (V, 3) before and ahead."""
        u, q, speed = self._speed(x)
        mean, way = self._mean(z), self.way
        along = (mean * q).sum(1, keepdims=True)
        half = 0.5 * self.size[:, None]
        by_density = float((half * speed * along).sum())
        y = self.density * half * (np.divide(along, speed, out=np.zeros_like(along), where=speed > 0) * q + speed * mean)  # by q
        d_u = self._across(y)
        sign = 1.0 if self.facets.index.shape[1] > 2 else -1.0
        d_way = sign * ((u * way).sum(1, keepdims=True) * y + (y * way).sum(1, keepdims=True) * u)
        norm = self.size[:, None] / self.facets.width
        d_vector = (d_way - (d_way * way).sum(1, keepdims=True) * way) / norm
        d_vector += 0.5 * self.density * self.facets.width * speed * along * way
        before = np.zeros_like(x)
        self._scatter(-d_u / self.length, before)
        return by_density, -d_u.sum(0), before, self.facets.vector_pullback(self.ahead, d_vector)
