"""Splats and points to PLY files and back, with a JSON beside each that states unit and axes.

The attribute names, their order and their encoding (log scale, logit opacity, channel-major f_rest) are those of the
original 3D Gaussian Splatting files, so that every splat viewer reads them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.render.files import table
from video2phys.render.files.splats import Splats

SMALLEST_OPACITY = 1e-7  # the logit of 0 or 1 is infinite


def write_splats(file: Path, splats: Splats, convention: dict[str, Any]) -> None:
    """Write a 3DGS PLY, and `convention` (unit, axes, pose) as JSON beside it under the same name."""
    g, k = splats.harmonics.shape[:2]
    opacity = np.clip(splats.opacity, SMALLEST_OPACITY, 1 - SMALLEST_OPACITY)
    rest = splats.harmonics[:, 1:].transpose(0, 2, 1).reshape(g, -1)  # channel by channel
    columns = [splats.mean, np.zeros((g, 3)), splats.harmonics[:, 0], rest, np.log(opacity / (1 - opacity))[:, None],
               np.log(np.maximum(splats.scale, 1e-12)), splats.quaternion]  # fmt: skip
    names = ["x", "y", "z", "nx", "ny", "nz", *_numbered("f_dc", 3), *_numbered("f_rest", 3 * (k - 1)), "opacity",
             *_numbered("scale", 3), *_numbered("rot", 4)]  # fmt: skip
    table.write(file, names, np.concatenate(columns, 1))
    sidecar = {"format": "3D Gaussian Splatting PLY", "degree": {1: 0, 4: 1, 9: 2, 16: 3}[k], "quaternion": "w, x, y, z"}
    file.with_suffix(".json").write_text(json.dumps(sidecar | convention, indent=1))


def read_splats(file: Path) -> Splats:
    """Read a 3DGS PLY of degree 0 to 3, every row as it is (see `splats.sound`). Raises BadInput when it is none."""
    column = table.read(file)
    rest = [name for name in column if name.startswith("f_rest_")]
    try:
        stack = {key: np.stack([column[n] for n in _numbered(key, size)], 1) for key, size in (("f_dc", 3), ("scale", 3), ("rot", 4))}
        mean, opacity = np.stack([column[n] for n in "xyz"], 1), column["opacity"]
        higher = np.stack([column[n] for n in _numbered("f_rest", len(rest))], 1) if rest else np.zeros((len(mean), 0))
    except KeyError as error:
        raise BadInput(f"{file.name} has no column {error}: it is no Gaussian splat.", fix="Give a 3DGS PLY.") from None
    if len(rest) not in (0, 9, 24, 45):
        raise BadInput(f"{file.name} has {len(rest)} f_rest columns, want 0, 9, 24 or 45.", fix="Give a 3DGS PLY of degree 0 to 3.")
    harmonics = np.concatenate([stack["f_dc"][:, None], higher.reshape(len(mean), 3, -1).transpose(0, 2, 1)], 1)
    length = np.linalg.norm(stack["rot"], axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        return Splats(mean, stack["rot"] / np.where(length > 0, length, 1), np.exp(stack["scale"]), 1 / (1 + np.exp(-opacity)), harmonics)


def write_points(file: Path, points: np.ndarray, values: dict[str, np.ndarray], convention: dict[str, Any]) -> None:
    """Write points (P, 3) with one scalar per point and name, and `convention` as JSON beside them."""
    table.write(file, ["x", "y", "z", *values], np.column_stack([points, *values.values()]))
    file.with_suffix(".json").write_text(json.dumps(convention, indent=1))


def read_points(file: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points (P, 3) and their scalars by name. Raises BadInput."""
    column = table.read(file)
    points = np.stack([column.pop(n) for n in "xyz"], 1)
    return points, column


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{i}" for i in range(count)]
