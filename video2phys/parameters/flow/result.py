"""From a fit to the artefact: the parameter table, the predicted motion and what it leaves unexplained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.parameters import table as tables
from video2phys.parameters.elastic.silhouette import overlap
from video2phys.parameters.flow.fit import Fit
from video2phys.parameters.flow.laws import ASSUMED_RATIO, stiffness
from video2phys.parameters.flow.outline import Outlines, filled
from video2phys.solve.covariance import correlation
from video2phys.types import Body, Camera, Frames, Parameter, Parameters, Plane

CONVENTIONS = {
    "youngs_modulus": "Hencky",
    "poisson_ratio": "Hencky",
    "yield_stress": "von Mises, in uniaxial tension",
    "friction_angle": "Drucker-Prager, as Mohr-Coulomb in triaxial compression",
    "viscosity": "Newtonian, dynamic",
    "plastic_viscosity": "Perzyna, overstress over the rate of Hencky strain",
    "friction": "Coulomb",
}
NUISANCES = ("size", "outline", "ground_height", "fading")
VECTORS = ("initial_velocity", "initial_angular_velocity")


def result(
    frames: Frames, body: Body, seen: Outlines, fit: Fit, time: np.ndarray, density: Parameter, split: tuple[np.ndarray, np.ndarray],
    notes: tuple[str, ...], warnings: tuple[str, ...],
) -> Parameters:  # fmt: skip
    """Simulate the fit once more through all frames, at `time` (T,) from the start on, and compare it with the outlines.

    The body's particles become those of the simulation.
    """
    motion, values = fit.motion, fit.values
    T, first, size = len(frames.time), motion.begin.frame, float(values["size"][0])
    x = motion.positions(values, time)
    radius = motion.radius * size + motion.width * values["outline"][0]
    gap = seen.gap(x, radius[None])[0]
    gap = np.where(seen.known, gap, np.nan)
    share = motion.scene.volume / motion.scene.volume.sum()
    particle, position = np.full((T, len(share), 3), np.nan), np.full((T, 1, 3), np.nan)
    particle[first:] = x[:, 0]
    position[first:, 0] = motion.begin.position + np.einsum("p,tpi->ti", share, particle[first:] - motion.begin.position)
    position[first:, 0] -= share @ motion.scene.particle @ motion.begin.rotation.T
    by_view = np.full((T, seen.distance.shape[1]), np.nan)
    by_view[first:] = rms(gap, axis=2)

    def draw(camera: Camera, k: int) -> np.ndarray:
        return filled(camera, particle[k], radius, motion.width)

    residual = {}
    for name, chosen in zip(("train", "heldout"), split, strict=True):
        residual |= {f"{name}_px": float(rms(gap[chosen[first:]])), f"{name}_iou": overlap(frames, draw, chosen)}
    plane, height = motion.plane, float(values["ground_height"][0]) if motion.plane is not None else 0.0
    if plane is not None:
        plane = Plane(plane.normal, plane.offset + height)
        notes = (*notes, f"the ground lies {1e3 * height:+.1f} mm from where it was expected")
    if motion.material in ASSUMED_RATIO:
        E, nu = stiffness(motion.material, motion.scales)
        bulk = E / (3 * (1 - 2 * nu))
        notes = (*notes, f"a bulk modulus of {bulk:.2g} Pa was assumed: stiff enough not to matter, and not found from the motion")
    if not np.isfinite(x).all():
        warnings = (*warnings, "the simulation of the fitted matter did not reach the last frame")
    notes = (*notes, "the matter was taken as of one kind without hollows", f"the body measures {size:.3f} of its reconstruction")
    found = tables.scalars(fit.estimate, fit.space, CONVENTIONS, fit.profiles, seen.channels)
    rotation = np.tile([1.0, 0, 0, 0], (T, 1, 1))
    moved = replace(body, particle=motion.scene.particle * size, volume=motion.scene.volume * size**3)
    return Parameters(
        motion.material, fit.estimate.status, (*tables.table(found, NUISANCES, VECTORS), density), frames.time, *split, position, rotation,
        particle, {k: v for k, v in residual.items() if v is not None}, by_view,
        tuple(f"outline_{view.name}_px" for view in frames.views), correlation(fit.estimate), fit.space.names, "m", ground=plane,
        gravity=motion.gravity, bodies=(moved,), notes=notes, warnings=warnings,
    )  # fmt: skip


def rms(gap: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Root mean square of what is known; NaN where nothing is."""
    count = np.isfinite(gap).sum(axis)
    total = np.where(np.isfinite(gap), gap, 0.0)
    return np.sqrt(np.where(count > 0, (total**2).sum(axis) / np.maximum(count, 1), np.nan))
