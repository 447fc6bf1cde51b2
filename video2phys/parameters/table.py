"""The parameter table of a fit by simulation: scalars with their intervals and verdicts, vectors put together, nuisances left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from video2phys.solve.covariance import COVERS, parameters
from video2phys.solve.levenberg import Estimate
from video2phys.solve.space import Free, Space
from video2phys.types import Parameter, Verdict

AXES = "xyz"
WORST = (Verdict.NOT_IDENTIFIED, Verdict.AT_BOUND, Verdict.WEAK, Verdict.IDENTIFIED)


def scalars(
    estimate: Estimate, space: Space, laws: Mapping[str, str], profiles: Mapping[str, tuple[float, float]], channels: int,
    rivals: Sequence[tuple[float, Estimate]] = (),
) -> dict[str, Parameter]:  # fmt: skip
    """Every free scalar by name; intervals include the `profiles`, and one that a bound cuts off is never identified."""
    found = {p.name: p for p in parameters(estimate, space, laws, channels=channels, rivals=rivals)}
    for free in space.free:
        if free.name in profiles:
            found[free.name] = stretched(found[free.name], profiles[free.name], free)
        found[free.name] = cut_off(found[free.name], free)
    return found


def table(found: Mapping[str, Parameter], nuisances: Collection[str], vectors: Collection[str]) -> tuple[Parameter, ...]:
    """Scalars that are no nuisance nor a component (name_x, name_x.1, ...) of `vectors`; then the velocities among the vectors."""
    out = [p for name, p in found.items() if name not in nuisances and name.partition(".")[0][:-2] not in vectors]
    for name in (v for v in vectors if v.endswith("velocity") and f"{v}_x" in found):
        parts = [found[f"{name}_{a}"] for a in AXES]
        intervals = [p.interval for p in parts if p.interval is not None]
        known = len(intervals) == len(parts)
        ends = np.array(intervals, float) if known else np.full((3, 2), np.nan)
        value = np.array([p.value for p in parts], float)
        # A component near zero has no relative precision: a vector is identified when its length is.
        whole = known and np.linalg.norm(np.ptp(ends, axis=1) / 2) < 0.25 * np.linalg.norm(value)
        verdict = Verdict.IDENTIFIED if whole else next(v for v in WORST if any(p.verdict is v for p in parts))
        out.append(Parameter(name, value.tolist(), parts[0].unit, ends.tolist() if known else None, verdict, note=parts[0].note))
    return tuple(out)


def cut_off(p: Parameter, free: Free) -> Parameter:
    """An interval that ends at a bound ends by decree: the data do not identify the parameter on that side."""
    if p.interval is None or p.verdict is not Verdict.IDENTIFIED:
        return p
    low, high = (float(end) for end in p.interval)  # pyright: ignore[reportArgumentType]
    reached = [bound for bound, end in ((free.lower, low), (free.upper, high)) if np.isclose(bound, end)]
    return replace(p, verdict=Verdict.WEAK, note=f"the interval is cut off by the bound {reached[0]:g}") if reached else p


def stretched(p: Parameter, ends: tuple[float, float], free: Free) -> Parameter:
    """The interval stretched over that of the profile; the verdict is never better for it."""
    if p.interval is None:
        return p
    low, high = min(float(p.interval[0]), ends[0]), max(float(p.interval[1]), ends[1])  # pyright: ignore[reportArgumentType]
    if [low, high] == list(p.interval):
        return p
    verdict = Verdict.NOT_IDENTIFIED if high - low > COVERS * (free.upper - free.lower) else Verdict.WEAK
    verdict = min(verdict, p.verdict, key=WORST.index)
    beyond = "; every larger value explains the motion as well" if high >= free.upper else ""
    return replace(p, interval=[low, high], verdict=verdict, note=f"the interval is that of the profile and of other explanations{beyond}")
