"""Measured tracks: a CSV file with a header, a row per instant, or per instant and object."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput, guess
from video2phys.frames.capture import Capture
from video2phys.frames.layouts import folder
from video2phys.frames.layouts.source import Layout, Tracks, natural, visible

CLOCKS = {"time_s": ("time", 1.0), "time_ms": ("time", 1e-3), "frame": ("frame", 1.0)}
OBJECTS = ("object", "ball", "id")
QUANTITIES = {  # per object: what a column's name stands for, and the factor to pixels, metres or radians
    **{f"{name}_px": (to, 1.0) for name, to in zip("xyuv", "uvuv", strict=True)},
    **{f"{axis}_{unit}": (axis, size) for axis in "xyz" for unit, size in (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3))},
    "angle_rad": ("angle", 1.0),
    "angle_deg": ("angle", np.pi / 180),
    **{name: (name, 1.0) for name in ("qw", "qx", "qy", "qz")},
    "sigma": ("sigma", 1.0),  # in the unit of the position
    "sigma_rad": ("turn_sigma", 1.0),
    "sigma_deg": ("turn_sigma", np.pi / 180),
}
WHOLE = (("u", "v"), ("x", "y", "z"), ("x", "y"), ("x", "z"), ("qw", "qx", "qy", "qz"))
EXAMPLE = "Write a header such as time_s,x_m,y_m and numbers below it; docs/formats.md lists the columns."
MISSING = ("", "nan", "na", "null", "none")


def find(capture: Path, keys: Capture) -> Path | None:
    """The file of tracks that the capture is or holds, or None. Video and pictures go before, unless capture.yaml says `tracks:`."""
    if capture.is_file():
        return capture if capture.suffix.lower() == ".csv" else None
    if keys.tracks is not None:
        return capture / keys.tracks
    tables = [p for p in visible(capture) if p.is_file() and p.suffix.lower() == ".csv"]
    if not tables or keys.video or keys.videos or folder.holds_video(capture) or folder.holds_pictures(capture):
        return None
    if len(tables) > 1:
        raise BadInput(f"{capture} holds {len(tables)} CSV files.", fix="Name one with `tracks:` in capture.yaml, or give its path.")
    return tables[0]


def read(file: Path) -> Layout:
    """Raises BadInput, naming the column or the line, for anything that is not a table of tracks."""
    sheet = _sheet(file)
    columns = [_column(name, file) for name in sheet.header]
    clock = {quantity: factor * sheet.cells[:, k] for k, (_, quantity, factor) in enumerate(columns) if quantity in ("time", "frame")}
    if not clock:
        raise BadInput(f"{file.name} has neither time_s nor frame.", fix=EXAMPLE)
    blank = np.flatnonzero(np.isnan(np.stack(list(clock.values()))).any(0))
    if len(blank):
        raise BadInput(f"{file.name}, line {sheet.lines[blank[0]]}: no time.", fix="Give each row its time; other cells may be empty.")
    objects, column = _objects(file, sheet, columns)
    instant, first, row = np.unique(clock["time" if "time" in clock else "frame"], return_index=True, return_inverse=True)
    place = row * len(objects) + column
    if len(np.unique(place)) < len(place):
        raise BadInput(f"{file.name} has two rows for one time.", fix="Keep one row per instant, or per instant and object.")
    if not sheet.owner and np.any(np.diff(row) < 0):
        line = sheet.lines[int(np.argmax(np.diff(row) < 0)) + 1]
        raise BadInput(f"{file.name}, line {line}: the time goes back.", fix="Sort the rows.")
    found: dict[str, np.ndarray] = {}
    length = next((factor for _, quantity, factor in columns if quantity in ("x", "y", "z")), 1.0)
    for k, (prefix, quantity, factor) in enumerate(columns):
        if quantity in ("time", "frame", "object"):
            continue
        factor *= length if quantity == "sigma" else 1.0
        table = found.setdefault(quantity, np.full((len(instant), len(objects)), np.nan))
        if sheet.owner:
            table[row, column] = factor * sheet.cells[:, k]
        else:
            table[:, [objects.index(prefix)] if prefix else slice(None)] = factor * sheet.cells[:, [k]]
    _complete(file, columns)
    frame = clock["frame"][first] if "frame" in clock else None
    return Layout("measured tracks", (), tracks=Tracks(file, instant if "time" in clock else None, frame, objects, found))


@dataclass(frozen=True)
class Sheet:
    """A CSV file as it stands."""

    header: list[str]
    lines: list[int]  # line number of each row
    cells: np.ndarray  # (R, C), NaN where empty, and in the column of names
    owner: list[str]  # name of the object of each row; [] = no such column


def _sheet(file: Path) -> Sheet:
    rows = _rows(file)
    header = [name.strip().lower() for name in rows[0][1]]
    double = next((name for k, name in enumerate(header) if name in header[:k]), None)
    if double is not None:
        raise BadInput(f"{file.name} has two columns '{double}'.", fix="Rename one; objects are told apart by prefixes such as a_x_m.")
    cells, owner = np.full((len(rows) - 1, len(header)), np.nan), []
    for r, (line, row) in enumerate(rows[1:]):
        if len(row) != len(header):
            raise BadInput(f"{file.name}, line {line}: {len(row)} cells under {len(header)} columns.", fix="Complete the row.")
        for k, cell in enumerate(map(str.strip, row)):
            if header[k] in OBJECTS:
                owner.append(cell)
            elif cell.lower() not in MISSING:
                cells[r, k] = _number(cell, f"{file.name}, line {line}: {header[k]}")
    return Sheet(header, [line for line, _ in rows[1:]], np.where(np.isfinite(cells), cells, np.nan), owner)


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise BadInput(f"{where} is no number (given: {cell!r}).", fix=EXAMPLE) from None


def _objects(file: Path, sheet: Sheet, columns: Sequence[tuple[str, str, float]]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the objects, and the one that each row is of, (R,)."""
    prefixes = tuple(dict.fromkeys(prefix for prefix, _, _ in columns if prefix))
    if sheet.owner and prefixes:
        raise BadInput(f"{file.name} tells objects apart by a column and by the prefix '{prefixes[0]}_'.", fix="Keep one of them.")
    if not sheet.owner:
        return prefixes or ("",), np.zeros(len(sheet.lines), int)
    names = sorted(set(sheet.owner), key=natural)
    return tuple(names), np.array([names.index(name) for name in sheet.owner])


def _rows(file: Path) -> list[tuple[int, list[str]]]:
    """Line number and cells of the header and of each row. Blank lines and those that begin with # are left out."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}.", fix="Give an existing CSV file.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not text.", fix=EXAMPLE) from error
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 3:
        raise BadInput(f"{file.name} holds {max(len(lines) - 1, 0)} row(s), and a motion needs several.", fix=EXAMPLE)
    delimiter = max(",;\t", key=lines[0][1].count)
    return [(n, next(csv.reader([line], delimiter=delimiter))) for n, line in lines]


def _column(name: str, file: Path) -> tuple[str, str, float]:
    """Prefix ("" = every object), quantity and factor of a column. Raises BadInput for a name that is not known."""
    if name in CLOCKS:
        return ("", *CLOCKS[name])
    if name in OBJECTS:
        return "", "object", 1.0
    stem = next((known for known in sorted(QUANTITIES, key=len, reverse=True) if name == known or name.endswith(f"_{known}")), None)
    if stem is None:
        raise BadInput(f"{file.name}: '{name}' is no column of tracks.", fix=guess(name, [*CLOCKS, *OBJECTS, *QUANTITIES]))
    return name[: -len(stem) - 1] if name != stem else "", *QUANTITIES[stem]


def _complete(file: Path, columns: Sequence[tuple[str, str, float]]) -> None:
    """Positions with all their axes and quaternions with all four numbers, for each object alike."""
    there = {prefix: {q for p, q, _ in columns if p in ("", prefix)} for prefix in {p for p, _, _ in columns if p} or {""}}
    for prefix, own in there.items():
        tail = f" of '{prefix}'" if prefix else ""
        for group in WHOLE:
            missing = [q for q in group if q not in own]
            begun = set(group) & own and not any(set(other) <= own for other in WHOLE if set(other) & set(group))
            if missing and begun:
                raise BadInput(f"{file.name}: {_label(missing[0])} is missing{tail}.", fix=EXAMPLE)
        if not {"u", "x"} & own:
            raise BadInput(f"{file.name} has no position{tail}.", fix="Give x_px and y_px, or x_m and y_m (and z_m).")
        if own != (first := next(iter(there.values()))):
            other = sorted(own ^ first)[0]
            raise BadInput(f"{file.name}: not every object has {_label(other)}.", fix="Give all objects the same columns.")


def _label(quantity: str) -> str:
    """A quantity as a header names it."""
    return {"u": "x_px", "v": "y_px", "x": "x_m", "y": "y_m", "z": "z_m"}.get(quantity, quantity)
