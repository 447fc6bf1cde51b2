"""Friction and restitution of a real cube from some measured tosses, and how well they foretell others.

    python pipelines/cube_tosses.py --data ../shared/data/real/cube_tosses.npz [--fit 20] [--test 50] [--seed 0] [--set a.b=value]

The data (470 tosses of an acrylic cube at 148 Hz; DAIRLab, contact-nets) become files of tracks. Their metre is settled by gravity: the
flights of the tosses that are fitted fall with 9.81 m/s^2. Each test toss is predicted from its own flight alone, with the values
identified from the other tosses and with the authors' nominal ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.config import resolve
from video2phys.parameters.spatial.shared import Throw, identify
from video2phys.pipeline import run_capture

RATE, HALF, G = 148.0, 0.0524, 9.81  # [1/s], [m] half of the edge, [m/s^2]
NOMINAL = {
    "nominal": (0.18, 0.125, 1.0),
    "nominal_with_inertia": (0.18, 0.125, 1.196),
}  # the authors' friction, restitution; and inertia
TOLD = f"object: {{size: [{2 * HALF}, {2 * HALF}, {2 * HALF}], mass: 0.37}}\nground: {{normal: [0, 0, 1], offset: 0}}\nmodel: rigid\n"
WHAT = ("path_mm", "rest_mm")
HEADER = "time_s,x_m,y_m,z_m,qw,qx,qy,qz"


def falls(toss: np.ndarray) -> tuple[float, float]:
    """Acceleration [data metres/s^2] while the cube is too high to touch the ground, and the weight of that number."""
    high = toss[:, 2] > HALF * np.sqrt(3)
    count = len(toss) if high.all() else int(np.argmin(high))
    if count < 6:
        return 0.0, 0.0
    return -2 * float(np.polyfit(np.arange(count) / RATE, toss[:count, 2], 2)[0]), float(count) ** 5  # variance ~ 1 / count^5


def throw(toss: np.ndarray, name: str, scale: float, out: Path) -> Throw | None:
    """One toss as a file of tracks, through the stages up to its states."""
    rows = np.c_[np.arange(len(toss)) / RATE, toss[:, :3] * scale, toss[:, 3:7]]
    file = out / "tracks" / f"{name}.csv"
    np.savetxt(file, rows, delimiter=",", header=HEADER, comments="", fmt="%.7g")
    made = run_capture(file, out / "runs" / name, resolve(None, ["gaussians.particles=500"]), until="states")
    return Throw.of(made["frames"], made["gaussians"], made["states"])


def misses(throws: list[Throw], values: np.ndarray) -> np.ndarray:
    """[m] (K, 2) per toss: rms distance from the measured path after the flight, and distance of the places where it ends."""
    out = []
    for one in throws:
        moved = one.predict(values[None]).position[0] - one.track.position
        out.append((np.sqrt((moved[one.free :] ** 2).sum(-1).mean()), np.linalg.norm(moved[-1])))
    return np.array(out)


def line(miss: np.ndarray) -> dict[str, float]:
    return {"mean": round(1e3 * float(miss.mean()), 2), "median": round(1e3 * float(np.median(miss)), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--fit", type=int, default=20)
    parser.add_argument("--test", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="e.g. parameters.free_inertia=true")
    parser.add_argument("--out", type=Path, default=Path("runs/tosses"))
    asked = parser.parse_args()
    with np.load(asked.data) as file:
        states, ends = file["states"].astype(float), file["offsets"]
    rng = np.random.default_rng(asked.seed)
    chosen = rng.permutation(len(ends) - 1)[: asked.fit + asked.test]
    tosses = {int(k): states[ends[k] : ends[k + 1]] for k in chosen}
    pull, weight = np.array([falls(tosses[int(k)]) for k in chosen[: asked.fit]]).T
    scale = G / float(np.average(pull, weights=weight))
    (asked.out / "tracks").mkdir(parents=True, exist_ok=True)
    (asked.out / "tracks" / "capture.yaml").write_text(TOLD)
    throws = [throw(toss, f"toss{k:03d}", scale, asked.out) for k, toss in tosses.items()]
    fitted, held = ([t for t in part if t is not None] for part in (throws[: asked.fit], throws[asked.fit :]))
    shared = identify(fitted, resolve(None, asked.set).parameters, asked.seed)
    result: dict[str, Any] = {p.name: [p.value, p.interval, p.verdict.value] for p in shared.parameters}
    result |= {"scale": scale, "fitted": len(fitted), "tested": len(held)}
    ours, draws = misses(held, shared.values), rng.integers(len(held), size=(10_000, len(held)))
    result["found"] = {what: line(ours[:, k]) for k, what in enumerate(WHAT)}
    for name, values in NOMINAL.items():
        theirs = misses(held, np.array(values))
        gain = [np.percentile((theirs - ours)[draws, k].mean(1), [2.5, 97.5]) * 1e3 for k in range(2)]
        result[name] = {what: line(theirs[:, k]) | {"gain_95": gain[k].round(2).tolist()} for k, what in enumerate(WHAT)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
