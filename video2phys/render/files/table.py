"""A PLY file's vertex table: ASCII or binary of either byte order, columns of any order and kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from video2phys.errors import BadInput

C_KINDS = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4", "double": "f8"}
SIZED = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"}
KINDS = C_KINDS | SIZED  # both ways of naming are found
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


def write(file: Path, names: list[str], table: np.ndarray) -> None:
    """Write columns `names` of table (N, C) as float32, binary little-endian."""
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(table)}"]
    header += [f"property float {name}" for name in names] + ["end_header\n"]
    file.write_bytes("\n".join(header).encode() + np.ascontiguousarray(table, "<f4").tobytes())


def read(file: Path) -> dict[str, np.ndarray]:
    """Columns (N,) of the vertex element as float64, by name. Raises BadInput."""
    try:
        data = file.read_bytes()
        end = data.index(b"end_header") + len(b"end_header")
        body = data[data.index(b"\n", end) + 1 :]
        lines = [line.split() for line in data[:end].decode("ascii").splitlines() if line.strip()]
        style = next((line[1] for line in lines if line[0] == "format"), "")
        if lines[0] != ["ply"] or style not in ORDERS:
            raise ValueError("not a PLY")
        elements = [k for k, line in enumerate(lines) if line[0] == "element"]
        if not elements or lines[elements[0]][1] != "vertex":
            raise ValueError("its first element is not 'vertex'")
        stop = elements[1] if len(elements) > 1 else len(lines)
        columns = [(line[2], KINDS[line[1]]) for line in lines[elements[0] : stop] if line[0] == "property"]
        count = int(lines[elements[0]][2])
        if style == "ascii":
            rows = np.array([line.split()[: len(columns)] for line in body.decode("ascii").splitlines()[:count]], float)
            if rows.shape != (count, len(columns)):
                raise ValueError(f"it holds {len(rows)} of {count} rows")
            return {name: rows[:, k] for k, (name, _) in enumerate(columns)}
        table = np.frombuffer(body, np.dtype([(name, ORDERS[style] + kind) for name, kind in columns]), count)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise BadInput(f"cannot read {file}: {error}", fix="Give a PLY file that is whole.") from error
    return {name: table[name].astype(float) for name, _ in columns}
