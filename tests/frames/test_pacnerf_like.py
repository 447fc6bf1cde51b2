"""The scenes that are made in PAC-NeRF's layout: what is drawn, and what its reader finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import truths
from synthetic import pacnerf_like as suite
from synthetic.filmed import pictures
from synthetic.shapes import SHAPES, filled, surface

from video2phys.context import Context
from video2phys.frames.settings import Settings
from video2phys.frames.stage import run

SMALL = {"count": 700, "frames": 5}
PIXELS = 72


def test_twelve_scenes_are_the_same_every_time_and_within_their_ranges() -> None:
    scenes = suite.scenes()
    assert len(scenes) == 12 and [name.split("_")[0] for name in scenes].count("elastic") == 3
    for name, throw in scenes.items():
        assert throw.truth == suite.scenes()[name].truth
        for constant, (low, high) in suite.RANGES[throw.model].items():
            value = throw.truth[constant]
            assert low <= (value if constant in suite.LINEAR else np.log10(value)) <= high


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_filled_to_its_surface(shape: str) -> None:
    particle, volume = filled(shape, 0.16, 3000)
    place, _ = surface(shape, 0.16, 0.01)
    assert volume.sum() == pytest.approx(0.16**3, rel=0.15)  # a side is a whole number of cells, some 15
    step = np.cbrt(volume[0])
    np.testing.assert_allclose(np.ptp(particle, axis=0) + step, np.ptp(place, axis=0), atol=1.1 * step)


def test_the_layout_reader_finds_cameras_times_masks_and_what_is_told(tmp_path: Path) -> None:
    throw = suite.scenes()["plasticine_ball"]
    suite.make(tmp_path / "scene", throw, pixels=PIXELS, **SMALL)
    frames = run(tmp_path / "scene", Settings(), Context(tmp_path))
    assert frames.layout == "PAC-NeRF all_data" and frames.about.model == "plasticine" and frames.about.density == 1000
    np.testing.assert_allclose(frames.about.gravity, [0, 0, -9.81], atol=1e-9)
    np.testing.assert_allclose(frames.time, np.arange(SMALL["frames"]) / suite.FPS)
    film, views = suite.simulated(throw, **SMALL), suite.views(PIXELS)
    assert len(frames.views) == len(views) == 11
    for v in (0, 9):
        np.testing.assert_allclose(frames.views[v].camera.world_to_camera, views[v].world_to_camera, atol=1e-9)
        covered = [alpha > 0.5 for _, alpha in pictures(film, views[v], np.zeros((PIXELS, PIXELS, 3)))]
        for k in (1, 4):
            mask = frames.mask(v, k) > 0.5
            assert (mask & covered[k]).sum() / (mask | covered[k]).sum() > 0.9
    known = {truth.name: truth.value for truth in truths.stated(tmp_path / "scene")}
    assert known["yield_stress"] == pytest.approx(throw.truth["yield_stress"]) and known["friction"] == pytest.approx(throw.friction)
