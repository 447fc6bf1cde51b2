"""A plane met through a penalty, with Coulomb friction that holds and slides.

Normal: a spring of stiffness k [N/m] at each surface node, energy k/2 d^2 of its depth d = max(0, offset - n . x). A penalty rather
than an active set: the potential stays smooth and convex, so the step keeps one minimum and its derivative exists on both sides of touch.

Friction: each node hangs on an anchor by the same stiffness in the plane, u = (I - n n^T)(x - anchor), and the spring's force never
exceeds friction times the normal force: energy k/2 |u|^2 up to |u| = limit, then k limit (|u| - limit / 2), limit = friction d0. Where it
slips the anchor is dragged along, a' = x - u min(1, limit / |u|). So static friction holds without creep (elastic-perfectly plastic
friction, e.g. Simo & Laursen 1992). d0 is the depth at the beginning of the step: that keeps a potential (as Li et al. 2020, "Incremental
potential contact", section 5, lag it), and the first step that touches slips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Plane:
    """The plane as one step sees it."""

    normal: np.ndarray  # (3,)
    offset: float  # [m]
    stiffness: np.ndarray  # [N/m] (C,)
    limit: np.ndarray  # [m] (C,) of u: friction times the depth at the beginning
    anchor: np.ndarray  # [m] (C, 3)

    def depth(self, x: np.ndarray) -> np.ndarray:
        """How deep points (C, 3) are inside [m] (C,)."""
        return np.maximum(self.offset - x @ self.normal, 0.0)

    def _drag(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In-plane displacement from the anchor (C, 3), its length (C,), and whether it slips (C,)."""
        u = x - self.anchor
        u = u - (u @ self.normal)[:, None] * self.normal
        length = np.linalg.norm(u, axis=1)
        return u, length, length > self.limit

    def slope(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Energy [J] and its derivative (C, 3) [N]."""
        d, (u, length, slips) = self.depth(x), self._drag(x)
        drag = np.where(slips, self.limit * (length - 0.5 * self.limit), 0.5 * length**2)
        energy = (self.stiffness * (0.5 * d**2 + drag)).sum()
        share = np.divide(self.limit, length, out=np.ones_like(length), where=slips)
        return float(energy), self.stiffness[:, None] * (share[:, None] * u - d[:, None] * self.normal)

    def _held(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivative (C, 3, 3) by x of the displacement cut at the limit, and (C, 3) by the limit."""
        u, length, slips = self._drag(x)
        across = np.eye(3) - np.outer(self.normal, self.normal)
        way = np.divide(u, length[:, None], out=np.zeros_like(u), where=slips[:, None])
        share = np.divide(self.limit, length, out=np.ones_like(length), where=slips)
        return share[:, None, None] * (across - way[:, :, None] * way[:, None]), way

    def curvature(self, x: np.ndarray) -> np.ndarray:
        """Second derivative of the energy, a block (C, 3, 3) [N/m] a node."""
        deep = (self.depth(x) > 0)[:, None, None] * np.outer(self.normal, self.normal)
        return self.stiffness[:, None, None] * (deep + self._held(x)[0])

    def dragged(self, x: np.ndarray) -> np.ndarray:
        """The anchors (C, 3) after the step."""
        u, length, slips = self._drag(x)
        share = np.divide(self.limit, length, out=np.ones_like(length), where=slips)
        return x - share[:, None] * u

    def dragged_pullback(self, x: np.ndarray, d_after: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives by x (C, 3), the anchor (C, 3) and the limit (C,) from those by the anchors after the step."""
        S, way = self._held(x)
        held = np.einsum("cij,cj->ci", S, d_after)
        return d_after - held, held, -(way * d_after).sum(1)

    def slope_pullback(self, x: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Derivatives of z . slope(x) by the offset (the limit apart), the anchor (C, 3) and the limit (C,)."""
        S, way = self._held(x)
        deep = self.depth(x) > 0
        k = self.stiffness
        by_offset = -(k * deep * (z @ self.normal)).sum()
        return float(by_offset), -k[:, None] * np.einsum("cij,cj->ci", S, z), k * (way * z).sum(1)
