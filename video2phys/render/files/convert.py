"""One splat file to another format."""

from __future__ import annotations

from pathlib import Path

from video2phys.errors import BadInput, guess
from video2phys.render.files.read import WRITERS, read_splats


def convert(file: Path, folder: Path, format_: str) -> tuple[Path, tuple[str, ...]]:
    """The file written into `folder`, and what was dropped or changed. Raises BadInput for a format or file that is not known."""
    if format_ not in WRITERS:
        raise BadInput(f"a splat file is not turned into '{format_}'.", fix=guess(format_, list(WRITERS)))
    splats, warnings = read_splats(file)
    target = folder / f"{file.stem}.{format_}"
    target.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[format_](target, splats, {"source": file.name, "axes": "as in the source"})
    return target, warnings
