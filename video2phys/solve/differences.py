"""Jacobian of a batched residual by finite differences in optimiser coordinates, one batch per Jacobian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from video2phys.solve.space import Space

Residuals = Callable[[np.ndarray], np.ndarray]  # physical values (B, P) to residuals over sigma (B, M); a failed row is NaN


def jacobian(
    residuals: Residuals, space: Space, u: np.ndarray, r: np.ndarray, active: np.ndarray, central: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative (M, P) of the residual at u, whose value there is r (M,), and which columns are usable (P,) bool.

    One-sided steps go towards the side with more room; a column whose rollout fails is tried on the other side once. A coordinate
    whose bounds coincide is held.
    """
    h = np.minimum(space.step, np.maximum((space.upper - space.lower) / 2, 1e-300))
    columns = np.flatnonzero(active & (space.upper > space.lower))
    J, usable = np.zeros((len(r), len(u))), np.zeros(len(u), bool)
    if not len(columns):
        return J, usable
    room_up, room_down = space.upper - u, u - space.lower
    towards = np.where(room_up >= h, 1.0, -1.0)
    first = _shifted(residuals, space, u, columns, towards * h)
    both = central & (room_up >= h) & (room_down >= h)
    second = dict(zip(columns[both[columns]], _shifted(residuals, space, u, columns[both[columns]], -h), strict=True)) if both.any() else {}
    failed = []
    for k, p in enumerate(columns):
        there, back = first[k], second.get(p)
        if back is not None and np.isfinite(there).all() and np.isfinite(back).all():
            J[:, p], usable[p] = (there - back) / (2 * h[p]), True
        elif np.isfinite(there).all():
            J[:, p], usable[p] = (there - r) / (towards[p] * h[p]), True
        elif back is not None and np.isfinite(back).all():
            J[:, p], usable[p] = (r - back) / h[p], True
        elif back is None:
            failed.append(p)
    if failed:
        other = np.array(failed)
        for p, back in zip(other, _shifted(residuals, space, u, other, -towards * h), strict=True):
            if np.isfinite(back).all():
                J[:, p], usable[p] = (r - back) / (towards[p] * h[p]), True
    return J, usable


def _shifted(residuals: Residuals, space: Space, u: np.ndarray, columns: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Residuals (len(columns), M), row k with coordinate columns[k] shifted by shift[columns[k]], kept within the bounds."""
    batch = np.repeat(u[None], len(columns), 0)
    batch[np.arange(len(columns)), columns] += shift[columns]
    return np.asarray(residuals(space.to_physical(np.clip(batch, space.lower, space.upper))), float)
