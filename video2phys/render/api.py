"""Differentiable pictures of anisotropic Gaussians: one call, several back-ends."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from video2phys.errors import BadInput, guess

if TYPE_CHECKING:
    from torch import Tensor

MODULES = {"taichi": "video2phys.render.splat", "gsplat": "video2phys.render.cuda", "reference": "video2phys.render.reference"}
Backend = Literal["auto", "taichi", "gsplat", "reference"]


@dataclass(frozen=True)
class Picture:
    """A rendered view; every field is differentiable in every tensor given to `rasterize`."""

    colour: Tensor  # (H, W, C) composited front to back, over the background where one was given
    alpha: Tensor  # (H, W) 0..1 share of the light that comes from Gaussians
    depth: Tensor  # [length unit] (H, W) mean depth along the camera's z axis, 0 where nothing is seen


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
    model: Literal["perspective", "orthographic"] = "perspective",
    near: float = 1e-3,
    backend: Backend = "auto",
) -> Picture:
    """Render Gaussians by EWA splatting (Zwicker et al. 2001; Kerbl et al. 2023).

    A Gaussian with mean m and covariance S = R diag(scale)^2 R^T is projected to the plane by the camera's first-order map J W:
    S2 = J W S W^T J^T + 0.3 I [px^2]; alpha = min(0.99, opacity exp(-d^T S2^-1 d / 2)), dropped under 1/255;
    colour = sum_i c_i alpha_i prod_{j nearer than i} (1 - alpha_j).

    mean: [length unit] (G, 3) in the world. quaternion: (G, 4) w, x, y, z, of any length. scale: [length unit] (G, 3).
    opacity: (G,) 0..1. colour: (G, C), any number of channels C. K: [px] (3, 3), for "orthographic" K[0, 0] is px per length unit.
    world_to_camera: (4, 4) OpenCV axes. Pixel (i, j) is sampled at (j + 0.5, i + 0.5). background: (C,) or None (black).
    covariance: [length unit^2] (G, 3, 3) takes the place of quaternion and scale (then None), e.g. F S F^T of a deformed body.
    near: [length unit] perspective only; nearer Gaussians are not drawn.
    Computed in the dtype of `mean` (float32 for speed, float64 for checks); differentiable in mean, quaternion, scale, covariance,
    opacity, colour, K, world_to_camera and background. The order by depth is held fixed in the derivative.
    backend: "taichi" (CPU), "gsplat" (CUDA), "reference" (plain torch, slow, for tests), "auto" = gsplat for CUDA tensors, else taichi.
    Raises BadInput for wrong shapes or values that are not finite, MissingBackend where the back-end is not installed.
    """
    check(mean, quaternion, scale, opacity, colour, covariance, background)
    if backend == "auto":
        backend = "gsplat" if mean.is_cuda else "taichi"
    if backend not in MODULES:
        raise BadInput(f"rasterize: no back-end '{backend}'.", fix=guess(backend, ["auto", *MODULES]))
    from video2phys.render.projection import covariances

    if covariance is None:
        if quaternion is None or scale is None:
            raise BadInput("rasterize: Gaussians without a shape.", fix="Give quaternion and scale, or covariance.")
        covariance = covariances(quaternion, scale)
    K, world_to_camera = K.to(mean), world_to_camera.to(mean)
    composite = import_module(MODULES[backend]).composite
    out, alpha, far = composite(mean, covariance, opacity, colour, K, world_to_camera, width, height, model == "orthographic", near)
    if background is not None:
        out = out + (1 - alpha)[..., None] * background
    return Picture(out, alpha, far / alpha.clamp_min(1e-6))


def check(mean: Tensor, quaternion: Tensor | None, scale: Tensor | None, opacity: Tensor, colour: Tensor, covariance: Tensor | None,
          background: Tensor | None) -> None:  # fmt: skip
    """Raise BadInput where a shape does not match."""
    G, C = mean.shape[0], colour.shape[-1]
    wanted = {"mean": (mean, (G, 3)), "opacity": (opacity, (G,)), "colour": (colour, (G, C)), "covariance": (covariance, (G, 3, 3)),
              "quaternion": (quaternion, (G, 4)), "scale": (scale, (G, 3)), "background": (background, (C,))}  # fmt: skip
    for name, (value, shape) in wanted.items():
        if value is not None and tuple(value.shape) != shape:
            raise BadInput(f"rasterize: {name} has shape {tuple(value.shape)}, want {shape}", fix="Give one row per Gaussian.")
