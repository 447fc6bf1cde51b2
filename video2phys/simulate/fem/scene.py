"""What is fixed, what is learnt and what moves: three frozen dataclasses. V nodes, C nodes that may touch, P parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.parts import Part
from video2phys.types import check

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Scene:
    """Nodes at rest, the parts they belong to, what holds them and the plane they may meet; never differentiated."""

    node: np.ndarray  # [m] (V, 3) at rest
    parts: tuple[Part, ...]  # (P,)
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
    node: np.ndarray, *parts: Part, clamped: np.ndarray | None = None, normal: np.ndarray | None = None,
    contact_stiffness: float | None = None,
) -> Scene:  # fmt: skip
    """A scene from nodes (V, 3) [m] and parts that share them: solids, sheets, rods, actuators.

    `clamped` (V,) bool. `contact_stiffness` [Pa/m] is the pressure per depth of the plane with `normal`; a few (lam + 2 mu) / element
    size press in by a few per cent of an element of a solid, weight per area / depth keeps a sheet at that depth. Raises BadInput for
    numbers that are not finite, nodes that no part gives a mass, and a plane without stiffness.
    """
    node = np.array(node, float, order="C")
    if node.ndim != 2 or node.shape[1] != 3 or not np.isfinite(node).all():
        raise BadInput("nodes must be finite numbers of shape (V, 3).", fix="Check the mesh.")
    bodies = [p.facets for p in parts if p.facets is not None]
    used = [e.index for p in parts for e in p.energies if p.facets is not None]
    if not np.array_equal(np.unique(np.concatenate([i.ravel() for i in used]) if used else []), np.arange(len(node))):
        raise BadInput("some nodes belong to no element, or elements to no node.", fix="Drop unused nodes and renumber.")
    held = np.zeros(len(node), bool) if clamped is None else np.array(clamped, bool)
    if normal is None:
        return Scene(node, parts, held, None, np.zeros(0, np.int32), np.zeros(0))
    if contact_stiffness is None or not contact_stiffness > 0:
        raise BadInput("a plane needs a positive contact_stiffness [Pa/m].", fix="Give some (lam + 2 mu) / element size.")
    unit = np.asarray(normal, float) / np.linalg.norm(normal)
    area = np.sum([f.share(node) for f in bodies], axis=0)
    index = np.flatnonzero(area)
    return Scene(node, parts, held, unit, index.astype(np.int32), contact_stiffness * area[index])


@dataclass(frozen=True)
class Params:
    """What a fit may change; derivatives by it have the same form. Its bounds are checked when a simulation begins."""

    material: tuple[Any, ...]  # (P,) of each part, made by part.material(...)
    gravity: np.ndarray  # [m/s^2] (3,)
    load: np.ndarray  # [N] (V, 3) constant forces on nodes
    mass_damping: float  # [1/s] alpha of Rayleigh's alpha M + beta K: drag against the world
    stiffness_damping: float  # [s] beta: Kelvin-Voigt viscosity; a mode's damping ratio is alpha / (2 omega) + beta omega / 2
    offset: float  # [m] of the plane, normal . x = offset
    friction: float  # Coulomb
    air: float  # [kg/m^3] density of the air times the coefficient of drag
    wind: np.ndarray  # [m/s] (3,)

    def __post_init__(self) -> None:
        check(self, gravity=(3,), load=("V", 3), wind=(3,))

    @staticmethod
    def of(
        scene: Scene, *material: Any, gravity: np.ndarray | Vector = (0.0, 0.0, -9.81), load: np.ndarray | Vector = (0.0, 0.0, 0.0),
        mass_damping: float = 0.0, stiffness_damping: float = 0.0, offset: float = 0.0, friction: float = 0.0, air: float = 0.0,
        wind: np.ndarray | Vector = (0.0, 0.0, 0.0),
    ) -> Params:  # fmt: skip
        """Of the materials of the scene's parts, in their order; a load (3,) is broadcast to nodes."""
        force = np.broadcast_to(np.asarray(load, float), scene.node.shape)
        g, w = np.asarray(gravity, float), np.asarray(wind, float)
        return Params(material, g, force, mass_damping, stiffness_damping, offset, friction, air, w)

    def validate(self, scene: Scene) -> None:
        """Raises BadInput for what is out of bounds or belongs to another scene."""
        if len(self.material) != len(scene.parts):
            raise BadInput(f"{len(self.material)} materials for {len(scene.parts)} parts.", fix="Give one a part, in their order.")
        for part, material in zip(scene.parts, self.material, strict=True):
            part.validate(material)
        if not min(self.mass_damping, self.stiffness_damping, self.friction, self.air) >= 0:
            raise BadInput("damping, friction and air cannot be negative.", fix="Give values from 0 upwards.")


def node_mass(scene: Scene, params: Params) -> np.ndarray:
    """Lumped masses (V,) [kg]."""
    mass = np.zeros(len(scene.node))
    for part, material in zip(scene.parts, params.material, strict=True):
        np.add.at(mass, *part.mass(material))
    return mass


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
