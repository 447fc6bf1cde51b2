"""Which of the ten numbers are known, how well, and from what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.topology.settings import Settings
from video2phys.types import Frames, Parameter, Parameters, Verdict

AXES = ("xx", "yy", "zz", "xy", "xz", "yz")


@dataclass(frozen=True)
class Known:
    """Measured or given numbers of the body, in metres and kilograms; NaN where nothing is known."""

    value: np.ndarray  # (10,) mass, centre, inertia (or inertia per mass) as in Moments.numbers()
    sigma: np.ndarray  # (10,)
    per_mass: bool  # the six inertia numbers are [m^2], per mass
    density: float | None  # [kg/m^3] of the material
    density_sigma: float

    @property
    def where(self) -> np.ndarray:
        """(10,) bool."""
        return np.isfinite(self.value)

    @property
    def tells(self) -> bool:
        """Whether anything speaks of the interior: a centre, an inertia, or a mass beside the material's density."""
        return bool(self.where[1:].any() or (self.where[0] and self.density is not None))


def gather(frames: Frames, parameters: Parameters, scale: float, settings: Settings) -> Known:
    """Collect mass, center_of_mass and inertia from the parameters; `scale` turns artefact lengths into metres."""
    value, sigma, per_mass = np.full(10, np.nan), np.full(10, np.nan), False
    mass = _usable(parameters.get("mass"))
    if mass is not None:
        value[0], sigma[0] = _with_sigma(mass, settings.given_sigma)[0]
    center = _usable(parameters.get("center_of_mass"))
    if center is not None:
        pairs = _with_sigma(center, settings.given_sigma)
        unit = scale if center.unit.startswith("px") else 1.0
        for axis, (v, s) in zip((1, 3) if len(pairs) == 2 else (1, 2, 3), pairs, strict=False):
            value[axis], sigma[axis] = v * unit, s * unit
    inertia = _usable(parameters.get("inertia"))
    if inertia is not None:
        per_mass = "kg" not in inertia.unit
        pairs = _with_sigma(inertia, settings.given_sigma)
        slots = {1: [5], 3: [4, 5, 6], 6: [4, 5, 6, 7, 8, 9], 9: [4, 7, 8, 7, 5, 9, 8, 9, 6]}[len(pairs)]  # one = about y
        for slot, (v, s) in zip(slots, pairs, strict=True):
            value[slot], sigma[slot] = v, s
    density = _usable(parameters.get("density"))
    rho = float(density.value) if density and isinstance(density.value, int | float) else frames.about.density
    relative = np.hypot(settings.given_sigma, settings.volume_sigma)
    return Known(value, sigma, per_mass, rho, float(relative * rho) if rho else 0.0)


def _usable(p: Parameter | None) -> Parameter | None:
    told = p is not None and p.verdict is not Verdict.NOT_IDENTIFIED and np.isfinite(np.asarray(p.value, float)).all()
    return p if told else None


def _with_sigma(p: Parameter, relative: float) -> list[tuple[float, float]]:
    """Value and standard deviation per component; without an interval the value is good to `relative`."""
    values = np.atleast_1d(np.asarray(p.value, float)).ravel()
    if p.interval is None:
        return [(float(v), float(max(abs(v), 1e-12) * relative)) for v in values]
    ends = np.asarray(p.interval, float).reshape(-1, 2)
    sigma = np.maximum((ends[:, 1] - ends[:, 0]) / (2 * 1.96), 1e-12)
    return [(float(v), float(s)) for v, s in zip(values, sigma, strict=True) if np.isfinite(s)]
