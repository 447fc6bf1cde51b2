"""A picture to judge a reconstruction by: for each view held out, the photograph, what was rendered, and the error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from video2phys import store
from video2phys.gaussians.cloud import Cloud
from video2phys.gaussians.hull import Shot
from video2phys.gaussians.pyramid import level

MOST = 8  # views
STRONGER = 3.0  # the error is shown this many times larger


@torch.no_grad()
def write(file: Path, cloud: Cloud, shots: Sequence[Shot], antialias: bool = False) -> None:
    """Write rows photograph | render | error (black = none) of the first MOST views as PNG. Raises OSError when the disk refuses."""
    rows = []
    for shot in shots[:MOST]:
        seen = level(shot, 1, cloud.mean.device)
        picture = cloud.draw(seen.camera, antialias=antialias)
        mask = torch.ones_like(picture.alpha) if seen.mask is None else seen.mask
        wanted, drawn = seen.image * mask[..., None], picture.colour
        strip = torch.cat([wanted, drawn, STRONGER * (wanted - drawn).abs() * mask[..., None]], 1)
        rows.append((255 * strip.clamp(0, 1)).round().to(torch.uint8).cpu().numpy())
    if rows:
        wide = max(r.shape[1] for r in rows)
        store.write_image(file, np.concatenate([np.pad(r, ((0, 2), (0, wide - r.shape[1]), (0, 0))) for r in rows]))
