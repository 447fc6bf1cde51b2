"""Pixels per metre of a planar capture, how well it is known, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.types import Frames, Seen

ASSUMED = 0.01  # relative sigma of a px/m that the user measured with a ruler in the picture
OUTLINE = 1.0  # [px] an outline's width is uncertain by half a pixel a side


@dataclass(frozen=True)
class Scale:
    """Pixels per metre; `known` is false where only gravity could give it."""

    px_per_m: float  # 1 where not known
    sigma: float  # relative
    known: bool
    source: str
    change: float = 0.0  # relative change of the apparent size over the frames used
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def scale(frames: Frames, used: np.ndarray) -> Scale:
    """The scale in the frames `used` (N,): as given, or from the object's diameter as it appears there."""
    about = frames.about
    per_unit = float(frames.views[0].camera.K[0, 0])
    widths = apparent(frames, used)
    change = float(np.median(widths[-len(widths) // 3 :]) / np.median(widths[: len(widths) // 3 + 1]) - 1) if len(widths) >= 6 else 0.0
    if about.unit == "px" or about.scale in ("gravity", "unknown"):
        return Scale(1.0, 1.0, False, "to be found from gravity", change)
    if about.scale == "size" and about.diameter and len(widths) >= 6:
        width = float(np.median(widths))
        spread = max(about.px_per_m_sigma / per_unit, OUTLINE / width, abs(change) / np.sqrt(12))
        notes = (f"scale: the object's diameter {about.diameter:g} m appears as {width:.1f} px in the frames used",)
        return Scale(
            width / about.diameter, spread, True, "from the object's diameter in the frames used", change, notes, _perspective(change)
        )
    if about.px_per_m_sigma > 0:
        spread, said = about.px_per_m_sigma / per_unit, "as given"
    else:
        spread, said = ASSUMED, f"given; assumed good to {100 * ASSUMED:g} % (one sigma)"
    source = said if about.scale == "given" else "from the object's size"
    warnings = _perspective(change) if about.scale == "size" else ()
    return Scale(per_unit, spread, True, source, change, (f"scale: {per_unit:g} px/m, {source}",), warnings)


def _perspective(change: float) -> tuple[str, ...]:
    if abs(change) < 0.05:
        return ()
    return (
        f"perspective: the object's apparent size changes by {100 * change:+.0f} % over the frames used, so one scale does not hold for "
        "all of the picture; film from farther away, at right angles to the motion.",
    )


def apparent(frames: Frames, used: np.ndarray) -> np.ndarray:
    """Apparent width [px] (K,) of object 0 across its motion blur in some of the frames `used` where it is whole.

    The smaller axis of the mask's second moments; of a disc of diameter d the variance along any axis is d^2 / 16.
    """
    view = frames.views[0]
    if not view.masks:
        return np.zeros(0)
    whole = used if view.seen is None else used[view.seen[used, 0] == Seen.WHOLE]
    widths = []
    for k in whole[:: max(1, len(whole) // 30)]:
        mask = frames.mask(0, int(k))
        z, x = np.nonzero(mask > 0.5)
        if len(x) >= 12:
            small = np.linalg.eigvalsh(np.cov(np.stack([x, z])))[0]
            widths.append(4 * np.sqrt(max(small - 1 / 12, 1e-6)))  # a pixel's own variance taken off
    return np.array(widths)
