"""Settings of the topology stage."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    insert_density_max: float = Field(20000.0, gt=0, description="Densest insert considered [kg/m^3]; tungsten has 19300.")
    volume_sigma: float = Field(0.05, gt=0, lt=1, description="Relative uncertainty of the reconstructed volume (one standard deviation).")
    given_sigma: float = Field(0.02, gt=0, lt=1, description="Relative uncertainty of a mass or density that the user gave.")
