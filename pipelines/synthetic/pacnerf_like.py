"""Twelve scenes after PAC-NeRF's: bodies of five kinds of matter and of several shapes, thrown at a ground, with known truth.

The simulator is the project's own, on a grid of half the width and with steps of at most half the length that fits use, which also start
from pictures. The constants are drawn once, evenly in their logarithm where they span decades.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from synthetic.filmed import Film, cameras, texture, write
from synthetic.shapes import filled, surface
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.mpm.rollout import rollout, schedule
from video2phys.simulate.mpm.scene import COURANT, Params, build, start
from video2phys.solids.bind import bind, carry
from video2phys.types import Camera

SEED = 7
PARTICLES = 40_000  # fits use 3000 to 4000
FRAMES, FPS = 24, 60.0
WIDTH = 0.16  # [m] of the cube of a body's volume
FIELD, PIXELS = 0.9, 256  # [m] and [px] across a picture
UP = [0, 1, 0]  # of the layout
FLAT, BROAD = 0.05, 0.5  # [particle spacings] standard deviations of a surface's Gaussians, across and along it
ROUND = 0.3  # and of a loose particle's
LOOSE = ("granular", "fluid")  # matter that does not keep its surface
STIFF = {"youngs_modulus": 6e5, "poisson_ratio": 0.4}  # of matter whose stiffness does not show
LAWS: dict[str, Law] = {
    "elastic": "neo-Hookean", "plasticine": "von Mises", "granular": "Drucker-Prager", "fluid": "Newtonian", "viscoplastic": "von Mises"
}  # fmt: skip
RANGES = {  # decades, but for ratios and angles
    "elastic": {"youngs_modulus": (4.7, 5.5), "poisson_ratio": (0.2, 0.4)},
    "plasticine": {"youngs_modulus": (5.0, 5.8), "poisson_ratio": (0.2, 0.4), "yield_stress": (3.1, 3.8)},
    "granular": {"friction_angle": (25.0, 42.0)},
    "fluid": {"viscosity": (0.5, 1.8)},
    "viscoplastic": {
        "youngs_modulus": (4.7, 5.3),
        "poisson_ratio": (0.3, 0.4),
        "yield_stress": (2.5, 3.3),
        "plastic_viscosity": (0.7, 1.7),
    },
}
LINEAR = ("poisson_ratio", "friction_angle")
SHAPES = {
    "elastic": ("torus", "cube", "duck"), "plasticine": ("ball", "jack", "brick"), "granular": ("column", "cone"),
    "fluid": ("letter", "ball"), "viscoplastic": ("capsule", "duck"),
}  # fmt: skip
DENSITY = {"granular": 1600.0}


@dataclass(frozen=True)
class Throw:
    """A scene: matter of known constants, its shape, and how it is thrown. Names and conventions are those of the results."""

    model: str
    shape: str
    truth: dict[str, float]  # SI, angles in degrees
    friction: float  # of the ground
    height: float  # [m] of the lowest particle
    velocity: np.ndarray  # [m/s] (3,)
    angular_velocity: np.ndarray  # [rad/s] (3,)
    rotation: np.ndarray  # (3, 3)

    @property
    def density(self) -> float:
        """[kg/m^3]"""
        return DENSITY.get(self.model, 1000.0)


def scenes(seed: int = SEED) -> dict[str, Throw]:
    """All scenes by name. What does not hold together in flight is not spun."""
    out = {}
    for model, shapes in SHAPES.items():
        for k, shape in enumerate(shapes):
            rng = np.random.default_rng([seed, list(SHAPES).index(model), k])
            drawn = {name: rng.uniform(*limits) for name, limits in RANGES[model].items()}
            fall = 0.2 if model == "granular" else 1.0  # thrown down as fast as the others, sand sprays out of the picture
            out[f"{model}_{shape}"] = Throw(
                model, shape, {name: v if name in LINEAR else 10**v for name, v in drawn.items()}, rng.uniform(0.3, 0.6),
                fall * rng.uniform(0.10, 0.18), fall * rng.uniform([-0.2, -0.2, -1.4], [0.2, 0.2, -0.8]),
                rng.uniform(-1.5, 1.5, 3) * (model not in LOOSE),
                np.eye(3) if model == "granular" else Rotation.from_quat(rng.normal(size=4)).as_matrix(),
            )  # fmt: skip
    return out


def simulated(throw: Throw, count: int = PARTICLES, frames: int = FRAMES, seed: int = SEED) -> Film:
    """The motion of about `count` particles with a texture that moves along."""
    particle, volume = filled(throw.shape, WIDTH, count)
    scene = build(particle, volume, normal=np.array([0, 0, 1.0]), law=LAWS[throw.model])
    truth = {**STIFF, **throw.truth}
    params = Params.of(
        scene, density=throw.density, friction=throw.friction, youngs_modulus=truth["youngs_modulus"], poisson_ratio=truth["poisson_ratio"],
        yield_stress=truth.get("yield_stress", 0.0), friction_angle=np.radians(truth.get("friction_angle", 0.0)),
        viscosity=truth.get("viscosity", truth.get("plastic_viscosity", 0.0)),  # the law of flow takes it for its own
    )  # fmt: skip
    spacing = float(np.cbrt(volume[0]))
    low = (particle @ throw.rotation.T)[:, 2].min() - spacing / 2
    state = start(scene, params, position=np.array([0, 0, throw.height - low]), rotation=throw.rotation, velocity=throw.velocity,
                  angular_velocity=throw.angular_velocity)  # fmt: skip
    time = np.arange(frames) / FPS
    track = rollout(params, scene, state, time, steps=schedule(params, scene, time, None, COURANT / 2))
    if track.failed.any():
        raise RuntimeError(f"the simulation of {throw.model} {throw.shape} failed")
    return dressed(throw, particle, track.position[:, 0], time, spacing, seed)


def dressed(throw: Throw, rest: np.ndarray, moved: np.ndarray, time: np.ndarray, spacing: float, seed: int) -> Film:
    """What is seen of particles `rest` (N, 3) that move to `moved` (T, N, 3) [m]: discs on the body's surface, or, of loose matter, all
    particles. The texture moves along."""
    if throw.model in LOOSE:
        place, mean = rest, moved
        covariance = np.broadcast_to((ROUND * spacing) ** 2 * np.eye(3), (*moved.shape, 3))
    else:
        place, normal = surface(throw.shape, WIDTH, spacing)
        held = bind(place, rest)
        disc = spacing**2 * (BROAD**2 * np.eye(3) + (FLAT**2 - BROAD**2) * normal[:, :, None] * normal[:, None])
        mean, F = (np.stack(a) for a in zip(*(carry(held, rest, x) for x in moved), strict=True))
        covariance = F @ disc @ F.mT
    pattern = texture(place, WIDTH, np.random.default_rng(seed))
    colour = np.clip([0.80, 0.48, 0.22] + np.array([0.12, 0.26, 0.2]) * pattern, 0.02, 0.98)
    return Film(time, mean, covariance, colour)


def views(pixels: int = PIXELS) -> list[Camera]:
    """The cameras of every scene."""
    return cameras(np.array([0, 0, 0.16]), FIELD, pixels)


def make(folder: Path, throw: Throw, count: int = PARTICLES, frames: int = FRAMES, pixels: int = PIXELS, seed: int = SEED) -> None:
    """Write a scene into `folder`. What published methods are told is told: the kind of matter, density, gravity and ground."""
    told = {"gravity": [0, -9.81, 0], "ground": {"normal": UP, "offset": 0}, "object": {"density": throw.density}, "model": throw.model}
    write(folder, simulated(throw, count, frames, seed), views(pixels), told, seed)
    known = {"friction": throw.friction, **throw.truth}
    (folder / "truth.yaml").write_text(yaml.safe_dump({"parameters": {k: float(v) for k, v in known.items()}}, sort_keys=False))
