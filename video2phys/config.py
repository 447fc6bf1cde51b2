"""Settings: defaults live in each stage's settings.py, files and --set only override, unknown keys are refused."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from video2phys.errors import BadInput, guess

STAGE_NAMES = ("frames", "gaussians", "states", "parameters", "topology", "twin")


class _Base(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    seed: int = Field(0, description="Every random choice follows from it.")


def schema() -> type[BaseModel]:
    """The whole configuration: `seed`, and one section per stage made of that stage's Settings."""
    sections: dict[str, Any] = {}
    for name in STAGE_NAMES:
        kind = import_module(f"video2phys.{name}.settings").Settings
        sections[name] = (kind, Field(default_factory=kind))
    return create_model("Config", __base__=_Base, **sections)


def resolve(file: Path | None = None, overrides: list[str] | None = None, start: dict[str, Any] | None = None) -> Any:
    """Defaults, then `start` (a recorded configuration), then a YAML file, then `a.b=value` overrides.

    Raises BadInput naming the setting, with a guess for a misspelt one.
    """
    tree: dict[str, Any] = dict(start or {})
    if file is not None:
        tree = _merge(tree, _read(file))
    for item in overrides or []:
        key, mark, value = item.partition("=")
        if not mark or not key.strip(". "):
            what = "no '='" if not mark else "no name before '='"
            raise BadInput(f"--set {item} has {what}.", fix="Write --set section.setting=value, e.g. --set parameters.max_steps=50.")
        try:
            nested: Any = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise BadInput(f"--set {item}: '{value}' is no value.", fix="Close its brackets and quotes.") from error
        for part in reversed(key.strip().split(".")):
            nested = {part: nested}
        tree = _merge(tree, nested)
    try:
        return schema().model_validate(tree)
    except ValidationError as error:
        raise _explain(error) from None


def _read(file: Path) -> dict[str, Any]:
    try:
        tree = yaml.safe_load(file.read_text())
    except OSError as error:
        raise BadInput(f"cannot read the settings file {file}: {error.strerror}", fix="Give an existing YAML file to --config.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{file} is not YAML: {str(error).splitlines()[0]}", fix="Mend the file; configs/quick.yaml is an example."
        ) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise BadInput(f"{file} holds no settings.", fix="Write one section per stage; configs/quick.yaml is an example.")
    return tree


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _explain(error: ValidationError) -> BadInput:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        model: Any = schema()
        for part in path[:-1]:
            model = model.model_fields[part].annotation
        return BadInput(f"{name} is not a setting.", fix=guess(path[-1], list(model.model_fields)))
    return BadInput(f"setting {name}: {first['msg'].lower()} (given: {first['input']!r}).", fix=f"Change {name} in the settings or --set.")
