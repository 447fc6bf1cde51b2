"""Finite elements of the specimen: where it rests and how it vibrates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from video2phys.parameters.markers.specimen import Pose, Specimen
from video2phys.simulate.fem.mesh import hexahedra, quadratic
from video2phys.simulate.fem.modes import Modes, modes
from video2phys.simulate.fem.parts import Solid
from video2phys.simulate.fem.scene import Params, Scene, build, node_mass, start
from video2phys.simulate.fem.solver import Status
from video2phys.simulate.fem.statics import equilibrium

LAW = "neo-Hookean"
MODES = 8
SLENDER = 0.75  # elements of second order bend well enough to be longer than thick


@dataclass(frozen=True)
class Rest:
    """A body at rest; None of both where no rest was found."""

    displacement: np.ndarray | None  # [m] (V, 3) from the undeformed body
    modes: Modes | None


@dataclass(frozen=True)
class Body:
    """A specimen on one mesh, with gravity in its own frame. Solutions are kept: a fit asks for the same E again and again."""

    scene: Scene
    solid: Solid  # the scene's only part
    density: float
    gravity: np.ndarray  # [m/s^2] (3,)
    _rests: dict[tuple[float, float], Rest] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(specimen: Specimen, pose: Pose, across: int) -> Body:
        """A box with `across` elements of second order through its thinner side; a given mesh with second-order nodes added.

        Towards the clamp, whose edge concentrates stress, the elements of a box grow shorter as the square of their number.
        """
        if specimen.mesh is None:
            node, element = box(specimen.size, across)
        else:
            node, element = (np.asarray(a) for a in specimen.mesh)
        node, element = quadratic(node, element)
        clamped = node[:, 0] < node[:, 0].min() + 1e-6 * np.ptp(node[:, 0])
        solid, gravity = Solid.of(node, element, law=LAW), np.asarray(specimen.gravity, float) @ pose.rotation
        return Body(build(node, solid, clamped=clamped), solid, specimen.density, gravity)

    @cached_property
    def mass(self) -> np.ndarray:
        """Lumped masses (V,) [kg]."""
        return node_mass(self.scene, self._params(1.0, 0.0))

    def rest(self, E: float, nu: float) -> Rest:
        """Rest and natural modes under the body's own weight."""
        key = (float(E), float(nu))
        if key not in self._rests:
            shift = self.displacement(E, nu, near=self._nearest(E, nu))
            found = None if shift is None else modes(self._params(E, nu), self.scene, self.scene.node + shift, MODES)
            self._rests[key] = Rest(shift, found)
        return self._rests[key]

    def displacement(self, E: float, nu: float, load: np.ndarray | None = None, near: np.ndarray | None = None) -> np.ndarray | None:
        """Displacement (V, 3) [m] at rest under weight and a load (V, 3) [N], searched from `near`; None where no rest is found."""
        state = None if near is None else start(self.scene, position=near)
        solution, _ = equilibrium(self._params(E, nu, load), self.scene, state)
        return solution.position - self.scene.node if solution.status is Status.CONVERGED else None

    def _params(self, E: float, nu: float, load: np.ndarray | None = None) -> Params:
        stuff = self.solid.material(youngs_modulus=E, poisson_ratio=nu, density=self.density)
        return Params.of(self.scene, stuff, gravity=self.gravity, load=(0.0, 0.0, 0.0) if load is None else load)

    def _nearest(self, E: float, nu: float) -> np.ndarray | None:
        """The displacement known for the nearest stiffness, in proportion to the compliance."""
        known = [(abs(np.log(E / e)) + abs(nu - n), e, rest.displacement) for (e, n), rest in self._rests.items()]
        known = [(far, e, shift) for far, e, shift in known if shift is not None]
        if not known:
            return None
        _, e, shift = min(known, key=lambda k: k[0])
        return None if shift is None else shift * (e / E)


def box(size: tuple[float, float, float], across: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (V, 3) [m] and hexahedra (E, 8) of a box in the specimen's frame."""
    length, width, height = size
    thin = min(width, height) / across
    along = max(round(SLENDER * length / max(width, height) * across), 3)
    node, element = hexahedra((along, max(round(width / thin), 1), max(round(height / thin), 1)), (1.0, width, height))
    return np.c_[length * node[:, 0] ** 2, node[:, 1] - width / 2, node[:, 2] - height / 2], element
