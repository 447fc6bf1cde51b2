"""What an identified body does in another record: its sag under another load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.markers.release import find
from video2phys.parameters.markers.result import Identified
from video2phys.parameters.markers.specimen import find_pose
from video2phys.types import Markers

Place = Literal["face", "upper edge", "lower edge"]  # of the free end


@dataclass(frozen=True)
class Sag:
    """Mean way of the moving markers along gravity, from held to rest, over the last fifth of a record."""

    measured: float  # [m]
    predicted: float  # [m]
    interval: tuple[float, float]  # [m] from that of E alone; the other unknowns stay at their values

    @property
    def error(self) -> float:
        """(predicted - measured) / measured"""
        return self.predicted / self.measured - 1


def predict_sag(found: Identified, markers: Markers, load: float = 0.0, at: Place = "face") -> Sag:
    """Sag of the same body in another record, with a weight of `load` [N] that hangs on its free end and pulls along gravity.

    The body's pose and its markers' places are found anew; nothing is fitted. The body creeps as in the record it was fitted to.
    Raises BadInput where the body finds no rest.
    """
    problem = found.problem
    release = find(markers)
    pose = find_pose(problem.specimen, release)
    problem = replace(problem, release=release, pose=pose)
    gravity = np.asarray(problem.specimen.gravity, float)
    down = gravity / np.linalg.norm(gravity)
    shift = np.array([found.values[f"shift_{axis}"] for axis in "xyz"])
    force = _spread(problem.body.scene.node, load * (down @ pose.rotation), at)

    def sag(E: float) -> float:
        nu = problem.nu(found.values)
        moved = problem.body.displacement(E, nu, force, near=problem.body.rest(E, nu).displacement)
        if moved is None:
            raise BadInput("the body finds no rest under this load.", fix="Check the load, in newtons.")
        return crept * float((problem.way(moved, shift) @ down).mean())

    later = markers.time[-release.late :] - release.time
    crept = 1 + found.creep * float(np.log(later / problem.ring.end).mean())
    E = found.values["youngs_modulus"]
    ends = found["youngs_modulus"].interval or [E, E]
    low, high = sorted(sag(float(np.ravel(end)[0])) for end in ends)
    measured = float((release.way @ down).mean())
    return Sag(measured, sag(E), (low, high))


def _spread(node: np.ndarray, force: np.ndarray, at: Place) -> np.ndarray:
    """The force (3,) [N] in equal parts on the nodes (V, 3) of a place of the free end."""
    near = 1e-6 * np.ptp(node[:, 0])
    chosen = node[:, 0] > node[:, 0].max() - near
    if at != "face":
        z = node[chosen, 2]
        chosen &= node[:, 2] > z.max() - near if at == "upper edge" else node[:, 2] < z.min() + near
    return np.outer(chosen / chosen.sum(), force)
