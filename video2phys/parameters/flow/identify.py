"""Identify matter that flows or may flow: plastic, granular or fluid, and which of them it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.elastic.approach import approach, matter
from video2phys.parameters.elastic.carve import Matter, carved
from video2phys.parameters.elastic.fit import LEAST_FRAMES
from video2phys.parameters.elastic.start import Start
from video2phys.parameters.flow.choice import Candidate, candidates
from video2phys.parameters.flow.fit import Make, refine, scan, search
from video2phys.parameters.flow.laws import CANDIDATES, MATERIALS, Scales
from video2phys.parameters.flow.motion import motion
from video2phys.parameters.flow.outline import Outlines, outlines
from video2phys.parameters.flow.result import result
from video2phys.parameters.flow.settings import FlowSettings
from video2phys.parameters.split import split
from video2phys.progress import Progress, part
from video2phys.types import Body, Frames, Gaussians, Parameter, Parameters, Plane, StateTrack

SLOW = 1.0  # [sizes a second] the least speed that sets the scales
ROUNDING = 1e-6  # [cell widths] by which a cell that stands on the ground may seem to be in it


@dataclass(frozen=True)
class Problem:
    """Everything but the material."""

    frames: Frames
    body: Body
    make: dict[str, Make]  # a motion of each material
    seen: Outlines  # from the start on
    begin: Start
    plane: Plane | None
    split: tuple[np.ndarray, np.ndarray]
    density: Parameter
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def time(self) -> np.ndarray:
        """[s] from the start on."""
        return self.frames.time[self.begin.frame :] - self.frames.time[self.begin.frame]

    @property
    def train(self) -> int:
        """Frames from the start on that are fitted."""
        return int(np.flatnonzero(self.split[0])[-1]) + 1 - self.begin.frame


def problem(frames: Frames, gaussians: Gaussians, states: StateTrack, settings: FlowSettings) -> Problem:
    """Body, start, ground and outlines. Raises BadInput for lengths in pixels, views without masks, or too few frames."""
    about = frames.about
    if states.kind != "affine" or states.deformation is None or states.unit != "m" or not any(view.masks for view in frames.views):
        raise BadInput(
            "matter that flows is identified from the outlines in several calibrated cameras.",
            fix="Film it with several cameras of known pose and metres, or set `model: rigid`.",
        )
    if about.gravity_free:
        raise BadInput("gravity cannot be found beside the material.", fix="Give gravity in capture.yaml, or `none`.")
    body, cells, _ = carved(frames, gaussians.bodies[0], states)
    density, notes = matter(about.density, about.mass, float(body.volume.sum()))
    visible = np.array([any(view.whole(k, 0) and view.images[k] for view in frames.views) for k in range(len(frames.time))])
    if states.valid[:, 0].sum() < 2 or visible.sum() < LEAST_FRAMES:
        raise BadInput(f"only {int(visible.sum())} frames show the object whole.", fix="Film it longer, or from further away.")
    way = approach(states, body, about, np.ones(len(states.time), bool))
    plane, begin, gravity, size, notes = way.plane, way.begin, way.path.gravity, way.size, (*notes, *way.notes)
    if plane is not None:
        cells, buried = above(cells, begin, plane)
        if buried > 0:
            notes = (
                *notes,
                f"{buried:.1%} of the reconstructed volume lay below the ground and was left out: no camera sees the underside",
            )
    drop = 0.0 if plane is None else max(float(plane.normal @ begin.position) - plane.offset, size / 2)
    speed = float(np.sqrt(begin.velocity @ begin.velocity + 2 * np.linalg.norm(gravity) * drop))
    scales = Scales(float(density.value), max(speed, SLOW * size), size)  # pyright: ignore[reportArgumentType]

    def made(material: str) -> Make:
        return lambda count: motion(material, cells, begin, plane, gravity, scales, count)

    visible[: begin.frame] = False
    return Problem(frames, body, {name: made(name) for name in MATERIALS}, outlines(frames, begin.frame, size), begin, plane,
                   split(visible, settings.heldout_share), density, notes, way.warnings)  # fmt: skip


def above(cells: Matter, begin: Start, plane: Plane) -> tuple[Matter, float]:
    """The cells that lie wholly above the plane at the start, and the share of the volume that does not.

    A visual hull reaches below a body that stands, where no camera looks, and buried matter would be thrown out of the ground.
    """
    height = (begin.position + cells.particle @ begin.rotation.T) @ plane.normal - plane.offset
    kept = height >= (0.5 - ROUNDING) * np.cbrt(cells.volume)
    if not kept.any():
        raise BadInput("the whole body lies below the ground.", fix="Check `ground:` in capture.yaml; its normal points to the free side.")
    return replace(cells, particle=cells.particle[kept], volume=cells.volume[kept]), float(cells.volume[~kept].sum() / cells.volume.sum())


def rank(p: Problem, settings: FlowSettings, progress: Progress) -> list[Candidate]:
    """Every candidate fitted coarsely, best first."""
    return candidates({name: p.make[name] for name in CANDIDATES}, p.seen, p.time, p.train, settings, progress)


def identify(p: Problem, material: str, settings: FlowSettings, progress: Progress) -> Parameters:
    """Fit a material."""
    make, time = p.make[material], p.time[: p.train]
    searched = search(scan(make(settings.coarse_particles), p.seen, time), p.seen, time, part(progress, 0, 2))
    fit = refine(make, p.seen, time, settings, searched, part(progress, 1, 2))
    return result(p.frames, p.body, p.seen, fit, p.time, p.density, p.split, p.notes, p.warnings)
