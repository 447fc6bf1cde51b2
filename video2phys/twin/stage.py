"""The twin: files for simulators and viewers, each checked in its target, and the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from video2phys.context import Context
from video2phys.result import finite, summary
from video2phys.twin import build, overlay, replay, report
from video2phys.twin.formats import json as json_format
from video2phys.twin.formats import mesh, mjcf, ply
from video2phys.twin.moved import Moved
from video2phys.twin.settings import Settings
from video2phys.types import Frames, Gaussians, Parameters, StateTrack, Topology, Twin, TwinFile

VIDEO_SECONDS = 6.0  # the overlay lasts about this long, however fast the motion was
SHEET_PICTURES, SHEET_BOX = 8, 320  # pictures on the contact sheet, and the longer side [px] of each
FLOWS = ("plasticine", "granular", "fluid", "viscoplastic")  # of which MuJoCo has no model
FAR = 0.25  # of the object's size: a replay further from the fit than this is worth a warning


@dataclass
class _Made:
    files: list[TwinFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    replay: dict[str, float] = field(default_factory=dict)


def run(
    frames: Frames,
    gaussians: Gaussians,
    states: StateTrack,
    parameters: Parameters,
    topology: Topology,
    settings: Settings,
    context: Context,
) -> Twin:
    """Write twin.xml, meshes, splats, particles, twin.json, the overlay and report.html into context.folder."""
    made, gaussians = _Made(), gaussians.refined(parameters)
    context.progress(0.0, "model files")
    simulated = _simulate(gaussians, states, parameters, topology, settings, context, made)
    context.progress(0.3, "overlay")
    film = _film(frames, gaussians, states, parameters, settings, context, made)
    context.progress(0.8, "report")
    artefacts = (frames, gaussians, states, topology)
    warnings = tuple(dict.fromkeys(w for a in artefacts for w in a.warnings)) + tuple(made.warnings)
    notes = tuple(dict.fromkeys(n for a in (frames, gaussians, states, parameters, topology) for n in a.notes)) + tuple(made.notes)
    extra = tuple(p for p in (topology.mass, topology.center, topology.inertia) if p)
    tree = summary(parameters, context.record, warnings, extra) | {"assumptions": list(notes), "interior": topology.statement}
    tree["provenance"] = provenance(frames, gaussians, states, context)
    tree |= {"replay": made.replay, "unit": parameters.unit}
    made.files.append(json_format.write(context.folder, finite(tree)))
    page = report.page(
        report.Material(frames, gaussians, states, parameters, topology, tree, tuple(made.files), simulated, film), context.folder
    )
    (context.folder / "report.html").write_text(page, encoding="utf-8")
    made.files.append(TwinFile("report.html", "HTML", "one page, nothing loaded from elsewhere", "http" not in _loaded(page)))
    context.progress(1.0)
    return Twin(context.folder, tuple(made.files), made.replay, tuple(made.warnings))


def provenance(frames: Frames, gaussians: Gaussians, states: StateTrack, context: Context) -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "capture": str(context.record.get("capture", "")), "layout": frames.layout, "frames": len(frames.time), "views": len(frames.views),
        "method": states.method, "state": states.kind, "psnr_db": gaussians.psnr, "versions": dict(context.record.get("versions", {})),
        "seed": context.seed,
    }  # fmt: skip


def _simulate(
    gaussians: Gaussians, states: StateTrack, parameters: Parameters, topology: Topology, settings: Settings, context: Context, made: _Made
) -> np.ndarray | None:
    """Model files, checked; the replay's positions in artefact lengths (T, O, 3), or None."""
    folder = context.folder
    unit = parameters.unit if parameters.px_per_m is None else "m"
    scale = 1 / parameters.px_per_m if parameters.px_per_m is not None and parameters.unit == "px" else 1.0
    moves = np.isfinite(parameters.position).all((1, 2)).any()
    scene = build.scene(gaussians, states, parameters, topology) if moves else None
    for o, body in enumerate(gaussians.bodies):
        tail = "" if len(gaussians.bodies) == 1 else f"_{o}"
        lengths = build.scaled(body, scale)
        solid = scene.solids[o] if scene else None
        density = solid.density if solid else np.full(len(body.volume), np.nan)
        made.files += [
            mesh.write(folder, f"body{tail}", lengths),
            ply.gaussians(folder, f"gaussians{tail}", lengths, unit),
            ply.particles(folder, f"particles{tail}", lengths, density, unit),
        ]
    if scene is None:
        made.warnings.append("the fit predicts no motion, so that there is no simulator model in the twin")
        return None
    if parameters.model in FLOWS:
        made.notes.append(f"MuJoCo has no {parameters.model} matter: the twin holds meshes, splats and particles, and no twin.xml")
        return None
    if scene.unit == "px":
        made.warnings.append(
            "no metric scale: twin.xml counts lengths in pixels of the video, its masses and forces are in arbitrary units"
        )
    made.notes += scene.notes
    file = mjcf.write(folder, scene, settings.soft_cells)
    try:
        replay.drop(file)
        simulated = replay.replay(file, scene)
    except replay.Rejected as error:
        made.files.append(TwinFile("twin.xml", "MJCF", str(error), False))
        made.warnings.append(str(error))
        return None
    made.files.append(TwinFile("twin.xml", "MJCF", "loads in MuJoCo, simulated for 1 s without a warning", True))
    made.replay.update(replay.compare(simulated, scene, states, parameters))
    off, size = made.replay.get(f"from_fit_rms_{scene.unit}", 0.0), made.replay[f"size_{scene.unit}"]
    if off > FAR * size:
        made.warnings.append(
            f"MuJoCo's replay leaves the fitted motion by {off:.3g} {scene.unit} RMS, for an object of {size:.3g} {scene.unit}"
        )
    return simulated / scene.scale


def _film(
    frames: Frames, gaussians: Gaussians, states: StateTrack, parameters: Parameters, settings: Settings, context: Context, made: _Made
) -> report.Film | None:
    """overlay.mp4 and the contact sheet; None when no frame has a picture."""
    if frames.tracks is not None:
        return None
    views = overlay.best_views(frames)[: settings.video_views]
    index = overlay.drawable(frames, views, settings.video_frames)
    if not index:
        return None

    moved = Moved.of(frames, views, gaussians.bodies, parameters)

    def pictures(chosen: list[int], box: int) -> Iterator[np.ndarray]:
        for done, frame in enumerate(chosen):
            context.progress(0.3 + 0.5 * done / len(chosen), "overlay")
            yield overlay.draw(frame, views, frames, gaussians, states, parameters, moved, box)

    file, fps = context.folder / "overlay.mp4", float(np.clip(len(index) / VIDEO_SECONDS, 6, 30))
    overlay.video(file, pictures(index, settings.video_size), fps)
    made.files.append(TwinFile(file.name, "H.264", f"decodes to {len(index)} frames", overlay.count(file) == len(index)))
    sheet = [index[i] for i in np.unique(np.linspace(0, len(index) - 1, SHEET_PICTURES).round().astype(int))]
    speed = (frames.time[index[-1]] - frames.time[index[0]]) * fps / max(len(index) - 1, 1)
    return report.Film(file.name, overlay.contact_sheet(list(pictures(sheet, SHEET_BOX))), float(speed))


def _loaded(page: str) -> str:
    """Every src and href of the page that is not embedded."""
    import re

    return " ".join(v for v in re.findall(r'(?:src|href)="([^"]*)"', page) if not v.startswith(("data:", "#")))
