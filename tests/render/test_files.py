"""Splat files of others: every style of PLY, damaged rows, .splat, and what a picture loses on the way through a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from video2phys.errors import BadInput  # noqa: E402
from video2phys.render.api import rasterize  # noqa: E402
from video2phys.render.files import dotsplat, ply, table  # noqa: E402
from video2phys.render.files.read import read_splats  # noqa: E402
from video2phys.render.files.splats import NEEDLE, Splats, sound  # noqa: E402


def some(count: int = 60, k: int = 16) -> Splats:
    rng = np.random.default_rng(0)
    q = rng.normal(size=(count, 4))
    return Splats(rng.uniform(-1, 1, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True), rng.uniform(0.02, 0.2, (count, 3)),
                  rng.uniform(0.1, 0.99, count), 0.4 * rng.normal(size=(count, k, 3)))  # fmt: skip


def picture(splats: Splats) -> np.ndarray:
    K, pose = torch.tensor([[80.0, 0, 40], [0, 80, 30], [0, 0, 1]]), torch.eye(4)
    pose[2, 3] = 3.0
    tensors = (
        torch.as_tensor(a, dtype=torch.float32) for a in (splats.mean, splats.quaternion, splats.scale, splats.opacity, splats.harmonics)
    )
    return rasterize(*tensors, K, pose, 80, 60).colour.numpy()


def decibel(a: np.ndarray, b: np.ndarray) -> float:
    return float(-10 * np.log10(max(((a - b) ** 2).mean(), 1e-20)))


@pytest.mark.parametrize("k", [1, 16])
def test_a_ply_renders_as_what_was_written(tmp_path: Path, k: int) -> None:
    made = some(k=k)
    ply.write_splats(tmp_path / "a.ply", made, {})
    back, warnings = read_splats(tmp_path / "a.ply")
    assert not warnings and decibel(picture(back), picture(made)) > 50


def test_a_dotsplat_keeps_what_bytes_can_hold(tmp_path: Path) -> None:
    made = some(k=1)
    dotsplat.write_splat(tmp_path / "a.splat", made, {})
    assert (tmp_path / "a.splat").stat().st_size == 32 * 60
    back, warnings = read_splats(tmp_path / "a.splat")
    assert not warnings and decibel(picture(back), picture(made)) > 35  # colours to 1/255, rotations to 1/128
    dotsplat.write_splat(tmp_path / "b.splat", back, {})
    again, _ = read_splats(tmp_path / "b.splat")
    np.testing.assert_allclose(np.sort(again.mean, 0), np.sort(back.mean, 0))


@pytest.mark.parametrize("style", ["ascii", "binary_big_endian"])
def test_other_styles_orders_and_columns_of_ply(tmp_path: Path, style: str) -> None:
    made = some(k=4)
    ply.write_splats(tmp_path / "a.ply", made, {})
    column = table.read(tmp_path / "a.ply")
    names = [n for n in reversed(column) if n not in ("nx", "ny", "nz")]  # another order, no normals, one column more
    rows = np.column_stack([*(column[n] for n in names), np.arange(len(made.mean))])
    head = ["ply", f"format {style} 1.0", "comment from elsewhere", f"element vertex {len(rows)}"]
    head += [f"property {'double' if n == 'x' else 'float'} {n}" for n in names] + ["property int label", "end_header"]
    if style == "ascii":
        body = "\n".join(" ".join(map(repr, row.tolist())) for row in rows).encode() + b"\n"
    else:
        kind = np.dtype([(n, ">f8" if n == "x" else ">f4") for n in names] + [("label", ">i4")])
        body = np.array([tuple(row) for row in rows], kind).tobytes()
    (tmp_path / "b.ply").write_bytes("\n".join(head).encode() + b"\n" + body)
    back, _ = read_splats(tmp_path / "b.ply")
    np.testing.assert_allclose(back.mean, made.mean, rtol=1e-6)
    np.testing.assert_allclose(back.harmonics, made.harmonics, rtol=1e-5, atol=1e-6)


def test_rows_that_cannot_be_drawn_are_counted_and_dropped(tmp_path: Path) -> None:
    made = some(40)
    mean, scale, opacity, quaternion = made.mean.copy(), made.scale.copy(), made.opacity.copy(), made.quaternion.copy()
    mean[0, 1], scale[1, 0], opacity[2], quaternion[3], scale[4] = np.nan, np.inf, 0.0, 0.0, 1e6
    scale[5] = [1.0, 1e-8, 1e-8]
    bad = replace(made, mean=mean, scale=scale, opacity=opacity, quaternion=quaternion)
    ply.write_splats(tmp_path / "a.ply", bad, {})
    back, warnings = read_splats(tmp_path / "a.ply")
    assert len(back.mean) == 35 and len(warnings) == 5
    assert [int(w.split()[0]) for w in warnings] == [2, 1, 1, 1, 1] and all("of 40" in w for w in warnings)
    assert float((back.scale.max(1) / back.scale.min(1)).max()) <= NEEDLE * (1 + 1e-6)
    assert np.isfinite(picture(back)).all()


def test_a_file_without_anything_to_draw_is_refused(tmp_path: Path) -> None:
    ply.write_splats(tmp_path / "a.ply", replace(some(3), opacity=np.zeros(3)), {})
    with pytest.raises(BadInput, match="no Gaussian that can be drawn"):
        read_splats(tmp_path / "a.ply")
    (tmp_path / "a.splat").write_bytes(b"x" * 33)
    with pytest.raises(BadInput, match="no multiple of 32"):
        read_splats(tmp_path / "a.splat")
    with pytest.raises(BadInput, match="no splat file"):
        read_splats(tmp_path / "a.obj")


def test_nothing_sound_is_touched() -> None:
    made = some()
    kept, warnings = sound(made)
    assert warnings == () and np.array_equal(kept.mean, made.mean) and np.array_equal(kept.scale, made.scale)


def test_export_turns_a_captured_splat_scene_into_ply_and_back(shared_data: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from video2phys.cli import app

    source = shared_data / "real/splat/plant.splat"
    done = CliRunner().invoke(app, ["export", str(source), "-o", str(tmp_path), "--format", "ply"])
    assert done.exit_code == 0, done.output
    first, _ = read_splats(source)
    back, _ = read_splats(tmp_path / "plant.ply")
    np.testing.assert_allclose(back.mean, first.mean, rtol=1e-6)
    np.testing.assert_allclose(back.opacity, first.opacity, atol=1e-6)
    assert len(first.mean) > 100_000
