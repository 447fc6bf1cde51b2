"""Run every capture of a data folder and hold the results against what is known: one row per capture and parameter.

    python pipelines/evaluate.py --data ../shared/data [--only NAME] [--runs runs/evaluate] --json FILE

Row: {capture, parameter, value, unit, interval, truth, error, covered, seconds, status}. `error` is relative, except for
log10 (stiffness), degrees (angles) and absolute differences (restitution, Poisson ratio), as the `unit_of_error` column says.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from truths import Truth, scene_checks, stated

from video2phys.errors import V2PError
from video2phys.pipeline import run_capture
from video2phys.result import finite
from video2phys.types import Parameter


def captures(data: Path) -> list[Path]:
    """Folders below data/real and data/scenes that hold a moving capture, and PAC-NeRF copies inside scenes."""
    found = [f for kind in ("real", "scenes") for f in sorted((data / kind).glob("*")) if (f / "capture.yaml").is_file()]
    return [c for f in found for c in ((f, f / "pacnerf") if (f / "pacnerf").is_dir() else (f,))]


def name_of(capture: Path) -> str:
    return f"{capture.parent.name}/pacnerf" if capture.name == "pacnerf" else capture.name


def compare(p: Parameter | None, truth: Truth) -> dict[str, Any]:
    """One row's value, error and coverage for a scalar or a vector component."""
    if p is None:
        return {"parameter": truth.name, "truth": truth.value, "value": None, "status": "no such parameter"}
    value = p.value if truth.component is None else p.value[truth.component]  # type: ignore[index]
    interval = p.interval if truth.component is None or p.interval is None else p.interval[truth.component]
    covered = None if interval is None or truth.value is None else bool(interval[0] <= truth.value <= interval[1])  # type: ignore[operator]
    error = None if truth.value is None else truth.error(float(value))  # type: ignore[arg-type]
    return {"parameter": truth.name, "value": value, "unit": p.unit, "interval": interval, "verdict": p.verdict.value,
            "truth": truth.value, "error": error, "unit_of_error": truth.kind, "covered": covered}  # fmt: skip


def rows(capture: Path, out: Path) -> list[dict[str, Any]]:
    """All rows of one capture. A refusal is a row too."""
    name = name_of(capture)
    try:
        made = run_capture(capture, out)
    except V2PError as error:
        return [{"capture": name, "parameter": "", "value": None, "status": f"refused: {error}"}]
    parameters = made["parameters"]
    seconds = round(sum(json.loads((out / s / "stage.json").read_text())["seconds"] for s in made), 1)
    common = {"capture": name, "seconds": seconds, "status": parameters.status.name.lower()}
    truths = stated(capture)
    table = [common | compare(parameters.get(t.name, t.obj), t) for t in truths]
    known = {t.name for t in truths}
    table += [common | compare(p, Truth(p.name, None)) for p in parameters.parameters if p.name not in known]
    table += [common | check for check in scene_checks(capture, made)]
    table += [common | {"parameter": f"residual {k}", "value": v} for k, v in parameters.residual.items()]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", help="name of one capture")
    parser.add_argument("--runs", type=Path, default=Path("runs/evaluate"))
    parser.add_argument("--json", type=Path, help="file for the rows")
    args = parser.parse_args()
    chosen = [c for c in captures(args.data) if args.only in (None, name_of(c), c.name)]
    if not chosen:
        parser.error(f"no capture {args.only or ''} below {args.data}; there are: {', '.join(map(name_of, captures(args.data)))}")
    table: list[dict[str, Any]] = []
    for capture in chosen:
        for row in rows(capture, args.runs / name_of(capture).replace("/", "_")):
            table.append(row)
            cells = (
                row["capture"],
                row["parameter"],
                row.get("value"),
                row.get("unit"),
                row.get("interval"),
                row.get("truth"),
                row.get("error"),
            )
            print(*(f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells), row["status"], sep="  ", flush=True)
        if args.json:
            args.json.write_text(json.dumps(finite(table), indent=1))


if __name__ == "__main__":
    main()
