"""Outlines of the predicted body against the masks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from video2phys.types import Camera, Frames


def outline(camera: Camera, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Filled silhouette (H, W) bool of a closed mesh: the union of its projected triangles."""
    import cv2

    picture = np.zeros((camera.height, camera.width), np.uint8)
    pixels = camera.project(vertices)
    if not np.isfinite(pixels).all():
        return picture.astype(bool)
    # pixel centres are at +0.5 and cv2 puts them at integers; four fractional bits
    fixed = np.round((np.clip(pixels, -1e5, 1e5) - 0.5) * 16).astype(np.int32)
    for triangle in fixed[faces]:
        cv2.fillConvexPoly(picture, triangle, 1, shift=4)
    return picture.astype(bool)


def overlap(frames: Frames, draw: Callable[[Camera, int], np.ndarray], chosen: np.ndarray, obj: int = 0) -> float | None:
    """Mean intersection over union of the predicted silhouettes draw(camera, frame) and the seen ones, over the chosen frames (T,) bool and
    all views.

    Only views that show the whole object count; None when there are none.
    """
    ratios = []
    for v, view in enumerate(frames.views):
        for k in np.flatnonzero(chosen):
            if not (view.masks and view.masks[obj][k] and view.whole(int(k), obj)):
                continue
            seen = frames.mask(v, int(k), obj) > 0.5
            predicted = draw(view.camera, int(k))
            union = (seen | predicted).sum()
            if seen.any() and union:
                ratios.append((seen & predicted).sum() / union)
    return float(np.mean(ratios)) if ratios else None


def center_error(frames: Frames, predicted: np.ndarray, measured: np.ndarray, chosen: np.ndarray) -> float | None:
    """RMS distance [px] of predicted and measured centres (T, 3) over the chosen frames and all views."""
    use = chosen & np.isfinite(predicted).all(1) & np.isfinite(measured).all(1)
    if not use.any() or not frames.views:
        return None
    gaps = [view.camera.project(predicted[use]) - view.camera.project(measured[use]) for view in frames.views]
    return float(np.sqrt(np.nanmean((np.stack(gaps) ** 2).sum(-1))))
