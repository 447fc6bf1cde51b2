"""The rows of evaluate.py as lines for a terminal and as tables for a document.

python pipelines/results.py ROWS.json DOCUMENT.md      # writes the tables again, without running anything
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from published import HEAD, SUITE, summary

BEGIN, END = "<!-- rows: made by pipelines/evaluate.py -->", "<!-- end of rows -->"
STAGES = ("frames", "gaussians", "states", "parameters", "topology", "twin")


def number(value: Any) -> str:
    """Four significant digits; lists in brackets; an empty cell for nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "[" + ", ".join(number(v) or "–" for v in value) + "]"
    return f"{value:.4g}" if isinstance(value, float | int) and not isinstance(value, bool) else str(value)


def error(row: dict[str, Any]) -> str:
    """Relative errors in per cent, others with their kind."""
    if row.get("error") is None:
        return ""
    if row.get("unit_of_error") == "relative":
        return f"{100 * row['error']:+.1f} %"
    return f"{row['error']:+.3g}" + (" (log10)" if row.get("unit_of_error") == "log10" else "")


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    cells = [row["capture"], row["parameter"], number(row.get("value")), row.get("unit") or "", number(row.get("interval"))]
    known = f"truth {number(row['truth'])} error {error(row)}" if row.get("truth") is not None else ""
    met = {True: "met", False: "NOT MET"}.get(row.get("met"), "")  # type: ignore[arg-type]
    return "  ".join(c for c in (*cells, known, met, row.get("text", ""), row["status"]) if c)


def tables(rows: list[dict[str, Any]]) -> str:
    """What is known, what else was found, residuals and times, warnings."""
    yes = {True: "yes", False: "**no**", None: ""}
    checked = [r for r in rows if r.get("truth") is not None or r.get("met") is not None]
    known = [
        [r["capture"], r["parameter"], number(r.get("value")), r.get("unit") or "", number(r.get("interval")), number(r.get("truth")),
         error(r), yes[r.get("covered")], yes[r.get("met")]]
        for r in checked
    ]  # fmt: skip
    names = list(dict.fromkeys(r["capture"] for r in rows))
    cost = []
    for name in names:
        own = {r["parameter"]: r.get("value") for r in rows if r["capture"] == name}
        if "time of frames" in own:
            status = next(r["status"] for r in rows if r["capture"] == name and r["parameter"] == "time of frames")
            spent = [own.get(f"time of {s}") for s in STAGES]
            cost.append([name, status, *map(number, (own.get("residual train_px"), own.get("residual heldout_px"), *spent))])
    plain = [r for r in rows if r not in checked and r.get("unit") and not r["parameter"].startswith(("residual", "time of"))]
    other = [[r["capture"], r["parameter"], number(r["value"]), r["unit"], number(r.get("interval")), r.get("verdict", "")] for r in plain]
    said = [f"- {r['capture']}: {r['text']}" for r in rows if r["parameter"] == "warning"]
    said += [f"- {r['capture']}: {r['status']}" for r in rows if not r["parameter"]]
    beside = summary(rows)
    return "\n\n".join(
        (
            *([f"## {SUITE} beside published methods\n\n" + _table(HEAD, beside)] if beside else []),
            "## Held against what is known\n\n"
            + _table(["capture", "parameter", "value", "unit", "95 % interval", "known", "error", "covered", "as wanted"], known),
            "## Residuals [px] and seconds of each stage\n\n" + _table(["capture", "status", "train", "held out", *STAGES], cost),
            "## What else was found\n\n" + _table(["capture", "parameter", "value", "unit", "95 % interval", "verdict"], other),
            "## Warnings and refusals\n\n" + "\n".join(said or ["none"]),
        )
    )


def _table(head: list[str], body: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *body))


def into(document: str, rows: list[dict[str, Any]]) -> str:
    """The document with the tables between its two marks."""
    if BEGIN not in document or END not in document:
        raise ValueError(f"the document has no marks; put '{BEGIN}' and '{END}' where the tables belong")
    before, rest = document.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{tables(rows)}\n\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    document = Path(sys.argv[2])
    document.write_text(into(document.read_text(), json.loads(Path(sys.argv[1]).read_text())))
