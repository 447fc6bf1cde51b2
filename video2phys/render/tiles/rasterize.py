"""The Taichi kernels as torch functions on the CPU."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from video2phys.errors import BadInput
from video2phys.render.projection import reach
from video2phys.render.tiles import composite as compositing
from video2phys.render.tiles import harmonics, project
from video2phys.render.tiles.bins import bins
from video2phys.render.tiles.reduce import reduce


class Project(torch.autograd.Function):
    """Gaussians to flat (G, 6), their depth (G,) and, not differentiable, their extent (G, 4)."""

    @staticmethod
    def forward(ctx, mean, form, opacity, shift, K, world_to_camera, size, orthographic, near, antialias):  # type: ignore[override]
        R, t = world_to_camera[:3, :3], world_to_camera[:3, 3]
        far = (0.0, 0.0) if orthographic else reach(K, *size)
        lens = torch.cat([R.reshape(-1), t, K[:2, :2].reshape(-1), K[:2, 2], torch.tensor(far, dtype=mean.dtype)])
        ctx.kernel = project.kernels(mean.dtype == torch.float64, form.shape[1] == 7, orthographic, antialias)
        inputs = tuple(t.detach().contiguous() for t in (mean, form, opacity))
        flat, extent, depth = (mean.new_empty(len(mean), *shape) for shape in ((6,), (4,), ()))
        ctx.kernel.forward(*inputs, shift.detach().contiguous(), lens, near, flat, extent, depth)
        ctx.mark_non_differentiable(extent)
        ctx.save_for_backward(*inputs, lens, extent)
        return flat, depth, extent

    @staticmethod
    @once_differentiable
    def backward(ctx, d_flat, d_depth, _):  # type: ignore[override]
        mean, form, opacity, lens, extent = ctx.saved_tensors
        ask = ctx.needs_input_grad[4] or ctx.needs_input_grad[5]
        d_mean, d_form, d_opacity = (torch.zeros_like(t) for t in (mean, form, opacity))
        d_lens = mean.new_zeros(len(mean) if ask else 1, project.CAMERA)
        ctx.kernel.backward(mean, form, opacity, lens, extent, d_flat.contiguous(), d_depth.contiguous(), int(ask),
                            d_mean, d_form, d_opacity, d_lens)  # fmt: skip
        d_K, d_pose = mean.new_zeros(3, 3), mean.new_zeros(4, 4)
        if ask:
            total = d_lens.sum(0)
            d_pose[:3, :3], d_pose[:3, 3] = total[:9].view(3, 3), total[9:12]
            d_K[:2, :2], d_K[:2, 2] = total[12:16].view(2, 2), total[16:]
        return d_mean, d_form, d_opacity, d_flat[:, :2], d_K, d_pose, None, None, None, None


class Composite(torch.autograd.Function):
    """Projected Gaussians and features (G, F) to pictures of the first (H, W, F - 1) and of the last (H, W), and what passes all (H, W)."""

    @staticmethod
    def forward(ctx, flat, feature, extent, depth, width, height):  # type: ignore[override]
        ctx.kernel = compositing.kernels(flat.dtype == torch.float64, feature.shape[1])
        flat, feature = flat.detach(), feature.detach().contiguous()
        lists = bins(flat, extent, depth, width, height)
        out, (far, light) = flat.new_empty(height, width, feature.shape[1] - 1), flat.new_empty(2, height, width)
        stop = torch.empty(len(lists.start) - 1, dtype=torch.int32)
        ctx.kernel.forward(lists.start, lists.pair, lists.owner, lists.rows, flat, feature, lists.across, out, far, light, stop)
        ctx.lists = lists
        ctx.save_for_backward(flat, feature, out, far, light, stop)
        return out, far, light

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, d_far, d_light):  # type: ignore[override]
        (flat, feature, out, far, light, stop), lists = ctx.saved_tensors, ctx.lists
        d_pair = flat.new_empty(len(lists.pair), 6 + feature.shape[1])
        ctx.kernel.backward(lists.start, lists.pair, lists.owner, lists.rows, flat, feature, lists.across, stop,
                            *(d.contiguous() for d in (d_out, d_far, d_light)), *(t.detach() for t in (out, far, light)),
                            d_pair)  # fmt: skip
        d_flat, d_feature = torch.empty_like(flat), torch.empty_like(feature)
        reduce(flat.dtype == torch.float64)(lists.first, d_pair, d_flat, d_feature)
        return d_flat, d_feature, None, None, None, None


class Harmonics(torch.autograd.Function):
    """Colours (G, 3) of spherical harmonics (G, K, 3) seen from a camera."""

    @staticmethod
    def forward(ctx, mean, coefficients, eye, towards, parallel):  # type: ignore[override]
        degree = round(coefficients.shape[1] ** 0.5) - 1
        ctx.kernel = harmonics.kernels(mean.dtype == torch.float64, degree)
        ctx.parallel = int(parallel)
        inputs = tuple(t.detach().contiguous() for t in (mean, coefficients, eye, towards))
        colour = mean.new_empty(len(mean), 3)
        ctx.kernel.forward(*inputs, ctx.parallel, colour)
        ctx.save_for_backward(*inputs, colour)
        return colour

    @staticmethod
    @once_differentiable
    def backward(ctx, d_colour):  # type: ignore[override]
        mean, coefficients, eye, towards, colour = ctx.saved_tensors
        d_mean, d_towards, d_h = torch.zeros_like(mean), torch.zeros_like(mean), torch.empty_like(coefficients)
        ctx.kernel.backward(mean, coefficients, eye, towards, ctx.parallel, colour.detach(), d_colour.contiguous(), d_mean, d_towards, d_h)
        return d_mean, d_h, -d_mean.sum(0), d_towards.sum(0), None


def shade(mean: Tensor, coefficients: Tensor, world_to_camera: Tensor, orthographic: bool) -> Tensor:
    """As `harmonics.shade`, on the CPU."""
    R, t = world_to_camera[:3, :3], world_to_camera[:3, 3]
    return Harmonics.apply(mean, coefficients, -R.T @ t, R[2], orthographic)


def composite(mean: Tensor, form: Tensor, opacity: Tensor, feature: Tensor, shift: Tensor, K: Tensor, world_to_camera: Tensor,
              width: int, height: int, orthographic: bool, near: float, antialias: bool) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """As `reference.composite`, on the CPU. Raises BadInput for values that are not finite."""
    flat, depth, extent = Project.apply(mean, form, opacity, shift, K, world_to_camera, (width, height), orthographic, near, antialias)
    if not bool(flat.sum().isfinite() & feature.sum().isfinite()):  # a kernel given a NaN index would end the process
        raise BadInput("rasterize: a Gaussian is not finite.", fix="Lower the step of the optimiser that moves the Gaussians.")
    stacked = torch.cat([feature, depth[:, None]], 1)
    out, far, light = Composite.apply(flat, stacked, extent, depth.detach(), width, height)
    return out, 1 - light, far
