"""The Taichi rasteriser as a torch function: projection by torch, compositing and its adjoint by the kernels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from video2phys.errors import BadInput
from video2phys.render.kernels import TILE, kernels
from video2phys.render.projection import project


class Composite(torch.autograd.Function):
    """Projected Gaussians to a picture (H, W, F) and its alpha (H, W)."""

    @staticmethod
    def forward(ctx, centre, conic, opacity, feature, depth, box, width, height):  # type: ignore[override]
        kernel = kernels(centre.dtype == torch.float64)
        across, down = -(-width // TILE), -(-height // TILE)
        start = torch.zeros(across * down + 1, dtype=torch.int32)
        kernel.count(box, across, start)
        start = start.cumsum(0, dtype=torch.int32)
        pair = torch.empty(max(1, int(start[-1])), dtype=torch.int32)
        kernel.fill(box, depth.argsort().to(torch.int32), across, start[:-1].clone(), pair)
        out = torch.zeros(height, width, feature.shape[1], dtype=centre.dtype)
        light = torch.ones(height, width, dtype=centre.dtype)
        inputs = tuple(t.detach().contiguous() for t in (centre, conic, opacity, feature))
        kernel.forward(start, pair, box, *inputs, across, out, light)
        alpha = 1 - light
        ctx.save_for_backward(start, pair, box, *inputs, out, alpha)
        return out, alpha

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, d_alpha):  # type: ignore[override]
        start, pair, box, centre, conic, opacity, feature, out, alpha = ctx.saved_tensors
        d_out, d_alpha = d_out.contiguous(), d_alpha.contiguous()
        behind = (d_out * out).sum(-1) + d_alpha * alpha
        d_pair = torch.zeros(len(pair), 6 + feature.shape[1], dtype=centre.dtype)
        kernels(centre.dtype == torch.float64).backward(start, pair, box, centre, conic, opacity, feature, -(-out.shape[1] // TILE),
                                                        d_out, d_alpha, behind, torch.ones_like(alpha), d_pair)  # fmt: skip
        used = int(start[-1])
        total = torch.zeros(len(centre), d_pair.shape[1], dtype=centre.dtype).index_add_(0, pair[:used], d_pair[:used])
        return total[:, :2], total[:, 2:5], total[:, 5], total[:, 6:], None, None, None, None


def composite(mean: Tensor, covariance: Tensor, opacity: Tensor, feature: Tensor, K: Tensor, world_to_camera: Tensor,
              width: int, height: int, orthographic: bool, near: float) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Features (H, W, F), alpha (H, W) and alpha-weighted depth (H, W), on the CPU. Raises BadInput for values that are not finite."""
    flat = project(mean, covariance, opacity, K, world_to_camera, width, height, orthographic, near)
    drawn = (flat.box[:, 1] > flat.box[:, 0]) & (flat.box[:, 3] > flat.box[:, 2])
    checked = torch.cat([flat.centre, flat.conic, opacity[:, None], feature], 1).detach()
    if not bool(checked.isfinite().all()):  # a kernel given a NaN index would end the process
        raise BadInput("rasterize: a Gaussian is not finite.", fix="Lower the step of the optimiser that moves the Gaussians.")
    stacked = torch.cat([feature, flat.depth[:, None] * drawn[:, None]], 1)
    out, alpha = Composite.apply(flat.centre, flat.conic, opacity, stacked, flat.depth.detach(), flat.box.contiguous(), width, height)
    return out[..., :-1], alpha, out[..., -1]
