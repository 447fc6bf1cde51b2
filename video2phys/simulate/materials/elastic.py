"""The names of the laws, and the constants of isotropic elasticity with the wave speed."""

from __future__ import annotations

from typing import Literal

import numpy as np

Elastic = Literal["neo-Hookean", "fixed corotated"]
Law = Literal[Elastic, "Hencky", "von Mises", "Drucker-Prager", "Newtonian"]


def lame(youngs_modulus: np.ndarray, poisson_ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shear modulus mu = E / (2 (1 + nu)) and lam = E nu / ((1 + nu) (1 - 2 nu)), both [Pa]."""
    mu = youngs_modulus / (2 * (1 + poisson_ratio))
    return mu, 2 * mu * poisson_ratio / (1 - 2 * poisson_ratio)


def lame_pullback(
    youngs_modulus: np.ndarray, poisson_ratio: np.ndarray, d_mu: np.ndarray, d_lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """dL/dE and dL/dnu from dL/dmu and dL/dlam."""
    E, nu = youngs_modulus, poisson_ratio
    mu, lam = lame(E, nu)
    d_E = (d_mu * mu + d_lam * lam) / E
    d_nu = -d_mu * mu / (1 + nu) + d_lam * E * (1 + 2 * nu**2) / ((1 + nu) * (1 - 2 * nu)) ** 2
    return d_E, d_nu


def plane_stress(youngs_modulus: np.ndarray, poisson_ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """mu = E / (2 (1 + nu)) and lam = E nu / (1 - nu^2) of a thin sheet that is free to shrink across [Pa]."""
    mu = youngs_modulus / (2 * (1 + poisson_ratio))
    return mu, 2 * mu * poisson_ratio / (1 - poisson_ratio)


def plane_stress_pullback(
    youngs_modulus: np.ndarray, poisson_ratio: np.ndarray, d_mu: np.ndarray, d_lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """dL/dE and dL/dnu from dL/dmu and dL/dlam of `plane_stress`."""
    E, nu = youngs_modulus, poisson_ratio
    mu, lam = plane_stress(E, nu)
    return (d_mu * mu + d_lam * lam) / E, -d_mu * mu / (1 + nu) + d_lam * E * (1 + nu**2) / (1 - nu**2) ** 2


def wave_speed(youngs_modulus: np.ndarray, poisson_ratio: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Speed of pressure waves at rest, sqrt((lam + 2 mu) / rho) [m/s]."""
    mu, lam = lame(youngs_modulus, poisson_ratio)
    return np.sqrt((lam + 2 * mu) / density)


def sand_strength(friction_angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """alpha = sqrt(2/3) 2 sin(phi) / (3 - sin(phi)) of the Drucker-Prager law and its derivative by phi [rad].

    In triaxial compression this is the cone of Mohr and Coulomb (Klar et al. 2016, "Drucker-Prager elastoplasticity for sand animation").
    """
    sin, cos = np.sin(friction_angle), np.cos(friction_angle)
    return np.sqrt(2 / 3) * 2 * sin / (3 - sin), np.sqrt(2 / 3) * 6 * cos / (3 - sin) ** 2
