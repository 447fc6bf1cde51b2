"""Could the flight tell the drag of the air? A probe beside the fit without drag.

To first order, a deceleration k |v| v shifts the path by -k times the double time integral of |v| v along it. Added as one more
column to the least-squares problem, it gives k and its interval while every other unknown adapts.
"""

from __future__ import annotations

import numpy as np

from video2phys.parameters.planar.fit import Fit, Window
from video2phys.types import Parameter, Verdict

LAW = "quadratic: a = -drag |v| v"


def probe(fit: Fit, window: Window, px_per_m: float) -> Parameter:
    """The drag coefficient [1/m] of a one-body flight. Never "identified": optics bend a path much as air does."""
    space = fit.law.space
    good = np.isfinite(fit.residual)
    column = shift(fit, window.time) / px_per_m  # [px per 1/m]
    sigma = float(np.sqrt(np.nansum(fit.residual**2) / max((fit.estimate.residual**2).sum(), 1e-30)))  # [px] that the fit divided by
    u = space.to_internal(fit.values)
    weight = np.sqrt(space.prior)
    A = np.concatenate([np.c_[fit.estimate.jacobian, -column[good] / sigma], np.c_[np.diag(weight), np.zeros(len(space))]])
    b = np.concatenate([fit.residual[good] / sigma, weight * (u - space.center)])
    size = np.linalg.norm(A, axis=0) + 1e-300
    scaled = A / size
    k = float(-(np.linalg.pinv(scaled) @ b)[-1] / size[-1])
    half = float(fit.quantile * np.sqrt(np.linalg.pinv(scaled.T @ scaled)[-1, -1]) / size[-1])
    band = [max(k - half, 0.0), max(k + half, 0.0)]
    if k - half <= 0:
        note = "too small to show in this flight"
        return Parameter("drag", max(k, 0.0), "1/m", band, Verdict.NOT_IDENTIFIED, LAW, note)
    return Parameter("drag", k, "1/m", band, Verdict.WEAK, LAW, "a lens or a slanted camera bends a path alike; the fit itself has no drag")


def shift(fit: Fit, time: np.ndarray) -> np.ndarray:
    """(T, 1, 2): change of the fitted path [px] at `time` for drag of 1 per pixel."""
    from scipy.integrate import cumulative_trapezoid

    fine = np.linspace(time[0], time[-1], 1000)
    v = np.gradient(fit.law.at(fit.values, fine)[:, 0], fine, axis=0, edge_order=2)
    a = -np.linalg.norm(v, axis=1, keepdims=True) * v
    path = cumulative_trapezoid(cumulative_trapezoid(a, fine, axis=0, initial=0), fine, axis=0, initial=0)
    return np.stack([np.interp(time, fine, path[:, k]) for k in range(2)], -1)[:, None]
