"""Frame times and the whole number of steps between them."""

from __future__ import annotations

import numpy as np

from video2phys.errors import BadInput


def substeps(frame_dt: np.ndarray | float, largest_dt: np.ndarray | float, *, most: int = 20_000) -> np.ndarray:
    """The fewest whole steps per frame that are no longer than `largest_dt` [s]; shapes broadcast.

    The step is then frame_dt / substeps, so simulated time meets video time exactly.
    Raises BadInput where a frame would need more than `most` steps.
    """
    need = np.ceil(np.asarray(frame_dt) / np.asarray(largest_dt) * (1 - 1e-12))
    if not np.all(need <= most):
        raise BadInput(
            f"the material needs {np.nanmax(need):.3g} simulation steps per frame, more than {most}.",
            fix="Lower the largest stiffness allowed, or use a coarser resolution.",
        )
    return np.maximum(need, 1).astype(np.int32)


def ladder(steps: np.ndarray) -> np.ndarray:
    """The next numbers of a ladder of powers of sqrt(2): a small change of stiffness leaves the steps, and so their error, alone."""
    return np.ceil(2.0 ** (np.ceil(2 * np.log2(steps) - 1e-9) / 2)).astype(np.int32)
