"""Files of motion-capture markers: CSV, and C3D (in c3d.py)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput
from video2phys.states.c3d import read_c3d
from video2phys.types import LENGTHS, Markers

COLUMN = re.compile(rf"(?P<label>.+)_(?P<axis>[xyz])_(?P<unit>{'|'.join(LENGTHS)})")


def read_markers(path: str | Path) -> Markers:
    """Markers of a .csv or .c3d file. Raises BadInput for other files, and for those that do not hold what their format says."""
    path = Path(path)
    readers = {".csv": read_csv, ".c3d": read_c3d}
    if path.suffix.lower() not in readers:
        raise BadInput(f"{path.name} is no file of markers.", fix=f"Give one of {', '.join(readers)}.")
    if not path.is_file():
        raise BadInput(f"there is no file {path}.", fix="Check the path.")
    return readers[path.suffix.lower()](path)


def read_csv(path: Path) -> Markers:
    """A table with columns `time_s` and NAME_x_m, NAME_y_m, NAME_z_m for each marker (also _mm, _cm); an empty cell or `nan` is missing.

    Other columns are ignored. Raises BadInput for a table without these columns, and for cells that are no numbers.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    head = [name.strip() for name in rows[0]] if rows else []
    if "time_s" not in head:
        raise BadInput(f"{path.name} has no column time_s.", fix="Name the columns time_s, NAME_x_m, NAME_y_m, NAME_z_m, ...")
    columns: dict[str, dict[str, tuple[int, float]]] = {}
    for k, name in enumerate(head):
        if match := COLUMN.fullmatch(name):
            columns.setdefault(match["label"], {})[match["axis"]] = (k, LENGTHS[match["unit"]])
    partial = [label for label, axes in columns.items() if len(axes) < 3]
    if partial or not columns:
        what = f"marker {partial[0]} of {path.name} lacks an axis." if partial else f"{path.name} has no marker."
        raise BadInput(what, fix="Give each marker three columns: NAME_x_m, NAME_y_m, NAME_z_m.")
    uneven = [k for k, row in enumerate(rows) if len(row) != len(head)]
    if uneven:
        raise BadInput(f"row {uneven[0] + 1} of {path.name} has not as many cells as the first.", fix="Repair or remove it.")
    order = [columns[label][axis] for label in columns for axis in "xyz"]
    picked = [head.index("time_s"), *(k for k, _ in order)]
    table = np.array([[_number(row[k], path, n) for k in picked] for n, row in enumerate(rows[1:], 2)]).reshape(-1, len(picked))
    return Markers(tuple(columns), table[:, 0], (table[:, 1:] * [unit for _, unit in order]).reshape(len(table), len(columns), 3))


def _number(cell: str, path: Path, row: int) -> float:
    try:
        return float(cell) if cell.strip() else float("nan")
    except ValueError:
        raise BadInput(f"row {row} of {path.name} holds '{cell}'.", fix="Leave a missing value empty, or write nan.") from None
