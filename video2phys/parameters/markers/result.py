"""From a fit to named parameters with intervals and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from video2phys.parameters.markers.body import LAW
from video2phys.parameters.markers.fit import STIFFENING, Problem
from video2phys.parameters.markers.specimen import Specimen
from video2phys.solve.covariance import parameters
from video2phys.solve.levenberg import Estimate
from video2phys.solve.space import Space
from video2phys.types import Parameter, Status, Verdict

OWN = 0.7  # of a prior's sigma: a wider posterior says what was assumed, not what was seen
CREEPS = 0.03  # log of the stiffening worth a note
GIVES = 0.05  # of the sag: a clamp that moves by more gives way


@dataclass(frozen=True)
class Identified:
    """An elastic body as its markers tell it."""

    status: Status
    parameters: tuple[Parameter, ...]
    problem: Problem  # on the finer mesh, for predictions
    values: dict[str, float]  # of the fit's unknowns
    creep: float  # share by which the sag grows each time the time since the release grows e-fold
    meshes: tuple[tuple[int, float], ...]  # nodes and E [Pa] on the coarser and the finer mesh
    train_rms: float  # [m] of a coordinate of a moving marker, over the frames that were fitted
    heldout_rms: float  # [m] over the last part of the record, which was not
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __getitem__(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)


def identified(coarse: Problem, first: Estimate, fine: Problem, estimate: Estimate, space: Space) -> Identified:
    """The result of a fit on two meshes."""
    values = dict(zip(space.names, map(float, estimate.values), strict=True))
    before = dict(zip(space.names, map(float, first.values), strict=True))
    found = {p.name: p for p in parameters(estimate, space, channels=fine.ring.value.shape[1])}
    when = f"at rest, {fine.ring.end:.2g} s after the release"
    found["youngs_modulus"] = replace(found["youngs_modulus"], law=LAW, note=found["youngs_modulus"].note or when)
    found["first_frequency"] = replace(found["first_frequency"], law="undamped")
    listed = [
        found["youngs_modulus"], _dynamic(coarse, before, fine, values, found), *_nu(fine, found), found["first_frequency"],
        found["damping_ratio"], *_rayleigh(values, found["damping_ratio"]), _reach(fine.specimen, found["shift_x"]), _release(fine),
        Parameter("density", fine.specimen.density, "kg/m^3", None, Verdict.GIVEN),
    ]  # fmt: skip
    fitted, rest, grows = fine.ring.project(values["first_frequency"], values["damping_ratio"])
    way = rest - fine.release.held[fine.release.moving].ravel()
    creep = float(grows @ way / (way @ way))
    error, train = (fitted - fine.ring.value) ** 2, fine.ring.train
    rms = [float(np.sqrt(np.nanmean(error[k]))) if k.any() else float("nan") for k in (train, ~train)]
    sizes = tuple((len(p.body.scene.node), v["youngs_modulus"]) for p, v in ((coarse, before), (fine, values)))
    notes, warnings = _remarks(fine, values, creep, rms)
    return Identified(estimate.status, tuple(listed), fine, values, creep, sizes, rms[0], rms[1], notes, warnings)


def _dynamic(coarse: Problem, before: dict[str, float], fine: Problem, values: dict[str, float], found: dict[str, Parameter]) -> Parameter:
    """E with which the elements ring as the body does, E (f / f_elements(E))^2. Its interval spans those of f and nu, and both meshes."""

    def modulus(problem: Problem, at: dict[str, float], f: float, nu: float) -> float:
        modes = problem.body.rest(at["youngs_modulus"], nu).modes
        return float("nan") if modes is None else at["youngs_modulus"] * float((f / modes.frequency[problem.mode]) ** 2)

    f, nu = values["first_frequency"], fine.nu(values)
    value = modulus(fine, values, f, nu)
    ends = [modulus(coarse, before, before["first_frequency"], coarse.nu(before)), value]
    if (interval := found["poisson_ratio"].interval if "poisson_ratio" in found else None) is not None:
        ends += [modulus(fine, values, f, _number(n)) for n in interval]
    over = float(np.exp(np.abs(np.log(np.array(ends) / value)).max()))
    band = found["first_frequency"].interval
    if band is None or not np.isfinite(over):
        return Parameter("dynamic_modulus", value, "Pa", None, Verdict.NOT_IDENTIFIED, LAW, "the ring-down does not fix it")
    low, high = ((_number(end) / f) ** 2 for end in band)
    return Parameter("dynamic_modulus", value, "Pa", [value * low / over, value * high * over], found["first_frequency"].verdict, LAW,
                     "with which it rings")  # fmt: skip


def _nu(problem: Problem, found: dict[str, Parameter]) -> list[Parameter]:
    if problem.specimen.poisson_ratio is None:
        return [replace(found["poisson_ratio"], law=LAW)]
    return [Parameter("poisson_ratio", problem.specimen.poisson_ratio, "1", None, Verdict.GIVEN, LAW)]


def _rayleigh(values: dict[str, float], ratio: Parameter) -> list[Parameter]:
    """zeta = alpha / 2 omega + beta omega / 2: each from none to all of it. The values are those of a material that damps itself."""
    omega, most = 2 * np.pi * values["first_frequency"], ratio.interval
    top = None if most is None else _number(most[1])
    note = "one frequency fixes only alpha / 2 omega + beta omega / 2"
    return [
        Parameter("stiffness_damping", 2 * values["damping_ratio"] / omega, "s", None if top is None else [0.0, 2 * top / omega],
                  Verdict.NOT_IDENTIFIED, "Rayleigh", note),
        Parameter("mass_damping", 0.0, "1/s", None if top is None else [0.0, 2 * top * omega], Verdict.NOT_IDENTIFIED, "Rayleigh", note),
    ]  # fmt: skip


def _reach(specimen: Specimen, shift: Parameter) -> Parameter:
    """Distance from the clamp to the outermost moving marker."""
    assumed, sigma = specimen.outermost
    ends = None if shift.interval is None else [assumed + _number(end) for end in shift.interval]
    own = ends is not None and (ends[1] - ends[0]) / 2 < OWN * 1.96 * sigma
    verdict, note = (Verdict.IDENTIFIED, "") if own else (Verdict.WEAK, f"mostly the {assumed:g} m that were assumed")
    return Parameter("reach", assumed + _number(shift.value), "m", ends, verdict, "", note)


def _number(value: float | list[float]) -> float:
    return float(np.ravel(value)[0])


def _release(problem: Problem) -> Parameter:
    """Known to a frame."""
    gap, time = float(np.median(np.diff(problem.ring.time))), problem.release.time
    return Parameter("release_time", time, "s", [time - gap, time + gap], Verdict.IDENTIFIED)


def _remarks(problem: Problem, values: dict[str, float], creep: float, rms: list[float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Assumptions that the numbers rest on, and what speaks against them."""
    rows, release = problem.rows(values), problem.release
    notes = ["the body is taken to be straight and without stress while it is held"]
    if problem.specimen.reach is None:
        notes.append(f"the outermost marker is taken to sit at the free end, within {problem.specimen.outermost[1] * 1e3:.1f} mm")
    warnings = []
    if rows is not None and abs(rows[2]) > CREEPS:
        stiffer, more = 100 * (np.exp(rows[2]) - 1), 100 * creep
        notes.append(
            f"the body creeps: {stiffer:+.0f} % stiffer when it rings than at rest, {more:+.1f} % sag each time the time grows e-fold"
        )
    if rows is not None and abs(rows[2]) > 3 * STIFFENING:
        warnings.append("sag and ring-down contradict one another: check size, density, gravity, reach and what the markers hang on.")
    if release.gave > GIVES * release.sag:
        warnings.append(
            f"the clamp's markers move by {release.gave * 1e3:.2f} mm, the body by {release.sag * 1e3:.2f} mm: the clamp gives way."
        )
    if rms[1] > 3 * rms[0]:
        warnings.append(f"the last part of the record is predicted to {rms[1] * 1e3:.3f} mm, the rest fits to {rms[0] * 1e3:.3f} mm.")
    return tuple(notes), tuple(warnings)
