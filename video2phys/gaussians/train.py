"""Fit Gaussians to pictures of something at rest: Adam on L1 and D-SSIM, from coarse pictures to fine ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from video2phys.backend import one_thread
from video2phys.gaussians.cloud import Cloud
from video2phys.gaussians.density import Adaptive, Density, Fixed
from video2phys.gaussians.exposure import Exposure
from video2phys.gaussians.hull import Grid, Shot
from video2phys.gaussians.losses import psnr, ssim
from video2phys.gaussians.mcmc import Mcmc
from video2phys.gaussians.optimise import Optimiser
from video2phys.gaussians.pyramid import Level, level
from video2phys.progress import Progress, silent
from video2phys.render.api import Picture
from video2phys.types import Camera

SIMILARITY, OUTLINE, HULL, FLAT = 0.2, 0.5, 1.0, 0.02  # weights of D-SSIM, alpha against mask, leaving the hull, size
COARSE = ((0.05, 4), (0.2, 2))  # until this share of the training, pictures are so many times smaller
RISE = 0.06  # of the training, until the next degree of harmonics joins
LONG = 30_000  # steps for which the rates are the published ones; shorter trainings take larger steps, up to
BOOST = 6.0
STEP = 0.08  # [s] about what a step takes on two cores, where a time budget has to be turned into steps
CHECKS = 20  # looks at the views held out, spread over the training
PATIENCE = 5  # looks without a better one, in the second half, after which training stops


class Drawn(Protocol):
    """Gaussians that can be drawn."""

    mean: Tensor

    def draw(self, camera: Camera, background: Tensor | None = None, *, antialias: bool = False) -> Picture:
        """Picture from a camera."""
        ...


@dataclass(frozen=True)
class Plan:
    """How to train."""

    iterations: int  # steps, one picture each
    density: str = "fixed"  # fixed | adaptive | mcmc
    cap: int = 200_000  # Gaussians
    degree: int = 0  # of the harmonics
    minutes: float | None = None  # time budget, over which the schedule is then spread where `iterations` would take longer
    antialias: bool = False
    exposure: bool = False  # of each picture is estimated
    coarse: bool = False  # start with smaller pictures
    early: bool = False  # stop when the views held out no longer improve
    seed: int = 0

    @property
    def boost(self) -> float:
        """On the published learning rates."""
        steps = min(self.iterations, self.minutes * 60 / STEP) if self.minutes else self.iterations
        return min(BOOST, max(1.0, (LONG / max(steps, 1)) ** 0.5))


@dataclass(frozen=True)
class Moment:
    """Training at some moment."""

    step: int
    seconds: float  # [s] spent on training so far
    done: float  # 0..1
    cloud: Cloud
    psnr: float | None  # [dB] on the views held out, where this was looked at


@dataclass(frozen=True)
class Trained:
    """What training gave."""

    cloud: Cloud  # the best on the views held out, or the last where there are none
    psnr: float | None  # [dB] mean over the views held out
    steps: int
    seconds: float
    stopped: bool  # before the plan's end, as the views held out no longer improved


def train(cloud: Cloud, shots: Sequence[Shot], extent: float, plan: Plan, *, held: Sequence[Shot] = (), hull: Grid | None = None,
          spacing: float = 0.0, progress: Progress = silent, watch: Callable[[Moment], None] | None = None) -> Trained:  # fmt: skip
    """Train `cloud` on pictures `shots`; views in `held` are only looked at.

    Where a picture has a mask, what is outside it is supervised to be empty, before a background of random colour. `hull` keeps means
    inside {value > 0}; `spacing` [length unit] of the Gaussians is the size over which they are pressed. extent: [length unit] of the
    scene, to which learning rates and sizes relate. `watch` is called after each step; its time is not counted.
    """
    with one_thread():
        return _train(cloud, shots, extent, plan, held, hull, spacing, progress, watch)


def _train(cloud: Cloud, shots: Sequence[Shot], extent: float, plan: Plan, held: Sequence[Shot], hull: Grid | None, spacing: float,
           progress: Progress, watch: Callable[[Moment], None] | None) -> Trained:  # fmt: skip
    gen = torch.Generator().manual_seed(plan.seed)
    optimiser = Optimiser(cloud, extent, plan.boost)
    control = _density(plan, extent)
    exposure = Exposure(len(shots), cloud.mean.device) if plan.exposure else None
    levels = {s: [level(shot, s, cloud.mean.device) for shot in shots] for s in ({1} | {s for _, s in COARSE} if plan.coarse else {1})}
    best, looked, worse, order = None, None, 0, []
    step, seconds, done = 0, 0.0, 0.0
    while done < 1 and plan.iterations:
        began = time.perf_counter()
        rate = optimiser.schedule(done)
        order = order or torch.randperm(len(shots), generator=gen).tolist()
        which = order.pop()
        zoom = next((s for until, s in COARSE if done < until), 1) if plan.coarse else 1
        shift = torch.zeros_like(optimiser.cloud.mean[:, :2], requires_grad=True)
        loss = _loss(optimiser.cloud, levels[zoom][which], which, plan, exposure, hull, spacing, shift, done, gen) + control.penalty(
            optimiser.cloud
        )
        loss.backward()
        shown = levels[zoom][which].camera
        if shift.grad is not None:
            shift.grad *= shift.grad.new_tensor([shown.width / 2, shown.height / 2])
        optimiser.step()
        if exposure is not None:
            exposure.step()
        control.after(optimiser, step, done, rate, shift)
        step += 1
        seconds += time.perf_counter() - began
        before, done = done, max(step / plan.iterations, seconds / 60 / plan.minutes if plan.minutes else 0.0)
        if held and (int(before * CHECKS) < int(done * CHECKS) or done >= 1):
            looked = float(np.mean([look(optimiser.cloud, shot, plan.antialias) for shot in held]))
            worse = 0 if best is None or looked > best[0] else worse + 1
            if best is None or looked > best[0]:
                best = looked, optimiser.cloud.clone()
        if watch is not None:
            watch(Moment(step, seconds, done, optimiser.cloud, looked))
        left = seconds / done * (1 - done) if done else 0.0
        figure = "" if looked is None else f", {looked:.1f} dB held out"
        progress(
            min(done, 1.0), f"step {step}, {len(optimiser.cloud)} Gaussians, loss {float(loss.detach()):.4f}{figure}, {left:.0f} s left"
        )
        if plan.early and worse >= PATIENCE and done > 0.5:
            break
    last = optimiser.cloud.clone()
    return Trained(best[1] if best else last, best[0] if best else None, step, seconds, done < 1)


def _density(plan: Plan, extent: float) -> Density:
    if plan.density == "mcmc":
        return Mcmc(plan.cap, extent, plan.seed)
    return Adaptive(plan.cap, extent, plan.seed) if plan.density == "adaptive" else Fixed()


def _loss(cloud: Cloud, seen: Level, which: int, plan: Plan, exposure: Exposure | None, hull: Grid | None, spacing: float,
          shift: Tensor, done: float, gen: torch.Generator) -> Tensor:  # fmt: skip
    degree = min(plan.degree, int(done / RISE))
    ground = None if seen.mask is None else torch.rand(3, generator=gen).to(seen.image)
    picture = cloud.draw(seen.camera, ground, degree=degree, antialias=plan.antialias, shift=shift)
    shown, wanted, loss = picture.colour, seen.image, torch.zeros(())
    if exposure is not None:
        shown, loss = exposure.apply(shown, which), exposure.penalty(which)
    if seen.mask is not None and ground is not None:
        wanted = seen.image * seen.mask[..., None] + (1 - seen.mask[..., None]) * ground
        loss = loss + OUTLINE * (picture.alpha - seen.mask).square().mean()
    if hull is not None:
        loss = loss + HULL * (-sample(hull, cloud.mean) / spacing).clamp_min(0).square().mean()
        loss = loss + FLAT * (cloud.scale.exp() / spacing - 1).clamp_min(0).square().mean()
    return (
        loss
        + (1 - SIMILARITY) * (shown - wanted).abs().mean()
        + SIMILARITY * (1 - ssim(shown.mean(-1, keepdim=True), wanted.mean(-1, keepdim=True)))
    )


def sample(grid: Grid, points: Tensor) -> Tensor:
    """grid.at for torch points (G, 3), differentiable in them."""
    value = torch.as_tensor(grid.value).to(points)
    size = torch.tensor(grid.value.shape).to(points) - 1
    where = (points - torch.as_tensor(grid.origin).to(points)) / grid.step / size * 2 - 1
    return torch.nn.functional.grid_sample(value[None, None], where.flip(-1)[None, None, None], align_corners=True,
                                           padding_mode="border").view(-1)  # fmt: skip


@torch.no_grad()
def inside(hull: Grid, cloud: Cloud) -> Tensor:
    """Which means (G,) lie in {hull >= 0}, to within a cell."""
    return sample(hull, cloud.mean) > -hull.step


@torch.no_grad()
def look(cloud: Drawn, shot: Shot, antialias: bool = False) -> float:
    """Peak signal-to-noise ratio [dB] of a view, inside the mask where it has one. No exposure is fitted to it."""
    seen = level(shot, 1, cloud.mean.device)
    inside = None if seen.mask is None else seen.mask > 0.9
    return psnr(cloud.draw(seen.camera, antialias=antialias).colour, seen.image, inside)


@torch.no_grad()
def overlaps(cloud: Drawn, shots: Sequence[Shot]) -> list[float]:
    """Intersection over union of the rendered outline and the mask, per picture."""
    pairs = [(cloud.draw(shot.camera).alpha.cpu().numpy() > 0.5, shot.outline > 0.5) for shot in shots]
    return [float((a & b).sum() / max(1, (a | b).sum())) for a, b in pairs]
