"""Bring the visual hull closer to the body with the depth of the trained Gaussians.

Outlines bound a body from outside only: an underside or a dent that no outline shows stays filled. The rendered depth tells where
the seen surface lies, but a constant too deep, as light passes through the first Gaussians to those behind. A hull touches the body
over most of what is seen, so the median gap between the two is that constant, and only a gap beyond it is taken from the hull.
"""

from __future__ import annotations

import numpy as np
import torch

from video2phys.gaussians.hull import Grid, Shot
from video2phys.gaussians.train import Cloud

BAND = 4  # [cells] from the seen surface within which a depth counts (truncated distance, Curless and Levoy 1996)
SMOOTH = 1.5  # [cells] the gap is averaged over this distance: one cell alone is as uncertain as one pixel's depth
SOLID = 0.7  # alpha from which a pixel has a depth
SEEN = 0.8  # sum of squared cosines from which a cell counts as seen


@torch.no_grad()
def shrink(hull: Grid, cloud: Cloud, shots: list[Shot]) -> Grid:
    """The hull less what the depth maps show to be empty. Same grid."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    points, total, weight = hull.points(), np.zeros(hull.value.shape), np.zeros(hull.value.shape)
    for shot in shots:
        picture = cloud.draw(shot.camera)
        depth, alpha = picture.depth.cpu().numpy(), picture.alpha.cpu().numpy()
        pixel, z = shot.camera.project(points) - 0.5, shot.camera.to_camera(points)[..., 2]
        slope = np.hypot(*np.gradient(depth)) / shot.camera.pixel(cloud.mean.mean(0).cpu().numpy())
        where = np.nan_to_num(np.stack([pixel[..., 1], pixel[..., 0]]), nan=-1e3)
        solid, front, cosine = (map_coordinates(a, where, order=1, mode="constant") for a in (alpha, depth, 1 / np.hypot(1, slope)))
        inside = (z - front) * cosine
        counts = (solid > SOLID) & (np.abs(inside) < BAND * hull.step)
        total += np.where(counts, inside * cosine**2, 0)
        weight += np.where(counts, cosine**2, 0)
    seen = weight > SEEN
    near = seen & (np.abs(hull.value) < 1.5 * hull.step)
    if not near.any():
        return hull
    gap = np.where(seen, hull.value - total / np.maximum(weight, 1e-9), 0)
    gap = gaussian_filter(gap, SMOOTH) / np.maximum(gaussian_filter(seen.astype(float), SMOOTH), 1e-6)
    excess = np.maximum(gap - np.median(gap[near]), 0)
    return Grid(np.where(seen, hull.value - excess, hull.value), hull.origin, hull.step)
