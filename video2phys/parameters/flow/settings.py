"""What a user can set in the section `parameters.flow`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FlowSettings(BaseModel):
    """How matter that flows is identified."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    coarse_particles: int = Field(700, ge=200, description="Most particles of the search for a material and its constants.")
    particles: int = Field(3000, ge=200, description="Most particles of the fit that follows, eight a grid cell.")
    max_steps: int = Field(12, ge=1, description="Most steps of that fit.")
    heldout_share: float = Field(1 / 3, gt=0, lt=0.9, description="Last share of the frames, predicted and not fitted.")
