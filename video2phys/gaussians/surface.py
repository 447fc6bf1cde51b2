"""A closed surface where a grid passes through zero, and what it encloses."""

from __future__ import annotations

import numpy as np

from video2phys.gaussians.hull import Grid


def surface(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and outward triangles (F, 3) of the largest closed part of {value = 0} by marching cubes."""
    import trimesh
    from skimage.measure import marching_cubes

    padded = np.pad(grid.value, 1, constant_values=-grid.step)
    vertices, faces, _, _ = marching_cubes(padded, 0.0, gradient_direction="ascent")
    mesh = trimesh.Trimesh(vertices * grid.step + grid.origin - grid.step, faces, process=True)
    parts = mesh.split(only_watertight=True)
    mesh = max(parts, key=lambda part: abs(part.volume)) if len(parts) else mesh
    if mesh.volume < 0:
        mesh.invert()
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def volume_and_centre(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume and centroid (3,) of a closed surface, by the divergence theorem over its triangles."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    six = np.einsum("fi,fi->f", a, np.cross(b, c))
    return float(six.sum() / 6), ((a + b + c) * six[:, None]).sum(0) / (4 * six.sum())
