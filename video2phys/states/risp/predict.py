"""From the network's word on single crops to states in the world, several views joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.states.risp.crops import SIZE, Crop
from video2phys.states.risp.train import Trained


@dataclass(frozen=True)
class Joined:
    """One frame's state."""

    position: np.ndarray  # [length unit] (3,)
    position_sigma: np.ndarray  # (3,)
    D: np.ndarray  # (3, 3) reference pose to this state, world axes
    D_sigma: float  # of an entry


def predict(trained: Trained, pictures: np.ndarray) -> np.ndarray:
    """Pictures (N, 3, S, S) to states (N, 12) in crop axes."""
    import torch

    with torch.no_grad():
        parts = [trained.network(torch.as_tensor(p, dtype=torch.float32)[None])[0].numpy() for p in pictures]
    return np.array(parts, float).reshape(-1, len(trained.sigma))


def join(crops: list[Crop], found: np.ndarray, trained: Trained, radius: float) -> Joined:
    """Views of one frame: positions weighted by their covariance (a view hardly tells depth), D averaged.

    Where views scatter more than held-out renders do, the scatter counts.
    """
    information, pull = np.zeros((3, 3)), np.zeros(3)
    places, D = [], []
    for crop, state in zip(crops, found, strict=True):
        at = crop.place(state[:3], radius)
        depth = float(crop.rotation[2] @ (at - crop.center))
        across = depth * SIZE / 2 / crop.focal
        sigma = np.array([trained.sigma[0] * across, trained.sigma[1] * across, trained.sigma[2] * depth])
        weight = crop.rotation.T @ np.diag(1 / sigma**2) @ crop.rotation
        information, pull = information + weight, pull + weight @ at
        places.append((at, weight))
        D.append(crop.rotation.T @ (state[3:].reshape(3, 3) + np.eye(3)) @ crop.rotation)
    position, covariance = np.linalg.solve(information, pull), np.linalg.inv(information)
    count = len(crops)
    if count > 1:
        square = sum(float((at - position) @ weight @ (at - position)) for at, weight in places) / (3 * count - 3)
        covariance = covariance * max(1.0, square)
    scatter = float(np.std(D, axis=0, ddof=1).mean()) if count > 1 else 0.0
    sigma = max(float(np.sqrt((trained.sigma[3:] ** 2).mean())), scatter) / np.sqrt(count)
    return Joined(position, np.sqrt(np.diag(covariance)), np.mean(D, axis=0), float(sigma))


def nearest_rotation(D: np.ndarray) -> np.ndarray:
    """The rotation (3, 3) closest to D."""
    U, _, Vt = np.linalg.svd(D)
    return U @ np.diag([1, 1, np.sign(np.linalg.det(U @ Vt))]) @ Vt


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    """Intersection over union of two masks in 0..1."""
    together = float(np.minimum(first, second).sum())
    return together / max(float(np.maximum(first, second).sum()), 1e-9)
