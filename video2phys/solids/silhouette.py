"""Poses of a solid of known size that explain the outline of a mask: many rotations tried, the best refined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys.solids.align import flow, hits
from video2phys.solids.outline import area_centroid, outline, signed_distance
from video2phys.solids.pose import Pose, angle, symmetries
from video2phys.solids.shot import Shot
from video2phys.types import Camera, Primitive


@dataclass(frozen=True)
class Contour:
    """Sub-pixel outline of a mask in one view."""

    camera: Camera
    points: np.ndarray  # [px] (M, 2)
    area: float  # [px^2]
    centroid: np.ndarray  # [px] (2,)


def contour(camera: Camera, mask: np.ndarray, count: int = 80) -> Contour | None:
    """The longest contour of a mask (H, W) at confidence 1/2; None for an empty mask. Points on the picture's border
    are left out: there the outline is the picture's, not the object's."""
    from skimage.measure import find_contours

    padded = np.pad(mask, 1)
    found = find_contours(padded, 0.5)
    if not found:
        return None
    line = max(found, key=lambda c: abs(area_centroid(c[:-1])[0]))[:, ::-1] - 0.5  # row, column of padded centres to x, y
    size, centre = area_centroid(line[:-1])
    if abs(size) < 4:
        return None
    border = (line < 1).any(1) | (line > np.array([camera.width, camera.height]) - 1).any(1)
    kept = line[~border] if (~border).sum() >= 8 else line
    step = max(len(kept) // count, 1)
    return Contour(camera, kept[::step], abs(size), centre)


def place(solid: Primitive, R: np.ndarray, seen: Contour) -> Pose | None:
    """With rotation R, the position whose outline has the contour's area and centroid (perspective camera)."""
    camera = seen.camera
    f = float(np.sqrt(camera.K[0, 0] * camera.K[1, 1]))
    axes = camera.world_to_camera[:3, :3]
    z = f * float(np.mean(solid.size)) / np.sqrt(seen.area)
    aim = seen.centroid.copy()
    pose = None
    for _ in range(4):
        ray = np.append(np.linalg.solve(camera.K[:2, :2], aim - camera.K[:2, 2]), 1.0)
        pose = Pose(R, camera.center + axes.T @ (ray * z))
        shape = outline(solid, pose, camera)
        if shape is None:
            return None
        size, centre = area_centroid(shape)
        z *= np.sqrt(size / seen.area)
        aim = aim + (seen.centroid - centre)
    return pose


def centred(solid: Primitive, pose: Pose, shot: Shot) -> Pose | None:
    """The pose moved parallel to the picture so that its outline has the mask's centroid."""
    seen, shape = contour(shot.camera, shot.mask), outline(solid, pose, shot.camera)
    if seen is None or shape is None:
        return None
    depth = shot.camera.to_camera(pose.t)[2] if shot.camera.model == "perspective" else 1.0
    shift = np.linalg.solve(shot.camera.K[:2, :2], seen.centroid - area_centroid(shape)[1]) * depth
    return Pose(pose.R, pose.t + shot.camera.world_to_camera[:2, :3].T @ shift)


def misfit(solid: Primitive, pose: Pose, contours: Sequence[Contour]) -> np.ndarray:
    """Signed distances [px] of all contour points to the solid's outlines; a large number behind the camera."""
    parts = []
    for seen in contours:
        shape = outline(solid, pose, seen.camera)
        parts.append(np.full(len(seen.points), 1e3) if shape is None else signed_distance(shape, seen.points)[0])
    return np.concatenate(parts)


def refine(solid: Primitive, pose: Pose, contours: Sequence[Contour], steps: int = 15) -> tuple[Pose, float]:
    """Gauss-Newton on the contour distances with the loss 2 (sqrt(1 + d^2) - 1); returns the pose and the RMS distance [px].

    The outline under a contour point moves with the surface point just inside it: dd/dpose = -n . dx/dpose.
    """
    radius, damping = float(np.linalg.norm(solid.size)) / 2, 1e-2

    def linear(at: Pose) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        ds, Js = [], []
        for seen in contours:
            shape = outline(solid, at, seen.camera)
            if shape is None:
                return np.inf, np.zeros(0), np.zeros((6, 6)), np.zeros(6)
            d, n = signed_distance(shape, seen.points)
            X, _, ok = hits(solid, at, *seen.camera.rays(seen.points - n * (d + 0.3)[:, None]))
            ds.append(d)
            Js.append(-(n[:, None, :] @ flow(seen.camera, X, at.t, radius))[:, 0] * ok[:, None])
        d, J = np.concatenate(ds), np.concatenate(Js)
        root = np.sqrt(1 + d * d)
        return float(np.sum(root - 1)), d, (J / root[:, None]).T @ J, J.T @ (d / root)

    now = linear(pose)
    for _ in range(steps):
        _, d, H, g = now
        if not len(d):
            break
        trial = pose.moved(np.linalg.solve(H + damping * np.diag(np.diag(H)) + 1e-9 * np.trace(H) * np.eye(6), -g), radius)
        after = linear(trial)
        if after[0] < now[0]:
            done = now[0] - after[0] < 1e-3 * now[0]
            pose, now, damping = trial, after, damping / 5
            if done:
                break
        else:
            damping *= 10
            if damping > 1e4:
                break
    return pose, float(np.sqrt(np.mean(np.minimum(np.abs(now[1]), 5.0) ** 2))) if len(now[1]) else np.inf


def hypotheses(
    solid: Primitive, contours: Sequence[Contour], rng: np.random.Generator, tries: int = 400, keep: int = 6
) -> list[tuple[Pose, float]]:
    """Distinct poses that explain the contours, best first, with their RMS distance [px].

    A box's outline alone leaves its mirror in depth open (Necker), so several are kept: whatever lies within twice
    the best one's distance plus half a pixel.
    """
    rough = []
    main = max(contours, key=lambda c: c.area)
    for R in Rotation.random(tries, rng=rng).as_matrix():
        pose = place(solid, R, main)
        if pose is not None:
            rough.append((float(np.mean(misfit(solid, pose, contours) ** 2)), pose))
    rough.sort(key=lambda r: r[0])
    group = symmetries(solid)
    found: list[tuple[Pose, float]] = []
    for _, pose in _distinct([p for _, p in rough[:100]], group, np.radians(15), 20):
        found.append(refine(solid, pose, contours))
    found.sort(key=lambda r: r[1])
    kept = _distinct([p for p, _ in found], group, np.radians(6), keep)
    limit = 2 * found[0][1] + 0.5 if found else 0.0
    return [found[i] for i, _ in kept if found[i][1] <= limit]


def _distinct(poses: list[Pose], group: np.ndarray, apart: float, most: int) -> list[tuple[int, Pose]]:
    kept: list[tuple[int, Pose]] = []
    for i, pose in enumerate(poses):
        if len(kept) == most:
            break
        if all(min(angle(pose.R @ s, other.R) for s in group) > apart for _, other in kept):
            kept.append((i, pose))
    return kept
