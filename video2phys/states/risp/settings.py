"""Settings of the rendering-invariant network."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Risp(BaseModel):
    """Section states.risp."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    renders: int = Field(600, ge=32, description="Random states that are rendered once; their light and colours vary at every step.")
    steps: int = Field(500, ge=1, description="Training steps.")
    batch: int = Field(16, ge=2, description="Pictures per step.")
    penalty: float = Field(0.1, ge=0, description="Weight of the rendering-gradient penalty; 0 = plain domain randomisation.")
    rotation_deg: float = Field(45.0, gt=0, le=180, description="Largest turn away from the reconstructed pose in the training states.")
    stretch: float = Field(0.25, ge=0, lt=0.8, description="Largest strain in the training states of soft bodies.")
