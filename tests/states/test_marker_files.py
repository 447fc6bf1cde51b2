"""Files of markers: CSV by hand, C3D as each kind of processor wrote it, and one recording in both formats."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.states.c3d import BLOCK, DEC, INTEL, MIPS
from video2phys.states.markers import read_markers
from video2phys.types import Markers

POINTS = np.random.default_rng(0).uniform(-800, 800, (7, 3, 3))  # [mm]


def entry(group, name, value=None, order="<"):
    """A group, or a parameter of text, int16 or float."""
    body, whole = b"", order.replace("d", "<")
    if isinstance(value, list):
        width = max(map(len, value))
        body = struct.pack("bBBB", -1, 2, width, len(value)) + "".join(v.ljust(width) for v in value).encode()
    elif isinstance(value, int):
        body = struct.pack("bB", 2, 0) + struct.pack(whole + "h", value)
    elif isinstance(value, float):
        body = struct.pack("bB", 4, 0) + real([value], order)
    body += b"\0"  # no description
    number = -group if value is None else group
    return struct.pack("bb", len(name), number) + name.encode() + struct.pack(whole + "h", len(body) + 2) + body


def real(values, order):
    """float32 as Intel "<", MIPS ">" or DEC "d" write it."""
    if order == "d":
        return (np.asarray(values, "<f4") * 4).view("<u2").reshape(-1, 2)[:, ::-1].astype("<u2").tobytes()
    return np.asarray(values, order + "f4").tobytes()


def c3d(path, points=POINTS, *, order="<", scale=-0.1, units="mm", analog=0, missing=(2, 1), rate=100.0):
    """A file with three points; marker 1 is missing in frame 2."""
    whole = order.replace("d", "<")
    frames, count, _ = points.shape
    fourth = np.zeros((frames, count, 1))
    fourth[missing] = -1
    values = np.concatenate([points / (1 if scale < 0 else scale), fourth], -1).reshape(frames, -1)
    values = np.c_[values, np.full((frames, analog), 7.0)]
    data = b"".join(real(v, order) if scale < 0 else np.round(v).astype(whole + "i2").tobytes() for v in values)
    named = (("USED", count), ("SCALE", float(scale)), ("RATE", rate), ("LABELS", ["tip", "", "clamp"]), ("UNITS", [units]))
    parts = [entry(1, "POINT", order=order), *(entry(1, name, value, order) for name, value in named)]
    processor = {"<": INTEL, "d": DEC, ">": MIPS}[order]
    parameters = bytes([1, 0x50, 1, processor]) + b"".join(parts)
    header = struct.pack("BB", 2, 0x50) + struct.pack(whole + "hhHHh", count, analog, 1, frames, 10) + real([scale], order)
    header += struct.pack(whole + "hh", 3, 0) + real([rate], order)
    path.write_bytes(header.ljust(BLOCK, b"\0") + parameters.ljust(BLOCK, b"\0") + data)
    return path


@pytest.mark.parametrize("order", ["<", ">", "d"])
@pytest.mark.parametrize("scale", [-0.1, 0.05])
@pytest.mark.parametrize("analog", [0, 5])
def test_c3d_of_each_processor_in_floats_and_integers(tmp_path, order, scale, analog):
    found = read_markers(c3d(tmp_path / "a.c3d", order=order, scale=scale, analog=analog))
    want = POINTS / 1000
    want[2, 1] = np.nan
    assert found.label == ("tip", "point1", "clamp")
    np.testing.assert_allclose(found.time, np.arange(7) / 100)
    np.testing.assert_allclose(found.position, want, atol=1e-7 if scale < 0 else 0.5 * scale / 1000 * 1.001)


@pytest.mark.parametrize(("change", "says"), [
    (lambda data: b"RIFF" + data[4:], "no C3D"),
    (lambda data: data[:BLOCK + 3] + b"\x01" + data[BLOCK + 4 :], "known processor"),
    (lambda data: data[:-40], "ends too soon"),
    (lambda data: data[:700], "no C3D"),
])  # fmt: skip
def test_damaged_c3d(tmp_path, change, says):
    path = c3d(tmp_path / "a.c3d")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(BadInput, match=says):
        read_markers(path)


def test_c3d_without_a_unit_of_length(tmp_path):
    with pytest.raises(BadInput, match="measures in 'furlong'"):
        read_markers(c3d(tmp_path / "a.c3d", units="furlong"))


def table(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    return path


def test_csv_in_any_order_and_unit(tmp_path):
    found = read_markers(table(tmp_path, "note,time_s,a_x_mm,a_y_mm,a_z_mm,b_z_m,b_y_m,b_x_m\nhi,0,1,2,3,6,5,4\n\nho,0.1,1,nan,3,,5,4\n"))
    assert found.label == ("a", "b")
    np.testing.assert_allclose(found.position[0], [[1e-3, 2e-3, 3e-3], [4, 5, 6]])
    np.testing.assert_array_equal(np.isnan(found.position[1]), [[False, True, False], [False, False, True]])


@pytest.mark.parametrize(("text", "says"), [
    ("", "no column time_s"),
    ("t,a_x_m,a_y_m,a_z_m\n0,1,2,3\n", "no column time_s"),
    ("time_s,a\n0,1\n", "no marker"),
    ("time_s,a_x_m,a_y_m\n0,1,2\n", "lacks an axis"),
    ("time_s,a_x_m,a_y_m,a_z_m\n0,1,2,3\n1,1,2\n", "row 3"),
    ("time_s,a_x_m,a_y_m,a_z_m\n0,1,2,3\n1,1,two,3\n", "holds 'two'"),
    ("time_s,a_x_m,a_y_m,a_z_m\n0,1,2,3\n0,1,2,3\n", "do not ascend"),
    ("time_s,a_x_m,a_y_m,a_z_m\n", "do not ascend"),
])  # fmt: skip
def test_csv_that_says_something_else(tmp_path, text, says):
    with pytest.raises(BadInput, match=says):
        read_markers(table(tmp_path, text))


def test_other_files(tmp_path):
    with pytest.raises(BadInput, match="no file of markers"):
        read_markers(tmp_path / "a.trc")
    with pytest.raises(BadInput, match="there is no file"):
        read_markers(tmp_path / "a.csv")
    with pytest.raises(BadInput, match="share a label"):
        Markers(("a", "a"), np.arange(2.0), np.zeros((2, 2, 3)))


@pytest.mark.parametrize("name", ["beam_gravity_V2_a", "beam_load52_V2_a"])
def test_one_recording_in_both_formats(shared_data, name):
    folder = shared_data / "real" / "soft_beam"
    table, original = read_markers(folder / f"{name}.csv"), read_markers(folder / f"{name}.c3d")
    np.testing.assert_allclose(table.time, original.time, atol=1e-9)
    np.testing.assert_allclose(table.position, original.position, atol=6e-6)  # the table is rounded to 0.01 mm
    assert original.label[0] == "Tip - 1" and table.label[0] == "m0"
