"""A solid body of particles."""

from __future__ import annotations

import numpy as np

from video2phys.gaussians.hull import Grid


def fill(grid: Grid, volume: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """About `count` particles (P, 3) on a cubic lattice inside {grid > 0}, and their volumes (P,), which sum to `volume`.

    Lattice points are cell centres, so that the body that the particles stand for ends at the surface and not half a spacing beyond.
    """
    spacing = (volume / count) ** (1 / 3)
    inside = np.argwhere(grid.value > -grid.step)
    low, high = grid.origin + grid.step * inside.min(0), grid.origin + grid.step * inside.max(0)
    number = np.maximum(np.ceil((high - low) / spacing).astype(int), 1)
    first = (low + high) / 2 - spacing * (number - 1) / 2
    lattice = first + spacing * np.stack(np.meshgrid(*map(np.arange, number), indexing="ij"), -1).reshape(-1, 3)
    particle = lattice[grid.at(lattice) > 0]
    return particle, np.full(len(particle), volume / len(particle))
