"""Which model explains the motion, and its identification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.parameters.settings import Settings
from video2phys.progress import part
from video2phys.types import FLOWS, MODELS, Frames, Gaussians, Parameters, StateTrack

UNKNOWN = ""  # one of the models that deform; the outlines tell which
STRAIN = 0.02  # a stretch below this is within what outlines and photographs of a rigid body give
CLEARLY = 3.0  # standard deviations
FEWEST = 3  # frames that must show it


def run(frames: Frames, gaussians: Gaussians, states: StateTrack, settings: Settings, context: Context) -> Parameters:
    """Physical parameters with intervals and verdicts, and the motion that they predict."""
    model, notes = choose(frames, states)
    if model in (UNKNOWN, *FLOWS):
        from video2phys.parameters.flow.choice import told
        from video2phys.parameters.flow.identify import identify as flow
        from video2phys.parameters.flow.identify import problem, rank

        given = problem(frames, gaussians, states, settings.flow)
        if model == UNKNOWN:
            ranking = rank(given, settings.flow, part(context.progress, 0, 2))
            context = replace(context, progress=part(context.progress, 1, 2))
            model, notes = ranking[0].material, (*notes, *told(ranking))
        if model in FLOWS:
            found = flow(given, model, settings.flow, context.progress)
            return replace(found, notes=(*notes, *found.notes))
    if model == "elastic":
        from video2phys.parameters.elastic.identify import identify
    elif states.kind in ("planar", "centroid"):
        from video2phys.parameters.planar.identify import identify
    else:
        from video2phys.parameters.spatial.identify import identify
    found = identify(frames, gaussians, states, settings, context)
    return replace(found, notes=(*notes, *found.notes))


def choose(frames: Frames, states: StateTrack) -> tuple[str, tuple[str, ...]]:
    """The model's name, UNKNOWN for a body that deforms, and what to say of it. Raises BadInput for a model that is not available."""
    told = frames.about.model
    if told is not None and told not in MODELS:
        raise BadInput(f"model {told} is not available.", fix=f"Available: {', '.join(MODELS)}. Change or remove `model:` in capture.yaml.")
    if told == "elastic" and states.kind != "affine":
        raise BadInput(
            f"an elastic body needs its deformation, and the states are of kind {states.kind}.",
            fix="Film it with several calibrated cameras, or set states.kind: affine.",
        )
    if told is not None:
        return told, ()
    if states.kind != "affine":
        return "rigid", ("model: rigid was assumed, because the states measure no deformation",)
    frames_that_stretch, largest = deformed(states)
    if frames_that_stretch < FEWEST:
        return "rigid", (f"model: rigid was chosen, because no stretch is clearly beyond its error (largest {100 * largest:.1f} %)",)
    return UNKNOWN, (f"the body deforms, by up to {100 * largest:.0f} % where an affine map describes it",)


def deformed(states: StateTrack) -> tuple[int, float]:
    """In how many frames a principal stretch differs from 1 by more than 3 sigma and 2 %, and the largest difference."""
    if states.deformation is None or states.deformation_sigma is None:
        return 0, 0.0
    F, sigma = states.deformation[states.valid], states.deformation_sigma[states.valid]
    if not len(F):
        return 0, 0.0
    strain = np.abs(np.linalg.svd(F, compute_uv=False) - 1).max(-1)
    beyond = strain > np.maximum(CLEARLY * sigma, STRAIN)
    return int(beyond.sum()), float(np.nanmax(strain))
