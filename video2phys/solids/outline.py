"""The outline of a convex solid in a picture, and signed distances to it."""

from __future__ import annotations

import numpy as np

from video2phys.solids.pose import Pose
from video2phys.solids.shape import corners
from video2phys.types import Camera, Primitive


def outline(solid: Primitive, pose: Pose, camera: Camera) -> np.ndarray | None:
    """Outline polygon (K, 2) [px], anticlockwise in x, y axes; None when the solid is not wholly before the camera.

    A convex solid's outline is the hull of its projected corners. An ellipsoid's is the conic whose dual is
    C* = P Q* P^T with Q* = diag(a^2, b^2, c^2, -1) (Hartley and Zisserman, 2nd ed., eq. 8.5).
    """
    import cv2

    if solid.kind != "sphere":
        p: np.ndarray = camera.project(corners(solid) @ pose.R.T + pose.t)
        if not np.isfinite(p).all():
            return None
        return _anticlockwise(p[np.asarray(cv2.convexHull(np.asarray(p, np.float32), returnPoints=False), int).ravel()])
    half = np.asarray(solid.size, float) / 2
    W = camera.world_to_camera
    M = np.concatenate([W[:3, :3] @ pose.R, (W[:3, :3] @ pose.t + W[:3, 3])[:, None]], 1)
    if M[2, 3] <= half.max() and camera.model == "perspective":
        return None
    if camera.model == "orthographic":
        M[2] = [0, 0, 0, 1]
    P = camera.K @ M
    C = P @ np.diag([*half**2, -1.0]) @ P.T
    c = C[:2, 2] / C[2, 2]
    L = np.linalg.cholesky(np.outer(c, c) - C[:2, :2] / C[2, 2])
    a = np.arange(96) * 2 * np.pi / 96
    return c + np.stack([np.cos(a), np.sin(a)], 1) @ L.T * (1 + (np.pi / 96) ** 2 / 3)


def _anticlockwise(polygon: np.ndarray) -> np.ndarray:
    return polygon if area_centroid(polygon)[0] > 0 else polygon[::-1]


def area_centroid(polygon: np.ndarray) -> tuple[float, np.ndarray]:
    """Signed area [px^2] and centroid (2,) of a polygon (K, 2)."""
    base = polygon[0]
    p = polygon - base
    q = np.roll(p, -1, 0)
    cross = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
    area = cross.sum() / 2
    if abs(area) < 1e-9:
        return 0.0, polygon.mean(0)
    return float(area), base + ((p + q) * cross[:, None]).sum(0) / (6 * area)


def signed_distance(polygon: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance (N,) [px] of points (N, 2) to a convex anticlockwise polygon, negative inside, and its gradient (N, 2)."""
    a = polygon
    e = np.roll(a, -1, 0) - a
    length = np.maximum(np.linalg.norm(e, axis=1), 1e-9)
    n = np.stack([e[:, 1], -e[:, 0]], 1) / length[:, None]  # outward for anticlockwise order
    side = points @ n.T - (a * n).sum(1)
    k = np.argmax(side, 1)
    distance, gradient = side[np.arange(len(points)), k], n[k]
    out = np.flatnonzero(distance > 0)  # outside, the nearest point may be a corner
    v = points[out, None] - a
    along = np.clip((v * e).sum(-1) / length**2, 0, 1)
    off = v - along[..., None] * e
    gap = (off**2).sum(-1)
    j = np.argmin(gap, 1)
    rows = np.arange(len(out))
    distance[out] = np.sqrt(gap[rows, j])
    gradient[out] = off[rows, j] / np.maximum(distance[out], 1e-9)[:, None]
    return distance, gradient
