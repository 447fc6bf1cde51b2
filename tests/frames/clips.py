"""Small clips made on the spot: a bright square that moves 3 px a frame over a dark, textured ground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from video2phys.frames import cameras, capture
from video2phys.frames.about import up_axis
from video2phys.frames.decode import Clip
from video2phys.frames.layouts.recognise import recognise
from video2phys.frames.layouts.source import Layout
from video2phys.frames.read import read
from video2phys.frames.settings import Settings

WIDTH, HEIGHT, SIDE = 96, 64, 12


def square(i: int) -> np.ndarray:
    """Frame i, RGB (64, 96, 3): the square's left edge is at 3 i, its top at 8."""
    image = np.full((HEIGHT, WIDTH, 3), 40, np.uint8)
    image[:, ::8] = 60
    image[8 : 8 + SIDE, 3 * i : 3 * i + SIDE] = 230
    return image


def middle(image: np.ndarray) -> np.ndarray:
    """Centre (x, y) [px, pixel centres at +0.5] of what is bright."""
    y, x = np.nonzero(image.max(-1) > 150)
    return np.array([x.mean() + 0.5, y.mean() + 0.5])


def film(
    file: Path,
    *,
    count: int = 20,
    rate: Fraction = Fraction(30),
    codec: str = "libx264",
    pixels: str = "yuv420p",
    stamps: Sequence[float] | None = None,
    turn: int = 0,
    draw: Callable[[int], np.ndarray] = square,
) -> Path:
    """Encode `count` frames; stamps [s] make the rate variable, turn [deg] is the rotation tag (counter-clockwise)."""
    import av

    file.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(file), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = draw(0).shape[:2]
        stream.pix_fmt = pixels
        stream.options = {"crf": "12"} if codec == "libx264" else {}
        if stamps is not None:
            stream.codec_context.time_base = Fraction(1, 10000)
        if turn:
            stream.set_display_rotation(turn)
        for i in range(count):
            frame = av.VideoFrame.from_ndarray(draw(i), format="rgb24")
            if stamps is not None:
                frame.time_base = Fraction(1, 10000)
                frame.pts = round(stamps[i] * 10000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file


def layout_of(path: Path) -> tuple[Layout, capture.Capture]:
    keys = capture.read(path) if path.is_dir() else capture.Capture()
    return recognise(path, keys, lambda usual: cameras.to_z_up(up_axis(keys, usual))), keys


def clips_of(path: Path, out: Path, **settings: object) -> tuple[list[Clip], list[str], list[str]]:
    """Clips, notes and warnings of a capture."""
    layout, keys = layout_of(path)
    return read(layout, keys, Settings.model_validate(settings), out, lambda share, text="": None)
