"""A scene at rest from photographs without masks: all of it as Gaussians, and what the cameras look at as a body."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians import initialise, sheet, solid, train
from video2phys.gaussians.cloud import Cloud, joined
from video2phys.gaussians.hull import Shot
from video2phys.gaussians.mcmc import cap_of
from video2phys.gaussians.settings import Settings
from video2phys.render.files.ply import write_splats
from video2phys.render.files.splats import Splats
from video2phys.types import Frames, Gaussians

STEPS, DEGREE = 8000, 1
EIGHTH = 8  # every so many-th photograph is held out
FEW = 8  # photographs from which some are held out
RANDOM = 0.4  # of the largest number of Gaussians start at random


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """Photographs to Gaussians and one body. Raises BadInput where nothing solid is found."""
    shots = shots_of(frames)
    held = shots[::EIGHTH] if len(shots) >= FEW else []
    others = [shot for k, shot in enumerate(shots) if not held or k % EIGHTH]
    plan = plan_of(settings, shots, context.seed)
    centre, distance = initialise.region([s.camera for s in shots])
    cloud = start(frames, others, settings, plan, context.seed)
    result = train.train(cloud.to(context.device), others, distance, plan, held=held, progress=context.progress)
    notes = list[str]()
    if held:
        sheet.write(context.folder / "held_out.png", result.cloud, held, plan.antialias)
        notes.append(f"appearance: {result.psnr:.1f} dB on {len(held)} photographs held out, drawn without correction of their exposure.")
    write_splats(context.folder / "splats.ply", Splats(*result.cloud.arrays()), {"unit": frames.about.unit, "axes": "z up"})
    body, said = solid.body(result.cloud, [s.camera for s in shots], centre, settings, context.seed)
    return Gaussians((body,), frames.about.unit, result.psnr, (*notes, *said))


def shots_of(frames: Frames) -> list[Shot]:
    """All photographs, whole."""
    return [
        Shot(view.name, view.camera, frames.image(k, 0, scan=True).astype(np.float32) / 255, None) for k, view in enumerate(frames.scan)
    ]


def plan_of(settings: Settings, shots: list[Shot], seed: int) -> train.Plan:
    """Settings left open are filled in by what there is to see."""
    cap = settings.gaussians or cap_of(shots[0].camera.width * shots[0].camera.height, len(shots))
    density = "mcmc" if settings.density == "auto" else settings.density
    steps = settings.iterations if settings.iterations is not None else train.LONG if settings.minutes else STEPS
    return train.Plan(steps, density, cap,
                      DEGREE if settings.degree is None else settings.degree, settings.minutes, settings.antialias, settings.exposure, True,
                      settings.early_stop, seed)  # fmt: skip


def start(frames: Frames, shots: list[Shot], settings: Settings, plan: train.Plan, seed: int) -> Cloud:
    """Gaussians at the sparse points and at random, or at either. Raises BadInput where points are asked for and there are none."""
    there = frames.points is not None and len(frames.points) > initialise.ALONE
    if settings.start == "points" and not there:
        raise BadInput("there are no sparse points to start from.", fix="Use gaussians.start=auto, or frames.poses=estimated.")
    distance = initialise.region([s.camera for s in shots])[1]
    parts = []
    if there and settings.start != "random":
        assert frames.points is not None and frames.points_colour is not None
        parts.append(initialise.at_points(frames.points, frames.points_colour / 255.0, distance, plan.degree))
    if not there or settings.start != "points":
        parts.append(initialise.at_random(shots, int(RANDOM * plan.cap), seed, plan.degree))
    return joined(*parts)
