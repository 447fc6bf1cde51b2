"""What is solid in a scene without masks: depth pictures of the trained Gaussians, fused on a grid.

Each picture's depth says what lies before the seen surface (empty) and how far a cell is from it; the mean over the pictures is a signed
distance (Curless and Levoy 1996). What no picture ever sees lies behind surfaces and is solid, so that the body is closed; the plane that
it stands on is found and cuts it off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from video2phys.errors import BadInput
from video2phys.gaussians.cloud import Cloud
from video2phys.gaussians.hull import Grid
from video2phys.types import Camera

BAND = 4  # [cells] from a surface within which a depth counts
SOLID, CLEAR = 0.7, 0.3  # alpha from which a pixel has a depth; up to which nothing is there
TRIES, NEAR, ENOUGH = 400, 0.01, 0.15  # planes tried; distance [radii] of points that lie on one; share of points that make a support
REMEDY = "Give masks of the object, or photographs from all around it."


@torch.no_grad()
def fuse(cloud: Cloud, cameras: Sequence[Camera], centre: np.ndarray, radius: float, cells: int) -> Grid:
    """Distances [length unit], positive inside, in the cube about a ball of interest; outside the ball all is empty."""
    from scipy.ndimage import map_coordinates

    step = 2 * radius / cells
    grid = Grid(np.zeros((cells + 1,) * 3), centre - radius, step)
    points = grid.points()
    total, weight, seen = (np.zeros(grid.value.shape) for _ in range(3))
    for camera in cameras:
        picture = cloud.draw(camera)
        depth, alpha = picture.depth.cpu().numpy(), picture.alpha.cpu().numpy()
        pixel, z = camera.project(points) - 0.5, camera.to_camera(points)[..., 2]
        inside = (pixel[..., 0] > 0) & (pixel[..., 0] < camera.width - 1) & (pixel[..., 1] > 0) & (pixel[..., 1] < camera.height - 1)
        where = np.stack([np.where(inside, pixel[..., 1], -1e3), np.where(inside, pixel[..., 0], -1e3)])
        solid, front = (map_coordinates(a, where, order=1, mode="constant") for a in (alpha, depth))
        behind = z - front
        clear = inside & (solid < CLEAR)
        counts = inside & (solid > SOLID) & (behind < BAND * step)
        total += np.where(counts, np.maximum(behind, -BAND * step), np.where(clear, -BAND * step, 0))
        weight += counts | clear
        seen += inside
    value = np.where(weight > 0, total / np.maximum(weight, 1), BAND * step)
    value = np.minimum(np.where(seen > 0, value, -step), radius - np.linalg.norm(points - centre, axis=-1))
    return Grid(value, grid.origin, step)


def support(points: np.ndarray, cameras: np.ndarray, centre: np.ndarray, radius: float, seed: int) -> tuple[np.ndarray, float] | None:
    """Unit normal (3,) and offset of the plane that the object stands on, all cameras on its free side; None where none is clear.

    points: (N, 3) on surfaces, cameras: (C, 3) centres. The plane through three points that most points near the ball lie on (RANSAC).
    """
    near = points[np.linalg.norm(points - centre, axis=1) < 2 * radius]
    if len(near) < 50:
        return None
    gen = np.random.default_rng(seed)
    best, plane = ENOUGH * len(near), None
    for _ in range(TRIES):
        a, b, c = near[gen.choice(len(near), 3, replace=False)]
        normal = np.cross(b - a, c - a)
        length = np.linalg.norm(normal)
        if length < 1e-9 * radius**2:
            continue
        normal = normal / length * np.sign(normal @ (np.median(cameras, axis=0) - a) or 1.0)
        height = (near - a) @ normal
        count = int((np.abs(height) < NEAR * radius).sum())
        free = ((cameras - a) @ normal > 0).mean() > 0.98 and (height < -3 * NEAR * radius).mean() < 0.1
        if free and count > best:
            best, plane = count, (normal, float(np.median((near @ normal)[np.abs(height) < NEAR * radius])))
    return plane


def largest(inside: np.ndarray) -> np.ndarray:
    """The largest connected part of a boolean grid."""
    from scipy.ndimage import label

    parts, count = label(inside)  # pyright: ignore[reportGeneralTypeIssues]
    return parts == 1 + np.bincount(parts.ravel())[1:].argmax() if count > 1 else inside


def cut(grid: Grid, plane: tuple[np.ndarray, float] | None) -> Grid:
    """The grid above a plane, where there is one. Raises BadInput where nothing is left."""
    value = grid.value if plane is None else np.minimum(grid.value, grid.points() @ plane[0] - plane[1] - grid.step)
    if not (value > 0).any():
        raise BadInput("nothing solid stands where the cameras look.", fix=REMEDY)
    return Grid(value, grid.origin, grid.step)
