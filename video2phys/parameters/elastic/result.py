"""From a fit to the artefact: the parameter table, the predicted motion and what it leaves unexplained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.parameters import table as tables
from video2phys.parameters.elastic.fit import Fit
from video2phys.parameters.elastic.motion import AXES, VECTORS
from video2phys.parameters.elastic.residuals import CHANNELS, NAMES
from video2phys.parameters.elastic.silhouette import center_error, outline, overlap
from video2phys.parameters.elastic.start import rotation_part
from video2phys.simulate.materials.elastic import Law
from video2phys.solve.covariance import correlation, spread
from video2phys.types import Body, Frames, Parameter, Parameters, Plane, StateTrack, Status, Verdict

MISFIT = 2.0  # standard deviations, root mean square
# Few frames of an impact cannot tell a contact from the body: on scenes of other simulators these two were off beyond their intervals.
BRIEF, BRIEFLY = 8, ("friction", "poisson_ratio")
SHORT_CONTACT = "few frames show the contact; the value can be off beyond its interval"
NUISANCES = (
    "size",
    "ground_height",
    "contact_loss",
    "extrapolation",
    "unseen",
    "outline",
    *(f"{name}_{a}" for name in ("position", "turn") for a in AXES),
)


def table(fit: Fit, law: Law, density: Parameter) -> tuple[Parameter, ...]:
    """Scalars with intervals that include their profiles, starts as vectors, nuisances left out."""
    laws = {"youngs_modulus": law, "poisson_ratio": law, "friction": "Coulomb"}
    found = tables.scalars(fit.estimate, fit.space, laws, fit.profiles, CHANNELS, fit.rivals)
    for p in (found[name] for name in BRIEFLY if name in found and fit.contact < BRIEF):
        if p.verdict in (Verdict.IDENTIFIED, Verdict.WEAK):
            found[p.name] = replace(p, verdict=Verdict.WEAK, note="; ".join(n for n in (p.note, SHORT_CONTACT) if n))
    return (*tables.table(found, NUISANCES, VECTORS), density)


def result(
    frames: Frames,
    body: Body,
    states: StateTrack,
    fit: Fit,
    law: Law,
    density: Parameter,
    plane: Plane | None,
    split: tuple[np.ndarray, np.ndarray],
    notes: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Parameters:
    """Simulate the fit once more through all frames and compare it with the video."""
    motion, estimate, values = fit.segments[0].motion, fit.estimate, fit.values
    T, first = len(frames.time), motion.begin.frame
    predicted = fit.prediction()
    center, gradient = predicted.center, predicted.gradient
    ok = np.isfinite(center).all(1)
    position, rotation = np.full((T, 1, 3), np.nan), np.tile([1.0, 0, 0, 0], (T, 1, 1))
    particle, vertices = np.full((T, len(body.particle), 3), np.nan), np.full((T, len(body.vertices), 3), np.nan)
    position[first:, 0] = center
    rotation[np.flatnonzero(ok) + first, 0] = quaternion(rotation_part(gradient[ok]))
    particle[first:], vertices[first:] = predicted.matter, predicted.surface
    gap = np.full((T, CHANNELS), np.nan)
    gap[first:] = fit.segments[0].measured.state - predicted.state
    train, heldout = split
    seen = states.position[:, 0]
    residual = {
        "train_px": center_error(frames, position[:, 0], seen, train),
        "heldout_px": center_error(frames, position[:, 0], seen, heldout),
        "train_iou": overlap(frames, lambda camera, k: outline(camera, vertices[k], body.faces), train),
        "heldout_iou": overlap(frames, lambda camera, k: outline(camera, vertices[k], body.faces), heldout),
    }
    if plane is not None:
        height = float(values["ground_height"][0])
        plane = Plane(plane.normal, plane.offset + height)
        size = float(values["size"][0])
        notes = (
            *notes,
            f"the ground lies {1e3 * height:+.1f} mm from where it was expected, the body measures {size:.3f} of its reconstruction",
        )
    if not ok.all():
        warnings = (*warnings, "the simulation of the fitted body did not reach the last frame")
    if estimate.status is not Status.UNSTABLE and spread(estimate, CHANNELS).chi2 > MISFIT**2:
        warnings = (*warnings, f"the motion differs from the model's by more than {MISFIT:g} times the expected error: the interior, the "
                    "material or the contact may not be what was assumed")  # fmt: skip
    return Parameters(
        "elastic", estimate.status, table(fit, law, density), frames.time, train, heldout, position, rotation, particle,
        {k: v for k, v in residual.items() if v is not None}, gap, NAMES, correlation(estimate), fit.space.names, states.unit,
        ground=plane, gravity=motion.gravity, bodies=(body,), notes=notes, warnings=warnings,
    )  # fmt: skip


def quaternion(R: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) to w, x, y, z."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(R).as_quat(), 1, axis=-1)
