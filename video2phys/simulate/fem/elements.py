"""Elements of one kind with their energy: sum V psi(F) + phi over all points, F = sum_a x_a (x) g_a; see `kernel.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from video2phys.simulate.fem.kernel import kernels
from video2phys.simulate.fem.laws import LAWS, Law, Slender

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Rate:
    """What the viscous potential of one step knows."""

    viscous: float  # beta / tau
    before: np.ndarray  # (E, Q, 3, 3) F0
    ahead: np.ndarray  # (E, Q, 3, 3) G

    @staticmethod
    def none() -> Rate:
        """Without a step, or without viscosity."""
        return Rate(0.0, np.zeros((1, 1, 3, 3)), np.zeros((1, 1, 3, 3)))


class Energy(Protocol):
    """A sum over elements of n nodes, by moduli (K, E) that a material gives."""

    @property
    def index(self) -> np.ndarray:
        """(E, n) int32 nodes"""
        ...

    def rate(self, x: np.ndarray, ahead: np.ndarray, viscous: float) -> Rate:
        """Made of the nodes (V, 3) at the beginning of a step and of those predicted."""
        ...

    def slope(self, x: np.ndarray, moduli: np.ndarray, rate: Rate, g: np.ndarray) -> tuple[float, float]:
        """The energy [J] and what of it may be round-off [J]; its derivative is added to g (V, 3) [N]."""
        ...

    def blocks(self, x: np.ndarray, moduli: np.ndarray, rate: Rate, project: bool) -> np.ndarray:
        """Second derivatives (E, ...) in the energy's own coordinates; with `project` positive semidefinite."""
        ...

    def product(self, blocks: np.ndarray, dx: np.ndarray, out: np.ndarray) -> None:
        """Adds the second derivative times dx (V, 3)."""
        ...

    def local(self, blocks: np.ndarray) -> np.ndarray:
        """The second derivative by the coordinates of each element's nodes (E, 3 n, 3 n)."""
        ...

    def constant(self, moduli: np.ndarray, viscous: float, rest: bool) -> np.ndarray:
        """For projective dynamics: a bound of the second derivative for each axis (E, n, n); with `rest` of solids their second derivative
        at rest (E, 3 n, 3 n)."""
        ...

    def pullback(self, x: np.ndarray, z: np.ndarray, moduli: np.ndarray, rate: Rate) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Derivatives of z . slope(x): by moduli (K, E), rate.viscous, and the nodes (V, 3) before and ahead that gave `rate`."""
        ...


@dataclass(frozen=True)
class Elements:
    """The energy of a law of principal stretches; moduli are mu and lam, each with volumes of its own."""

    index: np.ndarray  # (E, n) int32
    gradient: np.ndarray  # (E, Q, n, 3) g_a: gradients of shape functions [1/m] where F is a deformation gradient
    volume: np.ndarray  # (2, E, Q) V of the terms with mu, and with lam
    law: Law | Slender
    viscid: bool = True  # has the viscous potential

    def _gradients(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((np.swapaxes(self.gradient, 2, 3) @ x[self.index][:, None]).swapaxes(2, 3))

    def rate(self, x: np.ndarray, ahead: np.ndarray, viscous: float) -> Rate:
        return Rate(viscous, self._gradients(x), self._gradients(ahead)) if self.viscid else Rate.none()

    def slope(self, x: np.ndarray, moduli: np.ndarray, rate: Rate, g: np.ndarray) -> tuple[float, float]:
        """Round-off: F is off by some EPS |x| |g_a|, V psi by V |P| times that, and sum V |P| is at most sqrt(2 energy * sum V w), w
        as in `_weight`: near rest far more than EPS times the energy."""
        psi = np.empty(self.volume.shape[1:])
        stress = np.empty((*psi.shape, 3, 3))
        about = (self.index, self.gradient, *self.volume, *moduli, rate.viscous, rate.before, rate.ahead)
        kernels(self.law).slope(x, *about, psi, stress, g)
        energy = float(psi.sum())
        off = EPS * np.abs(x).max() * np.abs(self.gradient).max(initial=0.0) * 3
        stiff = float(self._weight(moduli).sum()) * (1 + rate.viscous)
        return energy, off * (np.sqrt(2 * abs(energy) * stiff) + off * stiff)

    def blocks(self, x: np.ndarray, moduli: np.ndarray, rate: Rate, project: bool) -> np.ndarray:
        """V dP/dF (E, Q, 9, 9)."""
        out = np.empty((*self.volume.shape[1:], 9, 9))
        kernels(self.law).blocks(x, self.index, self.gradient, *self.volume, *moduli, rate.viscous, rate.ahead, int(project), out)
        return out

    def product(self, blocks: np.ndarray, dx: np.ndarray, out: np.ndarray) -> None:
        kernels(self.law).product(dx, self.index, self.gradient, blocks, out)

    def local(self, blocks: np.ndarray) -> np.ndarray:
        n = self.index.shape[1]
        H = blocks.reshape(*blocks.shape[:2], 3, 3, 3, 3)
        half = np.einsum("eqixjy,eqby->eqixbj", H, self.gradient, optimize=True)
        return np.einsum("eqax,eqixbj->eaibj", self.gradient, half, optimize=True).reshape(-1, 3 * n, 3 * n)

    def _weight(self, moduli: np.ndarray) -> np.ndarray:
        """(E, Q) V w, w an upper bound of the curvature of psi near rest."""
        mu, lam = moduli[:, :, None] * self.volume
        return mu + np.maximum(-lam, 0.0) if self.law == "norm" else 2 * mu + lam

    def constant(self, moduli: np.ndarray, viscous: float, rest: bool) -> np.ndarray:
        """At rest mu (g_a . g_b 1 + g_b (x) g_a) + lam g_a (x) g_b, the laws' common linear elasticity."""
        g, more, n = self.gradient, 1 + viscous * self.viscid, self.index.shape[1]
        if self.law not in LAWS or not rest:
            return np.einsum("eq,eqax,eqbx->eab", self._weight(moduli) * more, g, g, optimize=True)
        mu, lam = moduli[:, :, None] * self.volume * more
        shear, bulk = (np.einsum("eqax,eqby->eaxby", w[:, :, None, None] * g, g, optimize=True) for w in (mu, lam))
        K = bulk + np.einsum("eaxby->eaybx", shear)
        for axis in range(3):
            K[:, :, axis, :, axis] += np.einsum("eaxbx->eab", shear)
        return K.reshape(-1, 3 * n, 3 * n)

    def pullback(self, x: np.ndarray, z: np.ndarray, moduli: np.ndarray, rate: Rate) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        d, d_beta, before, ahead = np.zeros_like(moduli), np.zeros(len(self.index)), np.zeros_like(x), np.zeros_like(x)
        moving = int(rate.before.shape[:2] == self.volume.shape[1:] and self.viscid)
        room = np.empty((2, *rate.before.shape))
        about = (self.index, self.gradient, *self.volume, *moduli, rate.viscous, moving, rate.before, rate.ahead)
        kernels(self.law).pullback(x, z, *about, *room, *d, d_beta, before, ahead)
        return d, float(d_beta.sum()), before, ahead
