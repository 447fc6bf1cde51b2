"""A small residual network from a crop to a state.

Smooth activations (SiLU) throughout: the penalty differentiates the network twice, and the second derivative of a ReLU is zero
almost everywhere. Instance norm, because statistics over a batch would mix the renderings that the penalty keeps apart.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from video2phys.states.risp.crops import SIZE


class Block(nn.Module):
    """Two convolutions and a skip; halves the picture where asked."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1)
        self.second = nn.Conv2d(after, after, 3, 1, 1)
        self.skip = nn.Conv2d(before, after, 1, stride)
        self.norms = nn.ModuleList([nn.InstanceNorm2d(before, affine=True), nn.InstanceNorm2d(after, affine=True)])
        self.act = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.skip(x) + self.second(self.act(self.norms[1](self.first(self.act(self.norms[0](x))))))


class Network(nn.Module):
    """Pictures (N, 3, S, S) to `outputs` numbers, scaled by the mean and spread of the training states."""

    def __init__(self, mean: Tensor, spread: Tensor, width: int = 16) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("spread", spread)
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 5, 2, 2), Block(width, width, 2), Block(width, 2 * width, 2), Block(2 * width, 3 * width, 1),
            nn.SiLU(), nn.Conv2d(3 * width, width, 1), nn.SiLU(), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Linear(width * (SIZE // 8) ** 2, 128), nn.SiLU(), nn.Linear(128, len(mean)))

    def forward(self, picture: Tensor) -> Tensor:
        return self.mean + self.spread * self.head(self.body(picture - 0.5))


def seeded(mean: Tensor, spread: Tensor, seed: int) -> Network:
    """A fresh network whose weights follow from `seed`, leaving the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(mean, spread)
