"""Signed distance of grid points to a closed triangle mesh.

Near the surface the distance is that to the nearest triangle, and its sign that of the side of the nearest feature - face, edge or corner -
by the feature's angle-weighted normal (Baerentzen & Aanaes 2005, "Signed distance computation using the angle weighted pseudonormal").
Farther away it is that of the nearest such point and the way there, which is not less than the distance and has its sign.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from video2phys.errors import BadInput

BAND = 3  # cells from the surface within which the distance is exact
PAIRS = 500_000  # of triangle and point at once


def to_mesh(vertices: np.ndarray, faces: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Distance (I, J, K) of grid points (I, J, K, 3) to a mesh with vertices (V, 3) and faces (F, 3), positive where faces point.

    Raises BadInput for a mesh that is not closed or not turned one way, or has faces without area.
    """
    from scipy.ndimage import distance_transform_edt

    corner, normal = vertices[faces], features(vertices, faces)
    cell = float(node[1, 0, 0, 0] - node[0, 0, 0, 0])
    shape, flat = node.shape[:3], node.reshape(-1, 3)
    found, least = np.full((2, len(flat)), np.inf)
    for face, point in pairs(corner, node[0, 0, 0], cell, shape):
        near = np.abs(((flat[point] - corner[face, 0]) * normal[face, 0]).sum(1)) <= BAND * cell
        face, point = face[near], point[near]
        d = nearest(flat[point], corner[face], normal[face])
        np.minimum.at(least, point, np.abs(d))
        closest = (np.abs(d) == least[point]) & (least[point] <= BAND * cell)  # farther out the nearest triangle may not be among them
        found[point[closest]] = d[closest]
    found = found.reshape(shape)
    gap, index = distance_transform_edt(np.isinf(found), sampling=cell, return_indices=True)  # pyright: ignore[reportGeneralTypeIssues]
    near = found[tuple(index)]
    return near + np.copysign(gap, near)


def features(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Normals (F, 7, 3), of any length, of each triangle's face, edges 01, 12, 20 and corners."""
    edge = np.stack([faces, np.roll(faces, -1, 1)], -1).reshape(-1, 2)  # of face 0, of face 1, ...
    code = edge[:, 0] * len(vertices) + edge[:, 1]
    back = edge[:, 1] * len(vertices) + edge[:, 0]
    order = np.argsort(code)
    twin = order[np.minimum(np.searchsorted(code, back, sorter=order), len(code) - 1)]
    if len(np.unique(code)) < len(code) or (code[twin] != back).any():
        raise BadInput("the mesh is not closed, or its faces are not all turned one way.", fix="Repair it so that it is watertight.")
    a = vertices[faces]
    side = np.roll(a, -1, 1) - a
    cross = np.cross(side[:, 0], side[:, 1])
    area = np.linalg.norm(cross, axis=1, keepdims=True)
    if (area == 0).any():
        raise BadInput(f"the mesh has {int((area == 0).sum())} faces without area.", fix="Merge its double vertices.")
    face = cross / area
    along = side / np.linalg.norm(side, axis=2, keepdims=True)
    angle = np.arccos(np.clip(-(along * np.roll(along, 1, 1)).sum(-1), -1, 1))
    corner = np.zeros_like(vertices)
    np.add.at(corner, faces, angle[..., None] * face[:, None])
    both = face.repeat(3, 0) + face[twin // 3]
    return np.concatenate([face[:, None], both.reshape(-1, 3, 3), corner[faces]], 1)


def pairs(corner: np.ndarray, origin: np.ndarray, cell: float, shape: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of triangles and of grid points in the boxes around them, some PAIRS at a time."""
    low = np.clip(np.floor((corner.min(1) - origin) / cell).astype(int) - BAND, 0, shape)
    high = np.clip(np.ceil((corner.max(1) - origin) / cell).astype(int) + BAND + 1, 0, shape)
    size = high - low
    count = size.prod(1)
    for some in np.split(np.arange(len(corner)), np.flatnonzero(np.diff(np.cumsum(count) // PAIRS)) + 1):
        face = some.repeat(count[some])
        k = np.arange(len(face)) - (np.cumsum(count[some]) - count[some]).repeat(count[some])
        _, ny, nz = size[face].T
        x, y, z = low[face].T
        yield face, ((x + k // (ny * nz)) * shape[1] + y + k // nz % ny) * shape[2] + z + k % nz


def nearest(x: np.ndarray, a: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Signed distance (P,) of points (P, 3) to triangles (P, 3, 3) with the normals (P, 7, 3) of their features."""
    side, off, rows = np.roll(a, -1, 1) - a, x[:, None] - a, np.arange(len(x))
    share = np.clip((off * side).sum(-1) / (side * side).sum(-1), 0, 1)
    to_edge = off - share[..., None] * side
    away = (to_edge * to_edge).sum(-1)
    k = np.argmin(away, 1)
    s = share[rows, k]
    feature = np.where(s == 0, 4 + k, np.where(s == 1, 4 + (k + 1) % 3, 1 + k))
    face = normal[:, 0]
    height = (off[:, 0] * face).sum(-1)
    above = (np.cross(side, off) * face[:, None]).sum(-1).min(1) >= 0
    outward = (to_edge[rows, k] * normal[rows, feature]).sum(-1)
    return np.where(above, height, np.copysign(np.sqrt(away[rows, k]), outward))
