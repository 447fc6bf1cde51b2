"""Differentiable pictures of anisotropic Gaussians: one call, several back-ends."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from video2phys.errors import BadInput, guess

if TYPE_CHECKING:
    from torch import Tensor

MODULES = {"taichi": "video2phys.render.tiles.rasterize", "gsplat": "video2phys.render.cuda", "reference": "video2phys.render.reference"}
Backend = Literal["auto", "taichi", "gsplat", "reference"]


@dataclass(frozen=True)
class Picture:
    """A rendered view; every field is differentiable in every tensor given to `rasterize`."""

    colour: Tensor  # (H, W, C) composited front to back, over the background where one was given
    alpha: Tensor  # (H, W) 0..1 share of the light that comes from Gaussians
    depth: Tensor  # [length unit] (H, W) mean depth along the camera's z axis, 0 where nothing is seen
    normal: Tensor | None = None  # (H, W, 3) unit, world axes, towards the camera; 0 where nothing is seen. None where not asked for


def rasterize(
    mean: Tensor,
    quaternion: Tensor | None,
    scale: Tensor | None,
    opacity: Tensor,
    colour: Tensor,
    K: Tensor,
    world_to_camera: Tensor,
    width: int,
    height: int,
    *,
    covariance: Tensor | None = None,
    background: Tensor | None = None,
    shift: Tensor | None = None,
    model: Literal["perspective", "orthographic"] = "perspective",
    near: float = 1e-3,
    antialias: bool = False,
    normals: bool = False,
    backend: Backend = "auto",
) -> Picture:
    """Render Gaussians by EWA splatting (Zwicker et al. 2001; Kerbl et al. 2023).

    A Gaussian with mean m and covariance S = R diag(scale)^2 R^T is projected to the plane by the camera's first-order map J W:
    S2 = J W S W^T J^T + 0.3 I [px^2]; alpha = min(0.99, opacity exp(-d^T S2^-1 d / 2)), dropped under 1/255;
    colour = sum_i c_i alpha_i prod_{j nearer than i} (1 - alpha_j), until less than 1e-4 of the light is left.

    mean: [length unit] (G, 3) in the world. quaternion: (G, 4) w, x, y, z, of any length. scale: [length unit] (G, 3).
    opacity: (G,) 0..1. colour: (G, C), any number of channels C, or spherical harmonics (G, K, 3), K = 1, 4, 9, 16, which give
    max(0, 0.5 + sum_k Y_k colour_k) along the direction from the camera. K: [px] (3, 3), for "orthographic" K[0, 0] is px per length
    unit. world_to_camera: (4, 4) OpenCV axes. Pixel (i, j) is sampled at (j + 0.5, i + 0.5). background: (C,) or None (black).
    covariance: [length unit^2] (G, 3, 3) symmetric, takes the place of quaternion and scale (then None), e.g. F S F^T of a deformed body.
    shift: [px] (G, 2) added to the projected centres; zeros whose gradient tells how the picture pulls at each Gaussian (gsplat
    takes zeros only). near: [length unit] perspective only; nearer Gaussians are not drawn.
    antialias: opacity is lowered by sqrt(det S2 / det(S2 - 0.3 I))^-1, so that the 0.3 px^2 add no light (Yu et al. 2024).
    normals: also give Picture.normal, from each Gaussian's shortest axis.
    Computed in the dtype of `mean` (float32 for speed, float64 for checks); differentiable in all tensors. The order by depth is held
    fixed in the derivative.
    backend: "taichi" (CPU), "gsplat" (CUDA), "reference" (plain torch, slow, for tests), "auto" = gsplat for CUDA tensors, else taichi.
    Raises BadInput for wrong shapes or values that are not finite, MissingBackend where the back-end is not installed.
    """
    import torch

    from video2phys.render.projection import shortest

    check(mean, quaternion, scale, opacity, colour, covariance, background, shift)
    if backend == "auto":
        backend = "gsplat" if mean.is_cuda else "taichi"
    if backend not in MODULES:
        raise BadInput(f"rasterize: no back-end '{backend}'.", fix=guess(backend, ["auto", *MODULES]))
    if covariance is None:
        if quaternion is None or scale is None:
            raise BadInput("rasterize: Gaussians without a shape.", fix="Give quaternion and scale, or covariance.")
        form = torch.cat([quaternion, scale], 1)
    else:
        form = covariance.reshape(-1, 9)
    K, world_to_camera, orthographic = K.to(mean), world_to_camera.to(mean), model == "orthographic"
    module = import_module(MODULES[backend])
    feature = module.shade(mean, colour, world_to_camera, orthographic) if colour.ndim == 3 else colour
    channels = feature.shape[1]
    if normals:
        feature = torch.cat([feature, shortest(form, mean, world_to_camera, orthographic)], 1)
    shift = torch.zeros_like(mean[:, :2]) if shift is None else shift
    out, alpha, far = module.composite(
        mean, form, opacity, feature, shift, K, world_to_camera, width, height, orthographic, near, antialias
    )
    shown = out[..., :channels]
    if background is not None:
        shown = shown + (1 - alpha)[..., None] * background
    normal = out[..., channels:] / out[..., channels:].norm(dim=-1, keepdim=True).clamp_min(1e-6) if normals else None
    return Picture(shown, alpha, far / alpha.clamp_min(1e-6), normal)


def check(mean: Tensor, quaternion: Tensor | None, scale: Tensor | None, opacity: Tensor, colour: Tensor, covariance: Tensor | None,
          background: Tensor | None, shift: Tensor | None) -> None:  # fmt: skip
    """Raise BadInput where a shape does not match."""
    G, C = mean.shape[0], colour.shape[-1]
    looks = (G, C) if colour.ndim == 2 else (G, *(colour.shape[1:2] if colour.shape[1] in (1, 4, 9, 16) else ("1, 4, 9 or 16",)), 3)
    wanted = {"mean": (mean, (G, 3)), "opacity": (opacity, (G,)), "colour": (colour, looks), "covariance": (covariance, (G, 3, 3)),
              "quaternion": (quaternion, (G, 4)), "scale": (scale, (G, 3)), "background": (background, (C,)),
              "shift": (shift, (G, 2))}  # fmt: skip
    for name, (value, shape) in wanted.items():
        if value is not None and tuple(value.shape) != shape:
            raise BadInput(f"rasterize: {name} has shape {tuple(value.shape)}, want {shape}", fix="Give one row per Gaussian.")
