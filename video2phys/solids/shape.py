"""The surface of a solid: where rays meet it, and its point in a given direction from the centre."""

from __future__ import annotations

import numpy as np

from video2phys.types import Primitive


def cast(solid: Primitive, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First meeting of rays with the solid, in its body frame.

    origin, direction (N, 3). Returns the ray parameter (N,), inf where the ray misses or has left the solid, and outward normals (N, 3).
    """
    half = np.asarray(solid.size, float) / 2
    o, d = origin / half, direction / half
    with np.errstate(divide="ignore", invalid="ignore"):
        if solid.kind == "box":
            near = np.where(d == 0, np.where(np.abs(o) <= 1, -np.inf, np.inf), (-np.sign(d) - o) / d)
            far = np.where(d == 0, np.inf, (np.sign(d) - o) / d)
            axis = np.argmax(near, -1)
            t = np.max(near, -1)
            miss = t > np.min(far, -1)
            normal = np.eye(3)[axis] * -np.sign(np.take_along_axis(d, axis[:, None], 1))
        elif solid.kind == "sphere":
            t = _quadratic(o, d, (0, 1, 2))
            normal = (o + np.where(np.isfinite(t), t, 0)[:, None] * d) / half
            miss = ~np.isfinite(t)
        elif solid.kind == "cylinder":
            side = _quadratic(o, d, (0, 2))
            side = np.where(np.abs(o[:, 1] + side * d[:, 1]) <= 1, side, np.inf)
            cap = (-np.sign(d[:, 1]) - o[:, 1]) / d[:, 1]
            at = o + np.where(np.isfinite(cap), cap, 0)[:, None] * d
            cap = np.where((d[:, 1] != 0) & (at[:, 0] ** 2 + at[:, 2] ** 2 <= 1), cap, np.inf)
            t = np.minimum(side, cap)
            miss = ~np.isfinite(t)
            hit = o + np.where(miss, 0, t)[:, None] * d
            round_ = hit * [1, 0, 1] / half
            flat = -np.sign(d) * [0, 1, 0]
            normal = np.where((cap < side)[:, None], flat, round_)
        else:
            raise ValueError(f"rays cannot be cast at a solid of kind {solid.kind}")
        normal = normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    return np.where(miss | (t < 0), np.inf, t), normal


def _quadratic(o: np.ndarray, d: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Smaller root of |o + t d| = 1 over some axes; inf without a root."""
    o, d = o[:, axes], d[:, axes]
    a, b, c = (d * d).sum(1), (o * d).sum(1), (o * o).sum(1) - 1
    root = b * b - a * c
    return np.where((root >= 0) & (a > 0), (-b - np.sqrt(np.maximum(root, 0))) / a, np.inf)


def surface(solid: Primitive, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Surface points (N, 3) and outward normals (N, 3) where rays from the centre along `direction` (N, 3), in units of
    the half extents, leave the solid."""
    half = np.asarray(solid.size, float) / 2
    a = np.abs(direction)
    if solid.kind == "box":
        r = a.max(-1)
        normal = np.eye(3)[np.argmax(a, -1)] * np.sign(direction)
    elif solid.kind == "sphere":
        r = np.linalg.norm(direction, axis=-1)
        normal = direction / half
    elif solid.kind == "cylinder":
        ring = np.hypot(direction[:, 0], direction[:, 2])
        r = np.maximum(ring, a[:, 1])
        side = direction * [1, 0, 1] / half
        normal = np.where((ring >= a[:, 1])[:, None], side, np.sign(direction) * [0, 1, 0])
    else:
        raise ValueError(f"a solid of kind {solid.kind} has no radial surface")
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    return direction / r[:, None] * half, normal


def corners(solid: Primitive) -> np.ndarray:
    """Body points (V, 3) whose convex hull is the solid (a cylinder's rims as fine polygons around the circles)."""
    half = np.asarray(solid.size, float) / 2
    if solid.kind == "box":
        return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * half
    if solid.kind == "cylinder":
        a = np.arange(64) * 2 * np.pi / 64
        up = np.array([0, 1.0, 0])
        ring = np.stack([np.cos(a), np.zeros(64), np.sin(a)], 1) * (1 + (np.pi / 64) ** 2 / 3)  # same area as the circle
        return np.concatenate([ring + up, ring - up]) * half
    raise ValueError(f"a solid of kind {solid.kind} has no corners")
