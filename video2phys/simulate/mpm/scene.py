"""What is fixed, what is learnt and what moves: three frozen dataclasses. B is the batch, N the particles, K the boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.materials.elastic import Law, lame, lame_pullback, sand_strength
from video2phys.simulate.mpm.boundary import Boundary, plane
from video2phys.types import check

COURANT = 0.5  # cells a pressure wave may cross in a step; soft bodies in hard impacts failed from 0.7 on (compression stiffens them)
VISCOUS = 0.25  # steps are at most courant times this many rho cell^2 / viscosity; 1/8 of it stops a lone particle's shear flow in one step
STICKY = 1e6  # a friction coefficient that holds whatever touches; infinity is not safe under fast floating-point arithmetic
Vector = tuple[float, float, float]
ROOM = 4  # the grid box may grow to this many times its size at rest before a rollout counts as failed


@dataclass(frozen=True)
class Scene:
    """A body and the boundaries it may meet; never differentiated."""

    particle: np.ndarray  # [m] (N, 3) body frame, at rest
    volume: np.ndarray  # [m^3] (N,) at rest
    cell: float  # [m] grid spacing
    boundaries: tuple[Boundary, ...]  # K
    law: Law
    precision: Literal["f32", "f64"]
    nodes: int  # grid nodes that a batch member may use

    @property
    def dtype(self) -> type[np.floating]:
        return np.float32 if self.precision == "f32" else np.float64


@dataclass(frozen=True)
class Params:
    """What a fit may change, one entry per batch member."""

    youngs_modulus: np.ndarray  # [Pa] (B,); of a fluid only the bulk modulus E / (3 (1 - 2 nu)) counts
    poisson_ratio: np.ndarray  # (B,)
    density: np.ndarray  # [kg/m^3] (B, N)
    gravity: np.ndarray  # [m/s^2] (B, 3)
    offset: np.ndarray  # [m] (B, K) of each boundary along its normal; of a plane normal . x = offset
    friction: np.ndarray  # (B, K) Coulomb; STICKY or inf holds, 0 slips
    size: np.ndarray  # (B,) ratio of lengths to the scene's particles
    yield_stress: np.ndarray  # [Pa] (B,) in uniaxial tension; von Mises
    friction_angle: np.ndarray  # [rad] (B,) inside the matter; Drucker-Prager
    viscosity: np.ndarray  # [Pa s] (B,) of a fluid; of plastic flow (von Mises); of a solid's damping (the other laws)
    stiffness: np.ndarray  # (B, N) ratio of every modulus, strength and viscosity of a particle to those above
    presence: np.ndarray  # (B, N) share of a particle that is there: of its mass and of its stress
    fading: np.ndarray  # (B,) how fast grains lose what the grid cannot carry of their velocity: times the rate of a fall through a cell

    def __post_init__(self) -> None:
        check(self, youngs_modulus=("B",), poisson_ratio=("B",), density=("B", "N"), gravity=("B", 3), offset=("B", "K"),
              friction=("B", "K"), size=("B",), yield_stress=("B",), friction_angle=("B",), viscosity=("B",), stiffness=("B", "N"),
              presence=("B", "N"), fading=("B",))  # fmt: skip
        positive = (self.youngs_modulus, self.density, self.size, self.stiffness, self.presence)
        if not all(np.all(a > 0) for a in positive):
            raise BadInput("stiffness, density, size and presence must be positive.", fix="Bound them below by a positive number.")
        if not np.all((self.poisson_ratio > -1) & (self.poisson_ratio < 0.5)):
            raise BadInput("Poisson's ratio must lie between -1 and 0.5.", fix="Keep poisson_ratio below 0.49.")
        if not all(np.all(a >= 0) for a in (self.yield_stress, self.viscosity, self.fading)):
            raise BadInput("yield stress, viscosity and fading must not be negative.", fix="Bound them below by zero.")
        if not np.all((self.friction_angle >= 0) & (self.friction_angle < np.pi / 2)):
            raise BadInput("the angle of friction must lie between 0 and pi/2 rad.", fix="Give friction_angle in radians.")

    @staticmethod
    def of(
        scene: Scene,
        *,
        youngs_modulus: np.ndarray | float,
        poisson_ratio: np.ndarray | float,
        density: np.ndarray | float = 1000.0,
        gravity: np.ndarray | tuple[float, float, float] = (0, 0, -9.81),
        offset: np.ndarray | float = 0.0,
        friction: np.ndarray | float = 0.0,
        size: np.ndarray | float = 1.0,
        yield_stress: np.ndarray | float = 0.0,
        friction_angle: np.ndarray | float = 0.0,
        viscosity: np.ndarray | float = 0.0,
        stiffness: np.ndarray | float = 1.0,
        presence: np.ndarray | float = 1.0,
        fading: np.ndarray | float = 1.0,
    ) -> Params:
        """Broadcast scalars to the batch; `density`, `stiffness` and `presence` may be a scalar, (B,), (B, 1) or (B, N), `offset` and
        `friction` a scalar, (B,), (B, 1) or (B, K)."""
        rows = [
            np.atleast_1d(np.asarray(a, float))
            for a in (youngs_modulus, poisson_ratio, size, yield_stress, friction_angle, viscosity, fading)
        ]
        many = (np.asarray(a, float) for a in (density, stiffness, presence, offset, friction))
        fields = [a.reshape(-1, 1) if a.ndim < 2 else a for a in many]
        g = np.atleast_2d(np.asarray(gravity, float))
        batch = max(len(a) for a in (*rows, *fields, g))
        E, nu, size, strength, angle, eta, fade = (np.broadcast_to(a, batch) for a in rows)
        rho, ratio, there = (np.broadcast_to(a, (batch, len(scene.volume))) for a in fields[:3])
        height, mu = (np.broadcast_to(a, (batch, len(scene.boundaries))) for a in fields[3:])
        return Params(
            E, nu, rho, np.broadcast_to(g, (batch, 3)), height, np.minimum(mu, STICKY), size, strength, angle, eta, ratio, there, fade
        )


@dataclass(frozen=True)
class State:
    """What moves."""

    position: np.ndarray  # [m] (B, N, 3)
    velocity: np.ndarray  # [m/s] (B, N, 3)
    affine: np.ndarray  # [1/s] (B, N, 3, 3) velocity gradient of a particle's surroundings
    deformation: np.ndarray  # (B, N, 3, 3) gradient F from rest

    def __post_init__(self) -> None:
        check(self, position=("B", "N", 3), velocity=("B", "N", 3), affine=("B", "N", 3, 3), deformation=("B", "N", 3, 3))


def build(
    particle: np.ndarray,
    volume: np.ndarray,
    *,
    cell: float | None = None,
    normal: np.ndarray | None = None,
    boundaries: Sequence[Boundary] = (),
    law: Law = "neo-Hookean",
    precision: Literal["f32", "f64"] = "f32",
) -> Scene:
    """A scene from particles (N, 3) [m] with volumes (N,) [m^3].

    `cell` defaults to twice the mean particle spacing, eight particles a cell. Matter stays out of `boundaries` (boundary.py); `normal` is
    short for a plane before them. Raises BadInput for empty, non-finite or mismatched particles.
    """
    particle, volume = np.asarray(particle, float), np.asarray(volume, float)
    if particle.ndim != 2 or particle.shape[1] != 3 or volume.shape != particle.shape[:1] or not len(particle):
        raise BadInput(f"particles {particle.shape} and volumes {volume.shape} do not fit.", fix="Give (N, 3) and (N,) arrays, N > 0.")
    if not (np.all(np.isfinite(particle)) and np.all(np.isfinite(volume)) and np.all(volume > 0)):
        raise BadInput("particles must be finite and their volumes positive.", fix="Check the reconstruction of the body.")
    cell = 2.0 * float(np.cbrt(np.mean(volume))) if cell is None else float(cell)
    diagonal = float(np.linalg.norm(np.ptp(particle, axis=0))) / cell + 4
    nodes = int(ROOM * diagonal**3)
    ground = () if normal is None else (plane(normal),)
    return Scene(particle, volume, cell, (*ground, *boundaries), law, precision, nodes)


def start(
    scene: Scene,
    params: Params,
    *,
    position: np.ndarray | Vector = (0.0, 0.0, 0.0),
    rotation: np.ndarray | None = None,
    velocity: np.ndarray | Vector = (0.0, 0.0, 0.0),
    angular_velocity: np.ndarray | Vector = (0.0, 0.0, 0.0),
) -> State:
    """An undeformed body in rigid motion: x = position + R X, v = velocity + omega x (x - position).

    Each argument is one vector (or matrix) or one per batch member.
    """
    batch = len(params.size)
    R = np.broadcast_to(np.eye(3) if rotation is None else rotation, (batch, 3, 3))
    arm = np.einsum("bij,nj->bni", R, scene.particle) * params.size[:, None, None]
    w = np.broadcast_to(angular_velocity, (batch, 3))
    spin = np.zeros((batch, 3, 3))
    spin[:, [2, 0, 1], [1, 2, 0]], spin[:, [1, 2, 0], [2, 0, 1]] = w, -w
    shape = (batch, len(scene.particle), 3, 3)
    x = np.broadcast_to(position, (batch, 3))[:, None] + arm
    v = np.broadcast_to(velocity, (batch, 3))[:, None] + np.einsum("bij,bnj->bni", spin, arm)
    return State(x, v, np.broadcast_to(spin[:, None], shape), np.broadcast_to(R[:, None], shape))


def surfaces(scene: Scene) -> tuple[np.ndarray, ...]:
    """The K boundaries as kernels take them: all samples (S,), origin and 1 / cell (K, 4), counts of samples along the axes and the index
    of the first (K, 4), normals (K, 3) and velocities (K, 3)."""
    parts, real = scene.boundaries, scene.dtype
    first = np.cumsum([0, *(b.distance.size for b in parts)])
    extent = [(*b.distance.shape, n) for b, n in zip(parts, first[:-1], strict=True)]
    return (
        np.concatenate([b.distance.ravel() for b in parts] or [[]]).astype(real),
        np.array([(*b.origin, 1 / b.cell) for b in parts], real).reshape(-1, 4),
        np.array(extent, np.int32).reshape(-1, 4),
        np.array([b.normal for b in parts], real).reshape(-1, 3),
        np.array([b.velocity for b in parts], real).reshape(-1, 3),
    )


def constants(params: Params, scene: Scene) -> np.ndarray:
    """(mu, lam, strength, viscosity) of each member (B, 4), as materials/response.py takes them."""
    mu, lam = lame(params.youngs_modulus, params.poisson_ratio)
    if scene.law == "Newtonian":
        mu, lam = np.zeros_like(mu), lam + 2 / 3 * mu
    strength = sand_strength(params.friction_angle)[0] if scene.law == "Drucker-Prager" else params.yield_stress
    return np.stack([mu, lam, strength, params.viscosity], -1)


def constants_pullback(params: Params, scene: Scene, d: np.ndarray) -> dict[str, np.ndarray]:
    """Derivatives (B,) by each parameter that `constants` uses, from those by the constants (B, 4)."""
    d_mu, d_lam, d_strength, d_viscosity = d.T
    if scene.law == "Newtonian":
        d_mu = 2 / 3 * d_lam
    d_E, d_nu = lame_pullback(params.youngs_modulus, params.poisson_ratio, d_mu, d_lam)
    sand = scene.law == "Drucker-Prager"
    d_angle = d_strength * sand_strength(params.friction_angle)[1] if sand else np.zeros_like(d_strength)
    d_yield = np.zeros_like(d_strength) if sand else d_strength
    return {"youngs_modulus": d_E, "poisson_ratio": d_nu, "yield_stress": d_yield, "friction_angle": d_angle, "viscosity": d_viscosity}


def largest_step(params: Params, scene: Scene, courant: float = COURANT) -> np.ndarray:
    """Longest stable step [s] (B,): `courant` cells at the speed of pressure waves, and viscosity turns no shear flow round."""
    mu, lam, _, viscosity = constants(params, scene).T
    ratio = (params.stiffness / params.density).max(axis=1)
    waves = courant * scene.cell / np.sqrt((lam + 2 * mu) * ratio)
    if scene.law == "von Mises":
        return waves
    with np.errstate(divide="ignore"):
        return np.minimum(waves, courant * VISCOUS * scene.cell**2 / (viscosity * ratio))
