"""What a user can set in the section `gaussians`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

GAUSSIANS = 2500  # of a body where settings leave it open and no scan tells more


class Settings(BaseModel):
    """How the object is reconstructed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cells: int = Field(64, ge=16, le=256, description="Grid points along the longest side of the object's visual hull.")
    gaussians: int | None = Field(
        None, ge=100, le=2_000_000, description="Largest number of Gaussians; null = by the number of pixels and views."
    )
    iterations: int | None = Field(
        None, ge=0, le=100_000, description="Training steps, one picture each; null = 400 for a moment of a motion, 3000 for a scan "
        "with masks, 8000 for a scene."
    )  # fmt: skip
    minutes: float | None = Field(None, gt=0, description="Time for training, over which the schedule is spread where it runs out first.")
    density: Literal["auto", "fixed", "adaptive", "mcmc"] = Field(
        "auto", description="How Gaussians are added and dropped: not, by clone, split and prune, or as sampling. auto = adaptive "
        "for scans with masks, mcmc for scenes, a few doublings for a moment of a motion, always."
    )  # fmt: skip
    degree: int | None = Field(
        None,
        ge=0,
        le=3,
        description="Degree of the spherical harmonics; 0 = a colour that moves with the body; null = 0, and 1 for scans.",
    )
    start: Literal["auto", "points", "random"] = Field(
        "auto",
        description="Where the Gaussians of a scene without masks start: at sparse points, at random, or at both where there are points.",
    )
    antialias: bool = Field(True, description="Gaussians smaller than a pixel fade instead of being drawn a pixel wide (scans).")
    exposure: bool = Field(True, description="Estimate how bright each photograph of a scene was taken.")
    early_stop: bool = Field(True, description="Stop when the views held out no longer improve (scans).")
    wall: float | None = Field(
        None, gt=0, description="Thickness of the wall of a body known to be hollow, in the capture's unit of length; null = solid."
    )
    particles: int = Field(6000, ge=100, le=5_000_000, description="Particles that fill the body.")
