"""A body for tracks without pictures: a solid of the size that is known, or a small ball, in plain grey."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians.settings import Settings
from video2phys.solids.fill import mesh, particles
from video2phys.types import Body, Frames, Gaussians, Primitive, StateTrack

SMALL = 0.05  # of the way: a ball of this size stands in where nothing is known
STRAIGHT = 0.02  # of the way: a path that bows less than this is a slide, and a box lies along it
GREY = 0.0  # harmonic of degree 0 whose colour is middle grey


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """One solid per object, where its track first shows it. Raises BadInput for a pose in space without a size."""
    assert frames.tracks is not None
    solid, note = _solid(frames, frames.tracks)
    bodies = tuple(_placed(solid, frames.tracks, o, settings) for o in range(frames.objects))
    return Gaussians(bodies, frames.about.unit, None, (note,))


def _solid(frames: Frames, tracks: StateTrack) -> tuple[Primitive, str]:
    about = frames.about
    if about.unit == "m" and about.diameter is not None:
        return Primitive("sphere", np.full(3, about.diameter)), "shape assumed: a ball of the given diameter"
    if about.unit == "m" and about.size is not None:
        size = np.asarray(about.size, float)
        along = _slope(tracks) if tracks.kind == "centroid" else None
        if along is None:
            return Primitive("box", size), "shape assumed: a box of the given size"
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * size[[0, 2]] / 2
        c, s = np.cos(along), np.sin(along)
        return Primitive("extrusion", size, corners @ np.array([[c, s], [-s, c]])), "shape assumed: a box of the given size along its way"
    if tracks.kind == "pose":
        raise BadInput(
            "a measured pose does not tell what of the body touches the ground, and its size is not given.",
            fix="Set object.size: [x, y, z] (of a box, in its own axes) or object.diameter in metres in capture.yaml.",
        )
    seen = tracks.position[tracks.valid]
    across = SMALL * max(float(np.ptp(seen, axis=0).max()), 1e-9)
    return Primitive("sphere", np.full(3, across)), f"tracks do not tell the object's size: a ball of {across:.2g} {about.unit} stands in"


def _slope(tracks: StateTrack) -> float | None:
    """Angle [rad] of a straight way with the horizontal, -pi/2..pi/2, x towards z; None for any other way."""
    seen = tracks.position[tracks.valid[:, 0], 0][:, [0, 2]]
    centred = seen - seen.mean(0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    if spread[1] > STRAIGHT * spread[0]:
        return None
    return float(np.arctan(axes[0, 1] / axes[0, 0])) if axes[0, 0] else float(np.pi / 2)


def _placed(solid: Primitive, tracks: StateTrack, o: int, settings: Settings) -> Body:
    particle, volume = particles(solid, settings.particles)
    vertices, faces = mesh(solid)
    corner = vertices[faces]
    mean = corner.mean(1)
    wide = np.linalg.norm(np.ptp(corner, axis=1), axis=-1) / 4
    first = int(np.argmax(tracks.valid[:, o]))
    n = len(mean)
    return Body(
        mean, np.tile([1.0, 0, 0, 0], (n, 1)), np.tile(wide[:, None], (1, 3)), np.full(n, 0.95), np.full((n, 1, 3), GREY), particle, volume,
        vertices, faces, first, tracks.position[first, o], tracks.rotation[first, o], solid,
    )  # fmt: skip
