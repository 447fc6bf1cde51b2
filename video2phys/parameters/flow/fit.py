"""The order of a fit: a scan on a coarse body, its best starts refined there, then a finer body from the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from video2phys.parameters.flow.laws import MATERIALS, Material
from video2phys.parameters.flow.motion import AXES, Motion
from video2phys.parameters.flow.outline import Outlines
from video2phys.parameters.flow.settings import FlowSettings
from video2phys.progress import Progress, part
from video2phys.solve.covariance import unsettled
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.multistart import Starts, multistart
from video2phys.solve.profile import stretches
from video2phys.solve.space import Free, Space

SIGMA = 1.0  # [px] of the outlines of a frame as a whole: what a simulation misses of them, all points and views miss alike
FRICTIONS = (0.15, 0.6)  # of the ground, in the scan
FRICTION_MAX = 2.0
HEIGHT_SIGMA = 0.06  # [body sizes] of the ground: contact acts within a grid cell of any simulator's plane, and of a reconstruction's
SIZE_SIGMA = 0.02  # of lengths
OUTLINE_SIGMA = 0.25  # [particle widths] of the outline of particles
SPIN_SIGMA = 0.3  # [impact speed over size] about that of the flight: outlines of round bodies hardly show a spin
KEPT, SHORT = 4, 8  # starts refined on the coarse body, and their steps

Searched = tuple[Motion, Space, Starts]  # a coarse body, its unknowns, and where its fits ended
Make = Callable[[int], Motion]  # a motion of about so many particles


@dataclass(frozen=True)
class Fit:
    """A fitted material."""

    motion: Motion
    space: Space
    estimate: Estimate
    profiles: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The fitted values, each (1,)."""
        return dict(zip(self.space.names, self.estimate.values[:, None], strict=True))


def unknowns(material: Material, motion: Motion) -> Space:
    """The material's constants, the contact, the start of the motion, and the nuisances of a reconstruction."""
    size, begin = motion.scales.size, motion.begin
    turning = motion.scales.speed / size
    free = [*material.free(motion.scales)]
    if motion.plane is not None:
        height = HEIGHT_SIGMA * size
        free += [
            Free("friction", "1", 0.4, 0.0, FRICTION_MAX, step=0.01),
            Free("ground_height", "m", 0.0, -5 * height, 5 * height, prior=height, step=1e-3 * size),
        ]
    free += [
        Free("size", "1", 1.0, 0.9, 1.1, prior=SIZE_SIGMA, step=2e-3),
        Free("outline", "1", 0.0, -1.0, 1.0, prior=OUTLINE_SIGMA),
    ]
    for name, unit, value, step, sigma in (
        ("initial_velocity", "m/s", begin.velocity, 2e-3 * motion.scales.speed, None),
        ("initial_angular_velocity", "rad/s", begin.angular_velocity, 5e-3 * turning, SPIN_SIGMA * turning),
    ):
        free += [Free(f"{name}_{a}", unit, float(value[k]), step=step, prior=sigma) for k, a in enumerate(AXES)]
    return Space(tuple(free))


def residuals(motion: Motion, seen: Outlines, space: Space, time: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Batched residual (B, P) physical to (B, M) over sigma, time first, of the frames at `time` (T,) from the start on.

    A frame counts as one measurement with an error of SIGMA, however many points see it: its squares sum to the mean square over SIGMA^2.
    Members that differ only in how particles are drawn are simulated once.
    """
    drawn, weight = space.names.index("outline"), 1 / (SIGMA * np.sqrt(np.maximum(seen.known.sum((1, 2)), 1)))

    def of(x: np.ndarray) -> np.ndarray:
        moving = np.delete(x, drawn, axis=1)
        names = [n for n in space.names if n != "outline"]
        part, back = np.unique(moving, axis=0, return_inverse=True)
        mine = {n: part[:, k] for k, n in enumerate(names)}
        position = motion.positions(mine, time)[:, back.ravel()]
        radius = motion.radius * x[:, [space.names.index("size")]] + motion.width * x[:, [drawn]]
        return (seen.gap(position, radius) * weight[: len(time), None, None]).reshape(len(x), -1)

    return of


@dataclass(frozen=True)
class Scan:
    """Where the fits of a motion may begin."""

    motion: Motion
    space: Space
    starts: np.ndarray  # (S, P) physical
    group: np.ndarray  # (S,) which constants of the material each has
    cost: np.ndarray  # (S,) squares that it leaves, not finite where the simulation failed


def scan(motion: Motion, seen: Outlines, time: np.ndarray) -> Scan:
    """All constants that the material's own scan names, with several frictions where there is a plane."""
    material = MATERIALS[motion.material]
    space = unknowns(material, motion)
    constants = material.scan(motion.scales)
    frictions = FRICTIONS if motion.plane is not None else FRICTIONS[:1]
    starts = np.tile([f.start for f in space.free], (len(constants) * len(frictions), 1))
    starts[:, : constants.shape[1]] = np.tile(constants, (len(frictions), 1))
    if motion.plane is not None:
        starts[:, space.names.index("friction")] = np.repeat(frictions, len(constants))
    cost = (residuals(motion, seen, space, time)(starts) ** 2).sum(-1)
    return Scan(motion, space, starts, np.tile(np.arange(len(constants)), len(frictions)), cost)


def search(begun: Scan, seen: Outlines, time: np.ndarray, progress: Progress, keep: int = KEPT, steps: int = SHORT) -> Searched:
    """The `keep` best starts of a motion of the coarse body, refined in `steps`."""
    motion, space = begun.motion, begun.space
    found = multistart(residuals(motion, seen, space, time), space, begun.starts, keep=keep, costs=begun.cost, group=begun.group,
                       progress=progress, max_steps=steps, tolerance=1e-2, probe=False)  # fmt: skip
    return motion, space, found


def resume(searched: Searched, seen: Outlines, time: np.ndarray, progress: Progress) -> Searched:
    """The rest of a search that was stopped early."""
    motion, space, found = searched
    starts = found.values[np.isfinite(found.costs)]
    if not len(starts):
        return searched
    return motion, space, multistart(residuals(motion, seen, space, time), space, starts, keep=len(starts), progress=progress,
                                     max_steps=SHORT, tolerance=1e-2, probe=False)  # fmt: skip


def refine(make: Make, seen: Outlines, time: np.ndarray, settings: FlowSettings, searched: Searched, progress: Progress) -> Fit:
    """The fine fit from the best of the coarse one, with slopes of the coarse body, which cost a fraction and lead to the same place."""
    coarse, space, found = searched
    cheap = residuals(coarse, seen, space, time)
    space = space.started(found.best.values)
    motion = make(settings.particles)
    fine = residuals(motion, seen, space, time)
    estimate = levenberg(fine, space, slope=cheap, max_steps=settings.max_steps, tolerance=3e-3, probe=False, progress=part(progress, 0, 1))
    profiles = stretches(cheap, space, estimate, found, seen.channels, _profiled(motion), MATERIALS[motion.material].unknowns)
    return Fit(motion, space, unsettled(estimate, space, found.best.values, seen.channels), profiles)


def _profiled(motion: Motion) -> tuple[str, ...]:
    """Whose effect may end: a contact that sticks, matter that never yields."""
    return (*MATERIALS[motion.material].unknowns, *(("friction",) if motion.plane is not None else ()))
