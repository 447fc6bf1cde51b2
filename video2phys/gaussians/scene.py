"""A scene at rest from photographs without masks: all of it as Gaussians, and what the cameras look at as a body."""

from __future__ import annotations

import numpy as np
import torch

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians import fill, fuse, initialise, sheet, surface, train
from video2phys.gaussians.cloud import Cloud, joined
from video2phys.gaussians.hull import Shot
from video2phys.gaussians.mcmc import cap_of
from video2phys.gaussians.settings import Settings
from video2phys.render.files.ply import write_splats
from video2phys.render.files.splats import Splats
from video2phys.types import Body, Frames, Gaussians

STEPS, DEGREE = 8000, 1
EIGHTH = 8  # every so many-th photograph is held out
FEW = 8  # photographs from which some are held out
RANDOM = 0.4  # of the largest number of Gaussians start at random
WIDE = 0.9  # quantile, over the photographs, of how much they show about what they look at: close ones cut the object


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """Photographs to Gaussians and one body. Raises BadInput where nothing solid is found."""
    shots = shots_of(frames)
    held = shots[::EIGHTH] if len(shots) >= FEW else []
    others = [shot for k, shot in enumerate(shots) if not held or k % EIGHTH]
    plan = plan_of(settings, shots, context.seed)
    centre, distance = initialise.region(shots)
    cloud = start(frames, others, settings, plan, context.seed)
    result = train.train(cloud.to(context.device), others, distance, plan, held=held, progress=context.progress)
    notes = list[str]()
    if held:
        sheet.write(context.folder / "held_out.png", result.cloud, held, plan.antialias)
        notes.append(f"appearance: {result.psnr:.1f} dB on {len(held)} photographs held out, drawn without correction of their exposure.")
    write_splats(context.folder / "splats.ply", Splats(*result.cloud.arrays()), {"unit": frames.about.unit, "axes": "z up"})
    body, said = body_of(result.cloud, shots, centre, settings, context.seed)
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
    distance = initialise.region(shots)[1]
    parts = []
    if there and settings.start != "random":
        assert frames.points is not None and frames.points_colour is not None
        parts.append(initialise.at_points(frames.points, frames.points_colour / 255.0, distance, plan.degree))
    if not there or settings.start != "points":
        parts.append(initialise.at_random(shots, int(RANDOM * plan.cap), seed, plan.degree))
    return joined(*parts)


def body_of(cloud: Cloud, shots: list[Shot], centre: np.ndarray, settings: Settings, seed: int) -> tuple[Body, list[str]]:
    """The solid that the cameras look at, with its Gaussians, and notes. Raises BadInput where there is none."""
    width = [np.linalg.norm(s.camera.center - centre) * min(s.camera.width, s.camera.height) / (2 * s.camera.K[0, 0]) for s in shots]
    radius = float(np.quantile(width, WIDE))
    solid = cloud[cloud.opacity.sigmoid() > 0.5]
    plane = fuse.support(solid.mean.cpu().double().numpy(), np.array([s.camera.center for s in shots]), centre, radius, seed)
    notes = ["no masks: what stands where the cameras look is taken as the object."]
    if plane is None:
        notes.append("no plane that it stands on was found: the body may hold a part of its support.")
    else:
        notes.append("the plane that it stands on was found and closes it from below.")
    for _ in range(2):  # where it is, then finer
        grid = fuse.cut(fuse.fuse(cloud, shots, centre, radius, settings.cells), plane)
        inside = grid.points()[fuse.largest(grid.value > 0)]
        centre = (inside.min(0) + inside.max(0)) / 2
        radius = float(np.linalg.norm(inside - centre, axis=1).max()) + 3 * grid.step
    vertices, faces = surface.surface(grid)
    volume, middle = surface.volume_and_centre(vertices, faces)
    particle, volumes = fill.fill(grid, volume, settings.particles)
    own = cloud[torch.from_numpy(grid.at(cloud.mean.detach().cpu().double().numpy()) > -2 * grid.step)]
    mean, quaternion, scale, opacity, harmonics = own.arrays()
    notes.append(f"volume {volume:.3g}, {len(mean)} of {len(cloud)} Gaussians on it.")
    return Body(mean - middle, quaternion, scale, opacity, harmonics, particle - middle, volumes, vertices - middle, faces, 0, middle,
                np.array([1.0, 0, 0, 0])), notes  # fmt: skip
