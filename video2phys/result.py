"""The result of a run as one JSON-ready tree, and as a table for the terminal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from video2phys.types import Parameter, Parameters, Status

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 110  # characters: a narrower terminal has no room for the law


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


def table(tree: dict[str, Any], width: int = 100) -> Table:
    """The parameter table for a terminal `width` characters wide; a vector takes a line for each component."""
    from rich import box
    from rich.table import Table

    view = Table(
        title=f"{tree['model']}: {tree['status'].replace('_', ' ')}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
    )
    for column in ("parameter", "value", "unit", "95 % interval", "verdict"):
        view.add_column(column, overflow="fold")
    if width >= WIDE:
        view.add_column("law", overflow="fold")
    for name, p in tree["parameters"].items():
        for label, value, interval in _components(name, p["value"], p.get("interval")):
            cells = (label, number(value), p["unit"], number(interval), p["verdict"])
            view.add_row(*cells, *((p.get("law", ""),) if width >= WIDE else ()))
    return view


def _components(name: str, value: Any, interval: Any) -> list[tuple[str, Any, Any]]:
    if not (isinstance(value, list) and len(value) == 3 and not any(isinstance(v, list) for v in value)):
        return [(name, value, interval)]
    stem, mark, obj = name.partition("[")
    ends = interval if isinstance(interval, list) and len(interval) == 3 else (None, None, None)
    rows = [(f"{stem}.{axis}{mark}{obj}", v, i) for axis, v, i in zip("xyz", value, ends, strict=True)]
    return [r for r in rows if r[1] or r[2] != [0.0, 0.0] or not any(value)]  # a planar motion has no y
