"""Gaussians for one moment of a motion: a few hundred quick steps of Adam on L1, D-SSIM and outline, kept inside the visual hull.

States and matter that fits build on come from these Gaussians. `train` gives better pictures at many times the cost.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from video2phys.gaussians.hull import Grid, Shot
from video2phys.gaussians.pyramid import crop
from video2phys.gaussians.train import sample
from video2phys.progress import Progress, silent
from video2phys.render.api import Picture, rasterize
from video2phys.render.harmonics import C0, colour
from video2phys.render.projection import rotations
from video2phys.types import Camera

SIMILARITY, OUTLINE, HULL, FLAT = 0.2, 0.5, 1.0, 0.02  # weights of D-SSIM, alpha against mask, leaving the hull, size
RATE = {"mean": 0.1, "scale": 0.02, "quaternion": 0.01, "opacity": 0.05, "harmonics": 0.02}  # mean: times the Gaussians' spacing
FAINT, GROWN = 0.05, 0.08  # Gaussians fainter than this are dropped; share of the Gaussians that is doubled when the set is revised


@dataclass
class Cloud:
    """Gaussians in the optimiser's coordinates; float32."""

    mean: Tensor  # (G, 3)
    scale: Tensor  # (G, 3) log
    quaternion: Tensor  # (G, 4)
    opacity: Tensor  # (G,) logit
    harmonics: Tensor  # (G, K, 3)

    def draw(self, camera: Camera, background: Tensor | None = None, *, antialias: bool = False) -> Picture:
        """Picture from a camera."""
        K, pose, eye = (torch.as_tensor(a).to(self.mean) for a in (camera.K, camera.world_to_camera, camera.center))
        towards = torch.nn.functional.normalize(self.mean.detach() - eye, dim=1)
        return rasterize(self.mean, self.quaternion, self.scale.exp(), self.opacity.sigmoid(), colour(self.harmonics, towards), K, pose,
                         camera.width, camera.height, background=background, model=camera.model, antialias=antialias)  # fmt: skip

    def to(self, device: str) -> Cloud:
        """The same on a device."""
        return Cloud(*(getattr(self, f.name).to(device) for f in dataclasses.fields(self)))

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Mean, unit quaternion, scale, opacity and harmonics in float64, as a Body has them."""
        quaternion = torch.nn.functional.normalize(self.quaternion, dim=1)
        parts = self.mean, quaternion, self.scale.exp(), self.opacity.sigmoid(), self.harmonics
        return tuple(p.detach().cpu().double().numpy() for p in parts)

    def __getitem__(self, index: Tensor) -> Cloud:
        return Cloud(*(getattr(self, f.name).detach()[index] for f in dataclasses.fields(self)))


def start(vertices: np.ndarray, faces: np.ndarray, shots: list[Shot], count: int, degree: int, seed: int) -> tuple[Cloud, float]:
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
    harmonics = np.zeros((count, (degree + 1) ** 2, 3))
    harmonics[:, 0] = (total / weight[:, None] - 0.5) / C0
    scale = np.log(spacing * np.array([0.6, 0.6, 0.2]))
    arrays = points - 0.2 * spacing * normals, np.tile(scale, (count, 1)), quaternion, np.full(count, 2.0), harmonics
    return Cloud(*(torch.as_tensor(a, dtype=torch.float32) for a in arrays)), spacing


def train(cloud: Cloud, spacing: float, shots: list[Shot], hull: Grid, steps: int, seed: int, *, revise: bool = True,
          progress: Progress = silent) -> Cloud:  # fmt: skip
    """Improve the Gaussians for `steps` pictures, drawn in turn; `revise` = drop faint ones and double those that lack detail."""
    parts = [crop(shot) for shot in shots]
    seen = [tuple(torch.from_numpy(np.ascontiguousarray(a)).to(cloud.mean) for a in (p.image, p.outline)) for p in parts]
    gen = torch.Generator().manual_seed(seed)
    for stop in range(0, steps, max(1, steps // 3)) if revise else (0,):
        cloud, pull = _descend(
            cloud, spacing, parts, seen, hull, (stop, min(steps, stop + steps // 3) if revise else steps), steps, gen, progress
        )
        if revise and stop + steps // 3 < steps:
            cloud = _revise(cloud, pull)
    return cloud


def _descend(cloud, spacing, parts, seen, hull, span, steps, gen, progress):
    tensors = {f.name: getattr(cloud, f.name).detach().requires_grad_() for f in dataclasses.fields(cloud)}
    adam = torch.optim.Adam([{"params": [t], "lr": RATE[n] * (spacing if n == "mean" else 1)} for n, t in tensors.items()], eps=1e-12)
    rates = [group["lr"] for group in adam.param_groups]
    cloud, pull, order = Cloud(**tensors), torch.zeros_like(cloud.mean[:, 0]), []
    for step in range(*span):
        for group, rate in zip(adam.param_groups, rates, strict=True):
            group["lr"] = rate * (0.1 ** (step / steps))
        order = order or torch.randperm(len(parts), generator=gen).tolist()
        which = order.pop()
        image, mask = seen[which]
        ground = torch.rand(3, generator=gen).to(image)
        picture = cloud.draw(parts[which].camera, ground)
        wanted = image * mask[..., None] + (1 - mask[..., None]) * ground
        outside = (-sample(hull, cloud.mean) / spacing).clamp_min(0)
        loss = ((1 - SIMILARITY) * (picture.colour - wanted).abs().mean() + SIMILARITY * (1 - ssim(picture.colour, wanted)) / 2
                + OUTLINE * (picture.alpha - mask).square().mean() + HULL * outside.square().mean()
                + FLAT * (cloud.scale.exp() / spacing - 1).clamp_min(0).square().mean())  # fmt: skip
        adam.zero_grad()
        loss.backward()
        pull += tensors["mean"].grad.norm(dim=1)
        adam.step()
        progress((step + 1) / steps, f"step {step + 1} of {steps}, loss {float(loss.detach()):.4f}")
    return cloud, pull


def _revise(cloud: Cloud, pull: Tensor) -> Cloud:
    """Drop Gaussians that are hardly seen; split those that the pictures pull at most into two smaller ones."""
    keep = cloud.opacity.sigmoid() > FAINT
    busy = keep & (pull > torch.quantile(pull, 1 - GROWN))
    axis = torch.nn.functional.one_hot(cloud.scale.argmax(1), 3).float()
    shift = (rotations(cloud.quaternion) @ (axis * cloud.scale.exp())[..., None])[..., 0] * 0.5
    smaller = cloud.scale - axis * np.log(1.6)
    rest, first, second = cloud[keep & ~busy], cloud[busy], cloud[busy]
    for half, sign in ((first, 1), (second, -1)):
        half.mean = half.mean + sign * shift[busy].detach()
        half.scale = smaller[busy].detach()
    return Cloud(*(torch.cat([getattr(part, f.name) for part in (rest, first, second)]) for f in dataclasses.fields(Cloud)))


def ssim(a: Tensor, b: Tensor) -> Tensor:
    """Mean structural similarity of pictures (H, W, C) in 0..1, 7 px box window (Wang et al. 2004)."""

    def blur(t: Tensor) -> Tensor:
        return torch.nn.functional.avg_pool2d(t, 7, 1)

    x, y = a.movedim(-1, 0)[None], b.movedim(-1, 0)[None]
    mx, my = blur(x), blur(y)
    vx, vy, cov = blur(x * x) - mx * mx, blur(y * y) - my * my, blur(x * y) - mx * my
    return ((2 * mx * my + 1e-4) * (2 * cov + 9e-4) / ((mx * mx + my * my + 1e-4) * (vx + vy + 9e-4))).mean()
