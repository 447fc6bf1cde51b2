"""report.html: one page for a person, with everything it shows inside it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.twin import plots
from video2phys.twin.words import headline, in_words, place, pretty, rows
from video2phys.types import Frames, Gaussians, Parameters, StateTrack, Topology, TwinFile

MOST_EMBEDDED = 8_000_000  # [bytes] a larger video stays beside the page


@dataclass(frozen=True)
class Film:
    """The simulated object on the footage."""

    file: str  # beside the page
    sheet: np.ndarray  # (H, W, 3) contact sheet
    speed: float  # of the video, 1 = real time


@dataclass(frozen=True)
class Material:
    """All that the page is made of."""

    frames: Frames
    gaussians: Gaussians
    states: StateTrack
    parameters: Parameters
    topology: Topology
    tree: dict[str, Any]  # what twin.json holds
    files: tuple[TwinFile, ...]
    simulated: np.ndarray | None  # [artefact length] (T, O, 3) MuJoCo replay
    film: Film | None


def page(made: Material, folder: Path) -> str:
    """The page as HTML; `folder` holds the video."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["place"] = place
    parameters, film = made.parameters, made.film
    return environment.get_template("report.html.j2").render(
        title=Path(made.tree["provenance"]["capture"] or "capture").stem,
        summary=in_words(made.frames, made.states, parameters, made.topology),
        headline=headline(parameters),
        rows=rows(made.tree["parameters"]),
        video=_video(folder / film.file) if film else "",
        sheet=_jpeg(film.sheet) if film else "",
        speed="" if film is None or 0.9 < film.speed < 1.1 else f"{film.speed:.2g} ×",
        motion=plots.motion(made.states, parameters, made.simulated),
        residuals=plots.residuals(parameters),
        heldout=bool(parameters.heldout.any()),
        correlation=_correlation(parameters),
        topology=made.topology,
        replay=made.tree["replay"],
        files=made.files,
        tree=made.tree,
        psnr=made.gaussians.psnr,
    )


def _video(file: Path) -> str:
    data = file.read_bytes()
    return file.name if len(data) > MOST_EMBEDDED else "data:video/mp4;base64," + base64.b64encode(data).decode()


def _jpeg(image: np.ndarray) -> str:
    import cv2

    done, data = cv2.imencode(".jpg", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, 82])
    if not done:
        raise OSError("cannot encode the contact sheet")
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()


def _correlation(parameters: Parameters) -> list[tuple[str, list[tuple[str, str]]]]:
    """Rows of (name, [(text, css colour)]); empty when there is nothing to correlate."""
    names, matrix = parameters.correlation_names, parameters.correlation
    if len(names) < 2:
        return []
    cells = []
    for name, line in zip(names, matrix, strict=True):
        row = []
        for value in line:
            if not np.isfinite(value):
                row.append(("–", "transparent"))
                continue
            tone = "37, 99, 235" if value > 0 else "220, 70, 50"
            row.append((f"{value:+.2f}", f"rgba({tone}, {0.55 * abs(value):.2f})"))
        cells.append((pretty(name), row))
    return cells
