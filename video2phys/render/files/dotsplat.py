"""The .splat format: 32 bytes a Gaussian, position and standard deviations as float32, colour, opacity and rotation as bytes.

It has no spherical harmonics: what looks different from different sides is lost, and a colour is right to 1/255.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.render.files.splats import Splats
from video2phys.render.harmonics import C0

ROW = np.dtype([("mean", "<f4", 3), ("scale", "<f4", 3), ("colour", "u1", 4), ("rotation", "u1", 4)])


def write_splat(file: Path, splats: Splats, convention: dict[str, Any]) -> None:
    """Write Gaussians, the most visible first as viewers expect, and `convention` as JSON beside them."""
    rows = np.zeros(len(splats.mean), ROW)
    rows["mean"], rows["scale"] = splats.mean, splats.scale
    colour = np.column_stack([0.5 + C0 * splats.harmonics[:, 0], splats.opacity])
    rows["colour"] = np.round(255 * colour.clip(0, 1))
    quaternion = splats.quaternion / np.linalg.norm(splats.quaternion, axis=1, keepdims=True)
    rows["rotation"] = np.round(128 * quaternion + 128).clip(0, 255)
    order = np.argsort(-splats.opacity * splats.scale.prod(1), kind="stable")
    file.write_bytes(rows[order].tobytes())
    sidecar = {"format": ".splat, 32 bytes a Gaussian", "degree": 0, "quaternion": "w, x, y, z"}
    file.with_suffix(".json").write_text(json.dumps(sidecar | convention, indent=1))


def read_splat(file: Path) -> Splats:
    """Read every row as it is. Raises BadInput for a file whose length is no multiple of 32."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}.", fix="Give a .splat file.") from error
    if not data or len(data) % ROW.itemsize:
        raise BadInput(f"{file.name} holds {len(data)} bytes, no multiple of {ROW.itemsize}.", fix="Give a .splat file that is whole.")
    rows = np.frombuffer(data, ROW)
    quaternion = (rows["rotation"].astype(float) - 128) / 128
    length = np.linalg.norm(quaternion, axis=1, keepdims=True)
    harmonics = ((rows["colour"][:, :3] / 255.0 - 0.5) / C0)[:, None]
    return Splats(rows["mean"].astype(float), quaternion / np.where(length > 0, length, 1), rows["scale"].astype(float),
                  rows["colour"][:, 3] / 255.0, harmonics)  # fmt: skip
