"""Pictures of a camera that stands still: the frames of a video, or an object on a turntable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.layouts.source import Source
from video2phys.frames.picture import read_picture

WIDTH = 320  # [px] of the pictures compared
PAIRS = 6  # of pictures half the sequence apart
EDGE, SAME, SHARE = 12.0, 10.0, 0.7  # [levels per px] of texture, [levels] that noise may change it, and the share that stays


def check(sources: Sequence[Source]) -> bool:
    """Whether a still camera shows something that turns, which every picture masks; False for a camera that moves.

    Raises BadInput for a still camera without masks: from its pictures no cameras can be found.
    """
    if not stands_still([s.stills[0].file for s in sources]):
        return False
    if all(s.stills[0].mask is not None for s in sources):
        return True
    raise BadInput(
        "the pictures come from one camera that stands still, and have no frame rate.",
        fix="If they are the frames of a video, add `fps:` to capture.yaml; of an object on a turntable, add masks/.",
    )


def stands_still(files: Sequence[Path]) -> bool:
    """Whether what has texture in one picture is at the same place, and looks the same, in others."""
    half = len(files) // 2
    shares = []
    for k in np.unique(np.linspace(0, len(files) - half - 1, PAIRS).round().astype(int)) if half else ():
        first, second = _grey(files[k]), _grey(files[k + half])
        if first is None or second is None:
            continue
        if first.shape != second.shape:
            return False
        textured = np.hypot(*np.gradient(first)) > EDGE
        if textured.any():
            shares.append(float((np.abs(first - second)[textured] < SAME).mean()))
    return bool(shares) and float(np.median(shares)) > SHARE


def _grey(file: Path) -> np.ndarray | None:
    import cv2

    picture = read_picture(file)
    if picture is None:
        return None
    shrink = min(1.0, WIDTH / picture.rgb.shape[1])
    small = cv2.resize(picture.rgb, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA) if shrink < 1 else picture.rgb
    return small.astype(np.float32).mean(-1)
