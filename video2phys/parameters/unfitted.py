"""The results of motions that allow no fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from video2phys.types import Parameter, Parameters, StateTrack, Status, Verdict


def too_few(states: StateTrack, bodies: int, model: str, names: tuple[str, ...], **told: Any) -> Parameters:
    """Nothing fitted and nothing predicted; `names` (M,) of the residuals, `told` what else is known of the fields of Parameters."""
    T = len(states.time)
    none = np.zeros(T, bool)
    blank = Parameters(
        model, Status.TOO_FEW_FRAMES, (), states.time, none, none, np.full((T, bodies, 3), np.nan),
        np.tile([1.0, 0, 0, 0], (T, bodies, 1)), None, {}, np.full((T, len(names)), np.nan), names, np.zeros((0, 0)), (), states.unit,
    )  # fmt: skip
    return replace(blank, **told)


def rigid(states: StateTrack, names: tuple[str, ...], why: str, **told: Any) -> Parameters:
    """The same of rigid bodies, with a sentence that says why."""
    mass = Parameter("mass", float("nan"), "kg", None, Verdict.NOT_IDENTIFIED, "", why)
    residual = {"train_px": float("nan"), "heldout_px": float("nan")}
    warnings = (f"{why}: nothing was identified.",)
    bodies = states.position.shape[1]
    return too_few(states, bodies, "rigid", names, parameters=(mass,), residual=residual, warnings=warnings, **told)
