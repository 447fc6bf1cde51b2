"""The empty scene behind a fixed camera, its noise, and how far a picture departs from it.

Per pixel the background is a mode of the colours seen over the clip. Where an object rests for long, two modes compete: the
one that continues the undisputed background around it is the scene, the other one is the object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage

from video2phys.frames import regions

SHARE = 0.08  # a colour seen in less of the clip than this is no background: nothing else tells it from the object
SHADE = 0.35  # a cast shadow keeps at least this much of the light: indoors the rest of the room still lights it
TINT = (0.10, 0.04)  # how far shade may be off the scene's hue, as shares of the darkening and of what is left: other light fills it
SIGMAS = 4.0  # two colours agree within this many noise deviations (one false alarm in 16 000 pixels)


@dataclass(frozen=True)
class Background:
    """The scene without the object; `reference` is the frame whose camera position it has."""

    colour: np.ndarray  # (H, W, 3) float32, 0..255
    sigma: np.ndarray  # (H, W) float32 noise of one channel, one standard deviation
    known: np.ndarray  # (H, W) bool; false where the scene was never seen
    doubt: np.ndarray  # (H, W) bool; two colours competed, the one taken may itself be shaded
    warp: np.ndarray | None = None  # (T, 2, 3) background to frame pixels, for a camera that drifts; None = it stands still

    @cached_property
    def edge2(self) -> np.ndarray:
        """Squared gradient of the scene's brightness (H, W)."""
        gy, gx = np.gradient(self.colour.mean(-1))
        return (gx**2 + gy**2).astype(np.float32)

    def at(self, frame: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Colour, noise variance of a colour difference, known and doubt as the camera's place in `frame` sees them."""
        # a vibration of a quarter pixel moves every edge of the scene
        noise = 3 * (self.sigma**2 + 0.5) + 0.16 * self.edge2
        if self.warp is None:
            return self.colour, noise, self.known, self.doubt
        import cv2

        size = (self.colour.shape[1], self.colour.shape[0])
        move = np.asarray(self.warp[frame], np.float64)
        state = (self.known + 2 * self.doubt).astype(np.uint8)
        colour = cv2.warpAffine(self.colour, move, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        noise = cv2.warpAffine(noise, move, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        state = cv2.warpAffine(state, move, size, flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT)
        return colour, noise, state % 2 > 0, state > 1


def estimate(
    read: Callable[[int], np.ndarray], count: int, *, samples: int = 60, plate: np.ndarray | None = None, warp: np.ndarray | None = None
) -> Background:
    """Background of `count` pictures given by read(i) -> (H, W, 3) uint8, from at most `samples` of them evenly spread.

    A `plate` (H, W, 3), a picture of the empty scene, is taken as the colour; only the noise is then estimated.

    warp (T, 2, 3) maps background to frame pixels where the camera drifts. Memory is bounded by `samples` pictures.
    """
    chosen = np.unique(np.linspace(0, count - 1, min(samples, count)).round().astype(int))
    sigma = _noise(read, chosen, count, warp)
    if plate is not None:
        bare = np.zeros(plate.shape[:2], bool)
        return Background(plate.astype(np.float32), sigma, ~bare, bare, warp)
    stack = np.stack([_straight(read(int(i)), None if warp is None else warp[i]) for i in chosen])
    middle = _median(stack)
    light = np.stack([gain(picture, middle) for picture in stack])  # (S, 3)
    stack = np.clip(stack / light[:, None, None, :], 0, 255).astype(np.uint8)
    middle = _median(stack)
    reach = SIGMAS * np.sqrt(2) * sigma + 1.0  # +1: values are whole numbers
    changed = np.zeros(reach.shape, int)
    for picture in stack:
        changed += _far(picture, middle, reach)
    changed = changed > 0.01 * len(stack)
    colour, known, doubt = middle.astype(np.float32), np.ones(middle.shape[:2], bool), np.zeros(middle.shape[:2], bool)
    if changed.any():
        first, second = _modes(stack[:, changed], reach[changed])
        doubt = _choose(colour, known, changed, first, second, sigma)
    return Background(colour, sigma, known, doubt, warp)


def _far(a: np.ndarray, b: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Where any channel differs by more than `reach`; faster than a maximum over the last axis."""
    step = np.abs(a.astype(np.int16) - b)
    return (step[..., 0] > reach) | (step[..., 1] > reach) | (step[..., 2] > reach)


def gain(image: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Brightness of `image` over `background` per channel (3,): the median ratio, blind to what covers less than half."""
    k = max(1, int(np.sqrt(image.shape[0] * image.shape[1] / 20000)))
    a, b = ([np.ascontiguousarray(p[::k, ::k, c], np.float32) for c in range(3)] for p in (image, background))
    usable = (b[0] > 16) & (b[1] > 16) & (b[2] > 16) & (a[0] < 250) & (a[1] < 250) & (a[2] < 250)  # faster than a minimum over an axis
    if usable.sum() < 100:
        return np.ones(3, np.float32)
    return np.array([np.median(x[usable] / y[usable]) for x, y in zip(a, b, strict=True)], np.float32)


def _straight(image: np.ndarray, move: np.ndarray | None) -> np.ndarray:
    if move is None:
        return image
    import cv2

    size = (image.shape[1], image.shape[0])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(image, np.asarray(move, np.float64), size, flags=flags, borderMode=cv2.BORDER_REPLICATE)


def _median(stack: np.ndarray) -> np.ndarray:
    """Temporal median (H, W, 3) uint8, in bands of rows."""
    band = max(1, int(4e7 // max(stack[:, :1].size, 1)))
    return np.concatenate([np.median(stack[:, r : r + band], axis=0) for r in range(0, stack.shape[1], band)]).astype(np.uint8)


def _noise(read: Callable[[int], np.ndarray], chosen: np.ndarray, count: int, warp: np.ndarray | None) -> np.ndarray:
    """Noise deviation per pixel (H, W) from differences of neighbouring frames: their median ignores what passes by."""
    pairs = [int(i) for i in chosen[:: max(1, len(chosen) // 24)] if i + 1 < count]
    steps = []
    for i in pairs:
        a, b = (_straight(read(k), None if warp is None else warp[k]).astype(np.float32) for k in (i, i + 1))
        difference = b - a
        difference -= np.median(difference[::4, ::4], axis=(0, 1))  # flicker is not noise
        steps.append(np.sqrt((difference**2).mean(-1)))
    sigma = np.median(np.stack(steps), 0) / np.sqrt(2) if steps else np.full(read(0).shape[:2], 2.0)
    sigma = ndimage.uniform_filter(ndimage.median_filter(sigma, 5), 9)
    typical = float(np.median(sigma))
    return np.clip(sigma, max(0.7, 0.5 * typical), 3 * typical + 1).astype(np.float32)


@dataclass(frozen=True)
class _Mode:
    colour: np.ndarray  # (M, 3)
    share: np.ndarray  # (M,) of the clip


def _modes(values: np.ndarray, reach: np.ndarray) -> tuple[_Mode, _Mode]:
    """The two colours seen longest at each pixel; values (S, M, 3) uint8, reach (M,) how far one colour extends."""
    S, M = values.shape[:2]
    parts: tuple[list[np.ndarray], ...] = ([], [], [], [])
    for start in range(0, M, 4000):
        v = np.ascontiguousarray(values[:, start : start + 4000].transpose(2, 0, 1)).astype(np.int16)  # (3, S, m)
        r = reach[start : start + 4000].astype(np.int16)
        near = np.stack([_near(v, s, r) for s in range(S)])  # (S, S, m)
        free = np.ones(near.shape[1:], bool)
        m = np.arange(v.shape[2])
        for k in range(2):
            best = np.where(free, (near & free[None]).sum(1, dtype=np.int16), -1).argmax(0)
            member = near[best, :, m].T & free  # (S, m)
            weight = member.sum(0)
            parts[2 * k].append(((v * member).sum(1) / np.maximum(weight, 1)).T)
            parts[2 * k + 1].append(weight / S)
            free &= np.abs(v - v[:, best, m][:, None]).max(0) > 2 * r
    a = [np.concatenate(p).astype(np.float32) for p in parts]
    return _Mode(a[0], a[1]), _Mode(a[2], a[3])


def _near(v: np.ndarray, s: int, reach: np.ndarray) -> np.ndarray:
    near = np.abs(v[0] - v[0, s]) <= reach
    for channel in v[1:]:
        near &= np.abs(channel - channel[s]) <= reach
    return near


def _choose(colour: np.ndarray, known: np.ndarray, changed: np.ndarray, first: _Mode, second: _Mode, sigma: np.ndarray) -> np.ndarray:
    """Settle the pixels whose colour is in doubt, in place: the mode that continues the settled background around it wins.

    What no mode continues was never seen without the object and becomes unknown. Returns the pixels that were in doubt.
    """
    one, two = colour.copy(), np.full_like(colour, np.inf)
    one[changed] = first.colour
    two[changed] = np.where((second.share >= SHARE)[:, None], second.colour, np.inf)
    colour[:] = one
    doubt = np.zeros(changed.shape, bool)
    doubt[changed] = (second.share >= SHARE) | (first.share < 0.5)
    doubt = regions.grow(doubt, 2)  # the rim of an outline is a mixture
    islands, count = regions.label(~doubt)
    sizes = np.bincount(islands.ravel(), minlength=count + 1) * (np.arange(count + 1) > 0)
    doubt |= (sizes < max(0.1 * doubt.size, sizes[1:].max(initial=0.0)))[islands] & _inside(islands)
    if doubt.all():
        return doubt
    steps = np.linalg.norm(np.diff(colour, axis=1), axis=-1)[~(doubt[:, 1:] | doubt[:, :-1])]
    noise = SIGMAS * float(np.median(sigma))
    settled = ~doubt
    for quantile in (0.5, 0.75, 0.9, 0.97):
        _flood(colour, settled, one, two, noise + float(np.quantile(steps, quantile)))
    colour[~settled] = one[~settled]
    known[:] = settled
    return doubt


def _inside(label: np.ndarray) -> np.ndarray:
    """Pixels of components that do not touch the border of the picture."""
    rim = np.unique(np.concatenate([label[0], label[-1], label[:, 0], label[:, -1]]))
    return ~np.isin(label, rim)


def _flood(colour: np.ndarray, settled: np.ndarray, one: np.ndarray, two: np.ndarray, reach: float) -> None:
    """Settle doubtful pixels ring by ring, in place: a mode within `reach` of the mean of the settled neighbours is taken."""
    H, W = settled.shape
    while True:
        front = ndimage.binary_dilation(settled, np.ones((3, 3))) & ~settled
        y, x = np.nonzero(front)
        total, weight = np.zeros((len(y), 3)), np.zeros(len(y))
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                v, u = np.clip(y + dy, 0, H - 1), np.clip(x + dx, 0, W - 1)
                total += colour[v, u] * settled[v, u, None]
                weight += settled[v, u]
        mean = total / np.maximum(weight, 1)[:, None]
        far_one, far_two = np.linalg.norm(one[y, x] - mean, axis=-1), np.linalg.norm(two[y, x] - mean, axis=-1)
        take = np.minimum(far_one, far_two) <= reach
        if not take.any():
            return
        both = np.maximum(far_one, far_two) <= reach  # then one of them is shaded: the object's shadow is no background
        with np.errstate(invalid="ignore"):
            brighter = two[y, x].sum(-1) > one[y, x].sum(-1)
        second = np.where(both, brighter, far_two < far_one)[take]
        y, x = y[take], x[take]
        colour[y, x] = np.where(second[:, None], two[y, x], one[y, x])
        settled[y, x] = True


def foreground(image: np.ndarray, background: Background, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """How many noise deviations each pixel departs from the scene (H, W), and where it is only shaded (H, W) bool.

    A shadow darkens by a factor and keeps the chromaticity: |I - r B| is small for an r between SHADE and 1
    (Horprasert, Harwood and Davis 1999). Where the scene is unknown, the nearest or surrounding known pixels decide.
    """
    colour, noise, known, doubt = background.at(frame)
    scene = colour * gain(image, colour)
    step = np.linalg.norm(image - scene, axis=-1)
    deviation = step / np.sqrt(noise)
    shaded = np.zeros(deviation.shape, bool)
    y, x = np.nonzero(deviation > 3)
    here, bare = image[y, x].astype(np.float32), scene[y, x]
    light = np.maximum((bare**2).sum(-1), 1.0)
    ratio = (here * bare).sum(-1) / light
    tint = np.linalg.norm(here - ratio[:, None] * bare, axis=-1)
    brightest = np.where(doubt[y, x], 1 / SHADE, 1.0)
    shaded[y, x] = (
        (ratio > SHADE)
        & (ratio < brightest)
        & (tint < 3 * background.sigma[y, x] + np.minimum(1.5 + TINT[0] * step[y, x], TINT[1] * ratio * np.sqrt(light)))
    )
    if not known.all():
        deviation = _infer_unknown(deviation, known)
        shaded &= known
    return deviation, shaded


def _infer_unknown(deviation: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Where the scene was never seen: a patch is object while most of its surroundings are, a thin line follows its neighbours."""
    deviation = np.where(known, deviation, 0.0)
    thick = regions.opened(~known, 3)
    thin = ~known & ~thick
    if thin.any():
        import cv2

        weight = cv2.blur(known.astype(np.float32), (5, 5))
        deviation[thin] = (cv2.blur(deviation.astype(np.float32), (5, 5)) / np.maximum(weight, 0.04))[thin]
    label, _ = regions.label(thick)
    for k, box in enumerate(ndimage.find_objects(label), start=1):
        frame = tuple(slice(max(s.start - 2, 0), s.stop + 2) for s in box)
        region = label[frame] == k
        rim = regions.grow(region, 2) & known[frame]
        deviation[frame][region] = np.median(deviation[frame][rim]) if rim.any() else 0.0
    return deviation
