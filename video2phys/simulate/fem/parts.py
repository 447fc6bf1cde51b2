"""What a scene is made of: parts with the material that a fit may change. Solids here, sheets and rods in `slender.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from video2phys.errors import BadInput, guess
from video2phys.simulate.fem.elements import Elements, Energy
from video2phys.simulate.fem.laws import LAWS, Law
from video2phys.simulate.fem.mesh import FACES, Facets, outer
from video2phys.simulate.fem.quadrature import quadrature
from video2phys.simulate.materials.elastic import lame, lame_pullback

Number = np.ndarray | float


class Part(Protocol):
    """Energies with the material that they share. `Any` is the part's own material class, which holds derivatives, too."""

    @property
    def energies(self) -> tuple[Energy, ...]: ...

    @property
    def facets(self) -> Facets | None:
        """What may touch and meets the air."""
        ...

    def validate(self, material: Any) -> None:
        """Raises BadInput for a material of another part, of wrong shape or out of bounds."""
        ...

    def moduli(self, material: Any) -> tuple[np.ndarray, ...]:
        """(K, E) for each energy."""
        ...

    def mass(self, material: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (E, n) and the mass (E, n) [kg] lumped to each."""
        ...

    def pullback(self, material: Any, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Any:
        """Derivatives by the material from those by moduli and node masses (V,)."""
        ...


def bounded(
    material: object, kind: type, sizes: dict[str, tuple[int, ...]], positive: tuple[str, ...], least: tuple[str, ...] = ()
) -> None:
    """Check a material's class, the shapes of its fields, and which are positive or not negative. Raises BadInput."""
    if not isinstance(material, kind):
        raise BadInput(f"a part got {type(material).__name__} as its material, want {kind.__name__}.", fix="Make it by part.material().")
    for name, shape in sizes.items():
        value = np.asarray(getattr(material, name))
        if value.shape != shape:
            raise BadInput(f"{kind.__name__}.{name} has shape {value.shape}, want {shape}.", fix="Make it by part.material().")
        if not np.isfinite(value).all() or (name in positive and not (value > 0).all()) or (name in least and not (value >= 0).all()):
            raise BadInput(f"{name} must be {'positive' if name in positive else 'finite'}.", fix="Bound it by a positive number.")
    if "poisson_ratio" in sizes and not np.all((-1 < material.poisson_ratio) & (material.poisson_ratio < 0.5)):  # type: ignore[attr-defined]
        raise BadInput("Poisson's ratio must lie between -1 and 0.5.", fix="Keep poisson_ratio below 0.49.")


def spread(count: int, *values: Number) -> tuple[np.ndarray, ...]:
    """Numbers broadcast to elements."""
    return tuple(np.broadcast_to(np.asarray(v, float), count) for v in values)


@dataclass(frozen=True)
class Elastic:
    """Of a solid."""

    youngs_modulus: np.ndarray  # [Pa] (E,)
    poisson_ratio: np.ndarray  # (E,)
    density: np.ndarray  # [kg/m^3] (E,)


@dataclass(frozen=True)
class Solid:
    """Tetrahedra or hexahedra."""

    energies: tuple[Elements]
    facets: Facets
    share: np.ndarray  # [m^3] (E, n)

    @staticmethod
    def of(node: np.ndarray, element: np.ndarray, *, law: Law = "fixed corotated") -> Solid:
        """From nodes (V, 3) [m] and elements (E, 4, 8 or 27). Raises BadInput for unknown laws and elements inside out."""
        if law not in LAWS:
            raise BadInput(f"'{law}' is not an elastic law.", fix=guess(law, list(LAWS)))
        index = np.array(element, np.int32, order="C")
        if index.ndim != 2 or index.shape[1] not in FACES:
            raise BadInput(f"elements have shape {index.shape}, want (E, 4), (E, 8) or (E, 27).", fix="Use tetrahedra or hexahedra.")
        q = quadrature(np.asarray(node, float), index)
        return Solid((Elements(index, q.gradient, q.volume, law),), Facets(outer(index), 1.0), q.share)

    @property
    def element(self) -> np.ndarray:
        """(E, n) int32"""
        return self.energies[0].index

    def material(self, *, youngs_modulus: Number, poisson_ratio: Number, density: Number = 1000.0) -> Elastic:
        return Elastic(*spread(len(self.share), youngs_modulus, poisson_ratio, density))

    def validate(self, material: Elastic) -> None:
        shape = (len(self.share),)
        bounded(material, Elastic, dict.fromkeys(vars(material), shape), ("youngs_modulus", "density"))

    def moduli(self, material: Elastic) -> tuple[np.ndarray, ...]:
        return (np.stack(lame(material.youngs_modulus, material.poisson_ratio)),)

    def mass(self, material: Elastic) -> tuple[np.ndarray, np.ndarray]:
        return self.element, self.share * material.density[:, None]

    def pullback(self, material: Elastic, d_moduli: tuple[np.ndarray, ...], d_mass: np.ndarray) -> Elastic:
        E, nu = lame_pullback(material.youngs_modulus, material.poisson_ratio, *d_moduli[0])
        return Elastic(E, nu, (self.share * d_mass[self.element]).sum(1))
