"""Artefacts to open files and back: arrays in arrays.npz, the rest in artefact.json. Loading executes nothing."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
import zipfile
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from video2phys.errors import BadInput

T = TypeVar("T")


def save(artefact: Any, folder: Path) -> None:
    """Write a frozen dataclass into `folder` (artefact.json + arrays.npz). A field `folder` is not written."""
    arrays: dict[str, np.ndarray] = {}
    tree = _encode(artefact, "", arrays)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "arrays.npz", allow_pickle=False, **arrays)  # type: ignore[arg-type]
    (folder / "artefact.json").write_text(json.dumps(tree, indent=1, allow_nan=False))


def load(kind: type[T], folder: Path) -> T:
    """Read an artefact of dataclass `kind` from `folder`. Raises BadInput when files are missing or damaged."""
    try:
        tree = json.loads((folder / "artefact.json").read_text())
        with np.load(folder / "arrays.npz", allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return _decode(kind, tree, arrays, folder)
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise BadInput(f"{folder} does not hold a readable {kind.__name__}: {error}", fix="Rerun the stage that makes it.") from error


def _encode(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name: _encode(getattr(value, f.name), f"{name}/{f.name}".lstrip("/"), arrays)
                for f in dataclasses.fields(value) if f.name != "folder"}  # fmt: skip
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        return _encode(value.item(), name, arrays)
    if isinstance(value, dict):
        return {k: _encode(v, f"{name}/{k}", arrays) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(v, f"{name}/{i}", arrays) for i, v in enumerate(value)]
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}  # JSON has no NaN
    return value


def _decode(kind: Any, tree: Any, arrays: dict[str, np.ndarray], folder: Path) -> Any:
    if isinstance(tree, dict) and set(tree) == {"array"}:
        return arrays[tree["array"]]
    if isinstance(tree, dict) and set(tree) == {"float"}:
        return float(tree["float"])
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if tree is None:
        return None
    if origin in (typing.Union, types.UnionType):
        concrete = [a for a in args if a is not type(None)]
        return _decode(concrete[0], tree, arrays, folder) if len(concrete) == 1 else _plain(tree)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        values = {f.name: folder if f.name == "folder" else _decode(hints[f.name], tree[f.name], arrays, folder)
                  for f in dataclasses.fields(kind)}  # fmt: skip
        return kind(**values)
    if origin is tuple:
        inner = args[0] if len(args) == 2 and args[1] is Ellipsis else None
        return tuple(_decode(inner or args[i], item, arrays, folder) for i, item in enumerate(tree))
    if origin is dict:
        return {k: _decode(args[1], v, arrays, folder) for k, v in tree.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(tree)
    return _plain(tree)


def _plain(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_plain(item) for item in tree]
    return float(tree["float"]) if isinstance(tree, dict) and set(tree) == {"float"} else tree


def write_image(file: Path, image: np.ndarray) -> None:
    """Write RGB (H, W, 3) or grey (H, W) uint8 losslessly. Raises OSError when the disk refuses."""
    import cv2

    flat = image if image.ndim == 2 else np.ascontiguousarray(image[..., ::-1])
    done, data = cv2.imencode(".png", flat, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise OSError(f"cannot encode {file.name}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.tobytes())


def _read(file: Path, flag: int) -> np.ndarray:
    import cv2

    try:
        data = np.frombuffer(file.read_bytes(), np.uint8)
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}", fix="Rerun the frames stage.") from error
    image = cv2.imdecode(data, flag) if len(data) else None
    if image is None:
        raise BadInput(f"{file} is not a readable picture.", fix="Replace the file, or rerun the frames stage.")
    return image


def read_image(file: Path) -> np.ndarray:
    """RGB (H, W, 3) uint8. Raises BadInput."""
    return _read(file, 1)[..., ::-1]


def read_gray(file: Path) -> np.ndarray:
    """Grey (H, W) uint8. Raises BadInput."""
    return _read(file, 0)
