"""What is known of the captures that evaluate.py runs: stated by their sources, or written by the simulator that made them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml


@dataclass(frozen=True)
class Truth:
    """A known value, how an error against it is counted, and the range that a good result lies in."""

    name: str
    value: float | None
    kind: Literal["relative", "log10", "absolute"] = "relative"
    component: int | None = None
    obj: int | None = None
    wanted: tuple[float, float] | None = None

    def error(self, value: float) -> float:
        """Signed error of `value`."""
        assert self.value is not None
        if self.kind == "log10":
            return math.log10(value / self.value)
        return value - self.value if self.kind == "absolute" else value / self.value - 1


def near(name: str, value: float, share: float) -> Truth:
    """A value that a good result meets within `share` of it."""
    return Truth(name, value, wanted=(value * (1 - share), value * (1 + share)))


def close(name: str, value: float, gap: float) -> Truth:
    """A value that a good result meets within `gap`, in its own unit."""
    return Truth(name, value, "absolute", wanted=(value - gap, value + gap))


def decades(name: str, value: float, apart: float) -> Truth:
    """Right within so many decades."""
    return Truth(name, value, "log10", wanted=(value * 10**-apart, value * 10**apart))


FRICTION = Truth("friction", 0.325, wanted=(0.29, 0.36))
# Stated or measured by the sources of the real captures (../shared/data/real/README.md).
REAL = {
    "sliding_block_R1": [FRICTION, near("acceleration_px", 345.0, 0.03), close("slope", 21.96, 1.0)],
    "sliding_block_R4": [FRICTION, near("acceleration_px", 890.0, 0.03), close("slope", 29.09, 1.0)],
    "projectile_30deg": [near("launch_speed", 2.726, 0.05), close("launch_angle", 30.0, 2.0), Truth("px_per_m", 316.0)],
    "ball_drop": [near("gravity", 9.81, 0.15)],
    "puck_collision": [Truth("restitution", None, wanted=(0.3, 1.0))],  # masses look equal; nobody says that they are
}
SAME = (("friction", "sliding_block_R1", "sliding_block_R4"),)  # one block on one plank, filmed twice

# The same sources' facts that pixels cannot tell, for copies of those captures that come without their capture.yaml.
FACTS = {
    "sliding_block_R1": "fps: 240\ncamera: {mode: planar, px_per_m: 460}\nground: {incline_deg: 21.96}\n",
    "sliding_block_R4": "fps: 240\ncamera: {mode: planar, px_per_m: 460}\nground: auto\n",
    "projectile_30deg": "fps: 240\ncamera: {mode: planar, scale: gravity}\nground: none\n",
    "ball_toss": "camera: {mode: planar, scale: gravity}\nground: none\n",
    "ball_drop": "fps: 120\ncamera: {mode: planar}\nobject: {diameter: 0.04}\n",
    "puck_collision": "fps: 240\ncamera: {mode: planar}\ngravity: none\nground: none\nobjects: 2\n",
}


def stated(capture: Path) -> list[Truth]:
    """Known parameters of a capture: from the table above, or from truth.yaml beside it."""
    file = next((f for f in (capture / "truth.yaml", capture.parent / "truth.yaml") if f.is_file()), None)
    if file is None:
        return REAL.get(capture.name, [])
    truth = yaml.safe_load(file.read_text())
    if "parameters" in truth:
        return known(truth["parameters"])
    if "materials" in truth:
        return known(_matter(truth["materials"][0]))
    impacts = [hit["e"] for hit in truth["restitution"]["impacts"]] or [truth["restitution"]["drop_test"]]
    return [Truth("friction", truth["contact"]["friction"]), Truth("restitution", float(np.mean(impacts)), "absolute")]


def known(parameters: dict[str, float]) -> list[Truth]:
    """Constants of matter by their names and conventions here. Matter that yields tells its stiffness less well; how slippery the ground
    is, is no constant of the matter."""
    apart = {"youngs_modulus": 0.25 if "yield_stress" in parameters else 0.06, "yield_stress": 0.12, "viscosity": 0.3}
    gaps = {"friction_angle": 4.0}
    found = []
    for name, value in parameters.items():
        if name in apart:
            found.append(decades(name, value, apart[name]))
        elif name in gaps:
            found.append(close(name, value, gaps[name]))
        else:
            found.append(Truth(name, value, "log10" if name == "plastic_viscosity" else "absolute"))
    return found


def _matter(material: dict[str, Any]) -> dict[str, float]:
    """What a simulator was given of a material; the stiffness of sand and fluids is not asked for, as motion hardly depends on it."""
    if "friction_angle" in material:
        return {"friction_angle": material["friction_angle"]}
    if "viscosity" in material:
        return {"viscosity": material["viscosity"]}
    found = {"youngs_modulus": material["E"], "poisson_ratio": material["nu"]}
    if "yield_stress" in material:  # there |dev tau| <= yield stress; here that is sqrt(2/3) of the one in uniaxial tension
        found["yield_stress"] = material["yield_stress"] * math.sqrt(1.5)
    return found


def scene_checks(capture: Path, made: dict[str, Any]) -> list[dict[str, Any]]:
    """Paths held against truth.npz: RMS distance of the measured and of the predicted centre [m]."""
    file = next((f for f in (capture / "truth.npz", capture.parent / "truth.npz") if f.is_file()), None)
    if file is None or capture.name == "pacnerf":  # the truth is stored in the z-up world
        return []
    with np.load(file, allow_pickle=False) as data:
        center = next((data[k] for k in ("position", "positions", "pos", "com") if k in data.files), None)
        if center is None and "particles" in data.files:
            center = data["particles"].mean(1)
    if center is None:
        return []
    states, parameters = made["states"], made["parameters"]
    checks = []
    for name, path in (("measured", states.position[:, 0]), ("predicted", parameters.position[:, 0])):
        n = min(len(path), len(center))
        apart = np.linalg.norm(path[:n] - center[:n], axis=1)
        rms = float(np.sqrt(np.nanmean(apart**2))) if np.isfinite(apart).any() else None
        checks.append({"parameter": f"centre_rms_{name}", "value": rms, "unit": "m", "truth": 0.0, "error": rms})
    return checks
