"""Bounces of a falling body on a level floor: restitution from the velocities on both sides of each impact.

e = -v_z' / v_z, each velocity from the parabola on its side, taken at the moment where the two parabolas meet. Only a ratio of
velocities at one place enters, so neither the scale nor the perspective of the picture matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import t as student

from video2phys.parameters.planar.motion import SHORTEST, Phase
from video2phys.types import Parameter, Verdict

BESIDE = 0.1  # [s] frames at an impact that may be missing; a longer gap could hide another event


@dataclass(frozen=True)
class Bounce:
    time: float  # [s]
    height: float  # [px] z of the body's centre
    restitution: float
    sigma: float


def bounces(phases: list[Phase]) -> list[Bounce]:
    """The bounces between neighbouring flights; a phase of a few frames in between belongs to the impact."""
    flights = [p for p in phases if len(p.frames) > SHORTEST + 1 and not p.rests]
    found = [_bounce(a, b) for a, b in pairwise(flights) if b.span[0] - a.span[1] < BESIDE]
    return [b for b in found if b is not None]


def _bounce(a: Phase, b: Phase) -> Bounce | None:
    """The impact between two flights, None where it is none: both must fall alike, arrive downwards and leave upwards."""
    alike = abs(a.acceleration[1] / b.acceleration[1] - 1) < 0.3 if b.acceleration[1] else False
    if not alike or a.acceleration[1] > 0:
        return None
    times = np.linspace(a.span[1], b.span[0], 400)
    gap = a.position_at(times)[:, 1] - b.position_at(times)[:, 1]
    t = float(times[np.argmin(np.abs(gap))])
    into, out = float(a.velocity_at(t)[1]), float(b.velocity_at(t)[1])
    if not (into < 0 < out <= -1.1 * into):
        return None
    e = -out / into
    sigma = e * float(np.hypot(a.velocity_sigma_at(t) / into, b.velocity_sigma_at(t) / out))
    return Bounce(t, float(b.position_at(t)[1]), e, max(sigma, 1e-4))


def report(found: list[Bounce]) -> tuple[Parameter, ...]:
    """restitution as the mean over the bounces, its interval from their scatter or their own uncertainty, whichever is larger."""
    if not found:
        return ()
    e, sigma = np.array([b.restitution for b in found]), np.array([b.sigma for b in found])
    weight = sigma**-2 / (sigma**-2).sum()
    mean = float(weight @ e)
    own = float((sigma**-2).sum() ** -0.5)
    scatter = float(np.sqrt(weight @ (e - mean) ** 2 / (len(e) - 1))) if len(e) > 1 else 0.0
    wide = float(student.ppf(0.975, len(e) - 1)) if len(e) > 1 and scatter > own else 1.96
    half = wide * max(own, scatter)
    band = [max(mean - half, 0.0), min(mean + half, 1.0)]
    verdict = Verdict.IDENTIFIED if half < 0.1 else Verdict.WEAK if half < 0.4 else Verdict.NOT_IDENTIFIED
    each = ", ".join(f"{b.restitution:.2f} at {b.time:.2f} s" for b in found)
    return (Parameter("restitution", mean, "1", band, verdict, "Newton, body on a level floor", f"bounces: {each}"),)
