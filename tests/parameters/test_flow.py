"""Matter that flows is identified from outlines. The outlines come from a finer simulation than the fit uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.parameters.elastic.carve import Matter
from video2phys.parameters.elastic.start import Start
from video2phys.parameters.flow.choice import Candidate, candidates, chosen_first, told
from video2phys.parameters.flow.fit import Make, refine, residuals, scan, search
from video2phys.parameters.flow.identify import above
from video2phys.parameters.flow.laws import CANDIDATES, MACH, MATERIALS, Scales, stiffness
from video2phys.parameters.flow.motion import Motion, motion
from video2phys.parameters.flow.outline import Outlines, around, filled, outlines
from video2phys.parameters.flow.settings import FlowSettings
from video2phys.progress import silent
from video2phys.simulate.materials.elastic import wave_speed
from video2phys.store import write_image
from video2phys.types import About, Camera, Frames, Plane, View

GRAVITY = np.array([0, 0, -9.81])
GROUND = Plane(np.array([0, 0, 1.0]), 0.0)
SCALES = Scales(1000.0, 1.5, 0.1)
SMALL = FlowSettings(coarse_particles=200, particles=400, max_steps=6)
TIME = np.arange(10) / 60


def ball(edge: float) -> Matter:
    """A ball of 12 cm in cells of `edge` [m]."""
    line = np.arange(-0.06 + edge / 2, 0.06, edge)
    points = np.stack(np.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)
    points = points[np.linalg.norm(points, axis=1) < 0.06]
    return Matter(points, np.full(len(points), edge**3), points)


def thrown(material: str, edge: float, count: int) -> Motion:
    begin = Start(0, 2, np.array([0, 0, 0.09]), np.array([0.3, 0, -1.0]), np.eye(3), np.zeros(3))
    return motion(material, ball(edge), begin, GROUND, GRAVITY, SCALES, count)


def cameras() -> list[Camera]:
    K = np.array([[220.0, 0, 64], [0, 220, 64], [0, 0, 1]])
    return [
        Camera.aimed(np.array([0.8 * np.cos(a), 0.8 * np.sin(a), 0.35]), np.array([0.03, 0, 0.05]), K, 128, 128) for a in (0.2, 1.8, 3.6)
    ]


def seen(folder: Path, material: str, truth: dict[str, float]) -> Outlines:
    """Masks of a ball in cells of a third of the fit's volume, around which the points lie."""
    fine = thrown(material, 0.006, 10_000)
    x = fine.positions({"size": np.ones(1)} | {k: np.array([v]) for k, v in truth.items()}, TIME)[:, 0]
    views = []
    for v, camera in enumerate(cameras()):
        files = tuple(f"{v}_{k}.png" for k in range(len(TIME)))
        for k, file in enumerate(files):
            write_image(folder / file, (255 * filled(camera, x[k], fine.radius, fine.width)).astype(np.uint8))
        views.append(View(f"cam{v}", camera, files, (files,)))
    return outlines(Frames(folder, TIME, tuple(views), (), 1, About(), "test"), 0, 0.1)


def test_points_lie_around_a_disc_and_know_their_distance():
    y, x = np.mgrid[:80, :100] + 0.5
    disc = (np.hypot(x - 50, y - 40) < 20).astype(np.float32)
    found = around(disc, 5.0)
    assert found is not None
    point, distance = found
    np.testing.assert_allclose(np.hypot(*(point - [50, 40]).T), 25, atol=0.4)
    np.testing.assert_allclose(distance, np.hypot(*(point - [50, 40]).T) - 20, atol=0.4)
    assert around(np.zeros((8, 8), np.float32), 5.0) is None


def test_points_at_the_edge_of_the_picture_are_left_out():
    y, x = np.mgrid[:80, :100] + 0.5
    found = around((np.hypot(x - 5, y - 40) < 20).astype(np.float32), 5.0)
    assert found is not None and np.isnan(found[1]).any() and np.isfinite(found[1]).any()


def test_the_gap_is_the_distance_of_outlines_with_the_sign_of_missing_matter():
    camera, matter = cameras()[0], ball(0.006)
    center, pixel = np.array([0.03, 0, 0.05]), float(cameras()[0].pixel(np.array([0.03, 0, 0.05])))
    mask = filled(camera, matter.particle + center, np.full(len(matter.particle), 0.003), 0.006).astype(np.float32)
    found = around(mask, 6.0)
    assert found is not None
    target = Outlines(found[0][None, None], found[1][None, None], (camera,))
    position = (matter.particle + center)[None, None]

    def gap(radius: float) -> np.ndarray:
        return target.gap(position, np.full((1, len(matter.particle)), radius))

    assert np.abs(gap(0.003)).max() < 1.5
    np.testing.assert_allclose(gap(0.003) - gap(0.003 + 2 * pixel), 2, atol=0.2)
    lost = position.copy()
    lost[0, 0, 3] = np.nan
    assert np.isnan(target.gap(lost, np.full((1, len(matter.particle)), 0.003))).all()


@pytest.mark.parametrize("name", ["granular", "fluid"])
def test_assumed_stiffness_gives_the_speed_of_sound_it_promises(name: str):
    E, nu = (np.array([a]) for a in stiffness(name, SCALES))
    assert wave_speed(E, nu, np.array([SCALES.density]))[0] == pytest.approx(MACH * SCALES.speed)


def test_buried_matter_is_left_out():
    begin = Start(0, 0, np.array([0, 0, 0.03]), np.zeros(3), np.eye(3), np.zeros(3))
    kept, share = above(ball(0.006), begin, GROUND)
    assert (kept.particle[:, 2] + 0.03).min() >= 0.003 - 1e-12 and 0.1 < share < 0.2
    with pytest.raises(BadInput, match="below the ground"):
        above(ball(0.006), Start(0, 0, np.array([0, 0, -1.0]), np.zeros(3), np.eye(3), np.zeros(3)), GROUND)


@pytest.mark.parametrize("material", MATERIALS)
def test_a_frame_counts_once_however_many_points_see_it(tmp_path: Path, material: str):
    target = seen(tmp_path, "fluid", {"viscosity": 5.0, "friction": 0.4})
    twice = Outlines(np.concatenate([target.point] * 2, 2), np.concatenate([target.distance] * 2, 2), target.cameras)
    model = thrown(material, 0.012, 200)
    begun = scan(model, target, TIME)
    one, two = (residuals(model, t, begun.space, TIME)(begun.starts[:1]) for t in (target, twice))
    assert one.shape == (1, target.distance.size) and np.isfinite(one).all() and (one**2).sum() > 0
    assert (two**2).sum() == pytest.approx((one**2).sum())


def test_viscosity_from_the_outlines_of_a_finer_simulation(tmp_path: Path):
    target = seen(tmp_path, "fluid", {"viscosity": 5.0, "friction": 0.4})

    def make(count: int) -> Motion:
        return thrown("fluid", 0.009, count)

    fit = refine(make, target, TIME, SMALL, search(scan(make(SMALL.coarse_particles), target, TIME), target, TIME, silent), silent)
    assert abs(np.log10(fit.values["viscosity"][0] / 5.0)) < 0.3
    low, high = fit.profiles["viscosity"]
    assert low < 5.0 < high


def test_a_fluid_is_told_from_other_matter(tmp_path: Path):
    target = seen(tmp_path, "fluid", {"viscosity": 5.0, "friction": 0.4})

    def maker(material: str) -> Make:
        return lambda count: thrown(material, 0.009, count)

    ranking = candidates({name: maker(name) for name in CANDIDATES}, target, TIME, 7, SMALL, silent)
    assert ranking[0].material == "fluid"
    assert "elastic" not in {c.material for c in ranking[:2]}


def candidate(material: str, criterion: float) -> Candidate:
    return Candidate(material, 1.0, 2.0, criterion)


def test_of_those_that_are_not_told_apart_the_simplest_is_chosen_and_the_others_are_named():
    ranking = chosen_first([candidate("granular", -20.0), candidate("plasticine", -50.0), candidate("fluid", -47.0)])
    assert [c.material for c in ranking] == ["fluid", "plasticine", "granular"]
    notes = told(ranking)
    assert "fluid was chosen" in notes[0] and "far off: elastic" in notes[0]
    assert "fluid from plasticine beyond doubt" in notes[1] and "granular" not in notes[1]
    clear = chosen_first([candidate("plasticine", -50.0), candidate("fluid", -20.0), candidate("elastic", np.inf)])
    assert clear[0].material == "plasticine" and len(told(clear)) == 1 and "elastic failed" in told(clear)[0]
