"""The order of a fit: a scan over stiffness, the first contact on a coarse grid, then all training frames on a fine one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from video2phys.parameters.elastic_motion import Motion, Prediction
from video2phys.parameters.elastic_residuals import CHANNELS, EXTRAPOLATION, OUTLINE, Change, Measured, residuals
from video2phys.parameters.elastic_settings import ElasticSettings
from video2phys.parameters.elastic_start import Start
from video2phys.progress import Progress
from video2phys.simulate.materials.elastic import wave_speed
from video2phys.simulate.mpm.scene import COURANT
from video2phys.solve.covariance import spread
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.multistart import multistart
from video2phys.solve.space import Space

SCAN = 4  # stiffnesses a decade: the valleys of the misfit are half a decade wide
FRICTIONS = (0.1, 0.5)  # of the scan
KEPT = 3  # starts refined on the coarsest body
LEAST_FRAMES = 4
FEWEST_PARTICLES = 512


@dataclass(frozen=True)
class Fit:
    """A fitted motion."""

    motion: Motion
    measured: Measured
    space: Space
    estimate: Estimate
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The fitted values, each (1,)."""
        return dict(zip(self.space.names, self.estimate.values[:, None], strict=True))

    def prediction(self) -> Prediction:
        """The fitted motion in every frame, with the fitted changes."""
        total = self.motion.prediction(self.values, self.measured.time)
        for change in self.changes:
            total = total.plus(float(self.values[change.name][0]), change.prediction)
        return total


def flight(at: Callable[[int], Motion], measured: Measured, space: Space, settings: ElasticSettings) -> Fit:
    """Fit a body that touches nothing: its start; the probes tell that stiffness has no effect."""
    motion = at(FEWEST_PARTICLES)
    estimate = levenberg(residuals(motion, measured, space, measured.count), space, max_steps=settings.max_steps, tolerance=1e-3)
    return Fit(motion, measured, space, estimate, notes=("the body touches nothing in the frames of the fit",))


def impact(
    at: Callable[[int], Motion],
    tight: Callable[[int], Motion] | None,
    measured: Measured,
    space: Space,
    window: int,
    density: float,
    settings: ElasticSettings,
    progress: Progress,
) -> Fit:
    """Fit a body that meets the plane. `at(count)` gives its motion with about `count` particles, `tight(count)` with tighter outlines."""
    rough = scan(at(settings.particles // 8), measured, space, window, settings, stretch(progress, 0.0, 0.3))
    space = space.started(rough.values)
    count = affordable(at(FEWEST_PARTICLES), rough.values, density, float(measured.time[measured.count - 1]), settings)
    fine, coarse = at(count), at(round(count / 2**1.5))
    near = levenberg(residuals(coarse, measured, space, window), space, max_steps=settings.max_steps, tolerance=1e-2,
                     progress=stretch(progress, 0.3, 0.5))  # fmt: skip
    refinement = Change.of(EXTRAPOLATION, fine, coarse, space, near.values, measured.time)
    changes = (refinement,)
    if tight is not None:
        changes += (Change.of(OUTLINE, tight(round(count / 2**1.5)), coarse, space, near.values, measured.time),)
    space = Space((*space.started(near.values).free, *(c.free for c in changes)))
    measured = measured.widened(refinement)
    # the slopes of the coarse grid cost a quarter and lead to the same place
    there, slope = (residuals(m, measured, space, measured.count, changes) for m in (fine, coarse))
    estimate = levenberg(there, space, slope=slope, max_steps=settings.max_steps, tolerance=1e-3, probe=False,
                         progress=stretch(progress, 0.5, 1.0))  # fmt: skip
    note = f"the first contact alone, on a coarser grid, gives a stiffness of {near.values[0]:.3g} Pa; intervals include such changes"
    estimate = unsettled(estimate, space, np.append(near.values, np.full(len(changes), np.nan)))
    return Fit(fine, measured, space, replace(estimate, probes=near.probes), changes, (note,))


def scan(coarse: Motion, measured: Measured, space: Space, window: int, settings: ElasticSettings, progress: Progress) -> Estimate:
    """The best of several stiffnesses and frictions on the coarsest body, refined."""
    decades = np.log10(settings.youngs_modulus_max / settings.youngs_modulus_min)
    stiffness = np.geomspace(settings.youngs_modulus_min, settings.youngs_modulus_max, max(2, round(SCAN * decades)))
    starts = np.tile([f.start for f in space.free], (len(FRICTIONS) * len(stiffness), 1))
    starts[:, space.names.index("youngs_modulus")] = np.tile(stiffness, len(FRICTIONS))
    starts[:, space.names.index("friction")] = np.repeat(FRICTIONS, len(stiffness))
    found = multistart(residuals(coarse, measured, space, window), space, starts, keep=KEPT, progress=progress, max_steps=8,
                       tolerance=3e-2, probe=False)  # fmt: skip
    return found.best


def affordable(motion: Motion, x: np.ndarray, density: float, duration: float, settings: ElasticSettings) -> int:
    """Particles of the finest grid (at most settings.particles) whose rollout stays within settings.effort.

    With N particles of a volume V the cell is 2 (V / N)^(1/3), and a rollout takes duration / step * N particle steps:
    effort = N^(4/3) c duration / (2 COURANT V^(1/3)).
    """
    speed = float(wave_speed(x[:1], x[1:2], np.array([density]))[0])
    length = float(np.cbrt(motion.scene.volume.sum()))
    count = (settings.effort * 2 * COURANT * length / (speed * max(duration, 1e-9))) ** 0.75
    return int(np.clip(count, FEWEST_PARTICLES, settings.particles))


def unsettled(estimate: Estimate, space: Space, coarse: np.ndarray) -> Estimate:
    """Add the variance that the numerical method itself brings: the change since the coarser grid and the first contact.

    `coarse` holds the values there (P,); residuals of one grid cannot show this error, because the fit absorbs it.
    """
    known = np.isfinite(coarse) & np.isfinite(np.diag(estimate.covariance)) & np.isfinite(estimate.values)
    if not known.any() or not np.isfinite(estimate.residual).all():
        return estimate
    moved = np.where(known, space.to_internal(estimate.values) - space.to_internal(np.where(known, coarse, estimate.values)), 0)
    factor = spread(estimate, CHANNELS).factor  # the covariance is multiplied by it later
    return replace(estimate, covariance=estimate.covariance + np.diag(moved**2) / factor)


def first_contact(begin: Start, height: np.ndarray, margin: float, count: int) -> int:
    """Frames up to the first one that is free again after contact, and a few more of the rebound; at most `count`."""
    free = np.flatnonzero(height[begin.contact :] > margin)
    end = begin.contact + (int(free[0]) if len(free) else count)
    rebound = max(2, (end - begin.contact) // 2)
    return int(np.clip(end - begin.frame + rebound, min(LEAST_FRAMES, count), count))


def stretch(progress: Progress, low: float, high: float) -> Progress:
    """Report a part's progress as a share of the whole."""
    return lambda share, text="": progress(low + share * (high - low), text)
