"""The simulated object drawn on the footage, and below it by itself: pictures, an H.264 video and a contact sheet."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from video2phys.twin.moved import Moved
from video2phys.types import Body, Camera, Frames, Gaussians, Parameters, StateTrack

CLOSED = 1.5  # [particle widths] half the gap between particles that counts as matter: flowing matter leaves wide ones
TRAIN, HELDOUT, MEASURED = (255, 176, 0), (230, 60, 150), (40, 200, 230)  # RGB


def drawable(frames: Frames, views: list[int], most: int) -> list[int]:
    """Frames of which every chosen view has a picture, thinned evenly to `most`."""
    there = [k for k in range(len(frames.time)) if all(frames.views[v].images[k] for v in views)]
    pick = np.unique(np.linspace(0, len(there) - 1, min(most, len(there))).round().astype(int)) if there else []
    return [there[i] for i in pick]


def draw(
    frame: int, views: list[int], frames: Frames, gaussians: Gaussians, states: StateTrack, parameters: Parameters, moved: Moved, box: int
) -> np.ndarray:
    """One frame's footage (H, W, 3) with the predicted outline, its path so far and the measured centre, views side by side; below, the
    reconstructed Gaussians as the simulation moves them.

    Held-out frames have another colour and a border. `box` [px] bounds width and height of a view.
    """
    panels = [_panel(frames, v, frame, gaussians, states, parameters, box) for v in views]
    columns = [np.vstack([p, _resize(twin, p.shape[1], p.shape[0])]) for p, twin in zip(panels, moved.pictures(frame), strict=True)]
    return _label(np.hstack(columns), frame, float(frames.time[frame]), parameters)


def best_views(frames: Frames) -> list[int]:
    """Views from the one in which the object is whole most often; a tie goes to the widest spread of directions."""
    whole = [0 if v.seen is None else int((v.seen == 2).sum()) for v in frames.views]
    first = int(np.argmax(whole))
    centre = np.array([v.camera.center for v in frames.views])
    distance = np.linalg.norm(centre - centre[first], axis=1)
    return [first, *(int(i) for i in np.argsort(-distance) if i != first)]


def video(file: Path, pictures: Iterable[np.ndarray], fps: float) -> None:
    """H.264 in MP4 that browsers play (yuv420p); odd sizes are padded by a row or column, here only."""
    from itertools import chain

    import av

    rest = iter(pictures)
    first = next(rest)
    height, width = (n + n % 2 for n in first.shape[:2])
    with av.open(str(file), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", Fraction(fps).limit_denominator(1000), options={"crf": "24", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for picture in chain([first], rest):
            h, w = picture.shape[:2]
            padded = np.pad(picture, ((0, height - h), (0, width - w), (0, 0)), mode="edge")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(padded), format="rgb24")))
        container.mux(stream.encode())


def contact_sheet(pictures: list[np.ndarray], width: int = 1280) -> np.ndarray:
    """Pictures on one sheet (H, W, 3), in as many columns as their shape suggests."""
    import cv2

    h, w = pictures[0].shape[:2]
    columns = min(len(pictures), 8 if h > 2 * w else 4 if w < 2 * h else 2)
    tile = width // columns
    tiles = [cv2.resize(p, (tile, round(h * tile / w)), interpolation=cv2.INTER_AREA) for p in pictures]
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % columns)
    return np.vstack([np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)])


def _panel(frames: Frames, view: int, frame: int, gaussians: Gaussians, states: StateTrack, parameters: Parameters, box: int) -> np.ndarray:
    import cv2

    image = frames.image(view, frame)
    camera = frames.views[view].camera
    zoom = box / max(image.shape[:2])
    height, width = (max(round(n * zoom), 2) for n in image.shape[:2])
    canvas = _resize(image, width, height)
    colour = HELDOUT if parameters.heldout[frame] else TRAIN
    for o, body in enumerate(gaussians.bodies):
        _path(canvas, camera, parameters.position[: frame + 1, o], zoom)
        if np.isfinite(parameters.position[frame, o]).all():
            outline = silhouette(camera, body, parameters, frame, o, zoom, canvas.shape[:2])
            contours, _ = cv2.findContours(outline, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
            cv2.drawContours(canvas, contours, -1, (0, 0, 0), 4, cv2.LINE_AA)
            cv2.drawContours(canvas, contours, -1, colour, 2, cv2.LINE_AA)
        if states.valid[frame, o]:
            _cross(canvas, camera.project(states.position[frame, o]) * zoom)
    return canvas


def _resize(image: np.ndarray, width: int, height: int) -> np.ndarray:
    import cv2

    method = cv2.INTER_CUBIC if width > image.shape[1] else cv2.INTER_AREA
    return cv2.resize(np.ascontiguousarray(image), (width, height), interpolation=method)


def silhouette(camera: Camera, body: Body, parameters: Parameters, frame: int, o: int, zoom: float, shape: tuple[int, ...]) -> np.ndarray:
    """Mask (H, W) uint8 of the predicted object: its surface carried by the pose, or by the simulated particles."""
    import cv2
    from scipy.spatial.transform import Rotation

    mask = np.zeros(shape, np.uint8)
    if parameters.particle is not None and o == 0 and np.isfinite(parameters.particle[frame]).all():
        points = parameters.particle[frame]
        at = camera.project(points) * zoom
        across = np.cbrt(body.volume.sum() / max(len(points), 1))
        radius = max(1, round(CLOSED * float(np.median(_pixels_per_unit(camera, points))) * across * zoom))
        for x, y in at[np.isfinite(at).all(1)]:
            cv2.circle(mask, (round(x), round(y)), radius, 255, -1)
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
        return cv2.erode(mask, kernel) if mask.any() else mask
    turn = Rotation.from_quat(parameters.rotation[frame, o], scalar_first=True)
    corners = camera.project(turn.apply(body.vertices) + parameters.position[frame, o]) * zoom
    for triangle in corners[body.faces]:
        if np.isfinite(triangle).all() and np.abs(triangle).max() < 1e5:
            cv2.fillConvexPoly(mask, np.rint(triangle).astype(np.int32), 255)
    return mask


def _pixels_per_unit(camera: Camera, points: np.ndarray) -> np.ndarray:
    if camera.model == "orthographic":
        return np.full(len(points), camera.K[0, 0])
    return camera.K[0, 0] / np.maximum(camera.to_camera(points)[:, 2], 1e-9)


def _path(canvas: np.ndarray, camera: Camera, track: np.ndarray, zoom: float) -> None:
    import cv2

    at = camera.project(track[np.isfinite(track).all(1)]) * zoom
    at = at[np.isfinite(at).all(1)]
    if len(at) > 1 and np.abs(at).max() < 1e5:
        cv2.polylines(canvas, [np.rint(at).astype(np.int32)], False, (255, 255, 255), 1, cv2.LINE_AA)


def _cross(canvas: np.ndarray, at: np.ndarray) -> None:
    import cv2

    if np.isfinite(at).all() and np.abs(at).max() < 1e5:
        cv2.drawMarker(canvas, (round(at[0]), round(at[1])), MEASURED, cv2.MARKER_CROSS, 13, 2, cv2.LINE_AA)


def _label(picture: np.ndarray, frame: int, time: float, parameters: Parameters) -> np.ndarray:
    import cv2

    text = f"{time:.3f} s" + ("  held out" if parameters.heldout[frame] else "")
    picture = np.ascontiguousarray(picture)
    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.5
    (width, height), _ = cv2.getTextSize(text, font, size, 1)
    cv2.rectangle(picture, (4, 4), (16 + width, 16 + height), (30, 34, 40), -1)
    cv2.putText(picture, text, (10, 10 + height), font, size, (255, 255, 255), 1, cv2.LINE_AA)
    if parameters.heldout[frame]:
        cv2.rectangle(picture, (0, 0), (picture.shape[1] - 1, picture.shape[0] - 1), HELDOUT, 4)
    return picture


def count(file: Path) -> int:
    """Frames that a video decodes to."""
    import av

    with av.open(str(file)) as container:
        return sum(1 for _ in container.decode(video=0))
