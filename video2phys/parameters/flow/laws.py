"""The materials: a law, its unknowns, and where their scan begins.

Starts are multiples of what the motion itself sets: the stress s = density speed^2 of an impact and the viscosity s size / speed
that stops it within the body's size.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from video2phys.simulate.materials.elastic import Law
from video2phys.solve.space import Free

MACH = 10.0  # wave speed over impact speed where stiffness is assumed: matter is then compressed by about MACH^-2
ASSUMED_RATIO = {"granular": 0.25, "fluid": 0.45}  # Poisson ratios where only volume changes matter
RATIO, RATIO_SIGMA = 0.3, 0.1  # of solids


@dataclass(frozen=True)
class Scales:
    """What sets the orders of magnitude."""

    density: float  # [kg/m^3]
    speed: float  # [m/s] of the impact, or of a fall from the body's height
    size: float  # [m]

    @property
    def stress(self) -> float:
        """[Pa] of a body stopped within its size."""
        return self.density * self.speed**2

    @property
    def viscosity(self) -> float:
        """[Pa s] of a fluid stopped within its size."""
        return self.stress * self.size / self.speed


@dataclass(frozen=True)
class Material:
    """One candidate. `unknowns` names what is fitted; every other constant of the law is assumed."""

    law: Law
    unknowns: tuple[str, ...]
    starts: tuple[tuple[float, ...], ...]  # per unknown: multiples of its scale, or degrees

    def free(self, scales: Scales) -> tuple[Free, ...]:
        """Unknowns with bounds that no material of everyday life leaves."""
        s, eta = scales.stress, scales.viscosity
        table = {
            "youngs_modulus": Free("youngs_modulus", "Pa", 100 * s, 3 * s, 1e4 * s, "log"),
            "poisson_ratio": Free("poisson_ratio", "1", RATIO, 0.0, 0.45, prior=RATIO_SIGMA),
            "yield_stress": Free("yield_stress", "Pa", 0.3 * s, 1e-3 * s, 30 * s, "log"),
            "friction_angle": Free("friction_angle", "deg", 30.0, 2.0, 60.0, step=0.3),
            "fading": Free("fading", "1", 3.0, 0.3, 100.0, "log"),
            "viscosity": Free("viscosity", "Pa s", 0.1 * eta, 1e-5 * eta, 3 * eta, "log"),
            "plastic_viscosity": Free("plastic_viscosity", "Pa s", 0.03 * eta, 1e-5 * eta, 3 * eta, "log"),
        }
        return tuple(table[name] for name in self.unknowns)

    def scan(self, scales: Scales) -> np.ndarray:
        """Starts (S, U): every pair of levels."""
        unit = {name: scales.stress for name in ("youngs_modulus", "yield_stress")}
        unit |= {name: scales.viscosity for name in ("viscosity", "plastic_viscosity")}
        return np.array(list(product(*(unit.get(n, 1.0) * np.array(levels) for n, levels in zip(self.unknowns, self.starts, strict=True)))))


MATERIALS = {
    "elastic": Material("fixed corotated", ("youngs_modulus", "poisson_ratio"), ((5, 15, 50, 150, 500), (RATIO,))),
    "plasticine": Material(
        "von Mises", ("youngs_modulus", "poisson_ratio", "yield_stress"), ((15, 150), (RATIO,), (0.02, 0.07, 0.2, 0.7, 2))
    ),
    "granular": Material("Drucker-Prager", ("friction_angle", "fading"), ((12, 25, 40, 52), (1, 30))),
    "fluid": Material("Newtonian", ("viscosity",), ((1e-4, 1e-3, 1e-2, 0.1, 1),)),
    "viscoplastic": Material(
        "von Mises", ("youngs_modulus", "poisson_ratio", "yield_stress", "plastic_viscosity"),
        ((15, 150), (RATIO,), (0.03, 0.15, 0.7), (3e-3, 0.1)),
    ),
}  # fmt: skip
CANDIDATES = ("elastic", "plasticine", "granular", "fluid")  # where the capture names none; plasticine and fluid bound viscoplastic flow


def stiffness(name: str, scales: Scales) -> tuple[float, float]:
    """Young's modulus [Pa] and Poisson ratio that stand in where the material's motion does not depend on them: stiff enough that matter
    keeps its volume to about MACH^-2, lam + 2 mu = density (MACH speed)^2."""
    nu = ASSUMED_RATIO[name]
    return scales.stress * MACH**2 * (1 + nu) * (1 - 2 * nu) / (1 - nu), nu
