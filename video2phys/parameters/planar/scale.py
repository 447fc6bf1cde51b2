"""Pixels per metre of a planar capture, how well it is known, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from video2phys.types import Frames

ASSUMED = 0.01  # relative sigma of a px/m that the user measured with a ruler in the picture
MEASURED = 1e-3  # relative sigma of lengths that were measured in metres, by an instrument that is calibrated
FROM_SIZE = 0.02  # relative sigma, at best, of a px/m from an outline: its edge is blurred by a pixel or so


@dataclass(frozen=True)
class Scale:
    """Pixels per metre; `known` is false where only gravity could give it."""

    px_per_m: float  # 1 where not known
    sigma: float  # relative
    known: bool
    source: str
    notes: tuple[str, ...] = ()


def scale(frames: Frames) -> Scale:
    """The scale of the positions in this capture."""
    about = frames.about
    per_unit = float(frames.views[0].camera.K[0, 0])
    if about.unit == "px":
        return Scale(1.0, 1.0, False, "not known")
    if about.scale == "measured":
        return Scale(per_unit, MEASURED, True, "lengths as measured", (f"lengths were measured: 1 px stands for {1 / per_unit:g} m",))
    spread = about.px_per_m_sigma / per_unit
    if about.scale == "size":
        source = f"from the object's size, good to {100 * max(spread, FROM_SIZE):.1f} % (one sigma)"
        return Scale(per_unit, max(spread, FROM_SIZE), True, source, (f"scale: {per_unit:.1f} px/m {source}",))
    source = "as given" if spread > 0 else f"given; assumed good to {100 * ASSUMED:g} % (one sigma)"
    return Scale(per_unit, spread or ASSUMED, True, source, (f"scale: {per_unit:g} px/m {source}",))
