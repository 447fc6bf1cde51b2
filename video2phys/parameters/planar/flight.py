"""A body in free flight: launch, and either the scale (g known) or g (scale known).

The parabola's acceleration is g in px/s^2. With scale "gravity" it gives px per metre; with a scale it gives g, a check.
Launch is the moment the flight begins. Where the object was already seen before, that is the first frame of the parabola; where
it comes in at the border, it began between the moment the path crosses the border and the first frame that shows it: the middle
is reported, and both ends lie in the interval. Elsewhere it is the first frame that shows it.

No camera looks exactly square at the plane of motion. Turned by a few degrees it shows a parabola slightly bent, which a fit without
such a turn takes for another acceleration: both turns are unknowns with priors. A straight path does not tell perspective from
acceleration alone, and the interval then says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.planar.fit import Fit, Law, verdict
from video2phys.parameters.planar.motion import Phase
from video2phys.parameters.planar.scale import Scale
from video2phys.solve.space import Free, Space
from video2phys.types import Frames, Parameter, Verdict

ROLL_SIGMA = float(np.radians(1.0))  # a camera levelled by eye or held by hand
SLANT_SIGMA = float(np.radians(5.0))  # a camera aimed by eye, at a plane of motion chosen by hand
STANDARD = 9.81  # [m/s^2]
SHOWS = 0.03  # change of scale along the path that a reader should know of
NEAR_BORDER = 0.1  # of the picture's longer side: an object first seen after less way than this from the border came in there


@dataclass(frozen=True)
class Launch:
    """When the flight began [s]."""

    earliest: float
    latest: float
    seen: bool  # the object was followed before it flew: held, thrown or resting

    @property
    def time(self) -> float:
        return 0.5 * (self.earliest + self.latest)

    def __str__(self) -> str:
        if self.seen:
            return f"release at {self.latest:.3f} s, a change of motion"
        if self.earliest == self.latest:
            return f"first seen in flight at {self.latest:.3f} s"
        return f"entered the picture in flight between {self.earliest:.3f} and {self.latest:.3f} s"


def law(phase: Phase, scale: Scale, gravity: float, focal: float) -> Law:
    """Unknowns of a flight that begins with `phase`; gravity [m/s^2] is fixed without a scale, and free with one.

    `focal` [px] need only be about right: it turns the spread of the camera's angles into one of the picture's scale.
    """
    start = phase.span[0]
    at, v0 = phase.position_at(start), phase.velocity_at(start)
    pull = float(np.hypot(*phase.acceleration))
    place = (
        Free("x", "px", float(at[0])),
        Free("z", "px", float(at[1])),
        Free("vx", "px/s", float(v0[0])),
        Free("vz", "px/s", float(v0[1])),
        Free("roll", "rad", 0.0, -0.5, 0.5, prior=ROLL_SIGMA, step=1e-5),
    )
    turns = tuple(Free(n, "rad", 0.0, -1.0, 1.0, prior=SLANT_SIGMA, step=1e-5) for n in ("yaw", "pitch"))
    if scale.known:
        free = (Free("gravity", "m/s^2", pull / scale.px_per_m), Free("scale", "1", 1.0, 0.05, 20.0, prior=scale.sigma, step=1e-5))
        space = Space((*place, *free, *turns))
        return Law(space, lambda v, t: seen(_fly(t, start, v[:, :4], v[:, 5] * v[:, 6] * scale.px_per_m, v[:, 4]), v[:, 7:], focal))
    space = Space((*place, Free("px_per_m", "px/m", pull / gravity), *turns))
    return Law(space, lambda v, t: seen(_fly(t, start, v[:, :4], v[:, 5] * gravity, v[:, 4]), v[:, 6:], focal))


def half_size(frames: Frames) -> np.ndarray:
    """[px] (2,) half of the picture's width and height; infinite for measured tracks, which enter through no border."""
    if frames.tracks is not None:
        return np.full(2, np.inf)
    return 0.5 * np.array([frames.views[0].camera.width, frames.views[0].camera.height])


def usual_focal(frames: Frames) -> float:
    """[px] focal length of a usual lens: as long as the picture's longer side. Lengths that were measured have no perspective."""
    if frames.about.scale == "measured":
        return np.inf
    return float(max(frames.views[0].camera.width, frames.views[0].camera.height))


def seen(path: np.ndarray, turns: np.ndarray, focal: float) -> np.ndarray:
    """`path` (B, T, 1, 2) [px, scale of the picture's centre] as a camera turned by yaw and pitch (B, 2) [rad] shows it."""
    depth = 1 + (path * np.tan(turns)[:, None, None] / focal).sum(-1, keepdims=True)
    return path / np.maximum(depth, 0.1)


def _fly(time: np.ndarray, start: float, place: np.ndarray, size: np.ndarray, roll: np.ndarray) -> np.ndarray:
    """(B, T, 1, 2) px of a free body from place = x, z, vx, vz (B, 4) under gravity of `size` [px/s^2] tilted by `roll` (B,)."""
    import torch

    from video2phys.simulate.rigid import planar

    scene = planar.build()
    at, velocity = (torch.as_tensor(place[:, None, k : k + 2].copy()) for k in (0, 2))
    down = size[:, None] * np.stack([np.sin(roll), -np.cos(roll)], -1)
    state = planar.start(scene, at, velocity, time=start)
    return planar.rollout(planar.params(scene, len(place), gravity=down), scene, state, torch.as_tensor(time)).position.numpy()


def launch(phase: Phase, before: Phase | None, first_frame: float, gap: float, half_size: np.ndarray) -> Launch:
    """When the flight began. `before` is the phase before it, first_frame [s] the start of the clip, `gap` [s] the longest step
    between frames that still counts as followed, half_size [px] (2,) half of the picture's width and height.
    """
    start = phase.span[0]
    if before is not None and start - before.span[1] <= gap:
        return Launch(before.span[1], start, True)
    floor = first_frame if before is None else before.span[1]
    past = np.linspace(start, min(floor, start), 400)
    path = phase.position_at(past)
    outside = (np.abs(path) > half_size).any(-1)
    entry = int(np.argmax(outside))
    way = float(np.linalg.norm(np.diff(path[: entry + 1], axis=0), axis=1).sum())
    if not outside.any() or way > NEAR_BORDER * 2 * half_size.max():
        return Launch(start, start, False)
    return Launch(float(past[entry]), start, False)


def report(
    fit: Fit, phase: Phase, began: Launch, scale: Scale, gravity: float, focal: float
) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """Parameters (launch, scale or gravity, roll of the camera) and warnings."""
    back = began.time - phase.span[0]
    unsure = 0.475 * (began.latest - began.earliest)  # half of the middle 95 % of a moment equally likely anywhere between

    def velocity(v: np.ndarray, later: float = 0.0) -> np.ndarray:
        """(B, 2) [m/s] in axes turned with gravity."""
        size = v[:, 5] * v[:, 6] * scale.px_per_m if scale.known else v[:, 5] * gravity
        ppm = scale.px_per_m * v[:, 6] if scale.known else v[:, 5]
        s, c = np.sin(v[:, 4]), np.cos(v[:, 4])
        x, z = v[:, 2] * c + v[:, 3] * s, v[:, 3] * c - v[:, 2] * s
        return np.stack([x, z - size * (back + later)], -1) / ppm[:, None]

    def told(quantity) -> tuple[float, list[float]]:
        ends = [float(quantity(velocity(fit.values[None], d))[0]) for d in (-unsure, unsure)]
        return fit.derived(lambda v: quantity(velocity(v)), extra=0.5 * abs(ends[1] - ends[0]))

    vx, vz = told(lambda w: w[:, 0]), told(lambda w: w[:, 1])
    speed = told(lambda w: np.hypot(w[:, 0], w[:, 1]))
    angle = told(lambda w: np.degrees(np.arctan2(w[:, 1], np.abs(w[:, 0]))))
    when = str(began)
    slow = speed[0] < 0.2 * gravity * float(np.ptp(phase.span))
    result = [
        Parameter("initial_velocity", [vx[0], 0.0, vz[0]], "m/s", [vx[1], [0.0, 0.0], vz[1]], verdict(speed[0], speed[1]), when),
        Parameter("launch_speed", *_spread("m/s", speed), verdict(*speed), when),
    ]
    if not slow:
        result.append(Parameter("launch_angle", *_spread("deg", angle), verdict(*angle, 30.0), f"above the horizontal; {when}"))
    roll = fit.of("roll", 180 / np.pi)
    warnings = _perspective(fit, phase, focal)
    if scale.known:
        g = fit.of("gravity")
        result.append(Parameter("gravity", *_spread("m/s^2", g), verdict(*g), "free fall, no drag", "a check: it is not used elsewhere"))
        ppm = fit.of("scale", scale.px_per_m)
        result.append(Parameter("px_per_m", *_spread("px/m", ppm), Verdict.GIVEN, scale.source))
        warnings += check_rate(*g)
    else:
        ppm = fit.of("px_per_m")
        result.append(Parameter("px_per_m", *_spread("px/m", ppm), verdict(*ppm), f"g = {gravity:g} m/s^2"))
    result.append(Parameter("camera_roll", *_spread("deg", roll), verdict(*roll, 4.0), "gravity's direction in the picture"))
    return tuple(result), warnings


def _perspective(fit: Fit, phase: Phase, focal: float) -> tuple[str, ...]:
    """A warning where the path itself shows that the camera does not look square at it."""
    told = [fit.of(name) for name in ("yaw", "pitch")]
    ends = fit.law.at(fit.values, np.array(phase.span))[:, 0]
    depth = 1 / (1 - ends @ np.tan([turn for turn, _ in told]) / focal)
    change = float(abs(depth[1] / depth[0] - 1))
    if change < SHOWS or all(band[0] <= 0 <= band[1] for _, band in told):
        return ()
    return (f"perspective: the path shows that the scale changes by {100 * change:.0f} % along it; the fit allows for it.",)


def _spread(unit: str, told: tuple[float, list[float]]) -> tuple[float, str, list[float]]:
    return told[0], unit, told[1]


def check_rate(g: float, interval: list[float], what: str = "free fall") -> tuple[str, ...]:
    """A warning when a motion under gravity says that the clip's clock or the scale is wrong.

    A clock slow by F makes g look F^2 times too small.
    """
    if interval[0] <= STANDARD <= interval[1] or 0.6 < g / STANDARD < 1.7 or g <= 0:
        return ()
    factor = float(np.sqrt(STANDARD / g))
    if factor > 1:
        near = min((2.0, 4.0, 8.0, 16.0, 32.0), key=lambda f: abs(np.log(f / factor)))
        text = f"play-back about {factor:.2g} times too slow (slow motion; the likely factor is {near:g})"
    else:
        text = f"play-back about {1 / factor:.2g} times too fast"
    return (f"{what} comes out at {g:.3g} m/s^2 instead of 9.81: {text}, or a wrong scale; give the true fps in capture.yaml.",)
