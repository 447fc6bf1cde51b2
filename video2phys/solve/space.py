"""Free parameters: their bounds, and the optimiser's coordinates that exist only in this package."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from video2phys.errors import BadInput


@dataclass(frozen=True)
class Free:
    """One scalar to be estimated. Optimiser coordinate: the value itself ("linear") or its log10 ("log")."""

    name: str
    unit: str
    start: float
    lower: float = -np.inf
    upper: float = np.inf
    scale: Literal["linear", "log"] = "linear"
    prior: float | None = None  # standard deviation around center, in optimiser coordinates
    center: float | None = None  # of the prior, physical; None = start
    step: float | None = None  # finite-difference step, in optimiser coordinates; None = see `differences`

    def __post_init__(self) -> None:
        if not self.lower <= self.start <= self.upper:
            raise BadInput(
                f"{self.name} starts at {self.start:g}, outside its bounds {self.lower:g} to {self.upper:g}.",
                fix="Widen the bounds or move the start.",
            )
        if self.scale == "log" and not (self.lower > 0 and np.isfinite(self.start)):
            raise BadInput(f"{self.name} is on a log scale and its lower bound is {self.lower:g}.", fix="Use a positive lower bound.")
        if not np.isfinite(self.start) or (self.prior is not None and not self.prior > 0):
            raise BadInput(f"{self.name} needs a finite start and a positive prior.", fix="Set both to usable numbers.")

    @property
    def bounded(self) -> bool:
        """Both bounds are finite."""
        return bool(np.isfinite(self.lower) and np.isfinite(self.upper))


@dataclass(frozen=True)
class Space:
    """An ordered set of free parameters."""

    free: tuple[Free, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise BadInput(f"two free parameters share a name: {', '.join(self.names)}", fix="Name each one differently.")

    def __len__(self) -> int:
        return len(self.free)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.free)

    @property
    def log(self) -> np.ndarray:
        """(P,) bool: which coordinates are log10."""
        return np.array([f.scale == "log" for f in self.free], bool)

    def to_internal(self, x: np.ndarray) -> np.ndarray:
        """Physical values (..., P) to optimiser coordinates (..., P)."""
        x = np.asarray(x, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.log, np.log10(np.where(self.log, x, 1.0)), x)

    def to_physical(self, u: np.ndarray) -> np.ndarray:
        """Optimiser coordinates (..., P) to physical values (..., P)."""
        u = np.asarray(u, float)
        return np.where(self.log, 10.0 ** np.where(self.log, u, 0.0), u)

    @property
    def start(self) -> np.ndarray:
        """(P,) optimiser coordinates."""
        return self.to_internal(np.array([f.start for f in self.free], float))

    @property
    def center(self) -> np.ndarray:
        """(P,) centres of the priors in optimiser coordinates."""
        return self.to_internal(np.array([f.start if f.center is None else f.center for f in self.free], float))

    @property
    def lower(self) -> np.ndarray:
        return self.to_internal(np.array([f.lower for f in self.free], float))

    @property
    def upper(self) -> np.ndarray:
        return self.to_internal(np.array([f.upper for f in self.free], float))

    @property
    def prior(self) -> np.ndarray:
        """(P,) precision 1 / sigma^2 of the priors in optimiser coordinates; 0 where there is none."""
        return np.array([0.0 if f.prior is None else f.prior**-2 for f in self.free], float)

    def started(self, x: np.ndarray) -> Space:
        """The same space with its start at physical values x (P,), clipped to the bounds. The priors stay where they are."""
        values = zip(self.free, np.asarray(x, float), strict=True)
        return Space(
            tuple(
                replace(f, start=float(np.clip(v, f.lower, f.upper)), center=f.start if f.center is None else f.center) for f, v in values
            )
        )

    @property
    def width(self) -> np.ndarray:
        """(P,) natural extent in optimiser coordinates: the range between finite bounds, else 1 decade, else max(|start|, 1)."""
        span = self.upper - self.lower
        other = np.where(self.log, 1.0, np.maximum(np.abs(self.start), 1.0))
        return np.where(np.isfinite(span) & (span > 0), span, other)

    @property
    def step(self) -> np.ndarray:
        """(P,) finite-difference steps in optimiser coordinates: 1e-3 decades on a log scale, else 1e-4 of the width."""
        default = np.where(self.log, 1e-3, 1e-4 * self.width)
        return np.array([d if f.step is None else f.step for f, d in zip(self.free, default, strict=True)], float)
