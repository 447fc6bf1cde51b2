"""A box with a bump below, turning before two cameras: the outlines of all frames take the bump off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from video2phys.parameters.elastic import carve, start
from video2phys.parameters.elastic.carve import carved
from video2phys.parameters.elastic.silhouette import outline
from video2phys.parameters.elastic.start import Start, ballistic, rebounds
from video2phys.store import write_image
from video2phys.types import About, Body, Camera, Frames, Seen, StateTrack, View

SIZE = np.array([0.12, 0.104, 0.08])
STEP = 0.008  # [m]
BUMP = 0.016  # [m] below the box
TRIANGLES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
                      [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * SIZE


def camera(turn: float, size: int = 240) -> Camera:
    eye = 0.8 * np.array([np.cos(turn), np.sin(turn), 0.3])
    return Camera.aimed(eye, np.zeros(3), np.array([[900.0, 0, size / 2], [0, 900, size / 2], [0, 0, 1]]), size, size)


@pytest.fixture
def capture(tmp_path: Path) -> tuple[Frames, Body, StateTrack]:
    n = np.round(np.add(SIZE, [0, 0, BUMP]) / STEP).astype(int)
    axes = [(np.arange(k) + 0.5) * STEP - s / 2 for k, s in zip(n, SIZE, strict=True)]
    axes[2] = axes[2] - BUMP
    particle = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    particle = particle[(np.abs(particle[:, :2]) < 0.03).all(1) | (particle[:, 2] > -SIZE[2] / 2)]
    box, knob = trimesh.creation.box(SIZE), trimesh.creation.box([0.06, 0.06, BUMP])
    knob.apply_translation([0, 0, -(SIZE[2] + BUMP) / 2])
    surface = trimesh.util.concatenate([box, knob]).subdivide_to_size(0.006)
    buried = (np.abs(np.add(surface.triangles_center, [0, 0, SIZE[2] / 2])) < [0.03, 0.03, 1e-6]).all(1)  # where the two parts meet
    faces = surface.faces[~buried]
    body = Body(CORNERS, np.tile([1.0, 0, 0, 0], (8, 1)), np.full((8, 3), 0.003), np.ones(8), np.zeros((8, 1, 3)), particle,
                np.full(len(particle), STEP**3), surface.vertices, faces, 0, np.zeros(3), np.array([1.0, 0, 0, 0]))  # fmt: skip
    turns = Rotation.from_rotvec(np.linspace(0, 1, 6)[:, None] * [1.2, 0.6, 0]).as_matrix()
    views = []
    for v in range(3):
        cam, files = camera(v * 1.1), []
        for k, R in enumerate(turns):
            files.append(f"{v}_{k}.png")
            write_image(tmp_path / files[-1], outline(cam, CORNERS @ R.T, TRIANGLES).astype(np.uint8) * 255)
        views.append(View(str(v), cam, tuple(files), (tuple(files),), np.full((6, 1), Seen.WHOLE)))
    T = len(turns)
    states = StateTrack(np.arange(T) / 60, "affine", np.zeros((T, 1, 3)), np.full((T, 1, 3), 1e-4), np.tile([1.0, 0, 0, 0], (T, 1, 1)),
                        np.full((T, 1, 3), np.inf), turns[:, None], np.full((T, 1), 1e-3), np.ones((T, 1), bool), "m")  # fmt: skip
    return Frames(tmp_path, states.time, tuple(views), (), 1, About(), "test"), body, states


def test_the_bump_goes_and_the_box_stays(capture: tuple[Frames, Body, StateTrack]) -> None:
    frames, body, states = capture
    assert body.volume.sum() > 1.04 * SIZE.prod()
    smaller, cells, tight = carved(frames, body, states)
    assert tight is not None
    assert cells.volume.sum() == pytest.approx(SIZE.prod(), rel=0.03)
    assert smaller.volume.sum() == pytest.approx(cells.volume.sum())
    assert smaller.vertices[:, 2].min() > -SIZE[2] / 2 - BUMP / 2 > body.vertices[:, 2].min()
    assert 0.95 * cells.volume.sum() < tight.volume.sum() < cells.volume.sum()


def test_states_that_cannot_judge_leave_the_body_alone(capture: tuple[Frames, Body, StateTrack]) -> None:
    frames, body, states = capture
    vague = StateTrack(**{**vars(states), "deformation_sigma": np.full((6, 1), 0.1)})
    same, cells, tight = carved(frames, body, vague)
    assert same is body and tight is None and cells.particle is body.particle


def test_one_wrong_mask_takes_nothing(capture: tuple[Frames, Body, StateTrack]) -> None:
    frames, body, states = capture
    before = carved(frames, body, states)[1].volume.sum()
    write_image(frames.folder / "0_2.png", np.zeros((240, 240), np.uint8))
    assert carved(frames, body, states)[1].volume.sum() == pytest.approx(before, rel=0.02)


def test_an_impact_carves_nothing_off(capture: tuple[Frames, Body, StateTrack], monkeypatch: pytest.MonkeyPatch) -> None:
    """A corner that the ground presses flat in two frames is still part of the body: stretched, it bends, and the outlines are off."""
    frames, body, states = capture
    F = states.deformation.copy()
    corner = CORNERS[(CORNERS @ F[5, 0].T)[:, 2].argmin()]
    for k in (4, 5):
        pressed = CORNERS @ F[k, 0].T
        pressed[:, 2] = np.maximum(pressed[:, 2], pressed[:, 2].min() + 0.016)
        for v, view in enumerate(frames.views):
            write_image(frames.folder / f"{v}_{k}.png", outline(view.camera, pressed, TRIANGLES).astype(np.uint8) * 255)
        F[k, 0] = np.diag([1.0, 1.0, 0.9]) @ F[k, 0]
    squashed = StateTrack(**{**vars(states), "deformation": F})

    def reach() -> float:
        return float((carved(frames, body, squashed)[0].vertices @ corner).max() / np.linalg.norm(corner))

    assert reach() == pytest.approx(np.linalg.norm(corner), abs=0.003)
    monkeypatch.setattr(carve, "BENT", 0.0)
    assert reach() < np.linalg.norm(corner) - 0.005


def test_each_flight_gives_a_start() -> None:
    """A point that bounces twice: three starts, the held-out frames unused."""
    t, g = np.arange(60) / 60, np.array([0, 0, -9.81])
    z, v, height = 0.3, 0.0, []
    for _ in t:
        height.append(z)
        for _ in range(100):
            v -= 9.81 / 6000
            z += v / 6000
            if z < 0:
                z, v = 0.0, -0.8 * v
    x = np.stack([0 * t, 0 * t, height], 1)
    path = start.Path(t, x, np.full((60, 3), 1e-3), np.tile(np.eye(3), (60, 1, 1)), x[:, 2], 0.02, g)
    first = ballistic(path, np.ones(60, bool))
    later = rebounds(path, np.arange(60) < 55, first)
    assert len(later) == 2 and all(isinstance(b, Start) for b in later)
    for begin in later:
        assert begin.position[2] == pytest.approx(height[begin.frame], abs=1e-3)
        assert begin.velocity[2] == pytest.approx((height[begin.frame + 1] - height[begin.frame]) * 60 + 9.81 / 120, abs=0.02)
    assert rebounds(path, np.arange(60) < first.contact + 3, first) == []
