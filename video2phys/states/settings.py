"""What a user can set in the section `states`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from video2phys.states.risp.settings import Risp


class Settings(BaseModel):
    """How the motion is measured."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["auto", "centroid", "planar", "pose", "affine"] = Field(
        "auto", description="What is measured per frame; auto chooses from the cameras, the object's size in the picture and the model."
    )
    method: Literal["photometric", "risp"] = Field(
        "photometric", description="Align pictures and outlines, or ask a rendering-invariant network trained on the reconstruction."
    )
    centroid_below_px: float = Field(12.0, gt=0, description="An object narrower than this in a planar picture is followed as a point.")
    risp: Risp = Field(default_factory=lambda: Risp.model_validate({}), description="The rendering-invariant network.")
