"""Adam on a cloud whose size changes: surviving Gaussians keep their moments, new ones start without."""

from __future__ import annotations

import torch
from torch import Tensor

from video2phys.gaussians.cloud import FIELDS, Cloud

# Learning rates of Kerbl et al. 2023; `mean` is per scene extent and falls a hundredfold.
RATE = {"mean": 1.6e-4, "scale": 5e-3, "quaternion": 1e-3, "opacity": 5e-2, "base": 2.5e-3, "rest": 2.5e-3 / 20}


class Optimiser:
    """Adam with one learning rate per field of the cloud."""

    def __init__(self, cloud: Cloud, extent: float, boost: float = 1.0) -> None:
        """extent: [length unit] of the scene. boost: on all rates, for short trainings."""
        self.extent, self.boost = extent, boost
        self.cloud = self._own(cloud)
        self.adam = torch.optim.Adam(
            [{"params": [getattr(self.cloud, name)], "lr": self._rate(name), "name": name} for name in FIELDS], eps=1e-15, fused=True
        )

    def _rate(self, name: str) -> float:
        return RATE[name] * self.boost * (self.extent if name == "mean" else 1)

    @staticmethod
    def _own(cloud: Cloud) -> Cloud:
        return Cloud(*(getattr(cloud, name).detach().clone().requires_grad_() for name in FIELDS))

    def schedule(self, done: float) -> float:
        """Set the rates for `done` 0..1 of the training; returns that of the means."""
        for group in self.adam.param_groups:
            fall = 0.01 if group["name"] == "mean" else 0.1 if self.boost > 1 else 1.0
            group["lr"] = self._rate(group["name"]) * fall**done
        return self.adam.param_groups[0]["lr"]

    def step(self) -> None:
        """One step along the gradients, which are then cleared."""
        self.adam.step()
        self.adam.zero_grad()

    def rebuild(self, cloud: Cloud, source: Tensor) -> None:
        """Train `cloud` from now on; source (G,) = index of the Gaussian whose moments each one keeps, or -1 for none."""
        kept = source >= 0
        self.cloud, old = self._own(cloud), self.adam.state
        for group in self.adam.param_groups:
            (before,), now = group["params"], getattr(self.cloud, group["name"])
            group["params"] = [now]
            state = old.pop(before, None)
            if state:
                for key in ("exp_avg", "exp_avg_sq"):
                    moment = torch.zeros_like(now)
                    moment[kept] = state[key][source[kept]]
                    state[key] = moment
                old[now] = state

    def forget(self, index: Tensor, fields: tuple[str, ...] = FIELDS) -> None:
        """Clear the moments of some Gaussians."""
        for group in self.adam.param_groups:
            state = self.adam.state.get(group["params"][0])
            if state and group["name"] in fields:
                state["exp_avg"][index] = 0
                state["exp_avg_sq"][index] = 0
