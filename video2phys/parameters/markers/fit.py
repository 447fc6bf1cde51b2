"""Sag and ring-down fitted together.

Unknowns: E at rest, the first natural frequency f, its damping ratio, and nuisances. Rows of the residual, each over its sigma:

- ring-down: what a decaying vibration of frequency f leaves of the markers' paths;
- sag: the markers' way from held to rest against that of the finite elements;
- link: (f / f_elements(E))^2 = dynamic modulus / modulus at rest, 1 within STIFFENING: elastomers are stiffer when they ring.

Frequencies come from modes, not from steps in time: no numerical damping enters the damping ratio. One frequency does not tell how
alpha M + beta K share the damping: zeta = alpha / 2 omega + beta omega / 2 is what the ring-down fixes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.markers.body import Body
from video2phys.parameters.markers.release import Release
from video2phys.parameters.markers.ring import Ring
from video2phys.parameters.markers.specimen import Pose, Specimen
from video2phys.simulate.fem.attach import attach, carried
from video2phys.solve.covariance import unsettled
from video2phys.solve.differences import Residuals
from video2phys.solve.levenberg import Estimate, levenberg
from video2phys.solve.space import Free, Space

STIFFENING = 0.1  # one standard deviation of log (dynamic modulus / modulus at rest)
ACROSS = 0.2  # of the section: how well its place across is
EXACT = 0.01  # of the sag: clamps, loads and markers are no better known than this
RANGE = 10.0  # factor to either side of the first guess of E


@dataclass(frozen=True)
class Problem:
    """Residuals of one record on one mesh."""

    specimen: Specimen
    pose: Pose
    release: Release
    ring: Ring
    body: Body
    mode: int  # the one that rings
    sigma: tuple[float, float]  # [m] of the ring-down's rows and of the sag's

    def way(self, displacement: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Way (M, 3) [m] of the moving markers, in the world, for nodes displaced (V, 3); `shift` (3,) [m] moves them on the body."""
        at = self.pose.to_body(self.release.held[self.release.moving]) + shift
        return self.pose.turn(carried(displacement, *attach(self.body.scene.node, self.body.solid.element, at)))

    def nu(self, values: dict[str, float]) -> float:
        """Poisson's ratio, given or of the fit."""
        return values["poisson_ratio"] if self.specimen.poisson_ratio is None else self.specimen.poisson_ratio

    def rows(self, values: dict[str, float]) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Residuals of ring-down (T, C) [m] over the training frames, of sag (C,) [m], and the log of the stiffening."""
        found = self.body.rest(values["youngs_modulus"], self.nu(values))
        if found.displacement is None or found.modes is None:
            return None
        f = values["first_frequency"]
        fitted, rest, _ = self.ring.project(f, values["damping_ratio"])
        left = (fitted - self.ring.value)[self.ring.train]
        way = rest - self.release.held[self.release.moving].ravel()
        shift = np.array([values[f"shift_{axis}"] for axis in "xyz"])
        return left, self.way(found.displacement, shift).ravel() - way, 2 * float(np.log(f / found.modes.frequency[self.mode]))

    def residuals(self, space: Space, x: np.ndarray) -> np.ndarray:
        """(B, (T + 2) C) of values (B, P): frames, then sag, then link; 0 where a marker is missing, NaN where nothing rests."""
        C = self.ring.value.shape[1]
        out = np.full((len(x), (int(self.ring.train.sum()) + 2) * C), np.nan)
        for k, row in enumerate(x):
            if (found := self.rows(dict(zip(space.names, row, strict=True)))) is not None:
                left, sag, log = found
                link = np.r_[log / STIFFENING, np.zeros(C - 1)]
                out[k] = np.r_[np.nan_to_num(left / self.sigma[0]).ravel(), sag / self.sigma[1], link]
        return out


def space_of(specimen: Specimen, ring: Ring, E: float) -> Space:
    """Unknowns with their bounds, beginning at what the spectrum says."""
    length, width, height = specimen.size
    f, bend = ring.guess, 0.5 * min(width, height)
    free = [
        Free("youngs_modulus", "Pa", E, E / RANGE, E * RANGE, "log"),
        Free("first_frequency", "Hz", f, f / 1.5, f * 1.5, "log", step=1e-4),
        Free("damping_ratio", "1", 0.03, 1e-3, 0.7, "log"),
        Free("shift_x", "m", 0.0, -0.2 * length, 0.2 * length, prior=specimen.outermost[1]),
        Free("shift_y", "m", 0.0, -bend, bend, prior=ACROSS * width),
        Free("shift_z", "m", 0.0, -bend, bend, prior=ACROSS * height),
    ]
    if specimen.poisson_ratio is None:
        free.append(Free("poisson_ratio", "1", 0.4, 0.0, 0.499))
    return Space(tuple(free))


def start(specimen: Specimen, pose: Pose, release: Release, ring: Ring, body: Body) -> tuple[Problem, Space]:
    """The problem with first sigmas, and its unknowns: E is where the elements ring as the spectrum says."""
    nu = 0.4 if specimen.poisson_ratio is None else specimen.poisson_ratio
    trial = float(specimen.density * np.linalg.norm(specimen.gravity) * specimen.size[0] * 1e3)  # bends by little
    E = trial
    for _ in range(3):
        found = body.rest(E, nu).modes
        if found is None:
            break
        E *= float(ring.guess / found.frequency[_excited(body, E, nu)]) ** 2
    problem = Problem(specimen, pose, release, ring, body, _excited(body, E, nu), (release.noise, max(EXACT * release.sag, release.noise)))
    return problem, space_of(specimen, ring, E)


def _excited(body: Body, E: float, nu: float) -> int:
    """The mode that a release from the undeformed body excites most."""
    rest = body.rest(E, nu)
    if rest.modes is None or rest.displacement is None:
        return 0
    return int(np.argmax(np.abs(np.einsum("v,kvx,vx->k", body.mass, rest.modes.shape, rest.displacement))))


def settle(problem: Problem, space: Space) -> tuple[Problem, Estimate]:
    """Fit, take the sigma of each kind of row from its own misfit, and fit again. Raises BadInput where the body finds no rest."""
    estimate = levenberg(lambda x: problem.residuals(space, x), space)
    found = problem.rows(dict(zip(space.names, estimate.values, strict=True)))
    if found is None:
        raise BadInput("the body finds no rest under its weight.", fix="Check size, density and gravity: metres, kg/m^3, m/s^2.")
    left, sag, _ = found
    spread = float(np.sqrt(np.nanmean(left**2)))
    misfit = float(np.sqrt((sag**2).sum() / max(len(sag) - 3, 1)))  # E and two shifts take up some of it
    problem = replace(problem, sigma=(max(spread, problem.release.noise), max(misfit, problem.sigma[1])))
    return problem, levenberg(lambda x: problem.residuals(space, x), space.started(estimate.values), probe=False)


def refine(problem: Problem, fine: Body, space: Space, coarse: Estimate) -> tuple[Problem, Estimate]:
    """The fit on a finer mesh, with the coarse one's derivatives. What the mesh changes enters the covariance, and so does what leaving out
    the first half of the decay changes: damping that depends on the amplitude is no constant."""

    def residuals_of(of: Problem) -> Residuals:
        return lambda x: of.residuals(space, x)

    finer, began = replace(problem, body=fine), space.started(coarse.values)
    estimate = levenberg(residuals_of(finer), began, slope=residuals_of(problem), probe=False, max_steps=4)
    estimate = replace(estimate, probes=coarse.probes, frozen=coarse.frozen)
    f, zeta = (estimate.values[space.names.index(name)] for name in ("first_frequency", "damping_ratio"))
    late = replace(finer, ring=problem.ring.after(np.log(2) / (2 * np.pi * f * zeta)))
    faint = levenberg(residuals_of(late), space.started(estimate.values), probe=False).values
    ringing = np.isin(space.names, ("first_frequency", "damping_ratio"))
    channels = problem.ring.value.shape[1]
    for other in (coarse.values, np.where(ringing, faint, np.nan)):
        estimate = unsettled(estimate, space, other, channels)
    return finer, estimate
