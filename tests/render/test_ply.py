"""Splat and point files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.render.files.ply import read_points, read_splats, write_points, write_splats
from video2phys.render.files.splats import Splats


@pytest.mark.parametrize("k", [1, 4, 9, 16])
def test_splats_survive_a_round_trip(tmp_path: Path, k: int) -> None:
    rng = np.random.default_rng(k)
    q = rng.normal(size=(7, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    made = Splats(rng.normal(size=(7, 3)), q, rng.uniform(0.01, 1, (7, 3)), rng.uniform(0.01, 0.99, 7), rng.normal(size=(7, k, 3)))
    write_splats(tmp_path / "a.ply", made, {"unit": "m", "up": "+z"})
    back = read_splats(tmp_path / "a.ply")
    for name in ("mean", "quaternion", "scale", "opacity", "harmonics"):
        np.testing.assert_allclose(getattr(back, name), getattr(made, name), rtol=2e-6, atol=1e-6)  # float32 in the file
    assert json.loads((tmp_path / "a.json").read_text())["degree"] == {1: 0, 4: 1, 9: 2, 16: 3}[k]


def test_higher_harmonics_are_channel_major(tmp_path: Path) -> None:
    """f_rest_0..K-2 belong to red: the order that splat viewers expect."""
    harmonics = np.arange(12.0).reshape(1, 4, 3)
    write_splats(tmp_path / "a.ply", Splats(np.zeros((1, 3)), np.eye(4)[:1], np.ones((1, 3)), np.full(1, 0.5), harmonics), {})
    _, column = read_points(tmp_path / "a.ply")
    assert [column[f"f_rest_{i}"][0] for i in range(9)] == [3, 6, 9, 4, 7, 10, 5, 8, 11]


def test_opaque_splats_stay_finite(tmp_path: Path) -> None:
    made = Splats(np.zeros((2, 3)), np.eye(4)[:2], np.ones((2, 3)), np.array([0.0, 1.0]), np.zeros((2, 1, 3)))
    write_splats(tmp_path / "a.ply", made, {})
    np.testing.assert_allclose(read_splats(tmp_path / "a.ply").opacity, [0, 1], atol=1e-6)


def test_points_carry_their_scalars(tmp_path: Path) -> None:
    write_points(tmp_path / "p.ply", np.arange(6.0).reshape(2, 3), {"volume": np.array([0.5, 2])}, {"unit": "m"})
    points, values = read_points(tmp_path / "p.ply")
    assert points.tolist() == [[0, 1, 2], [3, 4, 5]] and values["volume"].tolist() == [0.5, 2]


@pytest.mark.parametrize("content", [b"", b"ply\nformat ascii 1.0\nend_header\n", b"\x89PNG", b"ply\nformat binary_little_endian 1.0\n"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.ply").write_bytes(content)
    with pytest.raises(BadInput):
        read_splats(tmp_path / "x.ply")
