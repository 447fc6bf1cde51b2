"""A body that swings from a pivot: length or gravity, and damping.

a'' = -w^2 sin(a - roll) - damping a',  w^2 = g / l.  The clock gives w^2, the picture the radius of the arc. With gravity known
l = g / w^2 needs no scale: it is the length of the simple pendulum of that period, which for a body small beside its length is
the radius; without a scale their ratio is px per metre, with one w^2 times the radius is a check of gravity.

No camera looks exactly square at the plane of the swing: roll and both slants are unknowns with priors, as in a flight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from video2phys.parameters.planar.arc import Swing
from video2phys.parameters.planar.fit import Fit, Law, verdict
from video2phys.parameters.planar.flight import ROLL_SIGMA, SLANT_SIGMA, check_rate, seen
from video2phys.parameters.planar.scale import Scale
from video2phys.solve.space import Free, Space
from video2phys.types import Parameter, Verdict

NODE = 0.25  # [rad] of w t between steps of the simulation; what is read off between them is then good to 1e-5 of the radius
TRIED = np.linspace(0.8, 1.25, 46)  # times the first guess of w^2: a swing counted wrongly is a valley of its own
MASS = "the swing of a pendulum under gravity does not depend on its mass"


def law(swing: Swing, focal: float) -> Law:
    """Unknowns of a pendulum that begins with `swing`; `focal` [px] need only be about right, as for a flight."""
    start = float(swing.window.time[0])
    rate2, angle, spin = _first(swing)
    names = ("angle", "spin", "rate2", "damping", "roll")

    def predict(v: np.ndarray, t: np.ndarray) -> np.ndarray:
        a = swung(t, start, v[:, 3:8], float(np.sqrt(rate2)))
        arm = v[:, 2, None, None] * np.stack([np.sin(a), -np.cos(a)], -1)
        return seen((v[:, None, :2] + arm)[:, :, None], v[:, 8:], focal)

    tried = np.repeat([[*swing.pivot, swing.radius, angle, spin, rate2, 0.0, 0.0, 0.0, 0.0]], len(TRIED), 0)
    tried[:, 5] *= TRIED
    miss = ((predict(tried, swing.window.time) - swing.window.measured) ** 2).sum((1, 2, 3))
    best = tried[np.argmin(miss)]
    units = ("rad", "rad/s", "1/s^2", "1/s", "rad")
    lower, upper = (-np.pi, -np.inf, 1e-3 * rate2, 0.0, -0.5), (np.pi, np.inf, np.inf, np.inf, 0.5)
    moved = (Free(n, u, float(s), lo, hi, prior=ROLL_SIGMA if n == "roll" else None, step=1e-5 * max(abs(s), 1.0))
             for n, u, s, lo, hi in zip(names, units, best[3:8], lower, upper, strict=True))  # fmt: skip
    turns = (Free(n, "rad", 0.0, -1.0, 1.0, prior=SLANT_SIGMA, step=1e-5) for n in ("yaw", "pitch"))
    placed = (Free(n, "px", float(s), lo) for n, s, lo in zip(("x", "z", "radius"), best[:3], (-np.inf, -np.inf, 1.0), strict=True))
    return Law(Space((*placed, *moved, *turns)), predict)


def _first(swing: Swing) -> tuple[float, float, float]:
    """First guesses of w^2 [1/s^2], and of angle [rad] and spin [rad/s] at the first frame, by a parabola through a radian of w t."""
    t = swing.window.time - swing.window.time[0]
    early = t <= max(1 / np.sqrt(swing.rate2), t[5])
    _, spin, angle = np.polyfit(t[early], swing.angle[early], 2)
    return swing.rate2, float(angle), float(spin)


def swung(time: np.ndarray, start: float, v: np.ndarray, rate: float) -> np.ndarray:
    """Angles (B, T) [rad] at `time` [s] of pendulums v = angle, spin, w^2, damping, roll (B, 5) from `start`; `rate` [1/s], about w,
    sets the steps."""
    import torch
    from scipy.interpolate import CubicHermiteSpline

    from video2phys.simulate.rigid import jointed

    span = max(float(time[-1]) - start, 1e-6)
    nodes = np.linspace(0, span, int(np.ceil(span * rate / NODE)) + 2)
    scene = jointed.build(largest_dt=1.001 * nodes[1])
    pull = v[:, 2, None] * np.stack([np.sin(v[:, 4]), -np.cos(v[:, 4])], -1)  # a pendulum of length 1
    made = jointed.params(scene, len(v), gravity=pull, arm=np.array([[0.0, -1.0]]), viscous=v[:, 3:4].copy())
    first = jointed.start(made, scene, torch.as_tensor(v[:, :1].copy()), torch.as_tensor(v[:, 1:2].copy()))
    track = jointed.rollout(made, scene, first, torch.as_tensor(nodes))
    curve = CubicHermiteSpline(nodes, track.angle[..., 0].numpy(), track.spin[..., 0].numpy(), axis=1)
    return curve(np.asarray(time) - start)


def turn(fit: Fit, start: float) -> Callable[[np.ndarray], np.ndarray]:
    """The fitted angle (T,) [rad] at times (T,) [s]: a body on a rod turns by it."""
    v = fit.values[None, 3:8]
    return lambda time: swung(time, start, v, float(np.sqrt(v[0, 2])))[0]


def report(fit: Fit, swing: Swing, scale: Scale, gravity: float | None) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """Parameters (length, period, damping, radius, gravity or scale, start, pivot, roll) and warnings. gravity [m/s^2] where given."""
    unit, size = ("m", scale.px_per_m) if scale.known else ("px", 1.0)
    loose = 1.96 * scale.sigma if scale.known else 0.0  # relative
    rate2, radius = (fit.law.space.names.index(n) for n in ("rate2", "radius"))
    when = f"at {swing.window.time[0]:.3f} s, the first frame of the swing"

    def told(name: str, unit: str, law: str, found: tuple[float, list[float]], note: str = "") -> Parameter:
        return Parameter(name, found[0], unit, found[1], verdict(*found), law, note)

    def scaled(quantity: Callable[[np.ndarray], np.ndarray]) -> tuple[float, list[float]]:
        value, _ = fit.derived(quantity)
        return fit.derived(quantity, extra=abs(loose * value))

    result, warnings = [], ()
    if gravity is not None:
        equal = f"of the simple pendulum of this period, g = {gravity:g} m/s^2"
        length = fit.derived(lambda v: gravity / v[:, rate2])
        result.append(told("length", "m", equal, length, "from the pivot to the centre of a body that is small beside it"))
    result.append(told("period", "s", "of small swings", fit.derived(lambda v: 2 * np.pi / np.sqrt(v[:, rate2]))))
    damping, band = fit.of("damping")
    decay = "viscous: a = -damping v, the amplitude falls as exp(-damping t / 2)"
    result.append(told("damping", "1/s", decay, (damping, [max(band[0], 0.0), max(band[1], 0.0)])))
    result.append(told("radius", unit, "of the arc, from the pivot to the point followed", scaled(lambda v: v[:, radius] / size)))
    if scale.known:
        g = scaled(lambda v: v[:, rate2] * v[:, radius] / size)
        result.append(told("gravity", "m/s^2", "w^2 times the radius of a small body", g, "a check: it is not used elsewhere"))
        result.append(Parameter("px_per_m", size, "px/m", [size * (1 - loose), size * (1 + loose)], Verdict.GIVEN, scale.source))
        warnings = check_rate(*g, "gravity, from the swing,")
    elif gravity is not None:
        ppm = fit.derived(lambda v: v[:, rate2] * v[:, radius] / gravity)
        result.append(told("px_per_m", "px/m", f"g = {gravity:g} m/s^2, a body small beside the length", ppm))
    angle, angle_band = fit.of("angle", 180 / np.pi)
    spin, spin_band = fit.of("spin")
    roll, roll_band = fit.of("roll", 180 / np.pi)
    at = [fit.of(n, 1 / size) for n in ("x", "z")]
    result += [
        Parameter("initial_angle", angle, "deg", angle_band, verdict(angle, angle_band, 30.0), f"from straight down; {when}"),
        Parameter("initial_angular_velocity", spin, "rad/s", spin_band, verdict(spin, spin_band, float(np.sqrt(fit.values[rate2]))), when),
        Parameter("pivot", [at[0][0], 0.0, at[1][0]], unit, [at[0][1], [0.0, 0.0], at[1][1]],
                  verdict(fit.values[radius] / size, at[1][1]), "centre of the arc"),
        Parameter("camera_roll", roll, "deg", roll_band, verdict(roll, roll_band, 4.0), "gravity's direction in the picture"),
    ]  # fmt: skip
    return tuple(result), warnings
