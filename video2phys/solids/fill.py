"""The matter of a solid: closed mesh, volume and filling particles, in the body frame."""

from __future__ import annotations

import numpy as np

from video2phys.solids.outline import area_centroid
from video2phys.types import Primitive


def volume(solid: Primitive) -> float:
    """Volume [length unit^3]."""
    x, y, z = (float(s) for s in solid.size)
    if solid.kind == "sphere":
        return np.pi / 6 * x * y * z
    if solid.kind == "cylinder":
        return np.pi / 4 * x * y * z
    return abs(area_centroid(solid.outline)[0]) * y if solid.kind == "extrusion" and solid.outline is not None else x * y * z


def mesh(solid: Primitive) -> tuple[np.ndarray, np.ndarray]:
    """Closed surface, outwards: vertices (V, 3) and faces (F, 3). Round solids are scaled to their true volume."""
    import trimesh

    if solid.kind == "box":
        shape = trimesh.creation.box(extents=solid.size)
    elif solid.kind == "sphere":
        shape = trimesh.creation.icosphere(subdivisions=3, radius=0.5)
        shape.apply_scale(solid.size * (volume(solid) / (shape.volume * np.prod(solid.size))) ** (1 / 3))
    elif solid.kind == "cylinder":
        shape = trimesh.creation.cylinder(radius=0.5, height=1.0, sections=64)
        shape.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0]))
        swell = np.sqrt(np.pi / 4 / shape.volume)
        shape.apply_scale(solid.size * [swell, 1, swell])
    else:
        return _extruded(solid)
    return np.array(shape.vertices, float), np.array(shape.faces, int)


def particles(solid: Primitive, count: int) -> tuple[np.ndarray, np.ndarray]:
    """About `count` points (P, 3) on a regular lattice in the solid, and their volumes (P,), which add up to the solid's."""
    whole = volume(solid)
    step = (whole / count) ** (1 / 3)
    n = np.maximum(np.round(np.asarray(solid.size) / step), 1).astype(int)
    axes = [((np.arange(k) + 0.5) / k - 0.5) * s for k, s in zip(n, solid.size, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    q = 2 * points / np.asarray(solid.size)
    if solid.kind == "sphere":
        points = points[(q**2).sum(1) <= 1]
    elif solid.kind == "cylinder":
        points = points[q[:, 0] ** 2 + q[:, 2] ** 2 <= 1]
    elif solid.kind == "extrusion" and solid.outline is not None:
        from matplotlib.path import Path

        low, high = solid.outline.min(0), solid.outline.max(0)
        points[:, [0, 2]] += (low + high) / 2
        points = points[Path(solid.outline).contains_points(points[:, [0, 2]])]
    return points, np.full(len(points), whole / len(points))


def _extruded(solid: Primitive) -> tuple[np.ndarray, np.ndarray]:
    outline = np.asarray(solid.outline, float)
    if area_centroid(outline)[0] < 0:
        outline = outline[::-1]
    n, half = len(outline), float(solid.size[1]) / 2
    front = np.stack([outline[:, 0], np.full(n, -half), outline[:, 1]], 1)
    back = front + np.array([0, 2 * half, 0])
    cap = triangles(outline)  # anticlockwise in x, z = facing -y
    i = np.arange(n)
    j = (i + 1) % n
    sides = np.concatenate([np.stack([i, i + n, j], 1), np.stack([j, i + n, j + n], 1)])
    return np.concatenate([front, back]), np.concatenate([cap, cap[:, ::-1] + n, sides])


def triangles(polygon: np.ndarray) -> np.ndarray:
    """Ear clipping of a simple anticlockwise polygon (K, 2): faces (K - 2, 3). Meisters 1975: there is always an ear."""
    left = list(range(len(polygon)))
    out = []

    def turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])

    while len(left) > 3:
        for k in range(len(left)):
            i, j, m = left[k - 1], left[k], left[(k + 1) % len(left)]
            a, b, c = polygon[i], polygon[j], polygon[m]
            if turn(a, b, c) <= 0:
                continue
            others = polygon[[v for v in left if v not in (i, j, m)]]
            if not ((turn(a, b, others) > 0) & (turn(b, c, others) > 0) & (turn(c, a, others) > 0)).any():
                break
        else:  # only degenerate corners are left
            k = 0
            i, j, m = left[-1], left[0], left[1]
        out.append((i, j, m))
        left.pop(k)
    return np.array([*out, tuple(left)])
