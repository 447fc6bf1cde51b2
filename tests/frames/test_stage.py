"""The whole stage on a small clip: what it returns loads again, and failures leave by the right door."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clips import HEIGHT, WIDTH, film, middle, square

from video2phys import store
from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames.settings import Settings
from video2phys.frames.stage import run
from video2phys.types import Frames


def capture(folder: Path, text: str = "", count: int = 24, **drawing: object) -> Path:
    film(folder / "a.mp4", count=count, **drawing)  # type: ignore[arg-type]
    (folder / "capture.yaml").write_text(text)
    return folder


def test_planar_clip_with_scale(tmp_path: Path) -> None:
    folder = capture(tmp_path / "c", "fps: 240\ncamera: {mode: planar, px_per_m: 200}\nground: {incline_deg: 20}\nframes: 22")
    shares: list[float] = []
    frames = run(folder, Settings(), Context(tmp_path / "run", progress=lambda share, text="": shares.append(share)))
    store.save(frames, tmp_path / "run")
    again = store.load(Frames, tmp_path / "run")
    assert again.layout == "folder with one video" and again.about.incline_deg == 20 and again.about.unit == "m"
    np.testing.assert_allclose(again.time, np.arange(22) / 240, atol=1e-9)
    camera = again.views[0].camera
    assert camera.model == "orthographic" and camera.K[0, 0] == 200
    np.testing.assert_allclose(camera.project(np.zeros(3)), [WIDTH / 2, HEIGHT / 2])
    mask = again.mask(0, 10)
    y, x = np.nonzero(mask > 0.5)
    np.testing.assert_allclose([x.mean() + 0.5, y.mean() + 0.5], middle(square(10)), atol=1)
    assert any("240" in n for n in again.notes)
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_nothing_moves(tmp_path: Path) -> None:
    folder = capture(tmp_path / "c", draw=lambda i: square(3))
    with pytest.raises(BadInput) as caught:
        run(folder, Settings(), Context(tmp_path / "run"))
    assert caught.value.exit_code == 3 and caught.value.fix


def test_a_full_disk_is_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = capture(tmp_path / "c")

    def refuse(file: Path, image: np.ndarray) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_image", refuse)
    with pytest.raises(OSError, match="No space left"):
        run(folder, Settings(), Context(tmp_path / "run"))
