"""Measured tracks in, parameters, report and twin out.

    python pipelines/from_tracks.py TRACKS.csv [MORE.csv ...] [--capture capture.yaml] [--out runs/NAME] [--set a.b=value ...]

A file of tracks is a capture like any other: `video2phys run TRACKS.csv` does the same for one. Several files are throws of one body,
each run by itself; friction and restitution are then also identified from all of them together, with each its own start.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from video2phys.config import resolve
from video2phys.parameters.spatial.shared import Throw, identify
from video2phys.pipeline import run_capture
from video2phys.result import summary, table
from video2phys.types import Parameter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tracks", type=Path, nargs="+")
    parser.add_argument("--capture", type=Path, help="capture.yaml; default: the one beside the tracks")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--set", action="append", default=[])
    asked = parser.parse_args()
    told = [f"frames.capture_yaml={asked.capture.resolve()}"] if asked.capture else []
    config, console, throws = resolve(None, [*told, *asked.set]), Console(), []
    for file in asked.tracks:
        made = run_capture(file, asked.out / file.stem, config)
        console.print(file.name, table(summary(made["parameters"], {}), console.width))
        if made["states"].kind == "pose":
            throws.append(Throw.of(made["frames"], made["gaussians"], made["states"]))
    if len(throws) > 1:
        shared = identify([t for t in throws if t is not None], config.parameters)
        for p in shared.parameters:
            console.print(f"{p.name} of all: {says(p)}")


def says(p: Parameter) -> str:
    low, high = p.interval or (float("nan"), float("nan"))
    return f"{p.value:.3g} (95 %: {low:.3g} to {high:.3g}), {p.verdict.value}"


if __name__ == "__main__":
    main()
