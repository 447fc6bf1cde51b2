"""How far the outline of particles is from the one seen.

Around each mask run points at a small distance outside it. Seen from such a point the mask is d away, and the simulated matter, a union of
discs, is min_p (|u - u_p| - r_p) away [px]. The difference is what the outlines leave unexplained there: positive where matter is missing,
negative where there is too much. It is continuous in the particles, sub-pixel, and needs no correspondence between them and the video.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from video2phys.backend import taichi
from video2phys.silhouette import signed_distance
from video2phys.types import Camera, Frames

POINTS = 40  # around a mask
OFF = 0.08  # [object sizes] of the points outside it; matter up to this far beyond the outline counts in proportion
NEAREST = 3.0  # [px] that they are off at least
BORDER = 2.0  # [px] points nearer to the picture's edge are left out: there the outline may be cut


@dataclass(frozen=True)
class Outlines:
    """Points around the masks of T frames and V views, and their distance to them."""

    point: np.ndarray  # [px] (T, V, K, 2)
    distance: np.ndarray  # [px] (T, V, K); NaN where there is none
    cameras: tuple[Camera, ...]

    @property
    def channels(self) -> int:
        """Numbers a frame."""
        return self.distance.shape[1] * self.distance.shape[2]

    @property
    def known(self) -> np.ndarray:
        """(T, V, K) bool."""
        return np.isfinite(self.distance)

    def gap(self, position: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Seen minus simulated distance, with the sign of missing matter [px], (B, T', V, K) for the first T' frames.

        position [m] (T', B, N, 3), radius [m] (B, N). Zero where nothing was seen, NaN for members that failed.
        """
        T, B = position.shape[:2]
        out = np.full((B, T, *self.distance.shape[1:]), np.inf, np.float32)
        failed = ~np.isfinite(position).all((0, 2, 3))
        x = np.where(failed[:, None, None], 0, position) if failed.any() else position
        pose = np.stack([camera.world_to_camera[:3] for camera in self.cameras]).astype(np.float32)
        K = np.stack([camera.K[:2] for camera in self.cameras]).astype(np.float32)
        _nearest()(np.ascontiguousarray(x, np.float32), np.ascontiguousarray(radius, np.float32), pose, K,
                   np.ascontiguousarray(self.point[:T], np.float32), self.known[:T].any(-1).astype(np.int32), out)  # fmt: skip
        gap = np.where(self.known[:T], out - self.distance[:T], 0.0)
        gap[failed] = np.nan
        return gap


def outlines(frames: Frames, first: int, size: float, obj: int = 0) -> Outlines:
    """Points around the masks from frame `first` on, in all views that show the object whole; `size` [m] of the object."""
    T, V = len(frames.time) - first, len(frames.views)
    point, distance = np.zeros((T, V, POINTS, 2)), np.full((T, V, POINTS), np.nan)
    for v, view in enumerate(frames.views):
        for k in range(T):
            if view.images[first + k] and view.whole(first + k, obj) and view.masks and view.masks[obj][first + k]:
                mask = frames.mask(v, first + k, obj)
                at = around(mask, max(NEAREST, OFF * 2 * float(np.sqrt(mask.sum() / np.pi))))
                if at is not None:
                    point[k, v], distance[k, v] = at
    return Outlines(point, distance, tuple(view.camera for view in frames.views))


def around(mask: np.ndarray, off: float) -> tuple[np.ndarray, np.ndarray] | None:
    """POINTS points [px] (K, 2) at about `off` [px] outside a mask (H, W), evenly spaced, and their distances (K,) to it; NaN where they
    are too close to the picture's edge. None for an empty mask."""
    from scipy.ndimage import map_coordinates
    from skimage.measure import find_contours

    if not (mask > 0.5).any():
        return None
    pad = int(np.ceil(off)) + 2
    depth = signed_distance(np.pad(mask, pad))
    lines = [line for line in find_contours(depth, -off) if len(line) > 2]
    step = [np.linalg.norm(np.diff(line, axis=0), axis=1) for line in lines]
    start = np.concatenate([[0], np.cumsum([s.sum() for s in step])])
    wanted = (np.arange(POINTS) + 0.5) / POINTS * start[-1]
    rows = np.empty((POINTS, 2))
    for line, s, low, high in zip(lines, step, start[:-1], start[1:], strict=True):
        here = (wanted >= low) & (wanted < high)
        along = np.concatenate([[0], np.cumsum(s)])
        rows[here] = np.stack([np.interp(wanted[here] - low, along, line[:, a]) for a in (0, 1)], -1)
    away = -map_coordinates(depth, rows.T, order=1)
    point = rows[:, ::-1] - pad + 0.5
    edge = (point < BORDER).any(1) | (point > np.array(mask.shape[::-1]) - BORDER).any(1)
    return point, np.where(edge, np.nan, away)


@cache
def _nearest() -> Callable[..., None]:
    """Kernel: distance from each point to the union of discs that particles are in a view."""
    ti = taichi()
    vec2, vec3 = ti.types.vector(2, ti.f32), ti.types.vector(3, ti.f32)
    array = ti.types.ndarray

    @ti.kernel
    def kernel(
        x: array(dtype=vec3, ndim=3), radius: array(dtype=ti.f32, ndim=2), pose: array(dtype=ti.types.matrix(3, 4, ti.f32), ndim=1),
        K: array(dtype=ti.types.matrix(2, 3, ti.f32), ndim=1), point: array(dtype=vec2, ndim=3), seen: array(dtype=ti.i32, ndim=2),
        out: array(dtype=ti.f32, ndim=4),
    ):  # fmt: skip
        for b, t, v in ti.ndrange(x.shape[1], x.shape[0], pose.shape[0]):
            if seen[t, v] > 0:
                focal = ti.sqrt(K[v][0, 0] * K[v][1, 1])
                for p in range(x.shape[2]):
                    X = x[t, b, p]
                    c = pose[v] @ ti.Vector([X[0], X[1], X[2], 1.0])
                    if c[2] > 1e-6:
                        u = K[v] @ (c / c[2])
                        r = focal * radius[b, p] / c[2]
                        for k in range(point.shape[2]):
                            out[b, t, v, k] = ti.min(out[b, t, v, k], (point[t, v, k] - u).norm() - r)

    return kernel


def filled(camera: Camera, position: np.ndarray, radius: np.ndarray, width: float) -> np.ndarray:
    """Silhouette (H, W) bool of particles [m] (N, 3) as discs of their radii [m] (N,), gaps of less than their `width` [m] closed."""
    import cv2

    picture = np.zeros((camera.height, camera.width), np.uint8)
    at, pixel = camera.project(position), camera.pixel(position)
    more = int(np.ceil(width / np.median(pixel)))
    # pixel centres are at +0.5 and cv2 puts them at integers; four fractional bits
    for (x, y), r in zip(np.round((at - 0.5) * 16), np.round((np.maximum(radius, 0) / pixel + more) * 16), strict=True):
        if np.isfinite(x + y) and max(abs(x), abs(y)) < 1e6:
            cv2.circle(picture, (int(x), int(y)), int(r), 1, -1, shift=4)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * more + 1, 2 * more + 1))
    return cv2.erode(picture, disc).astype(bool)
