"""Where training starts: on the hull's surface, at points of the reconstruction of the cameras, or anywhere that the cameras look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from video2phys.gaussians.cloud import Cloud
from video2phys.gaussians.hull import Shot
from video2phys.render.harmonics import C0
from video2phys.types import Camera

ALONE = 3  # nearest neighbours whose mean distance is a point's first size
OPACITY = 0.1  # of Gaussians that start at points
FAR, SHELL = 6.0, 0.3  # radii of the scene that random points reach; share of them beyond the first


def cloud_of(points: np.ndarray, colour: np.ndarray, scale: np.ndarray, quaternion: np.ndarray, opacity: float, degree: int) -> Cloud:
    """A Cloud from points (G, 3), colours (G, 3) 0..1, standard deviations (G, 3) and quaternions (G, 4)."""
    count = len(points)
    arrays = (points, np.log(scale), quaternion, np.full(count, np.log(opacity / (1 - opacity))), ((colour - 0.5) / C0)[:, None],
              np.zeros((count, (degree + 1) ** 2 - 1, 3)))  # fmt: skip
    return Cloud(*(torch.as_tensor(a, dtype=torch.float32) for a in arrays))


def on_surface(vertices: np.ndarray, faces: np.ndarray, shots: list[Shot], count: int, degree: int, seed: int) -> tuple[Cloud, float]:
    """Flat Gaussians spread evenly over a surface, coloured by the pictures that face it, and their spacing."""
    import trimesh

    mesh = trimesh.Trimesh(vertices, faces, process=False)
    points, index = trimesh.sample.sample_surface(mesh, count, seed=seed)[:2]
    normals = mesh.face_normals[index]
    spacing = float(np.sqrt(mesh.area / count))
    total, weight = np.full((count, 3), 1e-6 * 0.5), np.full(count, 1e-6)
    for shot in shots:
        pixel = np.nan_to_num(shot.camera.project(points)).astype(int)
        x, y = (pixel[:, k].clip(0, size - 1) for k, size in ((0, shot.camera.width), (1, shot.camera.height)))
        facing = -((normals * shot.camera.rays(pixel + 0.5)[1]).sum(1).clip(-1, 0) ** 3) * shot.outline[y, x]
        total, weight = total + facing[:, None] * shot.image[y, x], weight + facing
    half = np.array([-normals[:, 1], normals[:, 0], np.zeros(count)]).T  # the turn from z to the normal
    quaternion = np.concatenate([1.0001 + normals[:, 2:], half], 1)
    scale = np.tile(spacing * np.array([0.6, 0.6, 0.2]), (count, 1))
    return cloud_of(points - 0.2 * spacing * normals, total / weight[:, None], scale, quaternion, 0.88, degree), spacing


def at_points(points: np.ndarray, colour: np.ndarray, extent: float, degree: int) -> Cloud:
    """A round Gaussian at each point (N, 3) of colour (N, 3) 0..1, as large as the mean distance to its ALONE nearest."""
    from scipy.spatial import cKDTree

    near = cKDTree(points).query(points, k=ALONE + 1)[0][:, 1:]
    size = np.sqrt((near**2).mean(1)).clip(1e-4 * extent, 0.1 * extent)
    return cloud_of(points, colour, np.tile(size[:, None], (1, 3)), np.tile([1.0, 0, 0, 0], (len(points), 1)), OPACITY, degree)


def region(cameras: Sequence[Camera]) -> tuple[np.ndarray, float]:
    """What the cameras look at: the point nearest to all their axes, and the median distance to the cameras."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    for camera in cameras:
        forward = camera.world_to_camera[2, :3]
        across = np.eye(3) - np.outer(forward, forward)
        A, b = A + across, b + across @ camera.center
    centre = np.linalg.lstsq(A, b, rcond=None)[0]
    return centre, float(np.median([np.linalg.norm(camera.center - centre) for camera in cameras]))


def at_random(shots: list[Shot], count: int, seed: int, degree: int) -> Cloud:
    """Gaussians anywhere in the ball whose radius is the cameras' distance, and some further out, coloured by a picture that shows them."""
    gen = np.random.default_rng(seed)
    centre, radius = region([s.camera for s in shots])
    direction = gen.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    beyond = gen.random(count) < SHELL
    distance = radius * np.where(beyond, 1 / (1 / FAR + (1 - 1 / FAR) * gen.random(count)), np.cbrt(gen.random(count)))
    points = centre + distance[:, None] * direction
    colour, seen = gen.random((count, 3)), np.zeros(count, int)
    for k in gen.permutation(len(shots)):
        camera, image = shots[k].camera, shots[k].image
        pixel = camera.project(points)
        inside = np.isfinite(pixel).all(1) & (pixel >= 0).all(1) & (pixel < (camera.width, camera.height)).all(1)
        x, y = pixel[inside].astype(int).T
        colour[inside] = image[y, x]
        seen[inside] += 1
    kept = seen >= 2
    extent = radius * (distance[kept] / radius).clip(1) / np.cbrt(max(int(kept.sum()), 1))
    return cloud_of(
        points[kept], colour[kept], np.tile(0.5 * extent[:, None], (1, 3)), np.tile([1.0, 0, 0, 0], (int(kept.sum()), 1)), OPACITY, degree
    )
