"""Numbers and findings as a person reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from video2phys.types import Frames, Parameter, Parameters, StateTrack, Status, Topology, Verdict

NAMES = {
    "youngs_modulus": "Young's modulus",
    "poisson_ratio": "Poisson's ratio",
    "center_of_mass": "centre of mass",
    "px_per_m": "pixels per metre",
    "acceleration_px": "acceleration in the picture",
}
MAIN = (
    "youngs_modulus",
    "poisson_ratio",
    "yield_stress",
    "friction_angle",
    "viscosity",
    "friction",
    "restitution",
    "length",
    "damping",
    "gravity",
    "mass",
    "density",
    "px_per_m",
    "initial_velocity",
)


def pretty(name: str) -> str:
    """A parameter's name in words."""
    stem, bracket, rest = name.partition("[")
    return NAMES.get(stem, stem.replace("_", " ")) + (f" of object {rest.rstrip(']')}" if bracket else "")


def number(value: float | None, half: float | None = None) -> str:
    """Four significant digits, or down to the second digit of the interval's half-width."""
    if value is None or not np.isfinite(value):
        return "–"
    if half is None or not np.isfinite(half) or half <= 0:
        text = f"{value:.4g}"
        text = _group(float(text), 0) if "e+" in text and abs(value) < 1e7 else text
    elif max(abs(value), half) >= 1e7 or max(abs(value), half) < 1e-4:
        text = f"{value:.3g}"
    else:
        decimals = 1 - int(np.floor(np.log10(half)))
        text = _group(round(value, decimals), max(decimals, 0))
    mantissa, mark, power = text.partition("e")
    return (f"{mantissa}·10^{int(power)}" if mark else text).replace("-", "−")


def _group(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", "\u2009" if abs(value) >= 1e4 else "")  # a thin space between thousands


def place(center: np.ndarray, unit: str) -> str:
    """A point of the body in millimetres, or in pixels where there is no scale."""
    return ", ".join(f"{x + 0.0:.1f}" for x in np.round(center * (1000 if unit == "m" else 1), 1)).replace("-", "−")


def units(unit: str) -> str:
    """A unit with raised powers; nothing for a pure number."""
    return "" if unit == "1" else unit.replace("^2", "²").replace("^3", "³")


def span(value: Any, interval: Any) -> tuple[str, str]:
    """Value and interval as text; vectors component by component."""
    if isinstance(value, list):
        nested = interval if interval and isinstance(interval[0], list | tuple) else [None] * len(value)
        parts = [span(v, i) for v, i in zip(value, nested, strict=False)]
        return "(" + ", ".join(p[0] for p in parts) + ")", "; ".join(p[1] for p in parts) if interval else "–"
    if not interval or any(end is None for end in interval):
        ends = "–" if not interval else " to ".join("unbounded" if end is None else number(end) for end in interval)
        return number(value), ends
    half = (interval[1] - interval[0]) / 2
    if half == 0:
        return number(value), number(value)
    return number(value, half), f"{number(interval[0], half)} to {number(interval[1], half)}"


def rows(entries: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """The parameter table of twin.json, ready to print."""
    table = []
    for name, entry in entries.items():
        value, interval = span(entry["value"], entry.get("interval"))
        table.append({
            "name": pretty(name), "value": value, "interval": interval, "unit": units(entry["unit"]),
            "verdict": entry["verdict"], "law": entry.get("law", ""), "note": entry.get("note", ""),
        })  # fmt: skip
    return table


def headline(parameters: Parameters, most: int = 5) -> list[dict[str, str]]:
    """The few numbers that a reader looks for first."""
    order = [
        p for name in MAIN for p in parameters.parameters if p.name == name and p.verdict not in (Verdict.GIVEN, Verdict.NOT_IDENTIFIED)
    ]
    return [_tile(p) for p in order if not isinstance(p.value, list)][:most]


def _tile(p: Parameter) -> dict[str, str]:
    value, interval = span(p.value, p.interval)
    label = pretty(p.name if p.obj is None else f"{p.name}[{p.obj}]")
    return {"name": label, "value": value, "unit": units(p.unit), "interval": interval, "verdict": p.verdict.value}


def in_words(frames: Frames, states: StateTrack, parameters: Parameters, topology: Topology) -> list[str]:
    """A paragraph of plain sentences: what was seen, how well it is explained, what is and what is not known."""
    seen, total = int(states.valid.any(1).sum()), len(frames.time)
    views = "video from " + ("one camera" if len(frames.views) == 1 else f"{len(frames.views)} cameras")
    views = views if frames.tracks is None else "measured tracks"
    many = "The object was" if frames.objects == 1 else f"{frames.objects} objects were"
    out = [f"{many} followed in {seen} of {total} frames, {frames.time[-1] - frames.time[0]:.2f} s of {views}."]
    if parameters.status is not Status.CONVERGED:
        out.append(f"The fit did not converge: {parameters.status.value}.")
    fit = _fit(parameters)
    if fit:
        out.append(fit)
    for verdict, opening in (
        (Verdict.IDENTIFIED, "Identified"),
        (Verdict.WEAK, "Weakly determined"),
        (Verdict.AT_BOUND, "At the edge of what was allowed"),
    ):
        said = [_say(p) for p in parameters.parameters if p.verdict is verdict and not isinstance(p.value, list) and p.name[-3:] != "_px"]
        if said:
            out.append(f"{opening}: {'; '.join(said)}.")
    unknown = [pretty(p.name) for p in parameters.parameters if p.verdict is Verdict.NOT_IDENTIFIED]
    if unknown:
        out.append(f"This capture does not tell: {', '.join(dict.fromkeys(unknown))}.")
    if parameters.unit == "px" and parameters.px_per_m is None:
        out.append("No length scale is known, so lengths are in pixels.")
    return out


def _fit(parameters: Parameters) -> str:
    unit = next((u for u in ("px", "m") if np.isfinite(parameters.residual.get(f"train_{u}", np.nan))), None)
    if unit is None:
        return ""
    train, heldout = (parameters.residual.get(f"{part}_{unit}") for part in ("train", "heldout"))
    article = "An" if parameters.model[0] in "aeiou" else "A"
    count = int(parameters.train.sum())
    text = f"{article} {parameters.model} model follows the motion to {train:.2g} {unit} in the {count} frames it was fitted to"
    if heldout is not None and np.isfinite(heldout):
        text += f", and predicts the {int(parameters.heldout.sum())} frames it never saw to {heldout:.2g} {unit}"
    return text + "."


def _say(p: Parameter) -> str:
    value, interval = span(p.value, p.interval)
    unit = f" {units(p.unit)}".rstrip()
    label = pretty(p.name if p.obj is None else f"{p.name}[{p.obj}]")
    return f"{label} {value}{unit}" + (f" (95 %: {interval})" if p.interval else "")
