"""What a user can set in the section `frames`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """How pictures are read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_pixels: int = Field(1280 * 720, ge=1024, description="Larger pictures are made smaller to this many pixels; the aspect is kept.")
    max_frames: int = Field(1500, ge=2, description="Frames read from each view, counted from `start`.")
    start: float = Field(0.0, ge=0, description="First moment used [s], on the corrected clock.")
    stop: float | None = Field(None, gt=0, description="Last moment used [s]; null = the end of the clip.")
    white_key: bool = Field(False, description="Take what is not white as the object, where the background is pure white.")
