"""Gaussians in the optimiser's coordinates."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from video2phys.render.api import Picture, rasterize
from video2phys.types import Camera

FIELDS = ("mean", "scale", "quaternion", "opacity", "base", "rest")


@dataclass
class Cloud:
    """Gaussians that are being trained; float32."""

    mean: Tensor  # [length unit] (G, 3)
    scale: Tensor  # (G, 3) log of standard deviations [length unit]
    quaternion: Tensor  # (G, 4) of any length
    opacity: Tensor  # (G,) logit
    base: Tensor  # (G, 1, 3) harmonic of degree 0
    rest: Tensor  # (G, K - 1, 3) harmonics of higher degree

    def draw(self, camera: Camera, background: Tensor | None = None, *, degree: int = 3, antialias: bool = False,
             shift: Tensor | None = None) -> Picture:  # fmt: skip
        """Picture from a camera, with harmonics up to `degree`."""
        K, pose = (torch.as_tensor(a).to(self.mean) for a in (camera.K, camera.world_to_camera))
        harmonics = torch.cat([self.base, self.rest[:, : min((degree + 1) ** 2 - 1, self.rest.shape[1])]], 1)
        shape = self.mean, self.quaternion, self.scale.exp(), self.opacity.sigmoid()
        return rasterize(*shape, harmonics, K, pose, camera.width, camera.height, background=background, shift=shift, model=camera.model,
                         antialias=antialias)  # fmt: skip

    def to(self, device: str) -> Cloud:
        """The same on a device."""
        return Cloud(*(getattr(self, name).to(device) for name in FIELDS))

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Mean, unit quaternion, scale, opacity and harmonics in float64, as a Body has them."""
        quaternion = torch.nn.functional.normalize(self.quaternion, dim=1)
        parts = self.mean, quaternion, self.scale.exp(), self.opacity.sigmoid(), torch.cat([self.base, self.rest], 1)
        return tuple(p.detach().cpu().double().numpy() for p in parts)

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, index: Tensor) -> Cloud:
        return Cloud(*(getattr(self, name).detach()[index] for name in FIELDS))

    def clone(self) -> Cloud:
        """A copy that training no longer changes."""
        return Cloud(*(getattr(self, name).detach().clone() for name in FIELDS))

    def replaced(self, **fields: Tensor) -> Cloud:
        """The same with some fields replaced."""
        return dataclasses.replace(self, **fields)


def joined(*clouds: Cloud) -> Cloud:
    """All Gaussians of several clouds."""
    return Cloud(*(torch.cat([getattr(c, name).detach() for c in clouds]) for name in FIELDS))
