"""From a picture as stored to upright, undistorted pixels of the final size, and the camera that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.frames.cameras import Lens
from video2phys.types import Camera


@dataclass(frozen=True)
class Geometry:
    """What is done to every picture of one view: turn, stretch to square pixels, undistort, make smaller."""

    turns: int  # counter-clockwise quarter turns
    upright: tuple[int, int]  # [px] (width, height) after the turn and with square pixels
    size: tuple[int, int]  # [px] final
    camera: Camera
    maps: tuple[np.ndarray, np.ndarray] | None  # cv2.remap tables at the upright size

    @staticmethod
    def plan(width: int, height: int, *, turns: int, aspect: float, lens: Lens | None, max_pixels: int) -> Geometry:
        """For stored pictures of width x height whose pixels are `aspect` times as wide as high.

        A lens calibrated for the stored size of a turned picture is turned with it. Raises BadInput when the lens
        belongs to pictures of another aspect.
        """
        if lens is not None and turns % 2 and lens.size is not None and _nearer(lens.size, (width, height)):
            lens = lens.fit(width, height).quarter_turn(turns)
        wide, high = (width, height) if lens is not None else (round(width * aspect), height)  # K covers such pixels
        upright = (high, wide) if turns % 2 else (wide, high)
        shrink = min(1.0, (max_pixels / (wide * high)) ** 0.5)
        size = (max(1, round(upright[0] * shrink)), max(1, round(upright[1] * shrink)))
        if lens is None:
            return Geometry(turns, upright, size, Camera.planar(*size), None)
        lens = lens.fit(*upright)
        return Geometry(turns, upright, size, lens.resize(*size).camera(), lens.maps() if lens.distorted else None)

    @property
    def zoom(self) -> float:
        """Final pixels per upright pixel."""
        return self.size[0] / self.upright[0]

    def apply(self, picture: np.ndarray) -> np.ndarray:
        """A stored picture (H, W) or (H, W, C) uint8 to the final one."""
        import cv2

        picture = np.rot90(picture, self.turns)
        if picture.shape[1::-1] != self.upright:
            picture = cv2.resize(np.ascontiguousarray(picture), self.upright, interpolation=cv2.INTER_LINEAR)
        if self.maps is not None:
            picture = cv2.remap(np.ascontiguousarray(picture), *self.maps, cv2.INTER_LINEAR)
        if self.size != self.upright:
            picture = cv2.resize(np.ascontiguousarray(picture), self.size, interpolation=cv2.INTER_AREA)
        return np.ascontiguousarray(picture)


def _nearer(size: tuple[int, int], stored: tuple[int, int]) -> bool:
    """Whether `size` has the aspect of the stored picture rather than that of the turned one."""
    aspect = np.log(size[0] / size[1])
    return abs(aspect - np.log(stored[0] / stored[1])) < abs(aspect + np.log(stored[0] / stored[1]))
