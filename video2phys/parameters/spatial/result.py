"""From a fitted spatial motion to the artefact Parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.parameters.spatial.fit import Fit
from video2phys.parameters.spatial.solid import MOMENTS
from video2phys.parameters.spatial.track import Track
from video2phys.simulate.rigid import rotation as quaternions
from video2phys.solve.covariance import correlation, parameters, spread
from video2phys.types import About, Frames, Parameter, Parameters, Plane, StateTrack, Verdict

LAWS = {
    "friction": "Coulomb",
    "restitution": "damped contact without adhesion, share of the normal speed",
    "contact_time": "pi / omega of the damped contact",
}
RIVAL = 9.0  # [sigma^2] an explanation that costs this much more is three standard deviations less likely
NAMES = ("position_x", "position_y", "position_z", "turn_x", "turn_y", "turn_z")
OFF = 0.15  # share of gravity that a wrong frame rate or scale easily exceeds and a good track does not


def result(frames: Frames, states: StateTrack, track: Track, found: Fit, train: np.ndarray, heldout: np.ndarray,
           notes: tuple[str, ...]) -> Parameters:  # fmt: skip
    """The artefact. Training frames show the fit, held-out frames the prediction from its last start state."""
    position, rotation = predicted(found, states)
    T = len(states.time)
    residuals = np.full((T, 6), np.nan)
    k = track.frame
    residuals[k, :3] = track.position - position[k, 0]
    residuals[k, 3:] = quaternions.between(track.rotation, rotation[k, 0])
    warnings, more = [], []
    restarts = [int(track.frame[s.first]) for s in found.model.segments[1:]]
    if restarts:
        more.append(
            f"the state was estimated anew at frame {', '.join(map(str, restarts))}: every impact of a tumbling body magnifies errors, "
            "so each part of the motion is followed from its own start"
        )
    more.append(
        "mass and inertia are those of a uniform solid" if "inertia_xx" not in found.contact else "centre of mass and inertia are free"
    )
    warnings += gravity_check(found, frames.about)
    fitted = _scalars(found)
    moving = fitted if len(fitted) else ()
    return Parameters(
        model="rigid",
        status=found.estimate.status,
        parameters=(*moving, *_start(found), *_mass(frames.about, found)),
        time=states.time,
        train=train,
        heldout=heldout,
        position=position,
        rotation=rotation,
        particle=None,
        residual={
            "train_px": pixels(frames, states, position, train),
            "heldout_px": pixels(frames, states, position, heldout),
            "train_m": _rms(residuals[train, :3]),
            "heldout_m": _rms(residuals[heldout, :3]),
        },
        residuals=residuals,
        residual_names=NAMES,
        correlation=correlation(found.estimate),
        correlation_names=found.space.names,
        unit=states.unit,
        ground=_ground(found),
        gravity=_gravity(found),
        notes=(*notes, *more),
        warnings=tuple(warnings),
    )


def predicted(found: Fit, states: StateTrack) -> tuple[np.ndarray, np.ndarray]:
    """Positions (T, O, 3) and rotations (T, O, 4) of object 0 at every video frame from the first measured one; NaN elsewhere."""
    T, bodies = len(states.time), states.position.shape[1]
    position, rotation = np.full((T, bodies, 3), np.nan), np.zeros((T, bodies, 4))
    rotation[..., 0] = 1.0
    starts = [int(found.model.track.frame[s.first]) for s in found.model.segments]
    parts = [np.arange(a, b) for a, b in zip(starts, [*starts[1:], T], strict=True)]
    moved = found.model.rollout(found.space.names, found.estimate.values[None], [states.time[p] for p in parts])
    for p, m in zip(parts, moved, strict=True):
        position[p, 0], rotation[p, 0] = m.position[0], m.rotation[0]
    return position, rotation


def pixels(frames: Frames, states: StateTrack, position: np.ndarray, which: np.ndarray) -> float:
    """RMS distance [px] between the projections of measured and predicted centres over the frames `which` and all views."""
    k = np.flatnonzero(which & states.valid[:, 0])
    away = [v.camera.project(states.position[k, 0]) - v.camera.project(position[k, 0]) for v in frames.views]
    return _rms(np.concatenate(away)) if len(k) and away else float("nan")


def _rms(rows: np.ndarray) -> float:
    good = rows[np.isfinite(rows).all(-1)]
    return float(np.sqrt((good**2).sum(-1).mean())) if len(good) else float("nan")


def _scalars(found: Fit) -> list[Parameter]:
    """Friction, restitution, ...: means over rival explanations, with intervals that cover them; and what free flight cannot tell."""
    told = {p.name: p for p in parameters(found.estimate, found.space, LAWS, channels=6)}
    factor = max(spread(found.estimate, 6).chi2, 1.0)
    out = []
    for name in ("friction", "restitution", "contact_time", "ground_height"):
        if name not in told:
            why = "the body touches nothing in the frames of the fit" if name not in found.contact else ""
            if name != "ground_height" and found.model.ground is not None:
                out.append(
                    Parameter(name, float("nan"), "1" if name != "contact_time" else "s", None, Verdict.NOT_IDENTIFIED, LAWS[name], why)
                )
            continue
        p, weights, values = told[name], [1.0], [found.contact[name]]
        for rival in found.rivals:
            # evidence leans on how wide errors are believed to be, which is known roughly: misfit has to speak against a rival, too
            dearer = min(rival.price - found.price, rival.estimate.cost - found.estimate.cost)
            if name in rival.contact and dearer < RIVAL * factor:
                p = _covering(p, next(q for q in parameters(rival.estimate, rival.space, LAWS, channels=6) if q.name == name))
                weights, values = [*weights, float(np.exp(-max(dearer, 0.0) / (2 * factor)))], [*values, rival.contact[name]]
        out.append(replace(p, value=float(np.average(values, weights=weights))))
    out += _vectors(told, found)
    return out


def _covering(p: Parameter, other: Parameter) -> Parameter:
    """The interval stretched over that of another explanation of the same motion."""
    if p.interval is None or other.interval is None:
        return p
    ends = np.array([p.interval, other.interval], float)
    interval = [float(ends[:, 0].min()), float(ends[:, 1].max())]
    wide = (interval[1] - interval[0]) / 2 > 0.25 * abs(float(np.asarray(p.value)))
    verdict = Verdict.WEAK if wide and p.verdict is Verdict.IDENTIFIED else p.verdict
    return replace(p, interval=interval, verdict=verdict, note="a mean over explanations of the same motion; the interval covers them")


def _vectors(told: dict[str, Parameter], found: Fit) -> list[Parameter]:
    out = []
    if "gravity_x" in told:
        out.append(vector("gravity", [told[f"gravity_{a}"] for a in "xyz"], "m/s^2"))
    if "center_x" in told:
        out.append(
            vector("center_of_mass", [told[f"center_{a}"] for a in "xyz"], "m", law="body frame", scale=found.model.solid.shape.extent)
        )
        note = "per unit mass" if found.model.segments[-1].last >= found.free else "per unit mass; free flight fixes it only up to a factor"
        out.append(vector("inertia", [told[f"inertia_{m}"] for m in MOMENTS], "m^2", law="body frame, about the centre of mass", note=note))
    return out


def vector(name: str, parts: list[Parameter], unit: str, *, law: str = "", note: str = "", scale: float | None = None) -> Parameter:
    """One parameter of several components; identified when every half-width is under a quarter of the length, or a tenth of `scale`."""
    value = [float(np.asarray(p.value)) for p in parts]
    if any(p.interval is None for p in parts):
        return Parameter(name, value, unit, None, Verdict.NOT_IDENTIFIED, law, note or "the motion does not fix it")
    interval = [list(np.asarray(p.interval, float)) for p in parts]
    half = max((high - low) / 2 for low, high in interval)
    enough = half < 0.25 * float(np.linalg.norm(value)) or (scale is not None and half < 0.1 * scale)
    return Parameter(name, value, unit, interval, Verdict.IDENTIFIED if enough else Verdict.WEAK, law, note)  # type: ignore[arg-type]


def _start(found: Fit) -> list[Parameter]:
    """Velocity and spin at the first frame."""
    told = {p.name: p for p in parameters(found.estimate, found.space, channels=6)}
    kinds = (("initial_velocity", "velocity", "m/s"), ("initial_angular_velocity", "spin", "rad/s"))
    return [vector(name, [told[f"{kind}_{a}.0"] for a in "xyz"], unit, law="world axes, at the first frame") for name, kind, unit in kinds]


def _mass(about: About, found: Fit) -> list[Parameter]:
    volume = found.model.solid.volume
    if about.mass is not None:
        return [Parameter("mass", about.mass, "kg", None, Verdict.GIVEN, "given")]
    if about.density is not None and about.unit == "m":
        mass = about.density * volume
        return [
            Parameter("density", about.density, "kg/m^3", None, Verdict.GIVEN, "given"),
            Parameter(
                "mass", mass, "kg", None, Verdict.GIVEN, "density times volume", "the motion of one body does not depend on its mass"
            ),
        ]
    return [Parameter("mass", float("nan"), "kg", None, Verdict.NOT_IDENTIFIED, "", "the motion of one body does not depend on its mass")]


def _gravity(found: Fit) -> np.ndarray:
    if "gravity_x" in found.contact:
        return np.array([found.contact[f"gravity_{a}"] for a in "xyz"])
    return found.model.gravity


def _ground(found: Fit) -> Plane | None:
    plane = found.model.ground
    return None if plane is None else replace(plane, offset=plane.offset + found.contact.get("ground_height", 0.0))


def gravity_check(found: Fit, about: About) -> list[str]:
    """A warning where a parabola with free acceleration through the contact-free frames is far from gravity: wrong rate or scale."""
    g = found.model.gravity
    if found.free < 6 or about.gravity_free or not g.any():
        return []
    track = found.model.track.first(found.free)
    t = track.time - track.time[0]
    A = np.stack([np.ones_like(t), t, t**2 / 2], -1)
    down = g / np.linalg.norm(g)
    along = track.position @ down
    solved, *_ = np.linalg.lstsq(A, along, rcond=None)
    scatter = np.sqrt(((A @ solved - along) ** 2).sum() / (len(t) - 3) * np.linalg.inv(A.T @ A)[2, 2])
    want = float(np.linalg.norm(g))
    if abs(solved[2] - want) < max(OFF * want, 5 * scatter):
        return []
    return [
        f"the contact-free frames fall with {solved[2]:.2f} m/s^2 instead of {want:.2f}: check fps, the scale and the direction of gravity."
    ]
