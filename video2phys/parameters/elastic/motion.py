"""From parameters to the affine motion that a video would show, in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.elastic.body import AffineReadout, Binding, bind, coarsen
from video2phys.parameters.elastic.carve import Matter
from video2phys.parameters.elastic.sight import Sight
from video2phys.parameters.elastic.start import Start
from video2phys.simulate.clock import ladder
from video2phys.simulate.lagrangian.lattice import Lattice, begin, embed
from video2phys.simulate.lagrangian.rollout import COURANT, Track, rollout
from video2phys.simulate.lagrangian.surface import patches
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.mpm.rollout import schedule
from video2phys.simulate.mpm.scene import Params, build
from video2phys.types import Body, Plane

VECTORS = ("position", "turn", "initial_velocity", "initial_angular_velocity")  # of a start; the turn follows its rotation
AXES = "xyz"


@dataclass(frozen=True)
class Prediction:
    """What a simulation says of the whole body at T frames, or the difference of two simulations."""

    state: np.ndarray  # (T, 12) centre [m] and F, row by row
    surface: np.ndarray  # [m] (T, V, 3)
    matter: np.ndarray  # [m] (T, P, 3)

    def plus(self, factor: float, other: Prediction) -> Prediction:
        """self + factor * other."""
        return Prediction(*(a + factor * b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def frames(self, which: slice) -> Prediction:
        """Some of the frames."""
        return Prediction(*(a[which] for a in vars(self).values()))

    @property
    def center(self) -> np.ndarray:
        """[m] (T, 3) of the body origin."""
        return self.state[:, :3]

    @property
    def gradient(self) -> np.ndarray:
        """(T, 3, 3) of the body as a whole."""
        return self.state[:, 3:].reshape(-1, 3, 3)


@dataclass(frozen=True)
class Motion:
    """A body at one resolution, thrown at a plane."""

    lattice: Lattice
    readout: AffineReadout  # of what is in sight
    outline: AffineReadout  # of all of the surface, which the outlines show from the side
    surface: Binding  # the body's closed surface
    matter: Binding  # the body's own particles
    density: float  # [kg/m^3]
    gravity: np.ndarray  # [m/s^2] (3,)
    plane: Plane | None
    begin: Start

    def track(self, values: dict[str, np.ndarray], time: np.ndarray) -> Track:
        """Simulate a batch; `values` holds (B,) arrays by the names of `elastic_residuals.unknowns`, time starts at the first frame."""
        from scipy.spatial.transform import Rotation

        batch = len(values["youngs_modulus"])

        def vector(name: str, fallback: np.ndarray) -> np.ndarray:
            return np.stack([values.get(f"{name}_{a}", np.full(batch, fallback[k])) for k, a in enumerate(AXES)], -1)

        params = self.params(values)
        state = begin(
            self.lattice,
            params,
            position=vector("position", self.begin.position),
            rotation=Rotation.from_rotvec(vector("turn", np.zeros(3))).as_matrix() @ self.begin.rotation,
            velocity=vector("initial_velocity", self.begin.velocity),
            angular_velocity=vector("initial_angular_velocity", self.begin.angular_velocity),
        )
        damping, loss = (values.get(name, np.zeros(1)) for name in ("damping", "contact_loss"))
        count = ladder(schedule(params, self.lattice.scene, time, None, COURANT))
        return rollout(params, self.lattice, state, time, damping=damping, loss=loss, steps=count)

    def prediction(self, values: dict[str, np.ndarray], time: np.ndarray) -> Prediction:
        """Simulate one set of values, (1,) each, and read what is in sight; NaN from a failure on."""
        return self.predictions(values, time)[0]

    def predictions(self, values: dict[str, np.ndarray], time: np.ndarray) -> tuple[Prediction, Prediction]:
        """The same simulation, its state read from what is in sight and from all of the surface."""
        track = self.track(values, time)
        x, F = (a[:, 0] for a in track.particles())
        surface, matter = self.surface.move(x, F), self.matter.move(x, F)
        return Prediction(self.readout.state(track)[0], surface, matter), Prediction(self.outline.state(track)[0], surface, matter)

    def states(self, values: dict[str, np.ndarray], time: np.ndarray) -> np.ndarray:
        """Affine states (B, T, 12) of what is in sight; NaN rows from a failure on."""
        return self.readout.state(self.track(values, time))

    def params(self, values: dict[str, np.ndarray]) -> Params:
        """The simulator's parameters; a contact that is not named has no friction, no shift and the body its own size."""
        return Params.of(
            self.lattice.scene,
            youngs_modulus=values["youngs_modulus"],
            poisson_ratio=values["poisson_ratio"],
            density=self.density,
            gravity=self.gravity,
            offset=(0.0 if self.plane is None else self.plane.offset) + values.get("ground_height", np.zeros(1)),
            friction=values.get("friction", 0.0),
            size=values.get("size", 1.0),
        )


def motion(
    body: Body, matter: Matter, sight: Sight, begin: Start, plane: Plane | None, gravity: np.ndarray, density: float, law: Law, count: int
) -> Motion:
    """A Motion of `body` with about `count` particles of `matter`, whose state is that of what is in `sight`.

    Double precision: finite differences of a rollout need it.
    """
    particle, volume = coarsen(matter.particle, matter.volume, count)
    scene = build(particle, volume, normal=None if plane is None else plane.normal, law=law, precision="f64")
    lattice = embed(scene, patches(matter.vertices, body.faces, float(np.cbrt(volume.mean()))))
    ride = bind(sight.point, particle)
    return Motion(
        lattice,
        ride.affine(sight.point, sight.weight[begin.frame :], lattice),
        ride.affine(sight.point, np.tile(sight.area, (len(sight.weight) - begin.frame, 1)), lattice),
        bind(body.vertices, particle),
        bind(body.particle, particle),
        density,
        gravity,
        plane,
        begin,
    )
