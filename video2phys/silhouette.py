"""What an outline tells: centre, area, axes and the width of a disc, also of one that is blurred along its path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Silhouette:
    """Moments of a soft mask, pixel centres at +0.5."""

    center: np.ndarray  # [px] (2,) x right, y down
    area: float  # [px^2]
    spread: np.ndarray  # [px^2] (2, 2) covariance
    rim: float  # [px^2] area of pixels that are neither in nor out: where the outline is uncertain

    @property
    def angle(self) -> float:
        """Direction [rad] of the long axis in -pi/2..pi/2, counter-clockwise in the upright picture (y up)."""
        (a, b), (_, c) = self.spread
        return float(-0.5 * np.arctan2(2 * b, a - c))

    @property
    def axes(self) -> tuple[float, float]:
        """Standard deviations [px] along the long and the short axis."""
        low, high = np.linalg.eigvalsh(self.spread)
        return float(np.sqrt(max(high, 0))), float(np.sqrt(max(low, 0)))

    @property
    def disc(self) -> float:
        """Diameter [px] of a disc that moved in a straight line while the shutter was open.

        Its trail has area A = pi r^2 + 2 r L and variance across (pi r^4 / 4 + 2 L r^3 / 3) / A; L is eliminated. A trail whose
        opacity fades (mass pi r^2, variance r^2 / 4) obeys the same equation.
        """
        A, v = self.area, self.axes[1] ** 2 - 1 / 12  # a pixel's own spread
        inside = max(A * A / 9 - np.pi * A * max(v, 0.0) / 3, 0.0)
        return 2 * float(np.sqrt(max((A / 3 - np.sqrt(inside)) / (np.pi / 6), 0.0)))


def measure(mask: np.ndarray) -> Silhouette | None:
    """Moments of a mask (H, W) in 0..1; None where it is empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return None
    part = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(float)
    area = float(part.sum())
    y, x = np.mgrid[: part.shape[0], : part.shape[1]]
    cx, cy = float((x * part).sum()) / area, float((y * part).sum()) / area
    dx, dy = x - cx, y - cy
    xx, xy, yy = float((dx * dx * part).sum()) / area, float((dx * dy * part).sum()) / area, float((dy * dy * part).sum()) / area
    center = np.array([cx + columns[0] + 0.5, cy + rows[0] + 0.5])
    return Silhouette(center, area, np.array([[xx, xy], [xy, yy]]), float((part * (1 - part)).sum()))


FINER = 4  # the outline is traced on a grid finer than the pixels by this factor


def signed_distance(mask: np.ndarray) -> np.ndarray:
    """Distance [px] (H, W) to the line where a soft mask passes 1/2, positive inside."""
    import cv2

    height, width = mask.shape
    inside = (cv2.resize(mask, (width * FINER, height * FINER), interpolation=cv2.INTER_LINEAR) > 0.5).astype(np.uint8)
    within, without = (cv2.distanceTransform(m, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) for m in (inside, 1 - inside))
    fine = np.where(inside, within - 0.5, 0.5 - without) / FINER
    return cv2.resize(fine.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)


SLANT = 0.03  # change of scale along a path that shifts an acceleration by about as much as other errors of a planar capture


@dataclass(frozen=True)
class LocalScale:
    """Pixels per length that change linearly over the picture: a pinhole camera looking at a plane at a slant.

    For a plane tilted by theta, u = f l cos(theta) / (Z + l sin(theta)), so a body of width D appears D s(u) wide with
    s(u) = s0 + k u exactly linear in the picture, and l = u / (s(u) cos(theta)). cos(theta) is taken as 1.
    """

    center: np.ndarray  # [px] (2,) where s = s0
    s0: float  # [px/m]
    slope: np.ndarray  # [1/m] (2,) change of s per pixel
    sigma: float  # [px/m] of s0
    change: float  # relative change of s along the path, a fraction
    change_sigma: float

    def at(self, points: np.ndarray) -> np.ndarray:
        """Scale [px/m] at pixels (..., 2)."""
        return self.s0 + (np.asarray(points) - self.center) @ self.slope

    @property
    def slanted(self) -> bool:
        """Whether the scale changes along the path by more than 3 % and beyond doubt."""
        return abs(self.change) > max(SLANT, 3 * self.change_sigma)

    @property
    def unsure(self) -> bool:
        """Whether a change of more than 3 % along the path cannot be ruled out with 95 % confidence."""
        return not self.slanted and abs(self.change) + 1.96 * self.change_sigma > SLANT


def local_scale(points: np.ndarray, widths: np.ndarray, width: float, center: np.ndarray) -> LocalScale:
    """Robust line through apparent widths [px] (N,) at pixels (N, 2) of a body `width` [m] wide, along its main direction.

    Residuals are weighted by Huber's rule; the spread counts a tenth of the frames as independent, for outline errors repeat.
    """
    middle = points.mean(0)
    _, _, axes = np.linalg.svd(points - middle, full_matrices=False)
    along = (points - middle) @ axes[0]
    reach = float(np.ptp(along))
    scale = widths / width
    A = np.c_[np.ones(len(along)), along / max(reach, 1e-9)]
    weight = np.ones(len(along))
    fit = np.zeros(2)
    spread = 1.0
    for _ in range(20):
        fit = np.linalg.lstsq(A * weight[:, None], scale * weight, rcond=None)[0]
        left = scale - A @ fit
        spread = max(1.4826 * float(np.median(np.abs(left))), 1e-6 * float(np.median(scale)))
        weight = np.sqrt(np.minimum(1.0, 1.5 * spread / np.maximum(np.abs(left), 1e-12)))
    independent = max(len(along) / 10, 1.0)
    cover = np.linalg.pinv(A.T @ A / len(along)) * spread**2 / independent
    slope = fit[1] / max(reach, 1e-9) * axes[0]
    s0 = float(fit[0] + (center - middle) @ slope)
    outline = 0.25 / float(np.median(widths)) * fit[0]  # the outline as a whole may sit a quarter pixel too far out or in
    return LocalScale(
        center, s0, slope, float(np.hypot(np.sqrt(cover[0, 0]), outline)), float(fit[1] / fit[0]), float(np.sqrt(cover[1, 1]) / fit[0])
    )
