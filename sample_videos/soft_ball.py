"""An egg-shaped soft ball dropped on the floor, seen by eight calibrated cameras; simulated on a grid finer than any fit uses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation
from video import write_truth, write_video

from video2phys.render.api import rasterize
from video2phys.simulate.mpm.rollout import rollout
from video2phys.simulate.mpm.scene import Params, build, start
from video2phys.types import Camera

FPS, FRAMES, PIXELS = 60, 24, 160
SUPERSAMPLE = 3  # pictures are drawn larger and averaged: the rasteriser widens every Gaussian by half a pixel
STEPS = 48  # per frame, a third more than stability asks for: every further step costs a grid at rest in space some energy
LIGHT = np.array([0.3, -0.4, 0.87])
SIZE = np.array([0.12, 0.10, 0.088])  # [m]
SKIN, GAUSSIANS = 0.001, 9000  # [m] spread of the Gaussians on the skin, and their number: about 2 mm apart
SPACING = 0.0033  # [m] between particles; a fit uses about twice this
YOUNGS_MODULUS, POISSON_RATIO, DENSITY, FRICTION = 3.5e4, 0.32, 1000.0, 0.5
POSITION, VELOCITY, SPIN = (0.01, -0.01, 0.17), (0.15, 0.1, -0.3), (1.0, 2.0, 0.6)  # [m], [m/s], [rad/s]
TILT = Rotation.from_rotvec([0.5, -0.2, 0.3]).as_matrix()


def solid(size: np.ndarray, spacing: float, parts: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Centres of mass (N, 3) and volumes (N,) of what an ellipsoid with axes `size` fills of the cells of a lattice, sampled by parts^3."""
    axes = [(np.arange(round(s / spacing) * parts) + 0.5) * spacing / parts - s / 2 for s in size]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    points = points[((2 * points / size) ** 2).sum(1) < 1]
    cell = np.unique(np.floor((points + size / 2) / spacing).astype(int), axis=0, return_inverse=True)[1].ravel()
    count = np.bincount(cell)
    center = np.stack([np.bincount(cell, points[:, a]) / count for a in range(3)], 1)
    kept = count > 0.1 * parts**3  # slivers would only shorten the step
    return center[kept], count[kept] * (spacing / parts) ** 3


def skin(size: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points evenly spread over the ellipsoid (G, 3) and their outward normals (G, 3)."""
    k = np.arange(count) + 0.5
    polar, around = np.arccos(1 - 2 * k / count), np.pi * (1 + 5**0.5) * k
    points = np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], 1) * size / 2
    normals = points / size**2
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def cameras() -> list[Camera]:
    """Eight cameras on a ring, low and high in turn, looking at the place of impact."""
    views, target = [], np.array([0.02, 0.01, 0.09])
    for k in range(8):
        turn, up = 2 * np.pi * k / 8 + 0.3, np.radians((5.0, 40.0)[k % 2])
        eye = target + 0.8 * np.array([np.cos(turn) * np.cos(up), np.sin(turn) * np.cos(up), np.sin(up)])
        focal = 2.0 * PIXELS
        K = np.array([[focal, 0, PIXELS / 2], [0, focal, PIXELS / 2], [0, 0, 1]])
        views.append(Camera.aimed(eye, target, K, PIXELS, PIXELS))
    return views


def floor(camera: Camera, center: np.ndarray) -> np.ndarray:
    """Checkered floor with a soft contact shadow below `center`, (H, W, 3) in 0..1."""
    y, x = np.mgrid[0:PIXELS, 0:PIXELS] + 0.5
    origin, direction = camera.rays(np.stack([x, y], -1))
    down = np.minimum(direction[..., 2], -1e-3)
    hit = origin + direction * (-origin[..., 2] / down)[..., None]
    checker = (np.floor(hit[..., 0] / 0.12) + np.floor(hit[..., 1] / 0.12)) % 2
    shade = 0.42 + 0.16 * checker
    away = np.hypot(hit[..., 0] - center[0], hit[..., 1] - center[1])
    shade = shade * (1 - 0.45 * np.exp(-0.5 * (away / (0.05 + 0.5 * center[2])) ** 2))
    far = np.clip((np.linalg.norm(hit - origin, axis=-1) - 1.5) / 3, 0, 1)
    return (shade * (1 - far) + 0.72 * far)[..., None] * np.array([1.0, 0.98, 0.95])


def picture(camera: Camera, mean: np.ndarray, covariance: np.ndarray, colour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RGB and mask (H, W, ...) in 0..1 of nearly opaque Gaussians before the floor."""
    n, large = SUPERSAMPLE, PIXELS * SUPERSAMPLE
    fine = np.diag([n, n, 1.0]) @ camera.K
    m, S, c, K, pose = (torch.from_numpy(a.astype(np.float32)) for a in (mean, covariance, colour, fine, camera.world_to_camera))
    unused = torch.ones(len(m), 4), torch.ones(len(m), 3)  # the covariance takes the place of quaternion and scale
    drawn = rasterize(m, *unused, torch.full((len(m),), 0.98), c, K, pose, large, large, covariance=S)
    rgba = torch.cat([drawn.colour, drawn.alpha[..., None]], -1).reshape(PIXELS, n, PIXELS, n, 4).mean((1, 3)).numpy()
    return rgba[..., :3] + (1 - rgba[..., 3:]) * floor(camera, mean.mean(0)), rgba[..., 3]


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rest positions (N, 3), positions (T, N, 3) and deformation gradients (T, N, 3, 3)."""
    particle, volume = solid(SIZE, SPACING)
    scene = build(particle, volume, normal=np.array([0, 0, 1.0]))
    params = Params.of(scene, youngs_modulus=YOUNGS_MODULUS, poisson_ratio=POISSON_RATIO, density=DENSITY, friction=FRICTION)
    begin = start(scene, params, position=POSITION, rotation=TILT, velocity=VELOCITY, angular_velocity=SPIN)
    track = rollout(params, scene, begin, np.arange(FRAMES) / FPS, steps=STEPS)
    return particle, track.position[:, 0].astype(float), track.deformation[:, 0].astype(float)


def write_capture(folder: Path) -> None:
    """transforms.json in nerfstudio's layout and capture.yaml."""
    entries = []
    for v, camera in enumerate(cameras()):
        opengl = np.linalg.inv(camera.world_to_camera) @ np.diag([1.0, -1, -1, 1])
        intrinsics = {"fl_x": camera.K[0, 0], "fl_y": camera.K[1, 1], "cx": camera.K[0, 2], "cy": camera.K[1, 2], "w": PIXELS, "h": PIXELS}
        paths = {"file_path": f"videos/cam{v}.mp4", "mask_path": f"masks/cam{v}.mp4"}
        entries.append(paths | intrinsics | {"transform_matrix": opengl.round(9).tolist()})
    (folder / "transforms.json").write_text(json.dumps({"camera_model": "OPENCV", "fps": FPS, "frames": entries}, indent=1) + "\n")
    (folder / "capture.yaml").write_text(
        f"fps: {FPS}\ngravity: [0, 0, -9.81]\nground: {{normal: [0, 0, 1], offset: 0.0}}\n"
        f"object: {{density: {DENSITY:g}}}\nmodel: elastic\n"
    )


def make(folder: Path) -> None:
    random = np.random.default_rng(3)
    rest, position, deformation = simulate()
    points, normals = skin(SIZE - 2 * SKIN, GAUSSIANS)
    near = KDTree(rest).query(points)[1]
    seeds, palette = random.uniform(-0.07, 0.07, (60, 3)), random.uniform(0.1, 0.95, (60, 3))
    colour = palette[KDTree(seeds).query(points)[1]]
    flat = SKIN**2 * (np.eye(3) - 0.96 * normals[:, :, None] * normals[:, None])
    clips: dict[str, list[list[np.ndarray]]] = {kind: [[] for _ in cameras()] for kind in ("videos", "masks")}
    for x, deformed in zip(position, deformation, strict=True):
        F = deformed[near]
        mean = x[near] + np.einsum("gij,gj->gi", F, points - rest[near])
        outward = np.einsum("gij,gi->gj", np.linalg.inv(F), normals)
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        lit = colour * (0.55 + 0.45 * np.clip(outward @ LIGHT, 0, 1))[:, None]
        for v, camera in enumerate(cameras()):
            image, mask = picture(camera, mean, F @ flat @ F.swapaxes(1, 2), lit)
            noisy = image + random.normal(0, 0.008, image.shape)
            clips["videos"][v].append((np.clip(noisy, 0, 1) * 255).astype(np.uint8))
            clips["masks"][v].append((np.clip(mask, 0, 1) * 255).astype(np.uint8))
    for kind, views in clips.items():
        for v, frames in enumerate(views):
            write_video(folder / kind / f"cam{v}.mp4", frames, FPS, 16)
    write_capture(folder)
    write_truth(folder, youngs_modulus=YOUNGS_MODULUS, poisson_ratio=POISSON_RATIO, friction=FRICTION)
