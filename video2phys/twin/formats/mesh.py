"""Surface meshes as Wavefront OBJ, and the tetrahedral lattice of a soft body."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import numpy as np

from video2phys.types import Body, TwinFile


def write(folder: Path, name: str, body: Body) -> TwinFile:
    """Write the closed surface (scene length unit, body frame) and read it back with trimesh."""
    import trimesh

    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in body.vertices] + [f"f {a} {b} {c}" for a, b, c in body.faces + 1]
    (folder / f"{name}.obj").write_text("\n".join(lines) + "\n")
    back = trimesh.load_mesh(folder / f"{name}.obj", process=False)
    want = np.stack([body.vertices.min(0), body.vertices.max(0)])
    same = np.allclose(back.bounds, want, atol=1e-6 * np.ptp(want)) and len(back.faces) == len(body.faces)
    return TwinFile(f"{name}.obj", "OBJ", "reloads in trimesh with the same faces and bounding box", bool(same))


def lattice(body: Body, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and positively oriented tetrahedra (E, 4) that fill the particles, in the body frame.

    Cubes along the tightest bounding box, `cells` along its longest side, kept where a particle is at the middle of the
    cube, each cut into the six tetrahedra around its diagonal, so that neighbouring cubes share faces.
    """
    import trimesh
    from scipy.spatial import cKDTree

    to_box, extent = trimesh.bounds.oriented_bounds(body.vertices, ordered=False)
    counts = np.maximum(np.rint(cells * extent / extent.max()), 1).astype(int)
    edge = extent / counts
    corner = np.array(list(product(*(range(n) for n in counts))))
    center = ((corner + 0.5) * edge - extent / 2 - to_box[:3, 3]) @ to_box[:3, :3]
    spacing = float(body.volume.mean()) ** (1 / 3)
    distance, _ = cKDTree(body.particle).query(center)
    keep = distance <= max(spacing, distance.min())  # inside the particle lattice this is at most sqrt(3)/2 of the spacing
    strides = np.array([(counts[1] + 1) * (counts[2] + 1), counts[2] + 1, 1])
    tetrahedra = []
    for start in corner[keep]:
        for order in permutations(range(3)):
            path = np.vstack([start, start + np.cumsum(np.eye(3, dtype=int)[list(order)], 0)])
            even = np.linalg.det(np.eye(3)[list(order)]) > 0
            tetrahedra.append((path @ strides)[[0, 1, 2, 3] if even else [1, 0, 2, 3]])
    used, elements = np.unique(np.array(tetrahedra), return_inverse=True)
    grid = np.array(list(product(*(range(n + 1) for n in counts))), float)[used]
    vertices = (grid * edge - extent / 2 - to_box[:3, 3]) @ to_box[:3, :3]
    return vertices, elements.reshape(-1, 4)
