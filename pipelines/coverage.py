"""How often 95 % intervals hold the truth: many captures with known truth, drawn at random and fitted with the default settings.

    python pipelines/coverage.py [--fits 100] [--kind slide collision pendulum tumble elastic] [--json FILE]

slide      a block on a plank, planar: exact motion, scale, incline and camera off by what the fit expects of them
collision  two pucks seen from above
pendulum   a bob on a rod, by a camera that is not quite level; MuJoCo's motion
tumble     a box thrown on the ground, one camera; MuJoCo's motion
elastic    an elastic block thrown on the ground, from a finer grid; fitted with 512 particles, so that a hundred fits take minutes
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from synthetic import elastic, pendulum, planar, spatial

from video2phys.context import Context
from video2phys.parameters.elastic.settings import ElasticSettings
from video2phys.parameters.settings import Settings
from video2phys.parameters.stage import run
from video2phys.types import Frames, Gaussians, StateTrack

Case = tuple[tuple[Frames, Gaussians, StateTrack], dict[str, float], Settings]
DEFAULT = Settings.model_validate({})
SMALL = Settings.model_validate({"elastic": ElasticSettings.model_validate({"particles": 512})})
NOTHING = Gaussians((), "px")  # planar fits of centroids use no reconstruction


def _planar(drawn: Callable[[int], tuple[tuple[Frames, StateTrack], dict[str, float]]]) -> Callable[[int], Case]:
    def case(seed: int) -> Case:
        (frames, states), truth = drawn(seed)
        return (frames, NOTHING, states), truth, DEFAULT

    return case


def _tumble(seed: int) -> Case:
    thrown = spatial.drawn(seed)
    return spatial.capture(thrown, 72, seed)[:3], {n: getattr(thrown, n) for n in ("friction", "restitution")}, DEFAULT


def _elastic(seed: int) -> Case:
    begin, truth = elastic.drawn(seed)
    return elastic.thrown(elastic.block(), begin=begin, truth=truth, seed=seed), truth, SMALL


KINDS: dict[str, Callable[[int], Case]] = {
    "slide": _planar(planar.drawn_slide), "collision": _planar(planar.drawn_collision), "pendulum": _planar(pendulum.drawn),
    "tumble": _tumble, "elastic": _elastic
}  # fmt: skip


def fit(kind: str, seed: int) -> dict[str, tuple[bool, str]]:
    """By parameter with a truth: whether its interval holds it, and its verdict. What got no interval is left out."""
    artefacts, truth, settings = KINDS[kind](seed)
    found = {p.name: p for p in run(*artefacts, settings, Context(Path("."))).parameters if p.name in truth and p.interval}
    bounds = {n: np.array(p.interval, float) for n, p in found.items()}
    return {n: (bool(bounds[n][0] <= truth[n] <= bounds[n][1]), p.verdict.value) for n, p in found.items()}


def table(kind: str, fits: int) -> Iterator[dict[str, Any]]:
    """One row per parameter: share covered with its standard error, and how the verdicts are spread."""
    found = []
    for seed in range(fits):
        found.append(fit(kind, seed))
        print(f"\r{kind} {seed + 1}/{fits}", end="", flush=True)
    print("\r", end="")
    for name in dict.fromkeys(n for f in found for n in f):
        held, verdicts = zip(*(f[name] for f in found if name in f), strict=True)
        share = float(np.mean(held))
        error = float(np.sqrt(share * (1 - share) / len(held)))
        yield {"kind": kind, "parameter": name, "fits": fits, "with_interval": len(held), "covered": share, "standard_error": error,
               "verdicts": dict(Counter(verdicts))}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--json", type=Path, help="file for the rows; rows of other kinds in it are kept")
    args = parser.parse_args()
    rows = []
    for kind in args.kind:
        for row in table(kind, args.fits):
            rows.append(row)
            print(f"{kind:10s} {row['parameter']:16s} {row['covered']:.2f} +- {row['standard_error']:.2f}  {row['verdicts']}", flush=True)
        if args.json:
            old = json.loads(args.json.read_text()) if args.json.is_file() else []
            others = [r for r in old if r["kind"] not in {row["kind"] for row in rows}]
            args.json.write_text(json.dumps(others + rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
