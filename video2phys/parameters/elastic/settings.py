"""What a user can set in the section `parameters.elastic`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ElasticSettings(BaseModel):
    """How an elastic body is identified."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    law: Literal["neo-Hookean", "fixed corotated"] = Field("neo-Hookean", description="Constitutive law; they agree at small strain.")
    youngs_modulus_min: float = Field(1e3, gt=0, description="[Pa] lower bound of the stiffness.")
    youngs_modulus_max: float = Field(1e7, gt=0, description="[Pa] upper bound of the stiffness; the step shrinks with its square root.")
    poisson_ratio_max: float = Field(0.49, gt=0, lt=0.5, description="Upper bound of Poisson's ratio.")
    particles: int = Field(4000, ge=512, description="Most particles of the fit, eight a grid cell; the search uses fewer.")
    effort: float = Field(
        6e6, gt=0, description="Particle steps that one simulation of the fit may take; stiff bodies get fewer particles."
    )
    max_steps: int = Field(20, ge=1, description="Most steps of the fit on each window of frames.")
    heldout_share: float = Field(1 / 3, gt=0, lt=0.9, description="Last share of the frames, predicted and not fitted.")
