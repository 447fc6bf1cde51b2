"""Adaptive density control (Kerbl et al. 2023): clone small Gaussians and split large ones where the picture pulls, prune faint ones."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from video2phys.gaussians.cloud import Cloud, joined
from video2phys.gaussians.optimise import Optimiser
from video2phys.render.projection import rotations

PULL = 2e-4  # mean gradient of the loss in the centre, in half pictures, from which a Gaussian lacks detail
LARGE, HUGE = 0.01, 0.1  # of the extent: larger ones are split, not cloned; larger ones are dropped
FAINT, DIM = 0.005, 0.01  # opacity under which a Gaussian is dropped; to which all are reset
EVERY, RESET = 100, 3000  # [steps] between changes, between resets of opacity
PARTS, SMALLER = 2, 1.6  # a split gives so many Gaussians, so many times smaller


class Density(Protocol):
    """What changes the number of Gaussians during training."""

    def penalty(self, cloud: Cloud) -> Tensor | float:
        """Added to the loss."""
        ...

    def after(self, optimiser: Optimiser, step: int, done: float, rate: float, shift: Tensor) -> None:
        """Called after each step; shift.grad is the gradient in the projected centres, times half the picture."""
        ...


class Fixed:
    """The Gaussians there are."""

    def penalty(self, cloud: Cloud) -> float:
        """Nothing."""
        return 0.0

    def after(self, optimiser: Optimiser, step: int, done: float, rate: float, shift: Tensor) -> None:
        """Nothing."""


class Adaptive(Fixed):
    """Clone, split, prune and reset. The set never grows beyond `cap`."""

    def __init__(self, cap: int, extent: float, seed: int) -> None:
        self.cap, self.extent = cap, extent
        self.gen = torch.Generator().manual_seed(seed)
        self.pull, self.seen = torch.zeros(0), torch.zeros(0)

    @torch.no_grad()
    def after(self, optimiser: Optimiser, step: int, done: float, rate: float, shift: Tensor) -> None:
        """Gathers the pull of each picture; in the first half, changes the set every EVERY steps."""
        assert shift.grad is not None
        if len(self.pull) != len(shift):
            self.pull, self.seen = torch.zeros_like(shift[:, 0]), torch.zeros_like(shift[:, 0])
        size = shift.grad.norm(dim=1)
        self.pull += size
        self.seen += size > 0
        if done < 0.5 and step >= 2 * EVERY and step % EVERY == 0:
            self._change(optimiser)
        if done < 0.45 and step and step % RESET == 0:
            cloud = optimiser.cloud
            cloud.opacity.clamp_(max=float(torch.logit(torch.tensor(DIM))))
            optimiser.forget(torch.arange(len(cloud)), ("opacity",))

    def _change(self, optimiser: Optimiser) -> None:
        cloud = optimiser.cloud
        lacking = self.pull / self.seen.clamp_min(1)
        size = cloud.scale.max(1).values.exp()
        keep = (cloud.opacity.sigmoid() > FAINT) & (size < HUGE * self.extent)
        room = self.cap - int(keep.sum())
        busy = keep & (lacking > PULL)
        if int(busy.sum()) > room:  # those that lack most
            order = torch.where(busy, lacking, torch.zeros_like(lacking)).argsort(descending=True)[: max(room, 0)]
            busy = torch.zeros_like(busy)
            busy[order] = True
        large = size > LARGE * self.extent
        clones, split = torch.nonzero(busy & ~large)[:, 0], torch.nonzero(busy & large)[:, 0]
        stay = torch.nonzero(keep & ~(busy & large))[:, 0]
        optimiser.rebuild(joined(cloud[stay], cloud[clones], *(self._part(cloud, split) for _ in range(PARTS))),
                          torch.cat([stay, torch.full((len(clones) + PARTS * len(split),), -1)]))  # fmt: skip
        self.pull = torch.zeros(0)

    def _part(self, cloud: Cloud, index: Tensor) -> Cloud:
        """One smaller Gaussian at a place drawn from each of the given ones."""
        part = cloud[index]
        at = torch.randn(part.mean.shape, generator=self.gen).to(part.mean) * part.scale.exp()
        moved = part.mean + (rotations(part.quaternion) @ at[..., None])[..., 0]
        return part.replaced(mean=moved, scale=part.scale - torch.log(torch.tensor(SMALLER)))
