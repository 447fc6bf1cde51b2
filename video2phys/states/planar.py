"""Position and angle in the picture of every object in a planar capture, from its masks."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.silhouette import Silhouette, local_scale, measure
from video2phys.states.settings import Settings
from video2phys.types import Frames, Gaussians, Seen, StateTrack

ROUND = 0.03  # relative difference of the axes below which an outline shows no angle


def track(frames: Frames, gaussians: Gaussians, settings: Settings, context: Context) -> StateTrack:
    """Centroids (kind "centroid") or centroids with the angle of the long axis (kind "planar"), y = 0, in world units.

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
            angle[whole, o], angle_sigma[whole, o] = _angles([shapes[k] for k in whole])
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


def _angles(shapes: list[Silhouette]) -> tuple[np.ndarray, np.ndarray]:
    """Angle [rad] of the long axis, unwrapped from the first frame on and zero there, with sigma; inf for a round outline."""
    raw = np.array([s.angle for s in shapes])
    long, short = np.array([s.axes for s in shapes]).T
    turn = np.unwrap(raw, period=np.pi)
    difference = np.maximum(long**2 - short**2, 1e-12)
    # a rim error of e = 0.1 px over n independent rim pixels turns the axes by about 2 r e / (sqrt(n) (l^2 - s^2))
    sigma = 0.2 * long / np.sqrt(np.array([4 * s.rim + 1 for s in shapes])) / difference * 2
    flat = np.median(long - short) < ROUND * np.median(long)
    return turn - turn[0], np.full(len(shapes), np.inf) if flat else sigma
