"""Errors that published methods reach at the same parameters, and the table that holds those of the suite `pacnerf_like` beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

SUITE = "pacnerf_like"
# Mean error and its scatter over scenes: decades, but for Poisson's ratio. PhysInOne (CVPR 2026), table 5: both methods run by others on
# four scenes of each kind with a cluttered background; its numbers are taken as hundredths, as the methods' own papers print theirs.
# The angle of friction is left out, because its unit is not stated.
RERUN = {
    ("elastic", "youngs_modulus"): ((1.172, 0.684), (0.498, 0.088)),
    ("elastic", "poisson_ratio"): ((0.143, 0.079), (0.164, 0.014)),
    ("plasticine", "youngs_modulus"): ((0.684, 0.441), (1.784, 0.467)),
    ("plasticine", "poisson_ratio"): ((0.158, 0.111), (0.427, 0.257)),
    ("plasticine", "yield_stress"): ((0.255, 0.183), (0.171, 0.194)),
    ("fluid", "viscosity"): ((0.426, 0.299), (0.088, 0.096)),
    ("viscoplastic", "yield_stress"): ((3.392, 1.460), (0.288, 0.139)),
    ("viscoplastic", "plastic_viscosity"): ((0.656, 0.717), (0.250, 0.155)),
}
HEAD = ["matter", "parameter", "scenes", "mean error", "largest", "covered", "minutes a scene", "PAC-NeRF", "GIC"]
CONSTANTS = ("youngs_modulus", "poisson_ratio", "yield_stress", "friction_angle", "viscosity", "plastic_viscosity")
UNITS = {"poisson_ratio": "", "friction_angle": " deg"}


def summary(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Lines under HEAD, one for each kind of matter and constant of SUITE among the rows."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["capture"].startswith(f"{SUITE}/") and row["parameter"] in CONSTANTS and row.get("error") is not None:
            kind = row["capture"].split("/")[1].split("_")[0]
            groups.setdefault((kind, row["parameter"]), []).append(row)
    table = []
    for (kind, name), found in groups.items():
        unit = UNITS.get(name, " decades")
        error = np.abs([row["error"] for row in found])
        held = sum(bool(row.get("covered")) for row in found)
        minutes = np.mean([row["seconds"] for row in found]) / 60
        others = [f"{mean:.2f} ± {scatter:.2f}" for mean, scatter in RERUN.get((kind, name), ())] or ["", ""]
        table.append([kind, name, str(len(found)), f"{error.mean():.3g}{unit}", f"{error.max():.3g}{unit}", f"{held} of {len(found)}",
                      f"{minutes:.0f}", *others])  # fmt: skip
    return table
