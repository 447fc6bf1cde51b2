"""Interiors that agree with what is known: solid, void, heavy insert. Different members may agree equally well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from video2phys.topology.known import Known
from video2phys.topology.moments import Moments, ball, cloud
from video2phys.types import Interior

NOMINAL = 1000.0  # [kg/m^3] stands in where no mass is known; only ratios mean anything then


@dataclass(frozen=True)
class Solid:
    """The filled body in metres, and how deep each particle lies below the surface."""

    particle: np.ndarray  # [m] (P, 3)
    volume: np.ndarray  # [m^3] (P,)
    depth: np.ndarray  # [m] (P,)

    def depth_at(self, point: np.ndarray) -> float:
        """Radius of a ball at `point` that surely stays inside: depth changes by no more than the distance moved."""
        return float(np.max(self.depth - np.linalg.norm(self.particle - point, axis=1)))

    @property
    def middle(self) -> np.ndarray:
        """The deepest particle, (3,); the one nearest to the centroid where several are as deep."""
        deepest = np.flatnonzero(self.depth > 0.95 * self.depth.max())
        return self.particle[deepest[np.argmin(np.linalg.norm(self.particle[deepest], axis=1))]]


def solid(particle: np.ndarray, volume: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> Solid:
    """Depths from points spread over the closed surface, about as dense as the particles."""
    import trimesh
    from scipy.spatial import cKDTree

    mesh = trimesh.Trimesh(vertices, faces, process=False)
    spacing = float(volume.mean()) ** (1 / 3)
    count = int(np.clip(4 * mesh.area / spacing**2, 500, 100_000))
    points = np.asarray(trimesh.sample.sample_surface(mesh, count, seed=0)[0])
    depth, _ = cKDTree(points).query(particle)
    return Solid(particle, volume, depth)


def members(body: Solid, known: Known, densest: float) -> tuple[Interior, ...]:
    """One interior of each kind, its free numbers fitted to what is known; ten numbers known at most.

    Free are the density of the material (unless given), and radius, place and density of the void or insert.
    """
    unit = cloud(body.particle, body.volume, np.ones(len(body.volume)))
    full = float(body.depth.max())
    middle = body.middle
    lead = known.value[1:4] if known.where[1:4].all() else middle

    def none(u: np.ndarray) -> tuple[np.ndarray, float, float]:
        return middle, 0.0, 0.0

    def concentric(u: np.ndarray) -> tuple[np.ndarray, float, float]:
        return middle, full * u[1], -np.exp(u[0])

    def shifted(u: np.ndarray) -> tuple[np.ndarray, float, float]:
        return middle + full * u[2:5], full * u[1], -np.exp(u[0])

    def insert(u: np.ndarray) -> tuple[np.ndarray, float, float]:
        return middle + full * u[2:5], full * u[1], float(np.clip(np.exp(u[5]), 0, densest))

    away = np.clip((lead - unit.center) / full, -1, 1)
    starts = [0.0, 0.5, 1.0]
    rho = np.log(known.density or (known.value[0] / unit.mass if known.where[0] else NOMINAL))
    heavy = np.log(min(5 * np.exp(rho), densest))
    return (
        _fit("solid", "solid, one density", none, [[rho]], body, unit, known),
        _fit("void", "void in the middle", concentric, [[rho, r] for r in (0.3, 0.7)], body, unit, known),
        _fit("void", "void off the middle", shifted, [[rho, r, *(-s * away)] for r in (0.4, 0.7) for s in starts], body, unit, known),
        _fit("insert", "heavy insert", insert, [[rho, r, *(s * away), heavy] for r in (0.3, 0.6) for s in starts], body, unit, known),
    )


def _fit(
    kind: str, name: str, shape: Callable[[np.ndarray], tuple[np.ndarray, float, float]], starts: list[list[float]],
    body: Solid, unit: Moments, known: Known,
) -> Interior:  # fmt: skip
    """Least squares from several starts; u[0] is the log density of the material."""
    from scipy.optimize import least_squares
    from scipy.stats import chi2

    where = known.where
    full = float(body.depth.max())

    def moments(u: np.ndarray) -> Moments:
        rho = np.exp(u[0])
        matter = Moments(rho * unit.mass, unit.center, rho * unit.inertia)
        at, radius, added = shape(u)
        return matter + ball(at, radius, added) if radius > 0 else matter

    def misfit(u: np.ndarray) -> np.ndarray:
        m = moments(u)
        number = m.numbers()
        if known.per_mass:
            number[4:] /= m.mass
        return (number - known.value)[where] / known.sigma[where]

    def residual(u: np.ndarray) -> np.ndarray:
        at, radius, _ = shape(u)
        out = max(0.0, radius - body.depth_at(at)) / (0.01 * full)  # the ball stays inside
        given = [(np.exp(u[0]) - known.density) / known.density_sigma] if known.density else [0.0]
        near = 1e-3 * (u - start)  # what nothing determines stays where it started
        return np.concatenate([misfit(u), [out], given, near])

    best: tuple[float, np.ndarray] | None = None
    for first in starts:
        start = np.asarray(first, float)
        lower, upper = np.full(len(start), -np.inf), np.full(len(start), np.inf)
        if len(start) > 1:
            lower[1], upper[1] = 0.02, 1.0
        found = least_squares(residual, start, bounds=(lower, upper), max_nfev=200)
        if best is None or found.cost < best[0]:
            best = float(found.cost), found.x
    if best is None:
        raise ValueError("no start to fit from")
    u = best[1]
    m, (at, radius, added) = moments(u), shape(u)
    numbers = int(where.sum())
    square = float((misfit(u) ** 2).sum())
    if known.density:
        square, numbers = square + float((np.exp(u[0]) - known.density) ** 2 / known.density_sigma**2), numbers + 1
    inside = radius <= body.depth_at(at) + 0.02 * full
    return Interior(
        kind=kind,  # type: ignore[arg-type]
        description=_describe(name, at, radius, added, float(np.exp(u[0])), known),
        density=densities(body, at, radius, float(np.exp(u[0])), added),
        mass=m.mass if known.where[0] or known.density else None,
        center=m.center,
        inertia=m.inertia,
        misfit=square / max(numbers, 1),
        allowed=bool(inside and (numbers == 0 or square <= chi2.ppf(0.95, numbers))),
    )


def densities(body: Solid, at: np.ndarray, radius: float, density: float, added: float) -> np.ndarray:
    """Density per particle (P,); a particle that the ball's surface cuts takes its share."""
    spacing = np.cbrt(body.volume)
    inside = np.clip((radius - np.linalg.norm(body.particle - at, axis=1)) / spacing + 0.5, 0, 1) if radius > 0 else 0.0
    return density + added * inside * np.ones(len(body.volume))


def _describe(name: str, at: np.ndarray, radius: float, added: float, density: float, known: Known) -> str:
    if radius <= 0:
        return name
    place = "" if "in the middle" in name else ", centre at ({}) mm".format(", ".join(f"{1e3 * x:.1f}" for x in at))
    ratio = "" if added < 0 else f", {1 + added / density:.1f} times as dense"
    absolute = f" ({density + added:.0f} kg/m^3)" if added > 0 and (known.where[0] or known.density) else ""
    return f"{name}, e.g. of radius {1e3 * radius:.1f} mm{place}{ratio}{absolute}"
