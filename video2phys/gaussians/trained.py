"""Gaussians that somebody else trained, as they are: what is solid among them, seen by their cameras or from all around."""

from __future__ import annotations

import numpy as np
import torch

from video2phys.context import Context
from video2phys.gaussians import initialise, solid
from video2phys.gaussians.cloud import Cloud
from video2phys.gaussians.settings import Settings
from video2phys.render.files.ply import read_splats
from video2phys.types import Camera, Frames, Gaussians

ALL, MARGIN = 0.995, 1.1  # share of what can be seen that the ball of interest holds, and how much wider it is made
AROUND, AWAY, SIDE = 48, 3.0, 256  # cameras that are made up; their distance [radii]; their pictures' sides [px]


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """One body. Raises BadInput where nothing solid is found."""
    cloud = cloud_of(frames).to(context.device)
    cameras, notes = [view.camera for view in frames.scan], list[str]()
    if cameras:
        centre = initialise.region(cameras)[0]
    else:
        centre, radius = bounds(cloud)
        cameras = around(centre, radius)
        notes.append("the file has no cameras: the body is what is solid among all of its Gaussians, seen from all around.")
    body, said = solid.body(cloud, cameras, centre, settings, context.seed)
    return Gaussians((body,), frames.about.unit, None, (*notes, *said))


def cloud_of(frames: Frames) -> Cloud:
    """The Gaussians of a capture of trained ones, in the world of its frames."""
    s = read_splats(frames.folder / frames.splats)
    logit = np.log(s.opacity.clip(1e-6, 1 - 1e-6)) - np.log1p(-s.opacity.clip(1e-6, 1 - 1e-6))
    arrays = s.mean, np.log(s.scale), s.quaternion, logit, s.harmonics[:, :1], s.harmonics[:, 1:]
    return Cloud(*(torch.as_tensor(a, dtype=torch.float32) for a in arrays))


def bounds(cloud: Cloud) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius of the ball that holds ALL of what can be seen: Gaussians count by opacity times the area they cover."""
    size = cloud.scale.exp().sort(1).values
    weight = (cloud.opacity.sigmoid() * size[:, 1] * size[:, 2]).double().cpu().numpy()
    mean = cloud.mean.double().cpu().numpy()

    def quantile(values: np.ndarray, share: float) -> float:
        order = np.argsort(values)
        return float(values[order][np.searchsorted(np.cumsum(weight[order]), share * weight.sum())])

    centre = np.array([(quantile(x, 1 - ALL) + quantile(x, ALL)) / 2 for x in mean.T])
    return centre, MARGIN * quantile(np.linalg.norm(mean - centre, axis=1), ALL)


def around(centre: np.ndarray, radius: float) -> list[Camera]:
    """Cameras on a sphere, evenly spread (Fibonacci lattice), whose pictures just hold a ball."""
    cameras = []
    focal = SIDE / 2 * AWAY  # pictures as wide as the ball where they look
    K = np.array([[focal, 0, SIDE / 2], [0, focal, SIDE / 2], [0, 0, 1]])
    for k in range(AROUND):
        z, turn = 1 - (2 * k + 1) / AROUND, np.pi * (1 + 5**0.5) * k
        forward = -np.array([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])
        right = np.cross(forward, [0, 0, 1.0])
        right /= np.linalg.norm(right)
        pose = np.eye(4)
        pose[:3, :3] = np.stack([right, np.cross(forward, right), forward])
        pose[:3, 3] = -pose[:3, :3] @ (centre - AWAY * radius * forward)
        cameras.append(Camera(K, pose, SIDE, SIDE))
    return cameras
