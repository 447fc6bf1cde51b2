"""How bright each photograph was taken: gain and offset per colour, so that a camera's automatic exposure is not painted on the body."""

from __future__ import annotations

import torch
from torch import Tensor

RATE, PRIOR = 1e-3, 0.1  # Adam's step; weight of the squared distance from gain 1 and offset 0


class Exposure:
    """shown = gain picture + offset, one row per picture. The mean over all pictures is held at gain 1 and offset 0."""

    def __init__(self, pictures: int, device: torch.device | str = "cpu") -> None:
        self.value = torch.zeros(pictures, 2, 3, device=device, requires_grad=True)  # log gain, offset
        self.adam = torch.optim.Adam([self.value], lr=RATE)

    def apply(self, picture: Tensor, which: int) -> Tensor:
        """A rendered picture (H, W, 3) as photograph `which` would show it."""
        gain, offset = self.value[which]
        return picture * gain.exp() + offset

    def penalty(self, which: int) -> Tensor:
        """Keeps exposures near to none."""
        return PRIOR * self.value[which].square().sum()

    @torch.no_grad()
    def step(self) -> None:
        """One step of Adam; then the mean is taken out."""
        self.adam.step()
        self.adam.zero_grad()
        self.value -= self.value.mean(0)
