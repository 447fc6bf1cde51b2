"""Settings of the twin stage."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    soft_cells: int = Field(6, ge=2, le=12, description="Cells of the MuJoCo mesh of a soft body along its longest side.")
    video_size: int = Field(720, ge=160, le=1920, description="Longer side [px] of a view in the overlay video.")
    video_views: int = Field(2, ge=1, le=4, description="Most views shown side by side in the overlay video.")
    video_frames: int = Field(240, ge=8, description="Most frames in the overlay video; longer clips are thinned.")
