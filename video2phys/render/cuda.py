"""The same picture by gsplat's CUDA kernels, through its documented call `gsplat.rasterization`."""

from __future__ import annotations

import torch
from torch import Tensor

from video2phys.errors import MissingBackend
from video2phys.render.projection import BLUR


def composite(mean: Tensor, covariance: Tensor, opacity: Tensor, feature: Tensor, K: Tensor, world_to_camera: Tensor,
              width: int, height: int, orthographic: bool, near: float) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Features (H, W, F), alpha (H, W) and alpha-weighted depth (H, W). Raises MissingBackend without gsplat or a CUDA device."""
    try:
        from gsplat import rasterization  # type: ignore[import-not-found]
    except ImportError as error:
        raise MissingBackend(f"gsplat cannot be loaded: {error}", fix="pip install 'video2phys[cuda]', or use --device cpu.") from error
    if not torch.cuda.is_available():
        raise MissingBackend("gsplat needs a CUDA device and there is none.", fix="Use --device cpu.")
    out, alpha, _ = rasterization(
        means=mean.float(), quats=None, scales=None, covars=covariance.float(), opacities=opacity.float(), colors=feature.float(),
        viewmats=world_to_camera.float()[None], Ks=K.float()[None], width=width, height=height, near_plane=-1e10 if orthographic else near,
        eps2d=BLUR, render_mode="RGB+D", camera_model="ortho" if orthographic else "pinhole")  # fmt: skip
    return out[0, ..., :-1].to(mean), alpha[0, ..., 0].to(mean), out[0, ..., -1].to(mean)
