"""Run every capture of a data folder and hold the results against what is known: one row per capture and parameter.

    python pipelines/evaluate.py --data ../shared/data [--only NAME] [--runs DIR] --json FILE [--markdown FILE]
    python pipelines/evaluate.py --suite pacnerf_like [--only NAME] ...   # scenes that are made here (synthetic/pacnerf_like.py)

Row: {capture, parameter, value, unit, interval, truth, error, covered, met, seconds, status}. `error` is relative, except for
log10 (stiffness) and absolute differences (angles, restitution, Poisson ratio), as the `unit_of_error` column says; `met` tells
whether the value lies in the range asked of a good result. Rows of other captures that FILE already holds are kept, so that
captures may be run one at a time. --markdown writes the rows of FILE as tables into a document, between its two marks.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from results import into, line
from stills import LONG, scan_rows, still_rows
from synthetic import pacnerf_like
from truths import FACTS, SAME, Truth, scene_checks, stated

from video2phys.errors import V2PError
from video2phys.pipeline import run_capture
from video2phys.result import finite
from video2phys.types import Parameter

Row = dict[str, Any]
SUITES = {"pacnerf_like": pacnerf_like}


def captures(data: Path) -> list[Path]:
    """Folders below data/real and data/scenes that hold a capture, and PAC-NeRF copies inside scenes."""
    folders = [f for kind in ("real", "scenes") for f in sorted((data / kind).glob("*"))]
    found = [f for f in folders if (f / "capture.yaml").is_file() or f.name in FACTS or at_rest(f)]
    return [c for f in found for c in ((f, f / "pacnerf") if (f / "pacnerf").is_dir() else (f,))]


def at_rest(capture: Path) -> bool:
    """Whether a capture is photographs with cameras and nothing else."""
    return (capture / "transforms.json").is_file() and not (capture / "capture.yaml").is_file() and not (capture / "videos").is_dir()


def made_anew(suite: str, names: list[str], runs: Path) -> Iterator[Path]:
    """Captures of a suite, each made when its turn comes."""
    for name in names:
        folder = runs / "captures" / suite / name
        SUITES[suite].make(folder, SUITES[suite].scenes()[name])
        yield folder


def name_of(capture: Path) -> str:
    if capture.parent.name in SUITES:
        return f"{capture.parent.name}/{capture.name}"
    return f"{capture.parent.name}/pacnerf" if capture.name == "pacnerf" else capture.name


def told(capture: Path, runs: Path) -> Path:
    """The capture; where it comes without the facts that its source states, a copy that has them."""
    if (capture / "capture.yaml").is_file() or capture.name not in FACTS:
        return capture
    copy = runs / "captures" / capture.name
    shutil.copytree(capture, copy, dirs_exist_ok=True)
    (copy / "capture.yaml").write_text(FACTS[capture.name])
    return copy


def compare(p: Parameter | None, truth: Truth) -> Row:
    """One row's value, error and coverage for a scalar or a vector component."""
    if p is None:
        return {"parameter": truth.name, "truth": truth.value, "value": None, "met": False, "status": "no such parameter"}
    value = p.value if truth.component is None else p.value[truth.component]  # type: ignore[index]
    interval = p.interval if truth.component is None or p.interval is None else p.interval[truth.component]
    covered = None if interval is None or truth.value is None else bool(interval[0] <= truth.value <= interval[1])  # type: ignore[operator]
    error = None if truth.value is None else truth.error(float(value))  # type: ignore[arg-type]
    met = None if truth.wanted is None else bool(truth.wanted[0] <= float(value) <= truth.wanted[1])  # type: ignore[arg-type]
    name = truth.name if p.obj is None else f"{truth.name}[{p.obj}]"
    return {"parameter": name, "value": value, "unit": p.unit, "interval": interval, "verdict": p.verdict.value,
            "truth": truth.value, "error": error, "unit_of_error": truth.kind, "covered": covered, "met": met}  # fmt: skip


def rows(capture: Path, runs: Path, long: int = LONG) -> list[Row]:
    """All rows of one capture. A refusal is a row too."""
    name = name_of(capture)
    out = runs / name.replace("/", "_")
    try:
        if at_rest(capture):
            return [{"capture": name, "status": "trained"} | row for row in still_rows(capture, out, long=long)]
        made = run_capture(told(capture, runs), out)
    except V2PError as error:
        return [{"capture": name, "parameter": "", "value": None, "status": f"refused: {error} {error.fix}"}]
    parameters = made["parameters"]
    seconds = {s: json.loads((out / s / "stage.json").read_text())["seconds"] for s in made}
    common = {"capture": name, "seconds": round(sum(seconds.values()), 1), "status": parameters.status.name.lower()}
    truths = stated(capture)
    table = [common | compare(parameters.get(t.name, t.obj), t) for t in truths]
    known = {t.name for t in truths}
    table += [common | compare(p, Truth(p.name, None)) for p in parameters.parameters if p.name not in known]
    table += [common | check for check in scene_checks(capture, made)]
    table += [common | row for row in scan_rows(capture, made["gaussians"].bodies[0], made["gaussians"].psnr)]
    table += [common | {"parameter": f"residual {k}", "value": v, "unit": "px" * k.endswith("px")} for k, v in parameters.residual.items()]
    table += [common | {"parameter": f"time of {stage}", "value": round(s, 1), "unit": "s"} for stage, s in seconds.items()]
    warnings = dict.fromkeys(w for artefact in made.values() for w in artefact.warnings)
    return table + [common | {"parameter": "warning", "value": None, "text": w} for w in warnings]


def agreement(table: list[Row]) -> list[Row]:
    """Rows that hold two captures of one object against each other: their intervals must overlap, `value` is the gap between them."""
    found = []
    for parameter, one, other in SAME:
        pair = [
            r["interval"] for c in (one, other) for r in table if (r["capture"], r["parameter"]) == (c, parameter) and r.get("interval")
        ]
        if len(pair) == 2:
            gap = max(pair[0][0], pair[1][0]) - min(pair[0][1], pair[1][1])
            told = {"value": max(gap, 0.0), "truth": 0.0, "met": gap <= 0, "status": "overlap" if gap <= 0 else "apart"}
            found.append({"capture": f"{one} and {other}", "parameter": f"gap between intervals of {parameter}"} | told)
    return found


def merged(file: Path | None, new: dict[str, list[Row]]) -> list[Row]:
    """The rows that `file` holds, those of the captures in `new` replaced; and the agreement of all."""
    old: dict[str, list[Row]] = {}
    for row in json.loads(file.read_text()) if file is not None and file.is_file() else []:
        old.setdefault(row["capture"], []).append(row)
    table = [row for name, own in (old | new).items() if " and " not in name for row in own]
    return table + agreement(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--suite", choices=SUITES, help="make and run these scenes instead of the data folder's captures")
    parser.add_argument("--only", help="name of one capture")
    parser.add_argument("--runs", type=Path, default=Path("runs/evaluate"))
    parser.add_argument("--long", type=int, default=LONG, help="steps of the long training of captures at rest; 0 = none")
    parser.add_argument("--json", type=Path, help="file for the rows; rows of other captures in it are kept")
    parser.add_argument("--markdown", type=Path, help="document to write the tables into")
    args = parser.parse_args()
    filmed = {} if args.suite else {name_of(c): c for c in captures(args.data)}
    there = list(SUITES[args.suite].scenes()) if args.suite else list(filmed)
    chosen = [name for name in there if args.only in (None, name, name.split("/")[-1])]
    if not chosen:
        parser.error(f"no capture {args.only or ''} in {args.suite or args.data}; there are: {', '.join(there)}")
    new: dict[str, list[Row]] = {}
    for capture in made_anew(args.suite, chosen, args.runs) if args.suite else (filmed[name] for name in chosen):
        new[name_of(capture)] = finite(rows(capture, args.runs, args.long))
        for row in new[name_of(capture)]:
            print(line(row), flush=True)
        if args.json:
            args.json.write_text(json.dumps(merged(args.json, new), indent=1) + "\n")
    table = merged(args.json, new)
    for row in agreement(table):
        print(line(row))
    if args.markdown:
        args.markdown.write_text(into(args.markdown.read_text(), table))


if __name__ == "__main__":
    main()
