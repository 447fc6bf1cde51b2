"""A body from several calibrated views of the same moment, or from a scan of it at rest."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians import fill, hull, initialise, moment, sheet, surface, train
from video2phys.gaussians.settings import GAUSSIANS, Settings
from video2phys.progress import Progress, part
from video2phys.types import Body, Frames, Gaussians

START = 4  # times fewer Gaussians than the cap to start with, where more are added
HELD_OUT_FROM = 4  # views: with fewer, none can be spared for the figure of merit
EIGHTH = 8  # of many views, every so many-th is held out
FITTING = 0.9  # overlap of a rendered outline with its mask under which a view contradicts the others
MOMENT_STEPS, SCAN_STEPS = 400, 3000


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """One body per object. Raises BadInput where no frame shows it whole in two views, or the outlines contradict one another."""
    if frames.scan and frames.objects > 1:
        raise BadInput("A scan of several objects is not supported.", fix="Capture each object by itself, or leave the scan out.")
    bodies, figures, notes, warnings = [], [], [], []
    for obj in range(frames.objects):
        frame, shots = pictures(frames, obj)
        body, figure, said, warned = _body(shots, frame, bool(frames.scan), settings, context, part(context.progress, obj, frames.objects))
        bodies.append(body)
        figures.append(figure)
        notes += said
        warnings += warned
    figures = [f for f in figures if f is not None]
    return Gaussians(tuple(bodies), frames.about.unit, float(np.mean(figures)) if figures else None, tuple(notes), tuple(warnings))


def pictures(frames: Frames, obj: int) -> tuple[int, list[hull.Shot]]:
    """The reference frame and its pictures: the scan (frame 0), or the first frame that most views see whole."""
    if frames.scan:
        frame, which = 0, [k for k in range(len(frames.scan)) if frames.mask(k, 0, obj, scan=True).max() > 0.5]
        views, at = frames.scan, 0
    else:
        whole = np.array([[v.whole(k, obj) for v in frames.views] for k in range(len(frames.time))])
        frame = at = int(whole.sum(1).argmax())
        views, which = frames.views, np.flatnonzero(whole[frame]).tolist()
    if len(which) < 2:
        raise BadInput(f"no frame shows object {obj} whole in two views.", fix="Move the cameras back, or give masks of the whole object.")
    scan = bool(frames.scan)
    return frame, [hull.Shot(views[k].name, views[k].camera, frames.image(k, at, scan=scan).astype(np.float32) / 255,
                             frames.mask(k, at, obj, scan=scan)) for k in which]  # fmt: skip


def spared(count: int) -> list[int]:
    """Which of so many views are held out: every eighth of many, one in the middle of few, none of fewer."""
    if count >= 2 * EIGHTH:
        return list(range(0, count, EIGHTH))
    return [count // 2] if count >= HELD_OUT_FROM else []


def plan_of(settings: Settings, shots: list[hull.Shot], seed: int) -> train.Plan:
    """How to train on a scan: settings left open are filled in by what there is to see."""
    seen = int(np.median([(s.outline > 0.5).sum() for s in shots]))
    steps = settings.iterations if settings.iterations is not None else train.LONG if settings.minutes else SCAN_STEPS
    density = "adaptive" if settings.density == "auto" else settings.density
    degree = 1 if settings.degree is None else settings.degree
    return train.Plan(
        steps, density, settings.gaussians or seen, degree, settings.minutes, settings.antialias, early=settings.early_stop, seed=seed
    )


def _body(shots: list[hull.Shot], frame: int, scan: bool, settings: Settings, context: Context, progress: Progress):
    from video2phys.gaussians.shrink import shrink

    grid = hull.carve(shots, settings.cells)
    outer = surface.surface(grid)
    cloud, figure, notes = (_scan if scan else _moment)(shots, grid, outer, settings, context, progress)
    warnings = []
    body_grid = shrink(grid, cloud, shots)
    vertices, faces = surface.surface(body_grid)
    volume, centre = surface.volume_and_centre(vertices, faces)
    bound = surface.volume_and_centre(*outer)[0]
    notes.append(f"volume {volume:.3g}; the outlines alone allow {100 * (bound / volume - 1):.1f} % more, a measure of its uncertainty.")
    for shot, share in zip(shots, train.overlaps(cloud, shots), strict=True):
        if share < FITTING:
            warnings.append(f"{shot.name}: the outline overlaps the body of all views by {share:.0%} only; check its camera and mask.")
    particle, volumes = fill.fill(body_grid, volume, settings.particles)
    kept = cloud[train.inside(grid, cloud)] if scan else cloud
    mean, quaternion, scale, opacity, harmonics = kept.arrays()
    body = Body(mean - centre, quaternion, scale, opacity, harmonics, particle - centre, volumes, vertices - centre, faces,
                frame, centre, np.array([1.0, 0, 0, 0]))  # fmt: skip
    return body, figure, notes, warnings


def _scan(
    shots: list[hull.Shot], grid: hull.Grid, outer: tuple[np.ndarray, np.ndarray], settings: Settings, context: Context, progress: Progress
):
    """Gaussians from many photographs of the body at rest, the figure of merit and notes."""
    plan = plan_of(settings, shots, context.seed)
    cloud, spacing = initialise.on_surface(
        outer[0], outer[1], shots, plan.cap if plan.density == "fixed" else plan.cap // START, plan.degree, context.seed
    )
    extent = float(np.ptp(outer[0], axis=0).max())
    held = [shots[k] for k in spared(len(shots))]
    others = [shot for k, shot in enumerate(shots) if k not in spared(len(shots))]
    result = train.train(cloud.to(context.device), others, extent, plan, held=held, hull=grid, spacing=spacing, progress=progress)
    if result.psnr is None:
        return result.cloud, None, []
    names = ", ".join(shot.name for shot in held[:3]) + (", ..." if len(held) > 3 else "")
    sheet.write(context.folder / "held_out.png", result.cloud, held, plan.antialias)
    return result.cloud, result.psnr, [f"appearance: {result.psnr:.1f} dB inside the mask of {len(held)} view(s) held out ({names})."]


def _moment(
    shots: list[hull.Shot], grid: hull.Grid, outer: tuple[np.ndarray, np.ndarray], settings: Settings, context: Context, progress: Progress
):
    """Gaussians from the few views of one moment of a motion, the figure of merit and notes."""
    total, degree = MOMENT_STEPS if settings.iterations is None else settings.iterations, settings.degree or 0
    cloud, spacing = moment.start(outer[0], outer[1], shots, settings.gaussians or GAUSSIANS, degree, context.seed)
    cloud, figure, notes, steps = cloud.to(context.device), None, [], total * 3 // 4
    held = len(shots) // 2 if len(shots) >= HELD_OUT_FROM else None
    others = [shot for k, shot in enumerate(shots) if k != held]
    cloud = moment.train(cloud, spacing, others, grid, steps, context.seed, progress=part(progress, 0, 2))
    if held is not None:
        figure = train.look(cloud, shots[held])
        notes.append(f"appearance: {figure:.1f} dB inside the mask of {shots[held].name}, which was held out; then trained on all views.")
    cloud = moment.train(cloud, spacing, shots, grid, total - steps, context.seed, revise=False, progress=part(progress, 1, 2))
    return cloud, figure, notes
