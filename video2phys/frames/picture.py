"""One decoded picture, and picture files with or without alpha."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

NOISE = 8  # [levels] by which compression or a denoiser may lift a premultiplied colour over its alpha


@dataclass(frozen=True)
class Picture:
    """One decoded picture as stored, with what has to be done to it."""

    index: int  # of the source's frames
    rgb: np.ndarray  # (H, W, 3) uint8
    alpha: np.ndarray | None = None  # (H, W) uint8
    turns: int = 0
    aspect: float = 1.0  # width of a pixel over its height


def read_picture(file: Path) -> Picture | None:
    """A picture file; one with alpha is laid over black. None when it does not decode."""
    import cv2

    try:
        data = np.frombuffer(file.read_bytes(), np.uint8)
    except OSError:
        return None
    raw = cv2.imdecode(data, cv2.IMREAD_UNCHANGED) if len(data) else None
    if raw is None:
        return None
    if raw.ndim == 3 and raw.shape[2] == 4:
        if raw.dtype == np.uint16:
            raw = (raw // 256).astype(np.uint8)
        rgb, alpha = raw[..., 2::-1], raw[..., 3]
        if np.any(rgb > alpha[..., None].astype(int) + NOISE):  # straight alpha: a premultiplied colour never exceeds it
            rgb = np.round(rgb * (alpha[..., None] / 255.0)).astype(np.uint8)
        return Picture(0, np.ascontiguousarray(rgb), alpha)
    colour = cv2.imdecode(data, cv2.IMREAD_COLOR)  # 8 bits, turned upright by its EXIF tag
    return None if colour is None else Picture(0, np.ascontiguousarray(colour[..., ::-1]))
