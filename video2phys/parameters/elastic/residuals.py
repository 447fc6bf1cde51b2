"""Unknowns of an elastic body in flight and impact, and what they leave unexplained of the measured affine states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from video2phys.parameters.elastic.motion import AXES, Prediction
from video2phys.parameters.elastic.settings import ElasticSettings
from video2phys.parameters.elastic.start import Start
from video2phys.solve.space import Free, Space
from video2phys.types import Plane, StateTrack

CHANNELS = 12  # centre (3) and gradient (9)
NAMES = (*(f"position_{a}" for a in AXES), *(f"F_{a}{b}" for a in AXES for b in AXES))
FRICTION_MAX = 2.0
DAMPING_MAX = 50.0  # [1/s] a vibration's amplitude halves in 28 ms
DAMPING_SIGMA = 5.0  # [1/s] soft solids lose a few per cent of a swing's energy
SIZE_SIGMA = 0.01  # an outline is half a pixel off on a body of some fifty pixels
HEIGHT_SIGMA = 0.01  # [body sizes] of a ground that the user gave
LEFT = 0.5  # share of the change by a finer grid that extrapolation does not mend
FOUND_HEIGHT_SIGMA = 0.06  # [body sizes] of a ground found from the lowest point reached


@dataclass(frozen=True)
class Measured:
    """Affine states from the first frame used on."""

    time: np.ndarray  # [s] (T,) from zero
    state: np.ndarray  # (T, 12) centre [m] and F, row by row; NaN where not measured
    sigma: np.ndarray  # (T, 12)
    count: int  # frames used in the fit; those after it are held out
    error: np.ndarray | None = None  # (T, 12) of the simulation

    @staticmethod
    def of(states: StateTrack, first: int, count: int) -> Measured:
        """Frames from `first` on; `count` of them are for the fit."""
        if states.deformation is None or states.deformation_sigma is None:
            raise ValueError("affine states carry a deformation")
        T = len(states.time) - first
        state = np.concatenate([states.position[first:, 0], states.deformation[first:, 0].reshape(T, 9)], 1)
        sigma = np.concatenate([states.position_sigma[first:, 0], np.repeat(states.deformation_sigma[first:, 0, None], 9, 1)], 1)
        usable = states.valid[first:, 0, None] & np.isfinite(state) & np.isfinite(sigma) & (sigma > 0)
        return Measured(states.time[first:] - states.time[first], np.where(usable, state, np.nan), np.where(usable, sigma, np.nan), count)

    def widened(self, refinement: Change) -> Measured:
        """The same with the simulation's own error, which frames share, in `error`.

        It is taken as LEFT of the change by a finer grid, root mean square over the centre and over the gradient of a frame, and
        never falling again, since an impact's error is carried along. Were the frames taken to err each for itself, the many after
        an impact, which no simulation predicts to a fraction of a millimetre, would outvote those before and during it.
        """
        parts = (refinement.prediction.state[:, :3], refinement.prediction.state[:, 3:])
        rms = np.stack([np.sqrt((part**2).mean(1)) for part in parts], 1)
        return replace(self, error=LEFT * np.repeat(np.maximum.accumulate(rms), (3, 9), axis=1))

    @cached_property
    def whitening(self) -> np.ndarray:
        """(12, T, T) lower triangular W with W C W^T = 1, zero where not measured.

        C = diag(sigma^2) + e e^T exp(-|t - t'| / span) for each channel: the error e fades from memory over the span of the record.
        """
        T = len(self.time)
        out = np.zeros((CHANNELS, T, T))
        memory = np.exp(-np.abs(self.time[:, None] - self.time) / max(float(np.ptp(self.time)), 1e-9))
        for c in range(CHANNELS):
            k = np.flatnonzero(np.isfinite(self.state[:, c]))
            e = np.zeros(len(k)) if self.error is None else self.error[k, c]
            C = np.diag(self.sigma[k, c] ** 2) + np.outer(e, e) * memory[np.ix_(k, k)]
            out[c][np.ix_(k, k)] = np.linalg.inv(np.linalg.cholesky(C))
        return out

    def scaled(self, predicted: np.ndarray) -> np.ndarray:
        """predicted - measured of (B, T', 12), white and of variance one; zero where not measured, NaN rows of failed members stay NaN."""
        n = predicted.shape[1]
        known = np.isfinite(self.state[:n])
        gap = np.where(known, predicted - np.where(known, self.state[:n], 0), 0)
        white = np.einsum("cts,bsc->btc", self.whitening[:, :n, :n], gap)
        return np.where(np.isnan(predicted), np.nan, white)


def unknowns(begin: Start, plane: Plane | None, found: bool, size: float, settings: ElasticSettings, youngs_modulus: float) -> Space:
    """Stiffness, contact, start, and the nuisances that a picture leaves: the body's size and the ground's height."""
    free = [
        Free("youngs_modulus", "Pa", youngs_modulus, settings.youngs_modulus_min, settings.youngs_modulus_max, "log", step=5e-3),
        Free("poisson_ratio", "1", 0.3, 0.0, settings.poisson_ratio_max, step=5e-3),
    ]
    if plane is not None:
        height = (FOUND_HEIGHT_SIGMA if found else HEIGHT_SIGMA) * size
        free += [
            Free("friction", "1", 0.4, 0.0, FRICTION_MAX, step=0.02),
            Free("ground_height", "m", 0.0, -10 * height, 10 * height, prior=height, step=1e-3 * size),
            Free("size", "1", 1.0, 0.9, 1.1, prior=SIZE_SIGMA, step=1e-3),
            Free("damping", "1/s", 1.0, 0.0, DAMPING_MAX, prior=DAMPING_SIGMA, center=0.0, step=0.5),
            Free("contact_loss", "1", 0.5, 0.0, 1.0, step=0.02),
        ]
    return Space((*free, *start_unknowns(begin, size)))


def start_unknowns(begin: Start, size: float, key: str = "") -> tuple[Free, ...]:
    """Position, orientation, velocity and spin at the start of a flight; `key` is appended to their names."""
    free = []
    for name, unit, value, step in (
        ("position", "m", begin.position, 1e-3 * size),
        ("turn", "rad", np.zeros(3), 1e-3),
        ("initial_velocity", "m/s", begin.velocity, 1e-3),
        ("initial_angular_velocity", "rad/s", begin.angular_velocity, 1e-2),
    ):
        free += [Free(f"{name}_{a}{key}", unit, float(value[k]), step=step) for k, a in enumerate(AXES)]
    return tuple(free)


@dataclass(frozen=True)
class Change:
    """A difference of two simulations at the same values, that the fit may add to the motion as often as it wants: a nuisance.

    "extrapolation": the motion on a grid minus that on one with cells larger by sqrt(2). Richardson's extrapolation to cells of
    no size adds it once for an error of second order in the cell and 2.4 times for one of first order.
    "unseen": the state of all of the surface minus that of what is in sight. At 0 the pictures decide, at 1 the outlines.
    "outline": the motion of a body with tighter outlines minus that of the body. Added once, the outlines err by that much.
    """

    free: Free
    prediction: Prediction

    @property
    def name(self) -> str:
        return self.free.name

    @staticmethod
    def of(free: Free, one: Prediction, other: Prediction) -> Change:
        """`one` minus `other`; zero where one of them failed."""
        return Change(free, Prediction(*(np.nan_to_num(a) for a in vars(one.plus(-1.0, other)).values())))


# second order expected, first order and none within a little over one sigma
EXTRAPOLATION = Free("extrapolation", "1", 1.0, -1.0, 4.0, prior=1.0)
UNSEEN = Free("unseen", "1", 0.5, -0.5, 1.5, prior=0.5)
OUTLINE = Free("outline", "1", 0.0, -3.0, 3.0, prior=1.0)
