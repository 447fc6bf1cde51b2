"""Bodies of planar captures: a ball, a box, an outline given a depth."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from video2phys import store
from video2phys.context import Context
from video2phys.gaussians.primitive import candidates, reconstruct
from video2phys.gaussians.settings import Settings
from video2phys.types import About, Camera, Frames, Seen, View

TRIANGLE = np.array([[60, 30], [100, 80], [30, 80]], float)
RECTANGLE = np.array([[40, 40], [90, 40], [90, 70], [40, 70]], float)


def planar(folder: Path, polygon: np.ndarray | float, px: float) -> Frames:
    big = np.zeros((960, 1280), np.uint8)
    if isinstance(polygon, float):
        cv2.circle(big, (512, 480), int(polygon * 8), 255, -1)
    else:
        cv2.fillPoly(big, [np.round(polygon * 8).astype(np.int32)], 255)
    mask = cv2.resize(big, (160, 120), interpolation=cv2.INTER_AREA)
    store.write_image(folder / "m.png", mask)
    store.write_image(folder / "i.png", np.repeat(mask[..., None], 3, -1) // 255 * np.array([200, 40, 40], np.uint8))
    view = View("side", Camera.planar(160, 120, px), ("i.png",) * 3, (("m.png",) * 3,), np.full((3, 1), int(Seen.WHOLE)))
    return Frames(folder, np.arange(3) / 30, (view,), (), 1, About(unit="px" if px == 1 else "m"), "test")


def test_a_round_outline_is_a_ball(tmp_path):
    body = reconstruct(planar(tmp_path, 20.0, 400.0), Settings(), Context(tmp_path)).bodies[0]
    assert body.primitive.kind == "sphere"
    assert body.primitive.size == pytest.approx(np.full(3, 0.1), rel=0.02)
    assert body.position == pytest.approx([(64 - 80) / 400, 0, 0], abs=0.3 / 400)


def test_a_rectangle_is_a_box_as_deep_as_its_shorter_side(tmp_path):
    body = reconstruct(planar(tmp_path, RECTANGLE, 1.0), Settings(), Context(tmp_path)).bodies[0]
    assert body.primitive.kind == "box"
    assert body.primitive.size == pytest.approx([50, 30, 30], abs=1)
    assert body.volume.sum() == pytest.approx(50 * 30 * 30, rel=0.05)


def test_another_outline_is_extruded_upright(tmp_path):
    body = reconstruct(planar(tmp_path, TRIANGLE, 1.0), Settings(), Context(tmp_path)).bodies[0]
    assert body.primitive.kind == "extrusion"
    assert body.vertices[:, 2].max() > -body.vertices[:, 2].min() * 1.5  # the tip, far from the centroid, points up
    assert np.abs(body.particle.mean(0)).max() < 1.0
    colour = 0.5 + 0.28209479 * body.harmonics[:, 0].mean(0)
    assert colour == pytest.approx(np.array([200, 40, 40]) / 255, abs=0.05)


def test_candidates_follow_what_is_known():
    assert [s.kind for s in candidates(About(diameter=0.04))] == ["sphere"]
    assert [s.kind for s in candidates(About(size=(0.12, 0.08, 0.06)))] == ["box", "sphere"]
    can = candidates(About(size=(0.06, 0.06, 0.11)))[-1]
    assert can.kind == "cylinder" and can.size == pytest.approx([0.06, 0.11, 0.06])
