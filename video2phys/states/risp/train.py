"""Adam with cosine restarts on rendered layers; held-out renders tell how good the states are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from video2phys.progress import Progress, silent
from video2phys.states.risp.loss import error_and_penalty
from video2phys.states.risp.network import Network, seeded
from video2phys.states.risp.randomise import Layers, picture, random_psi
from video2phys.states.risp.settings import Risp

HELDOUT = 0.2  # of the renders
RATE = 3e-3
RESTARTS = 2
NOISE = 0.02  # of white, what sensors and compression add


@dataclass(frozen=True)
class Trained:
    """The network and what it achieves on renders that it never saw."""

    network: Network
    sigma: np.ndarray  # (12,) root mean square error per component
    spread: np.ndarray  # (12,) standard deviation of the states themselves: sigma near it means that nothing was learnt
    history: tuple[float, ...]  # state error per step


def train(layers: Layers, states: np.ndarray, settings: Risp, seed: int, progress: Progress = silent) -> Trained:
    """Fit a network to layers and states (N, 12); every step sees new lights and colours. The last fifth is held out."""
    generator = np.random.default_rng(seed)
    cut = max(1, round(len(states) * (1 - HELDOUT)))
    target = torch.as_tensor(states, dtype=torch.float32)
    mean, spread = target[:cut].mean(0), target[:cut].std(0).clamp_min(1e-3)
    network = seeded(mean, spread, seed)
    optimiser = torch.optim.Adam(network.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimiser, max(1, -(-settings.steps // RESTARTS)), eta_min=RATE / 50)
    history = []
    for step in range(settings.steps):
        pick = torch.as_tensor(generator.choice(cut, min(settings.batch, cut), replace=False))
        error, penalty = error_and_penalty(network, _noisy(layers[pick], generator), random_psi(len(pick), generator), target[pick], spread)
        loss = error + settings.penalty * penalty
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0, error_if_nonfinite=True)
        optimiser.step()
        schedule.step()
        history.append(float(error.detach()))
        progress(step / settings.steps, "training")
    heldout = slice(cut, None) if cut < len(states) else slice(0, None)
    with torch.no_grad():
        rest = layers[heldout]
        found = network(picture(rest, random_psi(len(rest.base), generator)))
    sigma = (found - target[heldout]).pow(2).mean(0).sqrt().numpy().astype(float)
    return Trained(network, sigma, spread.numpy().astype(float), tuple(history))


def _noisy(layers: Layers, generator: np.random.Generator) -> Layers:
    noise = torch.as_tensor(generator.normal(0, NOISE, layers.base.shape), dtype=torch.float32)
    return Layers(layers.base + noise, layers.light, layers.alpha)
