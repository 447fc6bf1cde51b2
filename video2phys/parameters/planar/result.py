"""From a fitted planar motion to the artefact Parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from video2phys.parameters.planar.fit import Fit, Window, rms
from video2phys.parameters.planar.scale import Scale
from video2phys.types import Frames, Parameter, Parameters, StateTrack, Verdict

FREE_MASS = "the motion of one body under gravity and friction does not depend on its mass"


@dataclass(frozen=True)
class Found:
    """What identification has to say."""

    window: Window
    early: Fit  # of the first two thirds
    fit: Fit  # of all
    parameters: tuple[Parameter, ...]
    scale: Scale
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    mass_note: str = FREE_MASS
    turn: Callable[[np.ndarray], np.ndarray] | None = None  # [rad] (T,) at times (T,), up to a constant; None = at a constant rate


def result(frames: Frames, states: StateTrack, found: Found) -> Parameters:
    """The artefact. Values come from every frame of the window; heldout_px from a fit that saw only its first two thirds."""
    window, fit, early = found.window, found.fit, found.early
    per_unit = float(frames.views[0].camera.K[0, 0])
    T, bodies = len(states.time), window.measured.shape[1]
    cut = len(early.residual)
    span = np.arange(window.frames[0], window.frames[-1] + 1)
    path = fit.law.at(fit.values, states.time[span])
    position = np.full((T, states.position.shape[1], 3), np.nan)
    position[span, :bodies] = np.stack([path[..., 0], np.zeros(path.shape[:-1]), path[..., 1]], -1) / per_unit
    ahead = window.measured[cut:] - early.law.at(early.values, window.time[cut:])
    residual = {"train_px": rms(early.residual), "heldout_px": rms(ahead), "fit_px": rms(fit.residual)}
    residuals = np.full((T, 2 * bodies), np.nan)
    residuals[window.frames] = (window.measured - fit.law.at(fit.values, window.time)).reshape(len(window.frames), -1)
    train, heldout = np.zeros(T, bool), np.zeros(T, bool)
    train[window.frames[:cut]], heldout[window.frames[cut:]] = True, True
    names = tuple(f"{axis}_px" if bodies == 1 else f"{axis}{o}_px" for o in range(bodies) for axis in "xz")
    mass = frames.about.mass
    known = Parameter("mass", mass, "kg", None, Verdict.GIVEN, "given") if mass is not None else None
    unknown = Parameter("mass", float("nan"), "kg", None, Verdict.NOT_IDENTIFIED, "", found.mass_note)
    notes = [*found.notes, "values and intervals come from all frames of the motion; heldout_px from a fit to their first two thirds"]
    if fit.rejected.any():
        notes.append(f"{int(fit.rejected.sum())} of {len(window.frames)} frames set aside as outliers of the fit")
    pixels = None if found.scale.known else next((p.value for p in found.parameters if p.name == "px_per_m"), None)
    shown = found.parameters
    if frames.about.scale == "measured":  # then a pixel is only a unit
        shown = tuple(p for p in shown if p.name not in ("px_per_m", "acceleration_px"))
    return Parameters(
        model="rigid",
        status=fit.estimate.status,
        parameters=(*shown, known or unknown),
        time=states.time,
        train=train,
        heldout=heldout,
        position=position,
        rotation=_turn(states, span, found.turn),
        particle=None,
        residual=residual,
        residuals=residuals,
        residual_names=names,
        correlation=fit.correlation,
        correlation_names=fit.law.space.names,
        unit=states.unit,
        px_per_m=float(pixels) if isinstance(pixels, float) else None,
        ground=None,
        gravity=_gravity(frames, pixels if isinstance(pixels, float) else None),
        notes=tuple(notes),
        warnings=found.warnings + _surprise(residual),
    )


def _gravity(frames: Frames, px_per_m: float | None) -> np.ndarray | None:
    """[length unit/s^2] (3,); None where there is none in the plane, or no scale to express it in pixels."""
    about = frames.about
    if about.gravity is None or about.unit == "m":
        return about.gravity
    return None if px_per_m is None else about.gravity * px_per_m


def _surprise(residual: dict[str, float]) -> tuple[str, ...]:
    if not residual["heldout_px"] > max(5 * residual["train_px"], 2.0):
        return ()
    ahead, behind = residual["heldout_px"], residual["train_px"]
    return (
        f"the last third of the motion is predicted to {ahead:.1f} px only, the rest fits to {behind:.1f} px: the motion changes, or the "
        "picture is distorted there.",
    )


def _turn(states: StateTrack, span: np.ndarray, turn: Callable[[np.ndarray], np.ndarray] | None) -> np.ndarray:
    """Predicted rotation (T, O, 4) about the picture's normal: as the law turns the body, else at the constant rate of the measured one."""
    T, bodies = states.position.shape[:2]
    rotation = np.zeros((T, bodies, 4))
    rotation[..., 0] = 1.0
    for o in range(bodies):
        k = span[states.valid[span, o] & np.isfinite(states.rotation_sigma[span, o, 1])]
        seen = states.kind == "planar" and len(k) >= 4
        measured = np.unwrap(2 * np.arctan2(-states.rotation[k, o, 2], states.rotation[k, o, 0]))
        if turn is not None:
            angle = turn(states.time[span])
            angle += np.median(measured - turn(states.time[k])) if seen else -angle[0]
        elif seen:
            rate, first = np.polyfit(states.time[k], measured, 1)
            angle = first + rate * states.time[span]
        else:
            continue
        rotation[span, o, 0], rotation[span, o, 2] = np.cos(0.5 * angle), -np.sin(0.5 * angle)
    return rotation
