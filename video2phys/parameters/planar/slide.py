"""A body that slides on a straight support: Coulomb friction from its acceleration.

In the direction of motion a = g (+-sin th - mu cos th), + down the slope, - up it, with g in px/s^2 = 9.81 m/s^2 times px per
metre. One slide gives one acceleration, so mu rests on the slope and on the scale; both are unknowns with priors, and their
uncertainty widens the interval of mu. The slope seen in the picture is the true one plus the roll of the camera.
"""

from __future__ import annotations

import numpy as np

from video2phys.parameters.planar.fit import Fit, Law, verdict
from video2phys.parameters.planar.motion import Phase
from video2phys.parameters.planar.scale import Scale
from video2phys.solve.space import Free, Space
from video2phys.types import Parameter, Verdict

ROLL_SIGMA = float(np.radians(0.5))  # a camera levelled by eye
INCLINE_SIGMA = float(np.radians(0.25))  # a slope read from a protractor
FRICTION_MAX = 3.0
NO_LENGTH = "no length is known, so friction cannot be told from the scale: give camera.px_per_m or the object's size"


class Support:
    """The line that a phase moves along, as the picture shows it."""

    def __init__(self, phase: Phase) -> None:
        chord = phase.position_at(phase.span[1]) - phase.position_at(phase.span[0])
        self.sense = 1.0 if chord[0] * chord[1] <= 0 else -1.0  # +1: falls towards the right
        self.slope = float(np.arctan2(abs(chord[1]), abs(chord[0])))  # [rad] 0..pi/2
        self.line = -self.sense * self.slope  # [rad] from x towards z
        self.direction = np.array([np.cos(self.line), np.sin(self.line)])  # to the right
        self.way = 1.0 if chord @ self.direction >= 0 else -1.0  # of the motion along `direction`
        self.down = self.way * self.sense  # +1: the body moves down the slope


def law(phase: Phase, scale: Scale, gravity: float, incline: float | None) -> Law:
    """Unknowns of a slide that begins with `phase`; gravity [m/s^2], incline [rad] when the user told it.

    Where no length is known, friction cannot be told from scale: the unknown is then the acceleration itself.
    """
    start, support = phase.span[0], Support(phase)
    at = phase.position_at(start)
    speed, a = float(phase.velocity_at(start) @ support.direction), float(phase.acceleration @ support.direction)
    place = (Free("x", "px", float(at[0])), Free("z", "px", float(at[1])), Free("speed", "px/s", speed))
    if not scale.known:
        space = Space((Free("pull", "px/s^2", a), Free("line", "rad", support.line, step=1e-5), *place))
        return Law(space, lambda v, t: _slide(t, start, v[:, 1], v[:, 2:5], _along(v[:, 1], v[:, 0]), np.zeros(len(v))))
    slope = support.slope if incline is None else incline
    mu = (support.down * np.sin(slope) - a * support.way / (gravity * scale.px_per_m)) / max(np.cos(slope), 1e-3)
    space = Space(
        (
            Free("friction", "1", float(np.clip(mu, 1e-3, FRICTION_MAX - 1e-3)), 0.0, FRICTION_MAX, step=1e-5),
            Free("slope", "rad", slope, -0.2, 1.55, prior=None if incline is None else INCLINE_SIGMA, step=1e-5),
            Free("roll", "rad", 0.0, -0.5, 0.5, prior=ROLL_SIGMA, step=1e-5),
            Free("scale", "1", 1.0, 0.1, 10.0, prior=scale.sigma, step=1e-5),
            *place,
        )
    )

    def predict(v: np.ndarray, t: np.ndarray) -> np.ndarray:
        size = gravity * scale.px_per_m * v[:, 3:4]
        down = size * np.stack([np.sin(v[:, 2]), -np.cos(v[:, 2])], -1)
        return _slide(t, start, -support.sense * v[:, 1] + v[:, 2], v[:, 4:7], down, v[:, 0])

    return Law(space, predict)


def _along(line: np.ndarray, size: np.ndarray) -> np.ndarray:
    return size[:, None] * np.stack([np.cos(line), np.sin(line)], -1)


def _slide(time: np.ndarray, start: float, line: np.ndarray, place: np.ndarray, gravity: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """(B, T, 1, 2) px of a block on a line of angle `line` (B,) that starts at place = x, z, speed (B, 3)."""
    import torch

    from video2phys.simulate.rigid import planar

    at = torch.as_tensor(place[:, None, :2].copy())
    velocity = torch.as_tensor(_along(line, place[:, 2])[:, None])
    scene = planar.build(line=True)
    state = planar.start(scene, at, velocity, touching=True, time=start)
    made = planar.params(scene, len(line), anchor=at[:, 0], slope=line, gravity=gravity, friction=friction)
    return planar.rollout(made, scene, state, torch.as_tensor(time)).position.numpy()


def report(fit: Fit, phase: Phase, scale: Scale, gravity: float, incline: float | None) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """Parameters (friction, slope, acceleration, initial velocity) and warnings."""
    support = Support(phase)
    along = "along the support in the direction of motion, constant"
    if not scale.known:
        a, band = fit.derived(lambda v: support.way * v[:, 0])
        slope, slope_band = fit.derived(lambda v: np.degrees(np.abs(v[:, 1])), extra=1.96 * np.degrees(ROLL_SIGMA))
        return (
            Parameter("friction", float("nan"), "1", None, Verdict.NOT_IDENTIFIED, "Coulomb", NO_LENGTH),
            Parameter("acceleration_px", a, "px/s^2", band, verdict(a, band), along),
            Parameter("slope", slope, "deg", slope_band, verdict(slope, slope_band, 8.0), "with the horizontal, camera level to 0.5 deg"),
        ), ()

    def acceleration(v: np.ndarray) -> np.ndarray:
        return gravity * (support.down * np.sin(v[:, 1]) - v[:, 0] * np.cos(v[:, 1]))

    mu, mu_band = fit.of("friction")
    mu_band = [max(mu_band[0], 0.0), mu_band[1]]
    slope, slope_band = fit.of("slope", 180 / np.pi)
    a, a_band = fit.derived(acceleration)
    a_px, a_px_band = fit.derived(lambda v: acceleration(v) * scale.px_per_m * v[:, 3])
    ppm, ppm_band = fit.of("scale", scale.px_per_m)
    velocity = [fit.derived(lambda v, k=k: _velocity(v, support, scale)[:, k]) for k in range(2)]
    told = "with the horizontal; " + ("given, good to 0.25 deg" if incline is not None else "seen, camera level to 0.5 deg")
    result = (
        Parameter("friction", mu, "1", mu_band, verdict(mu, mu_band, bounds=(0.0, FRICTION_MAX)), "Coulomb, kinetic"),
        Parameter("slope", slope, "deg", slope_band, Verdict.GIVEN if incline is not None else verdict(slope, slope_band, 8.0), told),
        Parameter("acceleration", a, "m/s^2", a_band, verdict(a, a_band, gravity / 10), along),
        Parameter("acceleration_px", a_px, "px/s^2", a_px_band, verdict(a_px, a_px_band, gravity * ppm / 10), along),
        Parameter("initial_velocity", [velocity[0][0], 0.0, velocity[1][0]], "m/s", [velocity[0][1], [0.0, 0.0], velocity[1][1]],
                  Verdict.IDENTIFIED, f"at {phase.span[0]:.3f} s, the first frame of the slide"),
        Parameter("px_per_m", ppm, "px/m", ppm_band, Verdict.GIVEN, scale.source),
    )  # fmt: skip
    return result, _warnings(fit, support, incline, mu)


def _velocity(v: np.ndarray, support: Support, scale: Scale) -> np.ndarray:
    """Velocity at the start (B, 2) [m/s]."""
    line = -support.sense * v[:, 1] + v[:, 2]
    return _along(line, v[:, 6] / (scale.px_per_m * v[:, 3]))


def _warnings(fit: Fit, support: Support, incline: float | None, mu: float) -> tuple[str, ...]:
    out = []
    if incline is not None and abs(np.degrees(support.slope - incline)) > 2:
        out.append(
            f"the object moves at {np.degrees(support.slope):.1f} deg to the picture's horizontal, the incline given is "
            f"{np.degrees(incline):.1f} deg: the camera is tilted, or the incline is wrong."
        )
    if mu <= 1e-4:
        out.append("the object accelerates at least as fast as without friction: check the scale and the frame rate (fps).")
    held = np.tan(fit.value("slope"))
    if support.down > 0 and held > 0.05 and abs(mu - held) < 0.03 * held:
        out.append("the object hardly accelerates for such a slope: if the clip is slow motion, give its true frame rate (fps).")
    return tuple(out)
