"""Density control as sampling: 3D Gaussian Splatting as Markov Chain Monte Carlo (Kheradmand et al. 2024).

Gaussians are samples of a distribution; dead ones move to where living ones are, by a rule that leaves the picture as it was, the set
grows by a share at a time up to a cap, and noise along each Gaussian's own axes, strongest where it is faint, lets it explore.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from video2phys.gaussians.cloud import FIELDS, Cloud
from video2phys.gaussians.optimise import Optimiser
from video2phys.render.projection import rotations

DEAD = 0.005  # opacity under which a Gaussian is moved
GROWTH = 0.05  # of the set, each time
EVERY = 100  # [steps] between two changes
COPIES = 51  # largest number of Gaussians that one is split into
NOISE = 5e5  # times the learning rate of the means
FAINT, STEEP = 0.005, 100.0  # the noise fades where opacity passes FAINT, this fast
OPACITY, SCALE = 0.01, 0.01  # weights of the regularisers: mean opacity, mean standard deviation per extent


class Mcmc:
    """Relocation, growth and noise; the state is the optimiser's."""

    def __init__(self, cap: int, extent: float, seed: int) -> None:
        self.cap, self.extent = cap, extent
        self.gen = torch.Generator().manual_seed(seed)

    def penalty(self, cloud: Cloud) -> Tensor:
        """Regulariser that lets unneeded Gaussians fade and shrink."""
        return OPACITY * cloud.opacity.sigmoid().mean() + SCALE * cloud.scale.exp().mean() / self.extent

    def after(self, optimiser: Optimiser, step: int, done: float, rate: float, shift: Tensor) -> None:
        """Once per step, after the optimiser's: noise; every EVERY steps in the first nine tenths, relocation and growth."""
        if step % EVERY == EVERY - 1 and 0.01 < done < 0.9:
            self._relocate(optimiser)
            self._grow(optimiser)
        self._explore(optimiser.cloud, rate)

    @torch.no_grad()
    def _relocate(self, optimiser: Optimiser) -> None:
        cloud = optimiser.cloud
        opacity = cloud.opacity.sigmoid()
        dead = torch.nonzero(opacity <= DEAD)[:, 0]
        alive = torch.nonzero(opacity > DEAD)[:, 0]
        if len(dead) == 0 or len(alive) == 0:
            return
        chosen = alive[torch.multinomial(opacity[alive].cpu(), len(dead), replacement=True, generator=self.gen).to(alive)]
        shrink(cloud, chosen)
        for name in FIELDS:
            getattr(cloud, name)[dead] = getattr(cloud, name)[chosen]
        optimiser.forget(torch.cat([dead, chosen]))

    @torch.no_grad()
    def _grow(self, optimiser: Optimiser) -> None:
        cloud = optimiser.cloud
        more = min(self.cap, int((1 + GROWTH) * len(cloud)) + 1) - len(cloud)
        if more <= 0:
            return
        opacity = cloud.opacity.sigmoid().cpu()
        chosen = torch.multinomial(opacity, more, replacement=True, generator=self.gen).to(cloud.mean.device)
        shrink(cloud, chosen)
        index = torch.cat([torch.arange(len(cloud), device=chosen.device), chosen])
        source = torch.cat([torch.arange(len(cloud), device=chosen.device), torch.full_like(chosen, -1)])
        source[chosen] = -1
        optimiser.rebuild(cloud[index], source)

    @torch.no_grad()
    def _explore(self, cloud: Cloud, rate: float) -> None:
        """x += rate NOISE gate(opacity) S^(1/2) S^(1/2) n with n normal: noise of covariance shape."""
        gate = torch.sigmoid(-STEEP * (cloud.opacity.sigmoid() - FAINT))
        R, scale = rotations(cloud.quaternion), cloud.scale.exp()
        noise = torch.randn(cloud.mean.shape, generator=self.gen).to(cloud.mean) * (gate * NOISE * rate)[:, None]
        along = (R.mT @ noise[..., None])[..., 0] * scale.square()
        cloud.mean += (R @ along[..., None])[..., 0]


@torch.no_grad()
def shrink(cloud: Cloud, chosen: Tensor) -> None:
    """Give the chosen Gaussians (with repetition) the opacity and size at which they, with their copies, look as one did before.

    For N in place of one of opacity o: o' = 1 - (1 - o)^(1/N), and scales times o / D with
    D = sum_{i=1}^{N} sum_{k=0}^{i-1} C(i-1, k) (-1)^k o'^(k+1) / sqrt(k+1)  (Kheradmand et al. 2024, eq. 9).
    """
    number = torch.bincount(chosen, minlength=len(cloud))
    which = torch.nonzero(number)[:, 0]
    count = (number[which] + 1).clamp_max(COPIES)
    o = cloud.opacity[which].sigmoid().double().clamp(DEAD, 1 - 1e-4)
    new = 1 - (1 - o) ** (1 / count)
    # sum_{i=1}^{N} C(i-1, k) = C(N, k+1): the double sum is a single one
    k = torch.arange(COPIES, dtype=torch.float64, device=o.device)
    n = count.double()[:, None]
    binomial = torch.exp(torch.lgamma(n + 1) - torch.lgamma(k + 2) - torch.lgamma((n - k).clamp_min(1e-9)))
    terms = torch.where(k < n, binomial * (-1) ** k * new[:, None] ** (k + 1) / (k + 1).sqrt(), torch.zeros_like(binomial))
    factor = (o / terms.sum(1)).clamp(0.1, 1.0)
    cloud.opacity[which] = torch.logit(new.clamp(DEAD, 1 - 1e-4)).to(cloud.opacity)
    cloud.scale[which] += factor.log().to(cloud.scale)[:, None]


def cap_of(pixels: int, views: int) -> int:
    """Gaussians that pictures of so many pixels can determine: about one per three pixels of a view, more where views are many."""
    return int(min(200_000, max(2500, pixels / 3 * math.sqrt(max(views, 1) / 30))))
