"""Two real balls on a table: one collision fitted to all frames, and how far its picture is from the measured one.

    python pipelines/billiards.py --data ../shared/data/real/billiards [--out runs/billiards]

The tracks (in metres on the table) are fitted with the 12 unknowns of a collision: places, the velocity of the ball that moves, how both
slow down, moment and direction of the impact, restitution and mass ratio. The calibrated camera of the data then shows the fitted motion
in pixels, as the published fit with 19 unknowns was judged (20.0 px RMS; DiffPD, Du et al. 2021). The same law fitted to the first two
thirds tells how well it foretells the rest.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from video2phys.config import resolve
from video2phys.parameters.planar import collision
from video2phys.parameters.planar.fit import Window, solve
from video2phys.parameters.planar.track import Track
from video2phys.pipeline import run_capture
from video2phys.types import Camera


def camera(file: Path) -> tuple[Camera, float]:
    """The calibrated camera in OpenCV's axes, and the height of the balls' centres [m].

    The file's camera looks along -z with v upwards: half a turn about its y axis, and v counted from the top.
    """
    told = json.loads(file.read_text())
    pose, K = np.eye(4), np.array(told["K"])
    pose[:3] = np.diag([-1, 1, -1]) @ np.c_[told["R"], told["T"]]
    K[1, 2] = told["height"] - K[1, 2]
    return Camera(K, pose, told["width"], told["height"]), told["ball_diameter_m"] / 2


def pixels(view: Camera, flat: np.ndarray, height: float) -> np.ndarray:
    """Places on the table (..., 2) [m] in the picture."""
    return view.project(np.concatenate([flat, np.full((*flat.shape[:-1], 1), height)], -1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/billiards"))
    asked = parser.parse_args()
    view, height = camera(asked.data / "camera.json")
    asked.out.mkdir(parents=True, exist_ok=True)
    told = asked.out / "capture.yaml"
    told.write_text(f"gravity: none\nobject: {{diameter: {2 * height}}}\n")
    config = resolve(None, [f"frames.capture_yaml={told.resolve()}"])
    made = run_capture(asked.data / "tracks.csv", asked.out / "run", config, until="states")
    frames, states = made["frames"], made["states"]
    impact = collision.find([Track.of(frames, states, o) for o in (0, 1)])
    if impact is None:
        raise SystemExit("no collision is found in the tracks.")
    per_m = float(frames.views[0].camera.K[0, 0])
    measured = states.position[..., [0, 2]]
    whole = Window(np.arange(len(states.time)), states.time, measured * per_m)
    seen = pixels(view, measured, height)

    def rms(count: int, judged: slice) -> tuple[float, dict[str, float]]:
        """[px] RMS over the frames `judged` of the law fitted to the first `count`, and its unknowns."""
        fit = solve(part := whole.first(count), collision.law(part, impact))
        away = pixels(view, fit.law.at(fit.values, states.time) / per_m, height) - seen
        return float(np.sqrt((away[judged] ** 2).sum(-1).mean())), dict(zip(fit.law.space.names, map(float, fit.values), strict=True))

    count = len(states.time)
    early = -(-2 * count // 3)
    all_px, found = rms(count, slice(None))
    ahead_px, _ = rms(early, slice(early, None))
    known = {name: round(found[name], 4) for name in ("restitution", "mass_ratio")}
    print(
        json.dumps({"unknowns": len(found), "rms_px": all_px, "heldout_px": ahead_px, "heldout_frames": count - early, **known}, indent=1)
    )


if __name__ == "__main__":
    main()
