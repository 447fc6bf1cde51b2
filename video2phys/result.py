"""The result of a run as one JSON-ready tree, and as a table for the terminal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from video2phys.types import Parameter, Parameters, Status

if TYPE_CHECKING:
    from rich.table import Table


def summary(parameters: Parameters, record: Mapping[str, Any], warnings: tuple[str, ...] = (), extra: tuple[Parameter, ...] = ()) -> dict:
    """{model, status, parameters, residual, timings_s, device, warnings, assumptions}, as docs/formats.md describes.

    `warnings` are those of the other stages; `extra` are parameters found outside the fit (mass, inertia of the interior).
    A parameter of one object among several is keyed name[object].
    """
    entries = {}
    for p in (*parameters.parameters, *(e for e in extra if parameters.get(e.name) is None)):
        entry = {k: v for k, v in dataclasses.asdict(p).items() if k not in ("name", "obj") and v not in ("", None)}
        entry["verdict"] = p.verdict.value
        entries[p.name if p.obj is None else f"{p.name}[{p.obj}]"] = entry
    tree = {
        "model": parameters.model,
        "status": parameters.status.name.lower(),
        "advice": "" if parameters.status is Status.CONVERGED else parameters.status.value,
        "parameters": entries,
        "residual": parameters.residual,
        "timings_s": record.get("timings_s", {}),
        "device": record.get("device", "cpu"),
        "warnings": list(dict.fromkeys((*warnings, *parameters.warnings))),
        "assumptions": list(parameters.notes),
    }
    return finite(tree)


def finite(tree: Any) -> Any:
    """JSON has no infinity: unbounded ends become null."""
    if isinstance(tree, dict):
        return {k: finite(v) for k, v in tree.items()}
    if isinstance(tree, list | tuple):
        return [finite(v) for v in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree


def number(value: Any) -> str:
    """Four significant digits; vectors in brackets; unbounded as a dash."""
    if value is None:
        return "–"
    if isinstance(value, list):
        return "[" + ", ".join(number(v) for v in value) + "]"
    return f"{value:.4g}"


def table(tree: dict[str, Any]) -> Table:
    """The parameter table for a terminal."""
    from rich.table import Table

    view = Table(title=f"{tree['model']}: {tree['status'].replace('_', ' ')}", title_justify="left")
    for column in ("parameter", "value", "unit", "95 % interval", "verdict", "law"):
        view.add_column(column, overflow="fold")
    for name, p in tree["parameters"].items():
        view.add_row(name, number(p["value"]), p["unit"], number(p.get("interval")), p["verdict"], p.get("law", ""))
    return view
