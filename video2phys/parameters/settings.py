"""What a user can set in the section `parameters`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from video2phys.parameters.elastic.settings import ElasticSettings
from video2phys.parameters.flow.settings import FlowSettings


class Settings(BaseModel):
    """How the physical parameters are identified."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_steps: int = Field(40, ge=1, description="Most steps of the fit of a rigid motion, per window of frames.")
    friction_max: float = Field(1.5, gt=0, description="Upper bound of Coulomb's friction coefficient.")
    contact_time_max: float = Field(0.02, gt=1e-3, description="[s] upper bound of the duration of an impact.")
    free_inertia: bool = Field(False, description="Estimate the centre of mass and the inertia of a rigid body from its motion.")
    elastic: ElasticSettings = Field(ElasticSettings.model_validate({}), description="How an elastic body is identified.")
    flow: FlowSettings = Field(FlowSettings.model_validate({}), description="How plastic, granular and fluid matter is identified.")
