"""What a user can set in the section `frames`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """How pictures are read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    capture_yaml: Path | None = Field(None, description="capture.yaml to read instead of the one in the capture.")
    max_pixels: int = Field(1280 * 720, ge=1024, description="Larger pictures are made smaller to this many pixels; the aspect is kept.")
    max_frames: int = Field(1500, ge=2, description="Frames read from each view, counted from `start`.")
    start: float = Field(0.0, ge=0, description="First moment used [s], on the corrected clock.")
    stop: float | None = Field(None, gt=0, description="Last moment used [s]; null = the end of the clip.")
    poses: Literal["auto", "given", "estimated"] = Field(
        "auto", description="Cameras of photographs of something at rest: as the capture gives them, or found from the photographs alone."
    )
    matching: Literal["auto", "exhaustive", "sequential"] = Field(
        "auto", description="Photographs that are compared: every pair, or neighbours in order of name; auto = every pair up to 150."
    )
    lens: Literal["SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV"] = Field(
        "SIMPLE_RADIAL", description="COLMAP's camera model for estimated poses."
    )
    shared_intrinsics: bool = Field(True, description="All photographs come from one camera with one focal length.")
    sparse: bool = Field(
        True, description="Also find sparse points where the photographs' poses are given; reconstruction starts from them."
    )
    white_key: bool = Field(False, description="Take what is not white as the object, where the background is pure white.")
