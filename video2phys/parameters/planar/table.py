"""A body that slides straight on a level table seen from above: its deceleration."""

from __future__ import annotations

import numpy as np

from video2phys.parameters.planar.fit import Fit, Law, verdict
from video2phys.parameters.planar.motion import Phase
from video2phys.parameters.planar.scale import Scale
from video2phys.solve.space import Free, Space
from video2phys.types import Parameter, Verdict

STANDARD = 9.81  # [m/s^2]


def law(phase: Phase) -> Law:
    """Unknowns of a straight slide that begins with `phase`."""
    start = phase.span[0]
    at, v = phase.position_at(start), phase.velocity_at(start)
    slows = max(-float(phase.acceleration @ v) / max(float(np.hypot(*v)), 1e-9), 0.0)
    names = ("x", "z", "vx", "vz")
    place = tuple(Free(n, "px" if k < 2 else "px/s", float(s)) for k, (n, s) in enumerate(zip(names, [*at, *v], strict=True)))
    space = Space((*place, Free("table", "px/s^2", slows, 0.0)))
    return Law(space, lambda values, t: _table(t, start, values))


def _table(time: np.ndarray, start: float, values: np.ndarray) -> np.ndarray:
    import torch

    from video2phys.simulate.rigid import planar

    scene = planar.build(table=True)
    at, velocity = (torch.as_tensor(values[:, None, k : k + 2].copy()) for k in (0, 2))
    made = planar.params(scene, len(values), table=values[:, 4:5].copy())
    return planar.rollout(made, scene, planar.start(scene, at, velocity, time=start), torch.as_tensor(time)).position.numpy()


def report(fit: Fit, phase: Phase, scale: Scale) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """Deceleration and start velocity, in metres where a scale is known, and then the friction of a level table."""
    unit, size = ("m", scale.px_per_m) if scale.known else ("px", 1.0)
    a, band = fit.of("table", -1 / size)
    vx, vz = fit.of("vx", 1 / size), fit.of("vz", 1 / size)
    when = f"at {phase.span[0]:.3f} s"
    result = [
        Parameter("acceleration", a, f"{unit}/s^2", band, verdict(a, band), "in the direction of motion, constant"),
        Parameter("initial_velocity", [vx[0], 0.0, vz[0]], f"{unit}/s", [vx[1], [0.0, 0.0], vz[1]], Verdict.IDENTIFIED, when),
    ]
    if scale.known:
        mu, mu_band = fit.of("table", 1 / (size * STANDARD))
        wide = 2 * scale.sigma * mu
        mu_band = [max(mu_band[0] - wide, 0.0), mu_band[1] + wide]
        result.append(Parameter("friction", mu, "1", mu_band, verdict(mu, mu_band), "Coulomb, kinetic; the table taken as level, g = 9.81"))
    else:
        note = "no length is known, so the deceleration cannot be compared with g"
        result.append(Parameter("friction", float("nan"), "1", None, Verdict.NOT_IDENTIFIED, "Coulomb, kinetic", note))
    return tuple(result), ()
