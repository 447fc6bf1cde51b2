"""capture.yaml: what pixels cannot tell. Every key is optional; a key that is not known is refused with a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from video2phys.errors import BadInput, guess
from video2phys.types import MODELS

NAMES = ("capture.yaml", "capture.yml")


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a number, not yes or no")
    return value


def _gravity(value: Any) -> Any:
    if value is None or value in ("none", "free"):
        return value
    if isinstance(value, str) or not isinstance(value, list) or len(value) != 3:
        raise ValueError("should be none, free or three numbers in m/s^2 such as [0, 0, -9.81]")
    return value


def _ground(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


def _model(value: Any) -> Any:
    if value is not None and value not in MODELS:
        raise ValueError(f"should be one of {', '.join(MODELS)}")
    return value


Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Positive = Annotated[float, BeforeValidator(_no_bool), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_no_bool)]
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class CameraKeys(_Part):
    """One camera: calibrated (fx and transform_matrix) or planar (motion parallel to the image)."""

    mode: Literal["planar", "perspective"] | None = None
    px_per_m: Positive | None = None  # planar
    scale: Literal["gravity"] | None = None  # planar: metres per pixel from g
    fx: Positive | None = Field(None, alias="fl_x")  # [px]
    fy: Positive | None = Field(None, alias="fl_y")  # [px]; default fx
    cx: Number | None = None  # [px]; default the middle
    cy: Number | None = None
    w: Annotated[int, Field(gt=0)] | None = None  # [px] size that fx .. cy refer to
    h: Annotated[int, Field(gt=0)] | None = None
    k1: Number = 0.0
    k2: Number = 0.0
    p1: Number = 0.0
    p2: Number = 0.0
    k3: Number = 0.0
    transform_matrix: list[list[Number]] | None = None  # camera to world, OpenGL axes, 3x4 or 4x4; photographs do without

    @model_validator(mode="after")
    def _complete(self) -> CameraKeys:
        if self.planar and (self.fx is not None or self.transform_matrix is not None):
            raise ValueError("has keys of a planar and of a calibrated camera; keep those of one kind")
        if self.px_per_m is not None and self.scale is not None:
            raise ValueError("has px_per_m and scale; keep one of them")
        if not self.planar and self.fx is None:
            raise ValueError("needs fx and transform_matrix when it is calibrated, or mode: planar")
        return self

    @property
    def planar(self) -> bool:
        return self.mode == "planar" or self.px_per_m is not None or self.scale is not None


class GroundKeys(_Part):
    """The support: a known plane, a known slope in the picture, one to be found, or none."""

    mode: Literal["auto", "none"] | None = None
    normal: Vector | None = None
    offset: Number = 0.0  # [m]
    incline_deg: Annotated[float, BeforeValidator(_no_bool), Field(ge=0, lt=90)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> GroundKeys:
        if (self.mode is not None) + (self.normal is not None) + (self.incline_deg is not None) != 1:
            raise ValueError("should be auto, none, {normal: [0, 0, 1], offset: 0} or {incline_deg: 22}")
        if self.normal is not None and not any(self.normal):
            raise ValueError("has a normal of length zero")
        return self


class ObjectKeys(_Part):
    """What is known of the object."""

    size: Annotated[list[Positive], Field(min_length=3, max_length=3)] | None = None  # [m]
    diameter: Positive | None = None  # [m]
    mass: Positive | None = None  # [kg]
    density: Positive | None = None  # [kg/m^3]


class BaselineKeys(_Part):
    """The known distance of two photographs' cameras, which gives cameras found from photographs their scale."""

    between: Annotated[list[str], Field(min_length=2, max_length=2)]  # names of pictures
    distance: Positive  # [m]


class Capture(_Part):
    """Every key of capture.yaml."""

    video: str | None = None
    videos: dict[str, str] | None = None
    tracks: str | None = None  # CSV file of measured tracks, instead of video
    fps: Positive | None = None  # true rate, when the container is wrong
    frames: Annotated[Count, Field(ge=2)] | None = None  # use this many, from the first
    objects: Annotated[Count, Field(ge=1)] = 1
    background: str | dict[str, str] | None = None  # picture of the scene without the object, or one a view
    camera: CameraKeys | None = None
    cameras: dict[str, CameraKeys] | None = None  # one a view
    baseline: BaselineKeys | None = None  # of photographs
    gravity: Annotated[list[Number] | Literal["none", "free"] | None, BeforeValidator(_gravity)] = None
    ground: Annotated[GroundKeys | None, BeforeValidator(_ground)] = None
    object: ObjectKeys = ObjectKeys()
    model: Annotated[str | None, BeforeValidator(_model)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Capture:
        told = [name for name in ("video", "videos", "tracks") if getattr(self, name) is not None]
        if len(told) > 1:
            raise ValueError(f"has {' and '.join(told)}; keep one of them")
        if self.camera is not None and self.cameras is not None:
            raise ValueError("has camera and cameras; keep one of them")
        return self


def read(capture: Path, instead: Path | None = None) -> Capture:
    """capture.yaml of a folder, or `instead` of it, or the defaults where there is none. Raises BadInput in one line with a remedy.

    For the path of one file, the capture.yaml beside it counts when it names that file, or when it names none and the file holds tracks.
    """
    if instead is not None or not capture.is_file():
        return _parse(instead or keys_file(capture))
    beside = _parse(keys_file(capture))
    named = beside.video or beside.tracks
    tracked = capture.suffix.lower() == ".csv" and named is None and beside.videos is None
    return beside if named == capture.name or tracked else Capture()


def keys_file(capture: Path) -> Path | None:
    """The capture.yaml in a folder, or beside a file."""
    folder = capture.parent if capture.is_file() else capture
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def _parse(file: Path | None) -> Capture:
    if file is None:
        return Capture()
    try:
        tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}.", fix="Make the file readable.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{file} is not YAML: {' '.join(str(error).split())}.", fix="Mend the file; docs/formats.md has an example."
        ) from error
    if tree is None:
        return Capture()
    if not isinstance(tree, dict):
        raise BadInput(f"{file} holds no keys.", fix="Write lines such as 'fps: 240'; docs/formats.md lists the keys.")
    try:
        return Capture.model_validate(tree)
    except ValidationError as error:
        raise _explain(error, file) from None


def _explain(error: ValidationError, file: Path) -> BadInput:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        kinds = {"camera": CameraKeys, "cameras": CameraKeys, "baseline": BaselineKeys, "ground": GroundKeys, "object": ObjectKeys}
        kind = kinds[path[0]] if len(path) > 1 else Capture
        return BadInput(f"{file}: '{name}' is not a key of capture.yaml.", fix=guess(path[-1], list(kind.model_fields)))
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    what = (
        f"{file}: {name or 'the file'} {message}"
        if first["type"] == "value_error"
        else f"{file}: {name}: {message[0].lower()}{message[1:]}"
    )
    given = "" if isinstance(first["input"], dict | BaseModel) else f" (given: {first['input']!r})"
    return BadInput(f"{what}{given}.", fix="Mend capture.yaml; docs/formats.md lists every key.")
