"""The body among the Gaussians of a whole scene: what is solid where cameras look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from video2phys.gaussians import fill, fuse, surface
from video2phys.gaussians.cloud import Cloud
from video2phys.gaussians.settings import Settings
from video2phys.types import Body, Camera

WIDE = 0.9  # quantile, over the photographs, of how much they show about what they look at: close ones cut the object


def body(cloud: Cloud, cameras: Sequence[Camera], centre: np.ndarray, settings: Settings, seed: int) -> tuple[Body, list[str]]:
    """The solid at `centre` (3,) that the cameras look at, with its Gaussians, and notes. Raises BadInput where there is none."""
    width = [np.linalg.norm(c.center - centre) * min(c.width, c.height) / (2 * c.K[0, 0]) for c in cameras]
    radius = float(np.quantile(width, WIDE))
    opaque = cloud[cloud.opacity.sigmoid() > 0.5]
    plane = fuse.support(opaque.mean.cpu().double().numpy(), np.array([c.center for c in cameras]), centre, radius, seed)
    notes = ["no masks: what stands where the cameras look is taken as the object."]
    if plane is None:
        notes.append("no plane that it stands on was found: the body may hold a part of its support.")
    else:
        notes.append("the plane that it stands on was found and closes it from below.")
    for _ in range(2):  # where it is, then finer
        grid = fuse.cut(fuse.fuse(cloud, cameras, centre, radius, settings.cells), plane)
        inside = grid.points()[fuse.largest(grid.value > 0)]
        centre = (inside.min(0) + inside.max(0)) / 2
        radius = float(np.linalg.norm(inside - centre, axis=1).max()) + 3 * grid.step
    vertices, faces = surface.surface(grid)
    volume, middle = surface.volume_and_centre(vertices, faces)
    particle, volumes = fill.fill(grid, volume, settings.particles)
    own = cloud[torch.from_numpy(grid.at(cloud.mean.detach().cpu().double().numpy()) > -2 * grid.step)]
    mean, quaternion, scale, opacity, harmonics = own.arrays()
    notes.append(f"volume {volume:.3g}, {len(mean)} of {len(cloud)} Gaussians on it.")
    return Body(mean - middle, quaternion, scale, opacity, harmonics, particle - middle, volumes, vertices - middle, faces, 0, middle,
                np.array([1.0, 0, 0, 0])), notes  # fmt: skip
