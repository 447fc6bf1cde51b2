"""Write H.264 clips and their truth for the sample captures."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np


def write_video(file: Path, frames: list[np.ndarray], fps: int, quality: int = 18) -> None:
    """RGB (H, W, 3) or grey (H, W) uint8 frames of even size to mp4; `quality` is x264's constant rate factor."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.time_base = Fraction(1, fps)
        stream.options = {"crf": str(quality), "threads": "1"}  # one thread: the same bytes on every machine
        for image in frames:
            rgb = image if image.ndim == 3 else np.repeat(image[..., None], 3, -1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")))
        container.mux(stream.encode())


def write_truth(folder: Path, **values: Any) -> None:
    """truth.json: what the sample was made with; read by tests and comparisons, never by a fit."""
    (folder / "truth.json").write_text(json.dumps(values, indent=1) + "\n")
