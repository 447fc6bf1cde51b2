"""Position and angle in the picture of every object in a planar capture, from its masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.silhouette import Silhouette, local_scale, measure
from video2phys.states.settings import Settings
from video2phys.types import Frames, Gaussians, Seen, StateTrack

FAINT = 0.02  # a turn by one radian must change this share of the look's variance: pixels alone make a disc change by 0.3 %


def track(frames: Frames, gaussians: Gaussians, settings: Settings, context: Context) -> StateTrack:
    """Centroids (kind "centroid") or centroids with the angle since the first whole frame (kind "planar"), y = 0, in world units.

    Valid only where the object is whole in view 0. Raises BadInput where that is in fewer than four frames.
    """
    view, T, N = frames.views[0], len(frames.time), frames.objects
    center = np.array([view.camera.width / 2, view.camera.height / 2])
    position, sigma = np.full((T, N, 3), np.nan), np.full((T, N, 3), np.inf)
    angle, angle_sigma = np.zeros((T, N)), np.full((T, N), np.inf)
    valid = np.zeros((T, N), bool)
    warnings: list[str] = []
    for o in range(N):
        shapes = _shapes(frames, o)
        whole = np.array(sorted(shapes), int)
        if len(whole) < 4:
            raise BadInput(
                f"object {o} is whole in only {len(whole)} frames.",
                fix="Capture it longer, away from the border and from other moving things.",
            )
        points = np.array([shapes[k].center for k in whole])
        pixel_sigma = _centre_sigma(frames.time[whole], points, [shapes[k] for k in whole])
        per_unit = np.full(len(whole), view.camera.K[0, 0])
        if frames.about.scale == "size" and frames.about.diameter is not None:
            local = local_scale(points, np.array([shapes[k].disc for k in whole]), frames.about.diameter, center)
            if local.slanted:
                per_unit = local.at(points)
                warnings.append(
                    f"perspective: positions use a scale that runs from {per_unit.min():.0f} to {per_unit.max():.0f} px/m along the path."
                )
        flat = (points - center) / per_unit[:, None]
        position[whole, o] = np.c_[flat[:, 0], np.zeros(len(whole)), -flat[:, 1]]
        sigma[whole, o] = np.c_[pixel_sigma / per_unit, np.full(len(whole), np.inf), pixel_sigma / per_unit]
        valid[whole, o] = True
        if settings.kind != "centroid":
            angle[whole, o], angle_sigma[whole, o] = _angles(frames, o, whole, [shapes[k] for k in whole])
        context.progress((o + 1) / N, "positions in the picture")
    half = -angle / 2  # counter-clockwise in the picture (x right, z up) is a turn about world -y
    rotation = np.stack([np.cos(half), np.zeros_like(half), np.sin(half), np.zeros_like(half)], -1)
    rotation_sigma = np.stack([np.full((T, N), np.inf), angle_sigma, np.full((T, N), np.inf)], -1)
    kind = "centroid" if settings.kind == "centroid" else "planar"
    return StateTrack(
        frames.time,
        kind,
        position,
        sigma,
        rotation,
        rotation_sigma,
        None,
        None,
        valid,
        frames.about.unit,
        "silhouette",
        (),
        tuple(warnings),
    )


def _shapes(frames: Frames, obj: int) -> dict[int, Silhouette]:
    """Silhouettes of the frames in which the object is whole."""
    seen = frames.views[0].seen
    found = {}
    for k in range(len(frames.time)):
        if seen is None or seen[k, obj] == Seen.WHOLE:
            shape = measure(frames.mask(0, k, obj))
            if shape is not None:
                found[k] = shape
    return found


def _centre_sigma(time: np.ndarray, points: np.ndarray, shapes: list[Silhouette]) -> np.ndarray:
    """Deviation [px] of each centre (N,): the residual of local parabolas, at least what the rim of the mask allows.

    A rim of n half-covered pixels that each err by a tenth shifts the centre of an area A of radius r by r sqrt(n) / (10 A).
    """
    floor = np.array([0.1 * np.sqrt(s.area / np.pi) * np.sqrt(4 * s.rim + 1) / s.area for s in shapes])
    n = len(time)
    left = np.full(n, np.nan)
    for k in range(3, n - 3):
        s = np.r_[k - 3 : k, k + 1 : k + 4]
        if time[s[-1]] - time[s[0]] <= 9 * np.median(np.diff(time)):
            fit = np.polynomial.polynomial.polyfit(time[s] - time[k], points[s], 2)[0]
            left[k] = np.linalg.norm(points[k] - fit) / np.sqrt(2)
    # a point left out of a parabola through six neighbours: variance 1 + 0.77 of the noise
    local = np.array(
        [np.nanmedian(left[max(0, k - 15) : k + 16]) if np.isfinite(left[max(0, k - 15) : k + 16]).any() else 0.0 for k in range(n)]
    )
    return np.maximum(local / 0.83 / np.sqrt(1.77), floor)


def _angles(frames: Frames, obj: int, whole: np.ndarray, shapes: list[Silhouette]) -> tuple[np.ndarray, np.ndarray]:
    """Turn [rad] of the object's look since the first whole frame, counter-clockwise in the picture, with sigma (N,), (N,).

    The window about the centre, turned back by a trial angle, is compared with a template under the template's mask; the least
    squared difference is refined by a parabola. The template is renewed when the look has changed, so errors add up and
    sigma grows with them. From least squares sigma^2 = residual variance / sum (dI/dangle)^2; inf where no angle shows.
    """
    turn, sigma = np.zeros(len(whole)), np.full(len(whole), np.inf)
    radius = int(np.ceil(1.3 * np.median([np.sqrt(s.area / np.pi) for s in shapes]))) + 2
    first = _Window.cut(frames, obj, int(whole[0]), shapes[0], radius)
    template, base, base_variance, rate = first, 0.0, 0.0, 0.0
    sigma[0] = 0.0
    for n in range(1, len(whole)):
        here = _Window.cut(frames, obj, int(whole[n]), shapes[n], radius)
        step, variance, alike = template.turn_to(here, turn[n - 1] + rate - base)
        turn[n] = base + step if np.isfinite(variance) else turn[n - 1]
        sigma[n] = np.sqrt(base_variance + variance)
        rate = 0.5 * rate + 0.5 * (turn[n] - turn[n - 1])
        if not alike:
            template, base, base_variance = here, turn[n], float(sigma[n] ** 2)
    shown = np.isfinite(sigma) & (sigma < 0.5)
    sigma[0] = np.median(sigma[1:][shown[1:]]) if shown[1:].any() else np.inf
    return np.where(shown, turn, 0.0), np.where(shown, sigma, np.inf)


@dataclass(frozen=True)
class _Window:
    """The object's look about its centre."""

    picture: np.ndarray  # (2 r + 1, 2 r + 1, 3) float32, the outside of the mask dimmed to its mean colour
    mask: np.ndarray  # (2 r + 1, 2 r + 1) float32

    @staticmethod
    def cut(frames: Frames, obj: int, frame: int, shape: Silhouette, radius: int) -> _Window:
        import cv2

        size = (2 * radius + 1, 2 * radius + 1)
        corner = tuple(shape.center - 0.5)
        image = cv2.getRectSubPix(np.ascontiguousarray(frames.image(0, frame)).astype(np.float32), size, corner)
        mask = cv2.getRectSubPix(frames.mask(0, frame, obj), size, corner)[..., None]
        mean = (image * mask).sum((0, 1)) / max(float(mask.sum()), 1e-6)
        flat = image * mask + (1 - mask) * (mean + 60)  # the outline counts as a step of 60 grey levels
        return _Window(cv2.GaussianBlur(flat, (0, 0), 0.8), mask[..., 0])

    def turned(self, angle: float) -> np.ndarray:
        """The picture turned counter-clockwise by `angle` [rad]."""
        import cv2

        r = (self.mask.shape[0] - 1) / 2
        turn = cv2.getRotationMatrix2D((r, r), float(np.degrees(angle)), 1.0)
        return cv2.warpAffine(self.picture, turn, self.mask.shape, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)

    def turn_to(self, other: _Window, guess: float) -> tuple[float, float, bool]:
        """Angle from this look to `other` near `guess`, its variance, and whether the two still look alike."""
        r = (self.mask.shape[0] - 1) / 2
        y, x = np.mgrid[: self.mask.shape[0], : self.mask.shape[1]]
        inside = np.hypot(x - r, y - r) <= r

        def miss(angle: float) -> float:
            return float(((self.turned(angle) - other.picture)[inside] ** 2).sum())

        reach = np.radians(12.0)
        trials = guess + np.linspace(-reach, reach, 9)
        best = float(trials[np.argmin([miss(a) for a in trials])])
        for width in (np.radians(1.5), np.radians(0.4)):
            low, mid, high = miss(best - width), miss(best), miss(best + width)
            bend = low - 2 * mid + high
            best += float(np.clip(0.5 * width * (low - high) / bend, -2 * width, 2 * width)) if bend > 0 else 0.0
        h = np.radians(2.0)
        slope = (self.turned(best + h) - self.turned(best - h))[inside] / (2 * h)
        left = max(miss(best) / max(int(inside.sum()) * 3 - 4, 1), 4.0)  # resampling alone errs by two grey levels
        # neighbouring pixels err together over the blur of 0.8 px: some 4 pi 0.8^2 = 8 of them count as one
        information = float((slope**2).sum()) / 8
        if float((slope**2).mean()) < FAINT * float(self.picture[inside].var()):
            return guess, np.inf, True
        alike = left < 0.3 * float(other.picture[inside].var())
        return best, left / information if information > 0 else np.inf, alike
