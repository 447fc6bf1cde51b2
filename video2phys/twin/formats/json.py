"""twin.json: every parameter with unit, interval, verdict and law; assumptions and where it all comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from video2phys.types import TwinFile

REQUIRED = ("model", "status", "parameters", "residual", "timings_s", "device", "warnings", "provenance")


def write(folder: Path, tree: Mapping[str, Any]) -> TwinFile:
    """Write the tree and check what is read back against the schema."""
    file = folder / "twin.json"
    file.write_text(json.dumps(tree, indent=1, allow_nan=False))
    return TwinFile("twin.json", "JSON", "has every field of the schema", valid(json.loads(file.read_text())))


def valid(tree: Any) -> bool:
    """Whether a tree follows the schema in docs/formats.md."""
    if not isinstance(tree, dict) or any(key not in tree for key in REQUIRED):
        return False
    entries = tree["parameters"].values()
    return all({"value", "unit", "verdict"} <= set(e) and (e.get("interval") is None or len(e["interval"]) > 0) for e in entries)
