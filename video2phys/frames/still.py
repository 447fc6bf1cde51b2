"""Photographs of something at rest to Frames: cameras as given or found, the world upright, pictures undistorted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames import poses
from video2phys.frames.align import align
from video2phys.frames.cameras import Lens
from video2phys.frames.capture import Capture
from video2phys.frames.layouts.source import Layout, Source
from video2phys.frames.picture import read_picture
from video2phys.frames.read import stills
from video2phys.frames.settings import Settings
from video2phys.types import About, Camera, Frames

NAMED = 5  # photographs left out that are named
LARGE = 2_000_000  # [px] photographs are not made larger than this for finding features
UP_TO_SCALE = "lengths are up to scale: the photographs alone cannot tell it."


def run(layout: Layout, keys: Capture, settings: Settings, context: Context) -> Frames:
    """Frames without views. Raises BadInput where cameras cannot be found or no photograph can be read."""
    notes, warnings = list(layout.notes), list(layout.warnings)
    given = [s for s in layout.scan if s.lens is not None]
    sources, points, colour = layout.scan, layout.points, layout.points_colour
    if settings.poses == "given" and not given:
        raise BadInput("the capture gives no cameras for its photographs (frames.poses: given).", fix="Use frames.poses=auto.")
    known = settings.poses != "estimated" and bool(given)
    metric = known and points is None
    if known:
        sources = tuple(given)
    if not known or (points is None and settings.sparse and not all(s.stills[0].mask for s in sources)):
        found = _found(sources, keys, settings, context)
        if known:
            points, colour, told = _placed(found, sources)
            notes.append(told)
        else:
            points, colour = found.points, found.colour
            sources = _registered(sources, found, notes, warnings)
    if not metric:
        sources, points = _upright(sources, points, notes)
    views, damaged = stills(sources, settings, context.folder)
    if len(views) < 2:
        raise BadInput(f"{len(views)} photograph(s) can be used.", fix="Give more photographs that can be read.")
    about = About(scale="given" if metric else "unknown", size=_size(keys), diameter=keys.object.diameter, mass=keys.object.mass,
                  density=keys.object.density, model=keys.model)  # fmt: skip
    context.progress(1.0, f"{len(views)} photographs")
    return Frames(context.folder, np.zeros(1), (), views, keys.objects, about, layout.name, tuple(notes),
                  tuple([*warnings, *damaged]), points, colour)  # fmt: skip


def _size(keys: Capture) -> tuple[float, float, float] | None:
    size = keys.object.size
    return (size[0], size[1], size[2]) if size else None


def _found(sources: tuple[Source, ...], keys: Capture, settings: Settings, context: Context) -> poses.Poses:
    """Structure from motion on the photographs, upright and as large as they are up to LARGE."""
    import cv2

    pictures = {}
    for source in sources:
        picture = read_picture(source.stills[0].file)
        if picture is None:
            continue
        shrink = min(1.0, (LARGE / (picture.rgb.shape[0] * picture.rgb.shape[1])) ** 0.5)
        pictures[source.name] = (
            cv2.resize(picture.rgb, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA) if shrink < 1 else picture.rgb
        )
    focal = keys.camera.fx if keys.camera is not None and not keys.camera.planar else None
    return poses.estimate(pictures, settings, context.seed, context.folder / "poses", context.progress, focal)


def _registered(sources: tuple[Source, ...], found: poses.Poses, notes: list[str], warnings: list[str]) -> tuple[Source, ...]:
    """The photographs whose camera was found, and what is to be said of the others."""
    kept = tuple(replace(s, lens=found.lenses[s.name]) for s in sources if s.name in found.lenses)
    notes.append(f"cameras found from the photographs alone: {len(kept)} of {len(sources)} registered, {len(found.points)} points, "
                 f"mean reprojection error {found.error:.2f} px.")  # fmt: skip
    lost = [s.name for s in sources if s.name not in found.lenses]
    if lost:
        some = ", ".join(lost[:NAMED]) + (", ..." if len(lost) > NAMED else "")
        warnings.append(f"{len(lost)} of {len(sources)} photographs could not be registered and are not used ({some}). {poses.REMEDY}")
    return kept


def _placed(found: poses.Poses, sources: tuple[Source, ...]) -> tuple[np.ndarray | None, np.ndarray | None, str]:
    """Sparse points in the world of the given cameras, and a note on how the two sets of cameras agree."""
    both = [s for s in sources if s.name in found.lenses and s.lens is not None]
    if len(both) < poses.FEW:
        return None, None, "no sparse points were found: the reconstruction starts without."
    laid = align([_bare(found.lenses[s.name]) for s in both], [_bare(s.lens) for s in both if s.lens is not None])
    error = float(np.median(laid.rotation_error))
    note = f"{len(found.points)} sparse points; cameras found from the photographs differ from the given by {error:.2f} deg (median)."
    return laid.apply(found.points), found.colour, note


def _bare(lens: Lens) -> Camera:
    width, height = lens.size or (1, 1)
    return Camera(lens.K, lens.world_to_camera, width, height)


def _upright(sources: tuple[Source, ...], points: np.ndarray | None, notes: list[str]) -> tuple[tuple[Source, ...], np.ndarray | None]:
    """Turn the world so that the cameras' mean up is z, put what they look at into the origin and their median distance to 1."""
    matrices = np.array([s.lens.world_to_camera for s in sources if s.lens is not None])
    R, centre = matrices[:, :3, :3], -np.einsum("nji,nj->ni", matrices[:, :3, :3], matrices[:, :3, 3])
    up = -R[:, 1].mean(0)
    up /= np.linalg.norm(up)
    side = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    side /= np.linalg.norm(side)
    turn = np.stack([side, np.cross(up, side), up])
    across = np.eye(3) - R[:, 2, :, None] * R[:, 2, None, :]
    target = np.linalg.lstsq(across.sum(0), np.einsum("nij,nj->i", across, centre), rcond=None)[0]
    scale = 1 / float(np.median(np.linalg.norm(centre - target, axis=1)))
    notes.append(f"up is the mean up of the cameras; {UP_TO_SCALE} The unit is the cameras' median distance from what they look at.")
    moved = []
    for source, one, place in zip(sources, R, centre, strict=True):
        pose = np.eye(4)
        pose[:3, :3] = one @ turn.T
        pose[:3, 3] = -pose[:3, :3] @ (scale * turn @ (place - target))
        assert source.lens is not None
        moved.append(replace(source, lens=replace(source.lens, world_to_camera=pose)))
    return tuple(moved), None if points is None else scale * (points - target) @ turn.T
