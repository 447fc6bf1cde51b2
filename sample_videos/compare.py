"""Hold a run of a sample against the sample's truth: python sample_videos/compare.py SAMPLE RUN."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from video2phys.result import number
from video2phys.run import Run
from video2phys.types import Parameters


def main() -> None:
    sample, run = Path(sys.argv[1]), Path(sys.argv[2])
    truth = json.loads((sample / "truth.json").read_text())
    found = Run.open(run).load("parameters", Parameters)
    table = Table(
        "parameter", "truth", "found", "95 % interval", "verdict", "inside", title="against the sample's truth", title_justify="left"
    )
    for column in table.columns:
        column.overflow = "fold"
    for name, value in truth.items():
        p = found.get(name)
        if p is None or p.interval is None:
            table.add_row(name, number(value), "–" if p is None else number(p.value), "–", "–" if p is None else p.verdict.value, "–")
            continue
        low, high = p.interval
        inside = low <= value <= high  # type: ignore[operator]
        table.add_row(name, number(value), number(p.value), number(p.interval), p.verdict.value, "yes" if inside else "NO")
    Console().print(table)


if __name__ == "__main__":
    main()
