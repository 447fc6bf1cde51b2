"""What is fixed, what is learnt and what moves: three frozen dataclasses. V nodes, E elements of n nodes, C nodes that may touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput, guess
from video2phys.simulate.fem.element import Quadrature, quadrature
from video2phys.simulate.fem.laws import LAWS, Law
from video2phys.simulate.fem.mesh import surface
from video2phys.types import check

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Scene:
    """A mesh at rest, what holds it and the plane it may meet; never differentiated."""

    node: np.ndarray  # [m] (V, 3) at rest
    element: np.ndarray  # (E, n) int32, n = 4, 8 or 27
    quadrature: Quadrature
    law: Law
    clamped: np.ndarray  # (V,) bool: stays where the state begins
    normal: np.ndarray | None  # (3,) unit normal of the plane on its free side; None = no plane
    touching: np.ndarray  # (C,) int32 nodes of the surface
    contact_stiffness: np.ndarray  # [N/m] (C,) of the penalty at each

    def __post_init__(self) -> None:
        check(self, node=("V", 3), clamped=("V",), touching=("C",), contact_stiffness=("C",))

    @property
    def free(self) -> np.ndarray:
        """Indices of the nodes that move."""
        return np.flatnonzero(~self.clamped)


def build(
    node: np.ndarray, element: np.ndarray, *, law: Law = "fixed corotated", clamped: np.ndarray | None = None,
    normal: np.ndarray | None = None, contact_stiffness: float | None = None,
) -> Scene:  # fmt: skip
    """A scene from nodes (V, 3) [m] and tetrahedra (E, 4) or hexahedra (E, 8 or 27).

    `clamped` (V,) bool. `contact_stiffness` [Pa/m] is the pressure per depth of the plane with `normal`; a few (lam + 2 mu) / element
    size press in by a few per cent of an element. Raises BadInput for elements that are inside out, unknown laws, numbers that are
    not finite, nodes without an element, and a plane without stiffness.
    """
    node, element = np.array(node, float, order="C"), np.array(element, np.int32, order="C")
    if law not in LAWS:
        raise BadInput(f"'{law}' is not an elastic law.", fix=guess(law, list(LAWS)))
    if node.ndim != 2 or node.shape[1] != 3 or not np.isfinite(node).all():
        raise BadInput("nodes must be finite numbers of shape (V, 3).", fix="Check the mesh.")
    rule = quadrature(node, element)
    if len(np.unique(element)) != len(node):
        raise BadInput("some nodes belong to no element, or elements to no node.", fix="Drop unused nodes and renumber.")
    held = np.zeros(len(node), bool) if clamped is None else np.array(clamped, bool)
    if normal is None:
        return Scene(node, element, rule, law, held, None, np.zeros(0, np.int32), np.zeros(0))
    if contact_stiffness is None or not contact_stiffness > 0:
        raise BadInput("a plane needs a positive contact_stiffness [Pa/m].", fix="Give some (lam + 2 mu) / element size.")
    unit = np.asarray(normal, float) / np.linalg.norm(normal)
    index, area = surface(node, element)
    return Scene(node, element, rule, law, held, unit, index, contact_stiffness * area)


@dataclass(frozen=True)
class Params:
    """What a fit may change."""

    youngs_modulus: np.ndarray  # [Pa] (E,)
    poisson_ratio: np.ndarray  # (E,)
    density: np.ndarray  # [kg/m^3] (E,)
    gravity: np.ndarray  # [m/s^2] (3,)
    load: np.ndarray  # [N] (V, 3) constant forces on nodes
    mass_damping: float  # [1/s] alpha of Rayleigh's alpha M + beta K: drag against the world
    stiffness_damping: float  # [s] beta: Kelvin-Voigt viscosity; a mode's damping ratio is alpha / (2 omega) + beta omega / 2
    offset: float  # [m] of the plane, normal . x = offset
    friction: float  # Coulomb

    def __post_init__(self) -> None:
        check(self, youngs_modulus=("E",), poisson_ratio=("E",), density=("E",), gravity=(3,), load=("V", 3))
        if not (np.all(self.youngs_modulus > 0) and np.all(self.density > 0)):
            raise BadInput("stiffness and density must be positive.", fix="Bound them below by a positive number.")
        if not np.all((self.poisson_ratio > -1) & (self.poisson_ratio < 0.5)):
            raise BadInput("Poisson's ratio must lie between -1 and 0.5.", fix="Keep poisson_ratio below 0.49.")
        if not (self.mass_damping >= 0 and self.stiffness_damping >= 0 and self.friction >= 0):
            raise BadInput("damping and friction cannot be negative.", fix="Give values from 0 upwards.")

    @staticmethod
    def of(
        scene: Scene, *, youngs_modulus: np.ndarray | float, poisson_ratio: np.ndarray | float, density: np.ndarray | float = 1000.0,
        gravity: np.ndarray | Vector = (0.0, 0.0, -9.81), load: np.ndarray | Vector = (0.0, 0.0, 0.0), mass_damping: float = 0.0,
        stiffness_damping: float = 0.0, offset: float = 0.0, friction: float = 0.0,
    ) -> Params:  # fmt: skip
        """Broadcast numbers to elements and nodes."""
        E, nu, rho = (np.broadcast_to(np.asarray(a, float), len(scene.element)) for a in (youngs_modulus, poisson_ratio, density))
        force = np.broadcast_to(np.asarray(load, float), scene.node.shape)
        return Params(E, nu, rho, np.asarray(gravity, float), force, mass_damping, stiffness_damping, offset, friction)


@dataclass(frozen=True)
class State:
    """What moves."""

    position: np.ndarray  # [m] (V, 3)
    velocity: np.ndarray  # [m/s] (V, 3); zero where clamped
    anchor: np.ndarray  # [m] (C, 3) where static friction holds each node of the surface; follows where nothing touches

    def __post_init__(self) -> None:
        check(self, position=("V", 3), velocity=("V", 3), anchor=("C", 3))


def start(
    scene: Scene, *, position: np.ndarray | Vector = (0.0, 0.0, 0.0), rotation: np.ndarray | None = None,
    velocity: np.ndarray | Vector = (0.0, 0.0, 0.0), angular_velocity: np.ndarray | Vector = (0.0, 0.0, 0.0),
) -> State:  # fmt: skip
    """An undeformed body in rigid motion: x = position + R X, v = velocity + omega x (x - position).

    `position` and `velocity` may also be (V, 3), one a node. Clamped nodes get no velocity.
    """
    arm = scene.node @ (np.eye(3) if rotation is None else np.asarray(rotation, float)).T
    x = np.asarray(position, float) + arm
    v = np.asarray(velocity, float) + np.cross(np.asarray(angular_velocity, float), arm)
    v[scene.clamped] = 0.0
    return State(x, v, x[scene.touching])


def node_mass(scene: Scene, params: Params) -> np.ndarray:
    """Lumped masses (V,) [kg]."""
    share = scene.quadrature.share * params.density[:, None]
    return np.bincount(scene.element.ravel(), share.ravel(), len(scene.node))
