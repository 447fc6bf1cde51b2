"""A body from several calibrated views of the same moment, or from a scan of it at rest."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians import fill, hull, surface
from video2phys.gaussians.settings import Settings
from video2phys.progress import Progress
from video2phys.types import Body, Frames, Gaussians

HELD_OUT_FROM = 4  # views: with fewer, none can be spared for the figure of merit
FITTING = 0.9  # overlap of a rendered outline with its mask under which a view contradicts the others


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """One body per object. Raises BadInput where no frame shows it whole in two views, or the outlines contradict one another."""
    if frames.scan and frames.objects > 1:
        raise BadInput("A scan of several objects is not supported.", fix="Capture each object by itself, or leave the scan out.")
    bodies, figures, notes, warnings = [], [], [], []
    for obj in range(frames.objects):
        frame, shots = moment(frames, obj)
        body, figure, said, warned = _body(shots, frame, settings, context, _part(context.progress, obj, frames.objects))
        bodies.append(body)
        figures.append(figure)
        notes += said
        warnings += warned
    figures = [f for f in figures if f is not None]
    return Gaussians(tuple(bodies), frames.about.unit, float(np.mean(figures)) if figures else None, tuple(notes), tuple(warnings))


def moment(frames: Frames, obj: int) -> tuple[int, list[hull.Shot]]:
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


def _body(shots: list[hull.Shot], frame: int, settings: Settings, context: Context, progress: Progress):
    from video2phys.gaussians import train
    from video2phys.gaussians.shrink import shrink

    grid = hull.carve(shots, settings.cells)
    outer = surface.surface(grid)
    cloud, spacing = train.start(*outer, shots, settings.gaussians, settings.degree, context.seed)
    cloud = cloud.to(context.device)
    figure, notes, warnings = None, [], []
    spared = len(shots) // 2 if len(shots) >= HELD_OUT_FROM else None
    others = [shot for k, shot in enumerate(shots) if k != spared]
    steps = settings.iterations * 3 // 4
    cloud = train.train(cloud, spacing, others, grid, steps, context.seed, progress=_part(progress, 0, 2))
    if spared is not None:
        figure = train.psnr(cloud, shots[spared])
        notes.append(f"appearance: {figure:.1f} dB inside the mask of {shots[spared].name}, which was held out; then trained on all views.")
    cloud = train.train(
        cloud, spacing, shots, grid, settings.iterations - steps, context.seed, revise=False, progress=_part(progress, 1, 2)
    )

    body_grid = shrink(grid, cloud, shots)
    vertices, faces = surface.surface(body_grid)
    volume, centre = surface.volume_and_centre(vertices, faces)
    bound = surface.volume_and_centre(*outer)[0]
    notes.append(f"volume {volume:.3g}; the outlines alone allow {100 * (bound / volume - 1):.1f} % more, a measure of its uncertainty.")
    for shot, share in zip(shots, train.overlaps(cloud, shots), strict=True):
        if share < FITTING:
            warnings.append(f"{shot.name}: the outline overlaps the body of all views by {share:.0%} only; check its camera and mask.")
    particle, volumes = fill.fill(body_grid, volume, settings.particles)
    mean, quaternion, scale, opacity, harmonics = cloud.arrays()
    body = Body(mean - centre, quaternion, scale, opacity, harmonics, particle - centre, volumes, vertices - centre, faces,
                frame, centre, np.array([1.0, 0, 0, 0]))  # fmt: skip
    return body, figure, notes, warnings


def _part(progress: Progress, index: int, count: int) -> Progress:
    def report(share: float, text: str = "") -> None:
        progress((index + share) / count, text)

    return report
