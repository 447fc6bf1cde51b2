"""The same picture by gsplat's CUDA kernels, through its documented call `gsplat.rasterization`."""

from __future__ import annotations

import torch
from torch import Tensor

from video2phys.errors import MissingBackend
from video2phys.render.harmonics import shade
from video2phys.render.projection import BLUR

__all__ = ["composite", "shade"]


def composite(mean: Tensor, form: Tensor, opacity: Tensor, feature: Tensor, shift: Tensor, K: Tensor, world_to_camera: Tensor,
              width: int, height: int, orthographic: bool, near: float, antialias: bool) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """As `reference.composite`, for `shift` = 0. Raises MissingBackend without gsplat or a CUDA device."""
    try:
        from gsplat import rasterization  # type: ignore[import-not-found]
    except ImportError as error:
        raise MissingBackend(f"gsplat cannot be loaded: {error}", fix="pip install 'video2phys[cuda]', or use --device cpu.") from error
    if not torch.cuda.is_available():
        raise MissingBackend("gsplat needs a CUDA device and there is none.", fix="Use --device cpu.")
    shaped, form = form.shape[1] == 7, form.float()
    out, alpha, told = rasterization(
        means=mean.float(), quats=form[:, :4] if shaped else None, scales=form[:, 4:] if shaped else None,
        covars=None if shaped else form.view(-1, 3, 3), opacities=opacity.float(), colors=feature.float(),
        viewmats=world_to_camera.float()[None], Ks=K.float()[None], width=width, height=height, near_plane=-1e10 if orthographic else near,
        eps2d=BLUR, packed=False, render_mode="RGB+D", rasterize_mode="antialiased" if antialias else "classic",
        camera_model="ortho" if orthographic else "pinhole")  # fmt: skip
    if shift.requires_grad:  # gsplat takes no shift of the centres, but tells the gradient in them
        told["means2d"].register_hook(lambda d: _add_gradient(shift, d[0].to(shift)))
    return out[0, ..., :-1].to(mean), alpha[0, ..., 0].to(mean), out[0, ..., -1].to(mean)


def _add_gradient(leaf: Tensor, gradient: Tensor) -> None:
    leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient
