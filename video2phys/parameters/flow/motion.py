"""From values of the unknowns to where all particles are in every frame, in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.elastic.body import coarsen
from video2phys.parameters.elastic.carve import Matter
from video2phys.parameters.elastic.start import Start
from video2phys.parameters.flow.laws import MATERIALS, Scales, stiffness
from video2phys.simulate.clock import ladder
from video2phys.simulate.mpm.rollout import rollout, schedule
from video2phys.simulate.mpm.scene import Params, Scene, build, start
from video2phys.types import Plane

AXES = "xyz"


@dataclass(frozen=True)
class Motion:
    """Matter of one kind at one resolution, thrown at a plane."""

    material: str
    scene: Scene
    scales: Scales
    gravity: np.ndarray  # [m/s^2] (3,)
    plane: Plane | None
    begin: Start

    @property
    def radius(self) -> np.ndarray:
        """Half the width [m] (N,) of a particle."""
        return np.cbrt(self.scene.volume) / 2

    @property
    def width(self) -> float:
        """[m] of a mean particle."""
        return self.scene.cell / 2

    def params(self, values: dict[str, np.ndarray]) -> Params:
        """The simulator's parameters at values (B,) by name; what is not named is assumed or absent."""
        E, nu = (values.get("youngs_modulus"), values.get("poisson_ratio"))
        if E is None or nu is None:
            E, nu = (np.full(1, a) for a in stiffness(self.material, self.scales))
        return Params.of(
            self.scene,
            youngs_modulus=E,
            poisson_ratio=nu,
            density=self.scales.density,
            gravity=self.gravity,
            offset=(0.0 if self.plane is None else self.plane.offset) + values.get("ground_height", np.zeros(1)),
            friction=values.get("friction", 0.0),
            size=values["size"],
            yield_stress=values.get("yield_stress", 0.0),
            friction_angle=np.radians(values.get("friction_angle", np.zeros(1))),
            viscosity=values.get("viscosity", values.get("plastic_viscosity", 0.0)),  # the law of flow takes it for its own
            fading=values.get("fading", 1.0),
        )

    def positions(self, values: dict[str, np.ndarray], time: np.ndarray) -> np.ndarray:
        """Particles [m] (T, B, N, 3) at times (T,) from the start on; NaN from a member's failure on."""
        params = self.params(values)

        def vector(name: str, fallback: np.ndarray) -> np.ndarray:
            return np.stack([values.get(f"{name}_{a}", np.full(len(params.size), fallback[k])) for k, a in enumerate(AXES)], -1)

        state = start(
            self.scene,
            params,
            position=vector("position", self.begin.position),
            rotation=self.begin.rotation,
            velocity=vector("initial_velocity", self.begin.velocity),
            angular_velocity=vector("initial_angular_velocity", self.begin.angular_velocity),
        )
        return rollout(params, self.scene, state, time, steps=ladder(schedule(params, self.scene, time, None))).position


def motion(material: str, matter: Matter, begin: Start, plane: Plane | None, gravity: np.ndarray, scales: Scales, count: int) -> Motion:
    """A Motion of about `count` particles. Single precision: differences are taken over steps well above its noise."""
    particle, volume = coarsen(matter.particle, matter.volume, count)
    scene = build(particle, volume, normal=None if plane is None else plane.normal, law=MATERIALS[material].law)
    return Motion(material, scene, scales, gravity, plane, begin)
