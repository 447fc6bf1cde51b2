"""Mass, centre and inertia: the ten numbers of a body that a rigid motion can show, in closed form.

Interiors are a cloud of particles of one density, plus balls of added (an insert) or removed (a void) density.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Body frame; lengths in metres."""

    mass: float  # [kg]
    center: np.ndarray  # [m] (3,)
    inertia: np.ndarray  # [kg m^2] (3, 3) about the centre

    def __add__(self, other: Moments) -> Moments:
        """The two together, by the parallel-axis theorem: I = I1 + I2 + m1 m2 / m (d^2 E - d d^T), d = c2 - c1."""
        mass = self.mass + other.mass
        d = other.center - self.center
        center = (self.mass * self.center + other.mass * other.center) / mass
        between = self.mass * other.mass / mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Moments(mass, center, self.inertia + other.inertia + between)

    def numbers(self) -> np.ndarray:
        """(10,) mass, centre, and inertia as xx, yy, zz, xy, xz, yz."""
        i = self.inertia
        return np.array([self.mass, *self.center, i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]])


def cloud(particle: np.ndarray, volume: np.ndarray, density: np.ndarray) -> Moments:
    """Of particles (P, 3) with volume (P,) and density (P,), each a small cube of its volume (own inertia m V^(2/3) / 6)."""
    share = volume * density
    mass = float(share.sum())
    center = share @ particle / mass
    r = particle - center
    own = float(share @ volume ** (2 / 3)) / 6
    return Moments(mass, center, (float(share @ (r**2).sum(1)) + own) * np.eye(3) - (share[:, None] * r).T @ r)


def ball(center: np.ndarray, radius: float, density: float) -> Moments:
    """Of a uniform ball: m = 4/3 pi r^3 rho, I = 2/5 m r^2 E. A negative density takes matter away."""
    mass = 4 / 3 * np.pi * radius**3 * density
    return Moments(mass, np.asarray(center, float), 0.4 * mass * radius**2 * np.eye(3))


def map_matrix(particle: np.ndarray, volume: np.ndarray) -> np.ndarray:
    """(10, P): densities to the raw moments (mass, mass x centre, inertia about the origin), a linear map.

    Its rank is ten at most: every interior that differs by a vector of its null space moves in the same way.
    """
    x, y, z = particle.T
    rows = [np.ones_like(x), x, y, z, y**2 + z**2, x**2 + z**2, x**2 + y**2, -x * y, -x * z, -y * z]
    return np.array(rows) * volume
