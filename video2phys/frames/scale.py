"""Pixels per metre of a planar capture from the known size of the object."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from video2phys import store
from video2phys.errors import BadInput
from video2phys.silhouette import LocalScale, local_scale, measure
from video2phys.types import About, Seen

if TYPE_CHECKING:
    from video2phys.frames.decode import Clip
    from video2phys.frames.masks import Masked


def resolve(about: About, clips: list[Clip], masked: list[Masked]) -> tuple[About, tuple[str, ...], tuple[str, ...]]:
    """About with px/m settled from object.diameter or object.size where a planar camera leaves it open; notes and warnings."""
    if about.scale != "unknown" or clips[0].camera.model != "orthographic" or (about.diameter is None and about.size is None):
        return about, (), ()
    found = _fit(about, clips[0], masked[0])
    known = f"diameter {about.diameter} m" if about.diameter else f"size {about.size} m"
    notes = (f"px/m = {found.s0:.1f} +- {found.sigma:.1f} at the picture's centre, from the object's {known}.",)
    warnings: tuple[str, ...] = ()
    if found.slanted:
        warnings = (
            f"perspective: the object's apparent size changes by {100 * abs(found.change):.0f} % along its path; "
            "positions are corrected for a camera that looks at the plane of motion at a slant.",
        )
    elif found.unsure:
        warnings = (
            f"perspective: one scale is used all along the path, but the object's apparent size only shows that it changes by "
            f"{100 * found.change:.1f} +- {196 * found.change_sigma:.0f} %; unless the motion itself tells the perspective, lengths and "
            "accelerations can be off by as much.",
        )
    return replace(about, scale="size", unit="m", px_per_m=found.s0, px_per_m_sigma=found.sigma), notes, warnings


def _fit(about: About, clip: Clip, masked: Masked) -> LocalScale:
    whole = np.flatnonzero(masked.seen[:, 0] == Seen.WHOLE)
    points, widths, width = [], [], 1.0
    for i in whole:
        mask = store.read_gray(clip.folder / masked.masks[0][i]).astype(np.float32) / 255
        shape = measure(mask)
        if shape is None:
            continue
        if about.diameter is not None:
            width = about.diameter
            widths.append(shape.disc)
        elif about.size is not None:
            width = float(np.sqrt(about.size[0] * about.size[2]))  # the camera sees x and z
            widths.append(_rectangle(mask))
        points.append(shape.center)
    if len(points) < 3:
        raise BadInput(
            "the object is whole in fewer than three frames, so its size gives no scale.",
            fix="Give camera.px_per_m, or camera.scale: gravity.",
        )
    center = np.array([clip.camera.width / 2, clip.camera.height / 2])
    return local_scale(np.array(points), np.array(widths), width, center)


def _rectangle(mask: np.ndarray) -> float:
    """Side [px] of the square with the area of the smallest rectangle about the mask."""
    import cv2

    y, x = np.nonzero(mask > 0.5)
    _, (a, b), _ = cv2.minAreaRect(np.stack([x, y], -1).astype(np.float32))
    return float(np.sqrt((a + 1) * (b + 1)))
