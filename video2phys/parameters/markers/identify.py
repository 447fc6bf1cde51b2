"""The way from markers to an identified body."""

from __future__ import annotations

from video2phys.errors import BadInput
from video2phys.parameters.markers import fit
from video2phys.parameters.markers.body import Body
from video2phys.parameters.markers.release import find
from video2phys.parameters.markers.result import Identified, identified
from video2phys.parameters.markers.ring import ring_of
from video2phys.parameters.markers.specimen import Specimen, find_pose
from video2phys.progress import Progress, silent
from video2phys.types import Markers


def identify(
    markers: Markers, specimen: Specimen, *, across: int = 3, heldout: float = 1 / 3, progress: Progress = silent
) -> Identified:  # fmt: skip
    """Young's modulus, first frequency and damping ratio of a clamped elastic body that is held straight, let go, sags and rings down.

    across: elements of second order through the thinner side of a box, 2 or more; the fit begins with one less, and what the finer mesh
    changes enters the intervals. A given mesh is taken as it is. heldout: the last share of the record is predicted only.
    Raises BadInput where the record does not show such a release or the body finds no rest.
    """
    if across < 2:
        raise BadInput(f"across is {across}.", fix="Give 2 or more elements: the last one tells the error of the mesh.")
    release = find(markers, heldout)
    ring, pose = ring_of(markers, release), find_pose(specimen, release)
    coarse, fine = (Body.of(specimen, pose, n) for n in (across - 1, across))
    problem, space = fit.start(specimen, pose, release, ring, coarse)
    progress(0.1, "coarse mesh")
    problem, first = fit.settle(problem, space)
    progress(0.5, "fine mesh")
    finer, estimate = fit.refine(problem, fine, space, first)
    progress(1.0, estimate.status.value)
    return identified(problem, first, finer, estimate, space)
