"""What a user can set in the section `gaussians`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """How the object is reconstructed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cells: int = Field(64, ge=16, le=256, description="Grid points along the longest side of the object's visual hull.")
    gaussians: int = Field(2500, ge=100, le=200_000, description="Gaussians that a reconstruction from several views starts with.")
    iterations: int = Field(400, ge=0, le=100_000, description="Training steps, one picture each.")
    degree: int = Field(0, ge=0, le=3, description="Degree of the spherical harmonics; 0 = a colour that moves with the body.")
    particles: int = Field(6000, ge=100, le=5_000_000, description="Particles that fill the body.")
