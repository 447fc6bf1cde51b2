"""How far a picture is from another."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

WINDOW, SIGMA = 11, 1.5  # [px] of the Gaussian window of SSIM, as published
C1, C2 = 0.01**2, 0.03**2


def ssim(a: Tensor, b: Tensor) -> Tensor:
    """Mean structural similarity of pictures (H, W, C) in 0..1 (Wang et al. 2004, 11 px Gaussian window of sigma 1.5), inner pixels.

    Differentiable in `a` only.
    """
    x, y = a.movedim(-1, 0), b.detach().movedim(-1, 0)
    my, yy = _blur(torch.cat([y, y * y])).view(2, len(y), -1)
    mx, xx, xy = _blur(torch.cat([x, x * x, x * y])).view(3, len(x), -1)
    return ((2 * mx * my + C1) * (2 * (xy - mx * my) + C2) / ((mx * mx + my * my + C1) * (xx - mx * mx + yy - my * my + C2))).mean()


def _blur(maps: Tensor) -> Tensor:
    """Separable convolution of maps (N, H, W) without padding, as products with banded matrices: no slower than a convolution for pictures
    of some hundred pixels, and at no cost for each new size."""
    rows, columns = (_band(size).to(maps) for size in maps.shape[1:])
    return rows.T @ maps @ columns


@cache
def _band(size: int) -> Tensor:
    """(size, size - window + 1): each column holds the window at one place; the window is shorter where the side is."""
    window = min(WINDOW, size - (1 - size % 2))
    at = torch.arange(window) - (window - 1) / 2
    weight = torch.exp(-0.5 * (at / SIGMA) ** 2)
    band = torch.zeros(size, size - window + 1)
    for k in range(size - window + 1):
        band[k : k + window, k] = weight / weight.sum()
    return band


def psnr(a: Tensor, b: Tensor, mask: Tensor | None = None) -> float:
    """Peak signal-to-noise ratio [dB] of pictures (H, W, C) in 0..1, where mask (H, W) is true."""
    error = (a - b).square() if mask is None else (a - b)[mask].square()
    return float(-10 * torch.log10(error.mean().clamp_min(1e-12)))
