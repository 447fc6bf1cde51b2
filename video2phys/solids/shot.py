"""A crop around the object in one picture, with its camera, ready for alignment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from video2phys.types import Camera

REACH = 6  # [px] how far outside the mask a model is still compared with the picture
SURE = 2  # [px] how far the mask's edge may be off: closer pixels count neither as inside nor as outside


GREY = 12.0  # [grey levels] how well a colour map explains a coded picture: resampling, coding, shading left out


@dataclass(frozen=True)
class Contrast:
    """How an object stands out from its background.

    A shadow multiplies the background: it moves a colour along the background's own direction in RGB. Where the object's
    colours differ enough across that direction, only that part of a difference is counted (`shade` holds the direction).
    amplitude / typical is the share of a pixel that the object covers: single pixels scatter with the texture, but on
    average over the rim it is unbiased, which matting with the nearest inside colour is not.
    """

    amplitude: np.ndarray  # (H, W) length of the counted colour difference to the background
    typical: np.ndarray  # (H, W) its local mean surely inside the object
    spread: float  # its scatter there, by texture
    shade: np.ndarray  # (H, W, 3) unit direction not counted; zero = everything counts


@dataclass(frozen=True)
class Samples:
    """The pixels of a shot that are compared with a model."""

    pixel: np.ndarray  # [px] (M, 2)
    origin: np.ndarray  # [length unit] (M, 3) of their rays in the world
    direction: np.ndarray  # (M, 3)
    seen: np.ndarray  # (M, 3) colour
    slope: np.ndarray  # [1/px] (M, 3, 2) its derivative in x and y
    behind: np.ndarray  # (M, 3) colour of the background
    amplitude: np.ndarray  # (M,) as in Contrast
    typical: np.ndarray  # (M,)
    spread: float
    shade: np.ndarray  # (M, 3)


@dataclass(frozen=True)
class Shot:
    """One view's pixels near the object. Colours are 0..255."""

    camera: Camera  # of the crop: K shifted and scaled
    image: np.ndarray  # (H, W, 3) float32
    mask: np.ndarray  # (H, W) float32 0..1
    background: np.ndarray | None  # (H, W, 3) float32 of the empty scene

    @cached_property
    def halved(self) -> Shot:
        """The shot at half the resolution (area average)."""
        h, w = self.mask.shape
        return _resized(self, max(w // 2, 1), max(h // 2, 1))

    @cached_property
    def samples(self) -> Samples:
        """What is compared with a model, whatever the pose: the mask's surroundings, its rim, and every second pixel inside."""
        import cv2

        chosen = _grown(self.mask > 0.5, REACH)
        rows, columns = np.indices(self.mask.shape)
        chosen &= _grown(self.mask < 0.5, REACH) | ((rows + columns) % 2 == 0)
        at = np.flatnonzero(chosen)
        w = self.mask.shape[1]
        pixel = np.stack([at % w, at // w], 1) + 0.5
        slope = np.stack([cv2.Sobel(self.image, cv2.CV_32F, *d, ksize=3, scale=1 / 8) for d in ((1, 0), (0, 1))], -1)
        look = self.contrast

        def pick(x: np.ndarray) -> np.ndarray:
            return x.reshape(self.mask.size, *x.shape[2:])[at].astype(float)

        return Samples(pixel, *self.camera.rays(pixel), pick(self.image), pick(slope), pick(self.behind), pick(look.amplitude),
                       pick(look.typical), look.spread, pick(look.shade))  # fmt: skip

    @cached_property
    def behind(self) -> np.ndarray:
        """(H, W, 3) what lies behind the object: the plate, darkened by the shadow seen just around the object, or, without
        a plate, the surroundings carried inwards."""
        outside = (~_grown(self.mask > 0.5, SURE)).astype(np.float32)[..., None]
        plate = np.ones_like(self.image) if self.background is None else self.background + 1

        ratio = self.image / plate * outside
        mean = (_blurred(ratio, 8.0) + 1e-6) / (_blurred(outside, 8.0) + 1e-6)
        local = (_blurred(ratio, 2.0) + 1e-3 * mean) / (_blurred(outside, 2.0) + 1e-3)
        return plate * local

    @cached_property
    def contrast(self) -> Contrast:
        """How the object stands out from its background, blind to shadows where its colours allow that."""
        sure = (~_grown(self.mask < 0.5, SURE)).astype(np.float32)
        if not sure.any():
            sure = (self.mask >= self.mask.max()).astype(np.float32)
        shade = self.behind / np.maximum(np.linalg.norm(self.behind, axis=-1, keepdims=True), 1e-6)
        difference = self.image - self.behind
        tinted = np.linalg.norm(difference - (difference * shade).sum(-1, keepdims=True) * shade, axis=-1)
        shadowproof = bool((tinted * sure).sum() / sure.sum() > 3 * GREY)
        amplitude = tinted if shadowproof else np.linalg.norm(difference, axis=-1)
        ring = _grown(self.mask > 0.5, REACH) & ~_grown(self.mask > 0.5, SURE + 1)
        floor = np.median(amplitude[ring]) if ring.any() else 0.0
        amplitude = np.sqrt(np.maximum(amplitude**2 - floor**2, 0))  # a length is never below zero: take off what noise alone makes
        far = (amplitude * sure).sum() / sure.sum()
        typical = (_blurred(amplitude * sure, 4.0) + 1e-3 * far) / (_blurred(sure, 4.0) + 1e-3)
        spread = float(np.sqrt((((amplitude - typical) * sure) ** 2).sum() / sure.sum()))
        return Contrast(amplitude, typical, spread, shade if shadowproof else np.zeros_like(shade))


def crop(
    camera: Camera, image: np.ndarray, mask: np.ndarray, background: np.ndarray | None, *, margin: float = 0.35, largest: int = 112
) -> Shot | None:
    """The mask's bounding box with a margin on each side (share of its larger side, at least 8 px), shrunk so that the
    crop's larger side is at most `largest` pixels; None for an empty mask.
    """
    rows, cols = np.nonzero(mask > 0.5)
    if not len(rows):
        return None
    extra = int(max(margin * max(np.ptp(rows), np.ptp(cols)), 8))
    y0, y1 = max(rows.min() - extra, 0), min(rows.max() + extra + 1, camera.height)
    x0, x1 = max(cols.min() - extra, 0), min(cols.max() + extra + 1, camera.width)
    K = camera.K.copy()
    K[:2, 2] -= [x0, y0]
    box = np.s_[y0:y1, x0:x1]
    full = Shot(
        replace(camera, K=K, width=int(x1 - x0), height=int(y1 - y0)),
        image[box].astype(np.float32),
        mask[box].astype(np.float32),
        None if background is None else background[box].astype(np.float32),
    )
    shrink = max(full.mask.shape) / largest
    return full if shrink <= 1 else _resized(full, int(full.camera.width / shrink), int(full.camera.height / shrink))


def _resized(shot: Shot, w: int, h: int) -> Shot:
    import cv2

    K = shot.camera.K.copy()
    K[0] *= w / shot.camera.width
    K[1] *= h / shot.camera.height

    def small(x: np.ndarray) -> np.ndarray:
        return cv2.resize(x, (w, h), interpolation=cv2.INTER_AREA)

    back = None if shot.background is None else small(shot.background)
    return Shot(replace(shot.camera, K=K, width=w, height=h), small(shot.image), small(shot.mask), back)


def _blurred(x: np.ndarray, reach: float) -> np.ndarray:
    import cv2

    return cv2.GaussianBlur(x, (0, 0), reach).reshape(x.shape)


def _grown(region: np.ndarray, reach: int) -> np.ndarray:
    import cv2

    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    return cv2.dilate(region.astype(np.uint8), disc).astype(bool)
