"""Splats and points to PLY files and back, with a JSON beside each that states unit and axes.

The attribute names, their order and their encoding (log scale, logit opacity, channel-major f_rest) are those of the
original 3D Gaussian Splatting files, so that every splat viewer reads them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.errors import BadInput

SMALLEST_OPACITY = 1e-7  # the logit of 0 or 1 is infinite


@dataclass(frozen=True)
class Splats:
    """Gaussians as the renderer takes them."""

    mean: np.ndarray  # (G, 3)
    quaternion: np.ndarray  # (G, 4) w, x, y, z
    scale: np.ndarray  # (G, 3) standard deviations
    opacity: np.ndarray  # (G,) 0..1
    harmonics: np.ndarray  # (G, K, 3) K = 1, 4, 9, 16


def write_splats(file: Path, splats: Splats, convention: dict[str, Any]) -> None:
    """Write a 3DGS PLY, and `convention` (unit, axes, pose) as JSON beside it under the same name."""
    g, k = splats.harmonics.shape[:2]
    opacity = np.clip(splats.opacity, SMALLEST_OPACITY, 1 - SMALLEST_OPACITY)
    rest = splats.harmonics[:, 1:].transpose(0, 2, 1).reshape(g, -1)  # channel by channel
    columns = [splats.mean, np.zeros((g, 3)), splats.harmonics[:, 0], rest, np.log(opacity / (1 - opacity))[:, None],
               np.log(np.maximum(splats.scale, 1e-12)), splats.quaternion]  # fmt: skip
    names = ["x", "y", "z", "nx", "ny", "nz", *_numbered("f_dc", 3), *_numbered("f_rest", 3 * (k - 1)), "opacity",
             *_numbered("scale", 3), *_numbered("rot", 4)]  # fmt: skip
    _write(file, names, np.concatenate(columns, 1))
    sidecar = {"format": "3D Gaussian Splatting PLY", "degree": {1: 0, 4: 1, 9: 2, 16: 3}[k], "quaternion": "w, x, y, z"}
    file.with_suffix(".json").write_text(json.dumps(sidecar | convention, indent=1))


def read_splats(file: Path) -> Splats:
    """Read a 3DGS PLY of degree 0 to 3. Raises BadInput when it is none."""
    column = _read(file)
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
    quaternion = stack["rot"] / np.linalg.norm(stack["rot"], axis=1, keepdims=True)
    return Splats(mean, quaternion, np.exp(stack["scale"]), 1 / (1 + np.exp(-opacity)), harmonics)


def write_points(file: Path, points: np.ndarray, values: dict[str, np.ndarray], convention: dict[str, Any]) -> None:
    """Write points (P, 3) with one scalar per point and name, and `convention` as JSON beside them."""
    _write(file, ["x", "y", "z", *values], np.column_stack([points, *values.values()]))
    file.with_suffix(".json").write_text(json.dumps(convention, indent=1))


def read_points(file: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points (P, 3) and their scalars by name. Raises BadInput."""
    column = _read(file)
    points = np.stack([column.pop(n) for n in "xyz"], 1)
    return points, column


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{i}" for i in range(count)]


def _write(file: Path, names: list[str], table: np.ndarray) -> None:
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(table)}"]
    header += [f"property float {name}" for name in names] + ["end_header\n"]
    file.write_bytes("\n".join(header).encode() + np.ascontiguousarray(table, "<f4").tobytes())


def _read(file: Path) -> dict[str, np.ndarray]:
    """Columns of the vertex element as float64."""
    kinds = {
        "float": "<f4",
        "float32": "<f4",
        "double": "<f8",
        "float64": "<f8",
        "uchar": "u1",
        "uint8": "u1",
        "int": "<i4",
        "int32": "<i4",
    }
    try:
        data = file.read_bytes()
        head, mark, body = data.partition(b"end_header\n")
        lines = [line.split() for line in head.decode("ascii").splitlines()]
        if not mark or lines[0] != ["ply"] or ["format", "binary_little_endian", "1.0"] not in lines:
            raise ValueError("not a binary little-endian PLY")
        elements = [line for line in lines if line[0] == "element"]
        if elements[0][1] != "vertex":
            raise ValueError("its first element is not 'vertex'")
        start = lines.index(elements[0]) + 1
        stop = lines.index(elements[1]) if len(elements) > 1 else len(lines)
        kind = np.dtype([(line[2], kinds[line[1]]) for line in lines[start:stop] if line[0] == "property"])
        table = np.frombuffer(body, kind, int(elements[0][2]))
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise BadInput(f"cannot read {file}: {error}", fix="Give a binary little-endian PLY.") from error
    return {name: table[name].astype(float) for name in kind.names or ()}
