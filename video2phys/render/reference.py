"""The same picture in a dozen lines of plain torch, one Gaussian after another: slow, and the yardstick for the kernels."""

from __future__ import annotations

import torch
from torch import Tensor

from video2phys.render.harmonics import shade
from video2phys.render.projection import BLUR, DARK, FAINT, OPAQUE, covariances, reach

__all__ = ["composite", "shade"]


def composite(mean: Tensor, form: Tensor, opacity: Tensor, feature: Tensor, shift: Tensor, K: Tensor, world_to_camera: Tensor,
              width: int, height: int, orthographic: bool, near: float, antialias: bool) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Features (H, W, F) of (G, F), alpha (H, W) and alpha-weighted depth (H, W); any device, differentiated by torch.

    form: quaternion and scale (G, 7), or covariance (G, 9). The rest as in `rasterize`.
    """
    covariance = covariances(form[:, :4], form[:, 4:]) if form.shape[1] == 7 else form.view(-1, 3, 3)
    R, t = world_to_camera[:3, :3], world_to_camera[:3, 3]
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    pixel = torch.stack([columns, rows], -1).to(mean) + 0.5
    light, out, far = torch.ones_like(pixel[..., 0]), torch.zeros(height, width, feature.shape[1]).to(mean), torch.zeros_like(pixel[..., 0])
    point, (widest, highest) = mean @ R.T + t, reach(K, width, height)
    for g in point[:, 2].argsort().tolist():
        x, y, z = point[g]
        if not orthographic and z <= near:
            continue
        slope = torch.stack([x, y]) if orthographic else torch.stack([x / z, y / z])
        sx, sy = slope[0].clamp(-widest, widest), slope[1].clamp(-highest, highest)
        zero, one = torch.zeros_like(z), torch.ones_like(z)
        J = torch.eye(2, 3).to(mean) if orthographic else torch.stack([one, zero, -sx, zero, one, -sy]).view(2, 3) / z
        M = K[:2, :2] @ J @ R
        sharp = M @ covariance[g] @ M.T
        S = sharp + BLUR * torch.eye(2).to(mean)
        d = pixel - K[:2, :2] @ slope - K[:2, 2] - shift[g]
        share = (torch.linalg.det(sharp) / torch.linalg.det(S)).sqrt() if antialias else one
        alpha = opacity[g] * share * torch.exp(-0.5 * (d @ torch.linalg.inv(S) * d).sum(-1))
        alpha = torch.where((alpha >= FAINT) & (light > DARK), alpha.clamp_max(OPAQUE), torch.zeros_like(alpha))
        out = out + (light * alpha)[..., None] * feature[g]
        far = far + light * alpha * z
        light = light * (1 - alpha)
    return out, 1 - light, far
