"""A body whose motion is parallel to the picture: a ball where its outline is round, else its outline given a depth."""

from __future__ import annotations

import numpy as np

from video2phys.errors import BadInput
from video2phys.gaussians.settings import GAUSSIANS, Settings
from video2phys.silhouette import Silhouette, measure
from video2phys.solids.fill import mesh, particles
from video2phys.solids.outline import area_centroid
from video2phys.types import Body, Frames, Primitive

Y0 = 0.28209479177387814
TINY = 12.0  # [px] an object narrower than this shows no shape
ROUND = 0.97  # share of the smallest circle around the outline that a disc fills, less the pixels' staircase
STRAIGHT = 0.95  # the same for a rectangle


def planar_body(frames: Frames, obj: int, settings: Settings) -> tuple[Body, list[str]]:
    """Body of one object and notes. World x right, z up, y into the picture; the body's axes are the world's in the first whole
    frame, as the planar states count angles from there. Raises BadInput where the object is nowhere whole.
    """
    view = frames.views[0]
    whole = [k for k in range(len(frames.time)) if view.images[k] and view.whole(k, obj)]
    shapes = {k: s for k in whole if (s := measure(frames.mask(0, k, obj))) is not None}
    if not shapes:
        raise BadInput(f"object {obj} is nowhere whole in the pictures.", fix="Use frames in which it is inside the picture and uncovered.")
    middle = float(np.median([s.area for s in shapes.values()]))
    frame = min(shapes, key=lambda k: abs(np.log(shapes[k].area / middle)) + shapes[k].rim / shapes[k].area)  # typical and sharp
    solid, turn, note = _solid(frames, obj, frame, shapes)
    px = view.camera.K[0, 0]
    at = shapes[frame].center - view.camera.K[:2, 2]
    mean, scale, color = _front(frames, obj, frame, solid, turn, at, settings)
    particle, volume = particles(solid, settings.particles)
    vertices, faces = mesh(solid)
    count = len(mean)
    body = Body(
        mean, np.tile([1.0, 0, 0, 0], (count, 1)), scale, np.full(count, 0.95), ((color / 255 - 0.5) / Y0)[:, None, :], particle, volume,
        vertices, faces, frame, np.array([at[0] / px, 0, -at[1] / px]), np.array([np.cos(turn / 2), 0, -np.sin(turn / 2), 0]), solid,
    )  # fmt: skip
    return body, [note, f"depth into the picture assumed: {solid.size[1]:.3g} {frames.about.unit}"]


def _solid(frames: Frames, obj: int, frame: int, shapes: dict[int, Silhouette]) -> tuple[Primitive, float, str]:
    """The solid, the turn [rad] from the first whole frame to `frame` (counter-clockwise in the picture), and what was assumed."""
    import cv2
    from skimage.measure import find_contours

    px, about = float(frames.views[0].camera.K[0, 0]), frames.about
    shape = shapes[frame]
    wide = 2 * float(np.sqrt(np.median([s.area for s in shapes.values()]) / np.pi)) / px
    ball = Primitive("sphere", np.full(3, about.diameter if about.diameter is not None and about.unit == "m" else wide))
    found = find_contours(np.pad(frames.mask(0, frame, obj), 1), 0.5)
    if wide * px < TINY or about.diameter is not None or not found:
        return ball, 0.0, "shape assumed: a ball" + (" (too small in the picture to tell)" if wide * px < TINY else "")
    line = max(found, key=lambda c: abs(area_centroid(c[:-1])[0]))[:-1, ::-1] - 0.5
    area = abs(area_centroid(line)[0])
    radius = cv2.minEnclosingCircle(line.astype(np.float32))[1]
    if area / (np.pi * radius**2) > ROUND - 2 / max(radius, 2):
        return ball, 0.0, "shape assumed: a ball (its outline is round)"
    angles = np.unwrap([shapes[k].angle for k in sorted(shapes)], period=np.pi)
    long, short = shape.axes
    turn = float(angles[sorted(shapes).index(frame)] - angles[0]) if long - short > 0.03 * long else 0.0
    corners = cv2.boxPoints(cv2.minAreaRect(line.astype(np.float32))).astype(float)
    straight = area / max(abs(area_centroid(corners)[0]), 1e-9) > STRAIGHT
    polygon = corners if straight else cv2.approxPolyDP(line.astype(np.float32), 0.5, True)[:, 0].astype(float)
    flat = (polygon - area_centroid(polygon)[1]) / px * [1, -1]
    c, s = np.cos(-turn), np.sin(-turn)
    flat = flat @ np.array([[c, s], [-s, c]])  # back to the first whole frame
    extent = np.ptp(flat, axis=0)
    depth = float(min(cv2.minAreaRect(line.astype(np.float32))[1])) / px
    size = np.array([extent[0], depth, extent[1]])
    if straight and abs(area_centroid(flat)[0]) > 0.97 * extent[0] * extent[1]:
        return Primitive("box", size), turn, "shape assumed: a box (its outline is a rectangle)"
    if area_centroid(flat)[0] < 0:
        flat = flat[::-1]
    return Primitive("extrusion", size, flat), turn, "shape assumed: its outline, given a depth"


def _front(
    frames: Frames, obj: int, frame: int, solid: Primitive, turn: float, at: np.ndarray, settings: Settings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means (G, 3), scales (G, 3) and colours (G, 3) 0..255 on the front and back of the body, one per pixel or coarser."""
    camera = frames.views[0].camera
    mask, image = frames.mask(0, frame, obj), frames.image(0, frame).astype(float)
    rows, columns = np.nonzero(mask > 0.5)
    step = max(int(np.ceil(np.sqrt(2 * len(rows) / (settings.gaussians or GAUSSIANS)))), 1)
    kept = (rows % step == rows[0] % step) & (columns % step == columns[0] % step)
    rows, columns = rows[kept], columns[kept]
    px = float(camera.K[0, 0])
    x, z = (columns + 0.5 - camera.K[0, 2] - at[0]) / px, -(rows + 0.5 - camera.K[1, 2] - at[1]) / px
    c, s = np.cos(-turn), np.sin(-turn)
    x, z = c * x - s * z, s * x + c * z
    half = np.asarray(solid.size) / 2
    inside = 1 - (x / half[0]) ** 2 - (z / half[2]) ** 2
    y = half[1] * (np.sqrt(np.maximum(inside, 0)) if solid.kind == "sphere" else np.ones_like(x))
    mean = np.concatenate([np.stack([x, -y, z], 1), np.stack([x, y, z], 1)])
    scale = np.tile(np.array([0.55, 0.1, 0.55]) * step / px, (len(mean), 1))
    return mean, scale, np.tile(image[rows, columns], (2, 1))
