"""A hollow body: the particles of a solid that lie in its wall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.errors import BadInput
from video2phys.types import Body

FINE = 0.5  # [particle spacings] longest edge of the triangles whose corners stand for the surface


def hollow(body: Body, wall: float) -> Body:
    """The body without what is deeper than `wall` [length unit] under its surface; Gaussians and surface stay.

    No picture shows how thick a wall is, so it is given. Raises BadInput where it is thinner than the particles are apart.
    """
    import trimesh
    from scipy.spatial import cKDTree

    spacing = float(np.cbrt(body.volume.mean()))
    if wall < spacing:
        needed = int(np.ceil(len(body.particle) * (spacing / wall) ** 3))
        raise BadInput(
            f"a wall of {wall:.3g} is thinner than the particles are apart ({spacing:.3g}).",
            fix=f"Set gaussians.particles={needed} or more.",
        )
    corner = trimesh.remesh.subdivide_to_size(body.vertices, body.faces, FINE * spacing, max_iter=30)[0]
    depth = cKDTree(corner).query(body.particle)[0]
    kept = depth < wall
    return replace(body, particle=body.particle[kept], volume=body.volume[kept])
