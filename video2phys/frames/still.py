"""Photographs of something at rest to Frames: cameras as given or found, the world upright, pictures undistorted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput, guess
from video2phys.frames import poses, standing
from video2phys.frames.cameras import Lens
from video2phys.frames.capture import Capture
from video2phys.frames.layouts.nerfstudio import METRES
from video2phys.frames.layouts.source import Layout, Source
from video2phys.frames.model import Poses
from video2phys.frames.read import stills
from video2phys.frames.settings import Settings
from video2phys.frames.upright import upright
from video2phys.types import About, Frames

NAMED = 5  # photographs left out that are named
UP_TO_SCALE = (
    "lengths are up to scale, which photographs alone cannot tell: the unit is the cameras' median distance from what they look at "
    "(`baseline:` in capture.yaml gives metres)."
)


def run(layout: Layout, keys: Capture, settings: Settings, context: Context) -> Frames:
    """Frames without views. Raises BadInput where cameras cannot be found or no photograph can be read."""
    given = tuple(s for s in layout.scan if s.lens is not None)
    if settings.poses == "given" and not given:
        raise BadInput("the capture gives no cameras for its photographs (frames.poses=given).", fix="Use frames.poses=auto.")
    place, told = context.folder / "poses", context.progress
    known = bool(given) and settings.poses != "estimated"
    notes, warnings = [n for n in layout.notes if known or n != METRES], list(layout.warnings)
    if known:
        sources, points, colour, metric = given, layout.points, layout.points_colour, layout.metric
        if points is None and settings.sparse and not all(s.stills[0].mask for s in sources):
            found = poses.triangulate(sources, settings, context.seed, place, told)
            points, colour = found.points, found.colour
            notes.append(f"{len(points)} sparse points triangulated with the given cameras, mean reprojection error {found.error:.2f} px.")
            if len(points) < 10 * len(sources):
                warnings.append("the given cameras explain few of the points that match; frames.poses=estimated finds cameras of its own.")
    else:
        masked = standing.check(layout.scan)
        if masked:
            notes.append("the camera stands still and the object turns: cameras are found from what the masks show.")
        camera = keys.camera if keys.camera is not None and not keys.camera.planar else None
        try:
            found = poses.estimate(layout.scan, settings, context.seed, place, told, camera, masked=masked)
        except BadInput as error:
            video = "" if given else " If they are the frames of a video, add `fps:` to capture.yaml."
            raise BadInput(str(error), fix=f"{error.fix}{video}") from error
        sources = _registered(layout.scan, found, poses.remedy(len(layout.scan), settings), notes, warnings)
        points, colour, metric = found.points, found.colour, False
    sources, points, metric = _placed(sources, points, metric, known, keys, notes)
    views, damaged = stills(sources, settings, context.folder)
    if len(views) < 2:
        raise BadInput(f"{len(views)} photograph(s) can be used.", fix="Give more photographs that can be read.")
    size = keys.object.size
    about = About(scale="given" if metric else "unknown", size=(size[0], size[1], size[2]) if size else None,
                  diameter=keys.object.diameter, mass=keys.object.mass, density=keys.object.density, model=keys.model)  # fmt: skip
    context.progress(1.0, f"{len(views)} photographs")
    return Frames(context.folder, np.zeros(1), (), views, keys.objects, about, layout.name, tuple(notes),
                  tuple([*warnings, *damaged]), points, colour)  # fmt: skip


def _registered(sources: tuple[Source, ...], found: Poses, remedy: str, notes: list[str], warnings: list[str]) -> tuple[Source, ...]:
    """The photographs whose camera was found, and what is to be said of the others."""
    kept = tuple(replace(s, lens=found.lenses[s.name]) for s in sources if s.name in found.lenses)
    notes.append(f"cameras found from the photographs alone: {len(kept)} of {len(sources)} registered, {len(found.points)} points, "
                 f"mean reprojection error {found.error:.2f} px.")  # fmt: skip
    lost = [s.name for s in sources if s.name not in found.lenses]
    if lost:
        some = ", ".join(lost[:NAMED]) + (", ..." if len(lost) > NAMED else "")
        warnings.append(f"{len(lost)} of {len(sources)} photographs could not be registered and are not used ({some}). {remedy}")
    return kept


def _placed(
    sources: tuple[Source, ...], points: np.ndarray | None, metric: bool, given: bool, keys: Capture, notes: list[str]
) -> tuple[tuple[Source, ...], np.ndarray | None, bool]:
    """The capture in an upright world where its own is arbitrary, and in metres where a baseline tells; whether lengths are metres."""
    lenses = {s.name: s.lens for s in sources if s.lens is not None}
    down = np.array(keys.gravity, float) if given and isinstance(keys.gravity, list) and any(keys.gravity) else None
    world = upright(list(lenses.values()), None if down is None else -down)
    if metric:
        world = replace(world, turn=np.eye(3), origin=np.zeros(3), scale=1.0)
    else:
        notes.append(f"{world.how}; the origin is what the cameras look at.")
    if keys.baseline is not None:
        a, b = (lenses[_named(name, lenses)].camera().center for name in keys.baseline.between)
        length = float(np.linalg.norm(a - b))
        if not length:
            raise BadInput("the two photographs of `baseline:` have one camera centre.", fix="Name two others.")
        world = replace(world, scale=keys.baseline.distance / length)
        notes.append(f"the scale comes from the baseline of {keys.baseline.distance:g} m between two cameras.")
        metric = True
    elif not metric:
        notes.append(UP_TO_SCALE)
    moved = tuple(replace(s, lens=world.lens(lenses[s.name])) for s in sources)
    return moved, None if points is None else world.points(points), metric


def _named(name: str, lenses: dict[str, Lens]) -> str:
    stem = name.rsplit(".", 1)[0]
    match = next((n for n in (name, stem) if n in lenses), None)
    if match is None:
        raise BadInput(f"capture.yaml: baseline names '{name}', which has no camera.", fix=guess(stem, list(lenses)))
    return match
