"""From a blob to a mask with soft edges: how much of each rim pixel the object covers."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from video2phys.frames import regions

BAND = 2  # [px] outside the hard outline in which coverage is estimated, and at least as much inside


def soften(image: np.ndarray, scene: np.ndarray, noise: np.ndarray, mask: np.ndarray, trusted: np.ndarray) -> np.ndarray:
    """Coverage (H, W) float32 in 0..1 from a hard mask (H, W) bool.

    In a band about the outline I = a F + (1 - a) B is solved for a, with F the colour of the object nearby (taken from its core)
    and B the scene: a = (I - B).(F - B) / |F - B|^2. Where F and B are too alike for the `noise` (variance of a colour
    difference), where no such mixture explains the pixel (the object has another colour there), or where B is not `trusted`, the
    hard mask, smoothed by half a pixel, is kept. The band reaches an eighth of the width inwards (at most 4 px): a faint halo of
    blur and compression belongs to a hard mask, but is a small part of a pixel's coverage.
    """
    inward = int(np.clip(np.sqrt(mask.sum()) / 8, BAND, 4))
    core = regions.shrink(mask, inward)
    if core.sum() < 6:  # an object of a few pixels: its most different pixels stand for its colour
        step = np.where(mask, np.linalg.norm(image - scene, axis=-1), 0.0)
        core = mask & (step >= 0.7 * step.max())
    ring = regions.grow(mask, BAND) & ~core
    hard = ndimage.gaussian_filter(mask.astype(np.float32), 0.5)
    colour = _spread(image, core)
    step, full = image - scene, colour - scene
    power = (full**2).sum(-1)
    projected = np.clip((step * full).sum(-1) / np.maximum(power, 1e-6), 0.0, 1.0)
    left = ((step - projected[..., None] * full) ** 2).sum(-1)
    explained = left < 9 * noise + 0.04 * power
    trust = np.where(trusted & explained, power / (power + 30 * noise), 0.0)
    soft = trust * projected + (1 - trust) * hard
    alpha = np.where(ring, soft, mask).astype(np.float32)
    alpha[ring & (alpha < 0.1)] = 0.0
    return alpha


def _spread(image: np.ndarray, core: np.ndarray) -> np.ndarray:
    """Colours of the core carried outwards: normalised Gaussian average of the core pixels nearby."""
    weight = ndimage.gaussian_filter(core.astype(np.float32), 1.5) + 1e-6
    near = np.stack([ndimage.gaussian_filter(image[..., c].astype(np.float32) * core, 1.5) for c in range(3)], -1) / weight[..., None]
    far = image[core].mean(0)
    share = np.clip(weight / 0.02, 0, 1)[..., None]
    return share * near + (1 - share) * far
