"""Scale from a known size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from video2phys import store
from video2phys.errors import BadInput
from video2phys.frames.decode import Clip
from video2phys.frames.masks import Masked
from video2phys.frames.scale import resolve
from video2phys.types import About, Camera, Seen

W, H, T = 120, 200, 25
OPEN = About(unit="px", scale="unknown", diameter=0.04)


def capture(folder: Path, widths: np.ndarray, box: bool = False) -> tuple[Clip, Masked]:
    """A disc (or a box twice as wide as high) of the given widths falling through the picture."""
    y, x = np.mgrid[:H, :W] + 0.5
    files = []
    for i, width in enumerate(widths):
        dx, dy = x - 60, y - 20 - 6.5 * i
        inside = np.minimum(width / 2 - np.abs(dx), width / 4 - np.abs(dy)) if box else width / 2 - np.hypot(dx, dy)
        files.append(f"v/m{i}.png")
        store.write_image(folder / files[-1], (255 * np.clip(inside + 0.5, 0, 1)).round().astype(np.uint8))
    clip = Clip("v", Camera.planar(W, H), np.arange(T) / 60, folder, ("v/0.png",) * T)
    return clip, Masked((tuple(files),), np.full((T, 1), Seen.WHOLE, int), "")


def test_a_diameter_gives_the_scale(tmp_path: Path) -> None:
    clip, masked = capture(tmp_path, np.full(T, 20.0))
    about, notes, warnings = resolve(OPEN, [clip], [masked])
    assert about.px_per_m == pytest.approx(500, rel=0.01)
    assert (about.unit, about.scale) == ("m", "size")
    assert about.px_per_m_sigma > 0 and abs(about.px_per_m - 500) < 3 * about.px_per_m_sigma
    assert notes and not warnings


def test_perspective_is_noticed(tmp_path: Path) -> None:
    clip, masked = capture(tmp_path, np.linspace(24, 16, T))
    about, _, warnings = resolve(OPEN, [clip], [masked])
    assert "perspective" in warnings[0]
    assert about.px_per_m == pytest.approx(500, rel=0.02)  # at the picture's centre


def test_a_perspective_that_cannot_be_ruled_out_is_said(tmp_path: Path) -> None:
    rough = 20 + np.random.default_rng(0).normal(0, 2.0, T)  # a blurred small object
    clip, masked = capture(tmp_path, rough)
    _, _, warnings = resolve(OPEN, [clip], [masked])
    assert len(warnings) == 1 and "one scale is used all along the path" in warnings[0]


def test_a_box_is_measured_by_its_rectangle(tmp_path: Path) -> None:
    clip, masked = capture(tmp_path, np.full(T, 30.0), box=True)
    about, _, _ = resolve(replace(OPEN, diameter=None, size=(0.06, 0.05, 0.03)), [clip], [masked])
    assert about.px_per_m == pytest.approx(500, rel=0.04)


def test_what_is_settled_stays_and_too_few_frames_are_refused(tmp_path: Path) -> None:
    clip, masked = capture(tmp_path, np.full(T, 20.0))
    given = replace(OPEN, scale="given", unit="m", px_per_m=460.0)
    assert resolve(given, [clip], [masked])[0] is given
    masked.seen[2:] = Seen.CLIPPED
    with pytest.raises(BadInput, match="fewer than three"):
        resolve(OPEN, [clip], [masked])
