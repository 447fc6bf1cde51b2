"""C3D, the biomechanics file of marker paths: a header, parameters in groups, frames of points and analog samples.

Format: "The C3D File Format - A Technical User Guide" (Motion Lab Systems, 2021), c3d.org. Blocks have 512 bytes. Three kinds of processor
wrote such files: Intel (little-endian), SGI/MIPS (big-endian) and DEC (words swapped, exponent larger by two).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput
from video2phys.types import LENGTHS, Markers

BLOCK = 512
INTEL, DEC, MIPS = 84, 85, 86
DAMAGED = "Export it again from the recording software."


@dataclass(frozen=True)
class Bytes:
    """The file with the number formats of the machine that wrote it."""

    data: bytes
    processor: int

    def integers(self, at: int, count: int) -> np.ndarray:
        """int16 (count,)"""
        return np.frombuffer(self.data, ">i2" if self.processor == MIPS else "<i2", count, at).astype(int)

    def floats(self, at: int, count: int) -> np.ndarray:
        """float32 (count,)"""
        if self.processor == DEC:
            words = np.frombuffer(self.data, "<u2", 2 * count, at).reshape(-1, 2)[:, ::-1]
            return np.ascontiguousarray(words).view("<f4").ravel().astype(float) / 4
        return np.frombuffer(self.data, ">f4" if self.processor == MIPS else "<f4", count, at).astype(float)


def read_c3d(path: Path) -> Markers:
    """Markers of a C3D file; NaN where a point is marked invalid. Time begins at 0 with the first frame of the file.

    Raises BadInput for a file that is damaged, of an unknown processor, or without points, rate or a unit of length.
    """
    data = path.read_bytes()
    if len(data) < 2 * BLOCK or data[1] != 0x50:
        raise BadInput(f"{path.name} is no C3D file.", fix=DAMAGED)
    start = (data[0] - 1) * BLOCK
    if not 0 < start < len(data) - 4 or data[start + 3] not in (INTEL, DEC, MIPS):
        raise BadInput(f"{path.name} has no parameters of a known processor.", fix=DAMAGED)
    source = Bytes(data, data[start + 3])
    try:
        return _markers(source, _parameters(source, start), path.name)
    except (ValueError, IndexError):  # a read past the end
        raise BadInput(f"{path.name} ends too soon.", fix=DAMAGED) from None


def _parameters(source: Bytes, start: int) -> dict[str, np.ndarray | list[str]]:
    """Parameters by "GROUP:NAME". An entry is: length of the name (negative: locked), group (negative: this names a group), name, offset of
    the next entry; then of a parameter: type (-1 text, 1 byte, 2 integer, 4 float), dimensions, values."""
    data, at = source.data, start + 4
    end = start + BLOCK * data[start + 2] if data[start + 2] else len(data)
    groups: dict[int, str] = {}
    found: list[tuple[int, str, np.ndarray | list[str]]] = []
    while at < end - 2 and (length := abs(int.from_bytes(data[at : at + 1], "big", signed=True))):
        group = int.from_bytes(data[at + 1 : at + 2], "big", signed=True)
        name, at = data[at + 2 : at + 2 + length].decode("latin-1").upper(), at + 2 + length
        following = int(source.integers(at, 1)[0])
        if group < 0:
            groups[-group] = name
        else:
            found.append((group, name, _value(source, at + 2)))
        if following <= 0:
            break
        at += following
    return {f"{groups.get(group, '')}:{name}": value for group, name, value in found}


def _value(source: Bytes, at: int) -> np.ndarray | list[str]:
    data, rank = source.data, source.data[at + 1]
    kind, sizes = int.from_bytes(data[at : at + 1], "big", signed=True), list(data[at + 2 : at + 2 + rank])
    at, count = at + 2 + rank, int(np.prod(sizes, dtype=int))
    if kind == -1:
        width = sizes[0] if sizes else 1
        text = data[at : at + count].decode("latin-1")
        return [text[k : k + width].strip(" \0") for k in range(0, count, max(width, 1))]
    if kind == 1:
        return np.frombuffer(data, np.uint8, count, at).astype(int)
    return source.integers(at, count) if kind == 2 else source.floats(at, count)


def _markers(source: Bytes, parameters: dict[str, np.ndarray | list[str]], name: str) -> Markers:
    def numbers(key: str, default: float) -> float:
        value = parameters.get(key, [])
        return float(value[0]) if len(value) else default

    header = source.integers(0, 12) & 0xFFFF
    count, analog, first, last = (int(header[k]) for k in (1, 2, 3, 4))
    count = int(numbers("POINT:USED", count)) & 0xFFFF
    scale, rate = numbers("POINT:SCALE", source.floats(12, 1)[0]), numbers("POINT:RATE", source.floats(20, 1)[0])
    block = int(numbers("POINT:DATA_START", header[8])) & 0xFFFF
    units = [str(u) for u in parameters.get("POINT:UNITS", [])]
    if not count or not rate > 0 or not block:
        raise BadInput(f"{name} holds no points or no frame rate.", fix=DAMAGED)
    if not units or units[0].lower() not in LENGTHS:
        raise BadInput(f"{name} measures in '{units[0] if units else ''}'.", fix=f"Set POINT:UNITS to one of {', '.join(LENGTHS)}.")
    real = scale < 0  # points and analog samples are then floats, else integers
    width, start, wanted = 4 * count + analog, (block - 1) * BLOCK, last - first + 1
    if last == 0xFFFF:  # as far as the header can count
        wanted = int(numbers("POINT:LONG_FRAMES", wanted))
    values = (source.floats if real else source.integers)(start, width * wanted).reshape(wanted, width)[:, : 4 * count]
    point = values.reshape(wanted, count, 4).astype(float)
    position = point[..., :3] * (1.0 if real else scale) * LENGTHS[units[0].lower()]
    position[point[..., 3] < 0] = np.nan
    return Markers(_labels(parameters, count), np.arange(wanted) / rate, position)


def _labels(parameters: dict[str, np.ndarray | list[str]], count: int) -> tuple[str, ...]:
    """Labels of the points; more than 255 go on in LABELS2 and so on. Points without one are numbered, as are repeated labels."""
    names: list[str] = []
    for key in ("POINT:LABELS", *(f"POINT:LABELS{k}" for k in range(2, 10))):
        names += [str(label) for label in parameters.get(key, [])]
    names = [name or f"point{k}" for k, name in enumerate([*names, *[""] * count][:count])]
    return tuple(n if names.count(n) == 1 else f"{n} {names[: k + 1].count(n)}" for k, n in enumerate(names))
