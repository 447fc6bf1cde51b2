"""Finding the object: painted clips with a known answer, then the real captures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from video2phys import store
from video2phys.errors import BadInput
from video2phys.frames.background import Background, estimate, foreground
from video2phys.frames.decode import Clip
from video2phys.frames.drift import drift
from video2phys.frames.masks import Masked, segment
from video2phys.frames.settings import Settings
from video2phys.types import Camera, Seen

H, W, T = 90, 140, 40


def scene(rng: np.random.Generator) -> np.ndarray:
    """A textured wall (H, W, 3)."""
    y, x = np.mgrid[:H, :W]
    wall = 140 + 25 * np.sin(x / 9.0) * np.cos(y / 13.0) + 0.2 * x
    return np.stack([wall, 0.95 * wall, 0.85 * wall], -1)


def disc(center: tuple[float, float], radius: float) -> np.ndarray:
    """Exact-edge coverage (H, W) of a disc at (x, y), by 5 x 5 samples a pixel."""
    s = (np.arange(5) + 0.5) / 5
    y, x = (np.arange(H)[:, None] + s).ravel(), (np.arange(W)[:, None] + s).ravel()
    inside = np.hypot(x[None] - center[0], y[:, None] - center[1]) <= radius
    return inside.reshape(H, 5, W, 5).mean((1, 3))


def clip(folder: Path, paint: Callable[[int], np.ndarray], *, noise: float = 2.0, count: int = T) -> Clip:
    rng = np.random.default_rng(1)
    files = []
    for i in range(count):
        picture = np.clip(paint(i) + rng.normal(0, noise, (H, W, 3)), 0, 255).round().astype(np.uint8)
        files.append(f"cam/{i:05d}.png")
        store.write_image(folder / files[-1], picture)
    return Clip("cam", Camera.planar(W, H), np.arange(count) / 60, folder, tuple(files))


def place(i: int) -> tuple[float, float]:
    return 20 + 2.5 * i, 60 - 2.2 * i + 0.06 * i * i


def over(below: np.ndarray, cover: np.ndarray, colour: tuple[float, float, float]) -> np.ndarray:
    return below * (1 - cover[..., None]) + cover[..., None] * np.array(colour)


def centre(c: Clip, found: Masked, i: int, obj: int = 0) -> np.ndarray:
    mask = store.read_gray(c.folder / found.masks[obj][i]) / 255
    y, x = np.mgrid[:H, :W]
    return np.array([(mask * (x + 0.5)).sum(), (mask * (y + 0.5)).sum()]) / mask.sum()


def test_a_ball_is_found_to_a_fraction_of_a_pixel_beside_its_shadow_and_flicker(tmp_path: Path) -> None:
    wall = scene(np.random.default_rng(0))

    def paint(i: int) -> np.ndarray:
        x, y = place(i)
        shadow = 1 - 0.4 * disc((x + 14, y + 8), 7)
        return over(wall * shadow[..., None], disc((x, y), 6), (40, 150, 60)) * (1 + 0.06 * np.sin(2.1 * i))

    c = clip(tmp_path, paint)
    found = segment([c], 1, Settings())[0]
    whole = np.flatnonzero(found.seen[:, 0] == Seen.WHOLE)
    assert len(whole) >= T - 4
    error = np.array([centre(c, found, i) - place(i) for i in whole])
    assert np.sqrt((error**2).sum(1).mean()) < 0.15
    area = [store.read_gray(tmp_path / found.masks[0][i]).sum() / 255 for i in whole]
    assert np.median(area) == pytest.approx(np.pi * 36, rel=0.08)


@pytest.mark.parametrize("when", ["start", "end"])
def test_an_object_that_rests_for_most_of_the_clip_is_still_found(tmp_path: Path, when: str) -> None:
    wall = scene(np.random.default_rng(0))

    def at(i: int) -> tuple[float, float]:
        moving = min(i, 12) if when == "end" else max(i - 28, 0)
        return 20 + 7.0 * moving, 40.0

    c = clip(tmp_path, lambda i: over(wall, disc(at(i), 9), (200, 60, 50)))
    found = segment([c], 1, Settings())[0]
    assert (found.seen[:, 0] == Seen.WHOLE).sum() >= T - 3
    assert np.allclose([centre(c, found, i) for i in (2, 35)], [at(2), at(35)], atol=0.4)
    plate = store.read_image(tmp_path / found.background).astype(float)
    assert np.abs(plate - wall).mean(-1).max() < 25  # no ghost: the ball is 100 away


def test_a_hand_at_the_border_is_not_the_object(tmp_path: Path) -> None:
    wall = scene(np.random.default_rng(0))

    def paint(i: int) -> np.ndarray:
        hand = np.zeros((H, W))
        hand[40 + i // 2 :, : 20 + i // 3] = 1
        return over(over(wall, hand, (190, 140, 120)), disc((30 + 2.4 * i, 30 - i + 0.03 * i * i), 5), (40, 150, 60))

    c = clip(tmp_path, paint)
    found = segment([c], 1, Settings())[0]
    assert np.allclose(centre(c, found, 20), (78, 22), atol=0.5)


def test_two_objects_that_touch_are_clipped_while_they_do(tmp_path: Path) -> None:
    wall = scene(np.random.default_rng(0))

    def at(i: int) -> tuple[float, float]:
        return (10 + 2.5 * min(i, 20) + 1.0 * max(i - 20, 0), 80 + 2.0 * max(i - 20, 0))

    def paint(i: int) -> np.ndarray:
        a, b = at(i)
        return over(over(wall, disc((a, 45), 10), (230, 230, 240)), disc((b, 45), 10), (230, 230, 240))

    c = clip(tmp_path, paint)
    found = segment([c], 2, Settings())[0]
    assert found.seen.shape == (T, 2)
    last = sorted(float(centre(c, found, T - 1, o)[0]) for o in (0, 1))
    assert np.allclose(last, at(T - 1), atol=0.5)
    assert (found.seen[20] != Seen.WHOLE).all()


def test_nothing_moves(tmp_path: Path) -> None:
    wall = scene(np.random.default_rng(0))
    with pytest.raises(BadInput, match="nothing moves") as error:
        segment([clip(tmp_path, lambda i: wall)], 1, Settings())
    assert error.value.fix


def test_given_masks_are_taken_as_they_are(tmp_path: Path) -> None:
    wall = scene(np.random.default_rng(0))
    c = clip(tmp_path, lambda i: wall, count=5)
    files = []
    for i in range(5):
        files.append(f"cam/given_{i}.png")
        cover = disc((40.0, 40.0), 8) if i else disc((2.0, 40.0), 8)
        store.write_image(tmp_path / files[-1], (255 * cover).astype(np.uint8))
    given = Clip(c.name, c.camera, c.time, c.folder, c.images, (*files[:4], ""))
    found = segment([given], 1, Settings())[0]
    assert found.masks == ((*files[:4], ""),)
    assert list(found.seen[:, 0]) == [Seen.CLIPPED, Seen.WHOLE, Seen.WHOLE, Seen.WHOLE, Seen.ABSENT]


def test_shade_keeps_the_hue_and_an_object_does_not() -> None:
    wall = scene(np.random.default_rng(0))
    flat = np.zeros((H, W), bool)
    empty = Background(wall.astype(np.float32), np.full((H, W), 1.0, np.float32), ~flat, flat)
    picture = wall.copy()
    picture[20:40, 20:40] *= 0.6
    picture[20:40, 80:100] = (40, 150, 60)
    deviation, shaded = foreground(picture.round().astype(np.uint8), empty, 0)
    assert shaded[20:40, 20:40].all() and not shaded[20:40, 80:100].any()
    assert deviation[20:40, 20:40].min() > 6 and deviation[60:].max() < 3


def test_memory_of_the_scene_is_bounded_by_its_samples() -> None:
    wall = scene(np.random.default_rng(0)).astype(np.uint8)
    asked: list[int] = []

    def read(i: int) -> np.ndarray:
        asked.append(i)
        return wall

    estimate(read, 100_000)
    assert len(asked) < 200


def test_features_of_the_object_do_not_pass_for_the_scenes_where_a_plate_shows_it() -> None:
    rng = np.random.default_rng(0)
    spots = np.kron(rng.uniform(0, 255, (10, 15)), np.ones((6, 6)))  # of many corners, before a dull wall

    def read(i: int) -> np.ndarray:
        picture = scene(rng) * [0.3, 0.3, 0.3]
        picture[20:80, 3 * i : 3 * i + 90] = spots[..., None]
        return np.clip(picture + rng.normal(0, 1, (H, W, 3)), 0, 255).astype(np.uint8)

    assert drift(read, 12, (0.3 * scene(rng)).astype(np.uint8)) is None
    assert drift(read, 12) is not None  # else this would show nothing
