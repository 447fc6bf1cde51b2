"""The ring-down of a released body: decaying vibrations about a place of rest that creeps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.markers.release import Release
from video2phys.types import Markers

SETTLED = 0.5  # periods after the release from which on the body rings freely: until then a hand or a thread may brake it
FINER = 16  # zero padding of the spectrum
CYCLES = 2.0  # a ring-down shorter than this tells no frequency


@dataclass(frozen=True)
class Ring:
    """Coordinates (T, C) [m] of the moving markers, C = 3 M, NaN where missing, at times (T,) after the release.

    Each coordinate is  c0 + c1 log(t / end) + exp(-zeta omega t) (a cos + b sin)(omega sqrt(1 - zeta^2) t),  with
    constants of its own, so that neither the shape of the held body nor how the hand let go matters. The second term is the logarithmic
    creep of elastomers; c0 is where the body rests at `end`, the last frame that is fitted.
    """

    time: np.ndarray  # [s] (T,) since the release
    value: np.ndarray  # [m] (T, C)
    train: np.ndarray  # (T,) bool, the other frames are only predicted
    guess: float  # [Hz] of the slowest vibration

    @property
    def end(self) -> float:
        """[s] time of the last frame that is fitted, since the release."""
        return float(self.time[self.train][-1])

    def after(self, wait: float) -> Ring:
        """The ring-down without its first `wait` [s], as far as two periods are left to fit."""
        later = self.time > min(self.time[0] + wait, self.end - CYCLES / self.guess)
        return replace(self, time=self.time[later], value=self.value[later], train=self.train[later])

    def project(self, frequency: float, ratio: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predicted coordinates (T, C), where the body rests at `end` c0 (C,) and how it creeps c1 (C,), for an undamped frequency [Hz] and
        a damping ratio below 1, with the constants that fit the training frames best."""
        omega, t = 2 * np.pi * frequency, self.time - self.time[0]
        fade, phase = np.exp(-ratio * omega * t), omega * np.sqrt(1 - ratio**2) * t
        basis = np.stack([np.ones_like(t), np.log(self.time / self.end), fade * np.cos(phase), fade * np.sin(phase)], 1)
        fitted, (rest, creep) = np.empty_like(self.value), np.empty((2, self.value.shape[1]))
        for c, value in enumerate(self.value.T):
            use = self.train & np.isfinite(value)
            constant = np.linalg.lstsq(basis[use], value[use], rcond=1e-9)[0]
            fitted[:, c], rest[c], creep[c] = basis @ constant, constant[0], constant[1]
        return fitted, rest, creep


def ring_of(markers: Markers, release: Release) -> Ring:
    """The ring-down from half a period after the release on. Raises BadInput where it is too short to tell a frequency."""
    used = release.train | release.heldout
    time = markers.time[used] - release.time
    value = markers.position[used][:, release.moving].reshape(len(time), -1)
    guess = _guess(time[release.train[used]], value[release.train[used]])
    if guess * time[release.train[used]][-1] < CYCLES:
        raise BadInput("the record ends before the body has rung twice.", fix="Record longer after the release.")
    later = time > SETTLED / guess
    return Ring(time[later], value[later], release.train[used][later], guess)


def _guess(time: np.ndarray, value: np.ndarray) -> float:
    """[Hz] Peak of the spectrum of what constants and creep leave, all coordinates together."""
    step = float(np.median(np.diff(time)))
    even = np.arange(time[0], time[-1], step)
    power = np.zeros(FINER * len(even) // 2 + 1)
    trend = np.stack([np.ones_like(even), np.log(even)], 1)
    for y in value.T:
        known = np.isfinite(y)
        level = np.interp(even, time[known], y[known])
        level = level - trend @ np.linalg.lstsq(trend, level, rcond=None)[0]
        power += np.abs(np.fft.rfft(level, FINER * len(even))[: len(power)]) ** 2
    frequency = np.fft.rfftfreq(FINER * len(even), step)[: len(power)]
    return float(frequency[1:][np.argmax(power[1:])])
