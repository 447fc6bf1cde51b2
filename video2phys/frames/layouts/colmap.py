"""A COLMAP model, binary or text, with its pictures: photographs of something at rest with cameras and points."""

from __future__ import annotations

from pathlib import Path

from video2phys.errors import BadInput
from video2phys.frames.layouts.source import Layout, Source, Still

NOTE = "cameras and sparse points are those of the COLMAP model."


def model(capture: Path) -> Path | None:
    """The folder of the model: sparse/0, sparse or colmap/sparse/0, or None."""
    places = (capture / "sparse" / "0", capture / "sparse", capture / "colmap" / "sparse" / "0")
    return next((p for p in places if any((p / f"cameras{s}").is_file() for s in (".bin", ".txt"))), None)


def read(capture: Path) -> Layout:
    """Pictures lie in images/ beside the model. Raises BadInput for a model that cannot be read or has no pictures."""
    import pycolmap

    from video2phys.frames import model as models

    place = model(capture)
    assert place is not None
    try:
        found = models.read(pycolmap.Reconstruction(place))
    except (RuntimeError, ValueError) as error:
        raise BadInput(f"{place} is not a COLMAP model that can be read: {error}", fix="Export it again.") from error
    images = capture / "images"
    files = {p.relative_to(images).with_suffix("").as_posix(): p for p in images.rglob("*") if p.is_file()} if images.is_dir() else {}
    there = {name: lens for name, lens in found.lenses.items() if name in files}
    if not there:
        raise BadInput(f"none of the {len(found.lenses)} pictures of {place} is in {images}.", fix="Put the pictures into images/.")
    masks = {p.relative_to(capture / "masks").with_suffix("").as_posix(): p for p in (capture / "masks").rglob("*.png")}
    sources = tuple(
        Source(name.replace("/", "_"), stills=(Still(files[name], None, masks.get(name) or masks.get(files[name].name)),), lens=lens)
        for name, lens in sorted(there.items())
    )
    lost = len(found.lenses) - len(there)
    warnings = (f"{lost} picture(s) of the COLMAP model are missing and were left out.",) if lost else ()
    return Layout("COLMAP", (), sources, notes=(NOTE,), warnings=warnings, metric=False,
                  points=found.points, points_colour=found.colour)  # fmt: skip
