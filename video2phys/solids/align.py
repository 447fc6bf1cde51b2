"""Pose of a textured solid in one or several pictures: Gauss-Newton on the look of its surface and of its rim.

Two kinds of residual, both in grey levels:
  surface  pixels well inside the outline: g(n) T(X) - I, with T the colour map, X the surface point under the pixel and
           g(n) = g0 + g.n a brightness that is linear in the surface normal (fitted in closed form every step).
           Derivative: -grad(g T) . dx/dpose, the image motion of that surface point.
  rim      pixels within RIM of the outline: a C + (1 - a) B - I, with a = the share of the pixel inside (a smooth step
           of the signed distance d), C the picture's own colour just inside, B the background (times the shadow seen
           just outside). Derivative: (C - B) a'(d) n . dx/dpose. The rim fixes the apparent size, hence the depth, without
           the bias that a thresholded mask has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.solids.atlas import RIM, Atlas
from video2phys.solids.outline import outline, signed_distance
from video2phys.solids.pose import Pose
from video2phys.solids.shape import cast
from video2phys.solids.shot import GREY, Shot
from video2phys.types import Primitive

EDGE = 0.8  # [px] width of the picture's own blur across an edge, standard deviation
SOFT = 0.15  # error of the modelled edge, as a share of its contrast: blur and outline are known to about 0.2 px
UNKNOWN = 0.7  # residual, over the noise, charged for surface of unknown colour, so that turning it into view does not pay


@dataclass(frozen=True)
class Aligned:
    """A pose and how well it explains the pictures."""

    pose: Pose
    cost: float  # mean robust residual, in units of the noise (1 = noise)
    covariance: np.ndarray  # (6, 6) of translation [length unit] and rotation vector about world axes [rad]
    gain: tuple[np.ndarray, ...]  # per shot (4,), brightness by world normal
    surface: int  # pixels compared on the surface


@dataclass(frozen=True)
class System:
    residual: np.ndarray  # (M, 3) in grey levels
    jacobian: np.ndarray  # (M, 3, 6) per unit of translation and of rotation times radius
    surface: np.ndarray  # (M,) bool, well inside and of known colour
    rim: np.ndarray  # (M,) bool
    gain: np.ndarray  # (4,)


def align(solid: Primitive, pose: Pose, shots: Sequence[Shot], atlas: Atlas | None, *, steps: int = 12, coarse: bool = True) -> Aligned:
    """Refine a pose on the shots. Without an atlas only the rim is used. `coarse` starts at half the resolution."""
    best = pose
    if coarse:
        best = _descend(solid, best, [s.halved for s in shots], atlas, steps).pose
    return _descend(solid, best, shots, atlas, steps)


def _descend(solid: Primitive, pose: Pose, shots: Sequence[Shot], atlas: Atlas | None, steps: int) -> Aligned:
    radius = float(np.linalg.norm(solid.size)) / 2
    damping = 1e-3
    now = evaluate(solid, pose, shots, atlas, radius)
    for _ in range(steps):
        if now is None:
            break
        _, H, g, _ = now
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)) + 1e-9 * np.trace(H) * np.eye(6), -g)
        after = evaluate(solid, pose.moved(step, radius), shots, atlas, radius)
        if after is not None and after[0] < now[0]:
            done = now[0] - after[0] < 1e-4 * now[0] and damping < 1e-2
            pose, now, damping = pose.moved(step, radius), after, max(damping / 5, 1e-6)
            if done:
                break
        else:
            damping *= 10
            if damping > 1e3:
                break
    if now is None:
        return Aligned(pose, np.inf, np.full((6, 6), np.inf), tuple(np.array([1.0, 0, 0, 0]) for _ in shots), 0)
    cost, H, _, parts = now
    scale = np.diag([1, 1, 1, 1 / radius, 1 / radius, 1 / radius])
    covariance = scale @ np.linalg.inv(H + 1e-9 * np.trace(H) * np.eye(6)) @ scale * max(cost, 1.0)
    return Aligned(pose, cost, covariance, tuple(p.gain for p in parts), sum(int(p.surface.sum()) for p in parts))


def evaluate(
    solid: Primitive, pose: Pose, shots: Sequence[Shot], atlas: Atlas | None, radius: float
) -> tuple[float, np.ndarray, np.ndarray, list[System]] | None:
    """Mean robust cost, Gauss-Newton matrix (6, 6), gradient (6,) and the residuals; None when nothing can be compared.

    Loss: Geman-McClure, r^2 / (1 + r^2 / k^2), on the colour residual's length over the noise; its weight is
    (1 + r^2 / k^2)^-2, so that highlights, occluders and shadows stop to pull.
    """
    parts = [p for p in (system(solid, pose, shot, atlas, radius) for shot in shots) if p is not None]
    if not parts:
        return None
    r = np.concatenate([p.residual for p in parts]) / GREY
    J = np.concatenate([p.jacobian for p in parts]) / GREY
    square = (r * r).sum(1) / 3
    k2 = 16.0
    weight = 1 / (1 + square / k2) ** 2
    cost = float(np.mean(square / (1 + square / k2)))
    Jw = J * weight[:, None, None] / 3
    return cost, np.einsum("mci,mcj->ij", Jw, J), np.einsum("mci,mc->i", Jw, r), parts


def system(solid: Primitive, pose: Pose, shot: Shot, atlas: Atlas | None, radius: float) -> System | None:
    """Residuals and derivatives of one shot; None when the solid is not before the camera or off the mask's surroundings."""
    camera = shot.camera
    shape = outline(solid, pose, camera)
    if shape is None:
        return None
    region = shot.region
    pixel = shot.pixels()[region]
    d, out = signed_distance(shape, pixel)
    rim, inner = np.abs(d) < RIM, d <= -RIM
    if rim.sum() + inner.sum() < 12:
        return None
    seen, B = (x.reshape(-1, 3)[region].astype(float) for x in (shot.image, shot.behind))
    on = d < RIM
    X, n, ok = hits(solid, pose, camera, pixel[on] - out[on] * np.maximum(d[on] + 0.3, 0)[:, None])
    motion = np.zeros((len(d), 2, 6))
    motion[on] = flow(camera, X, pose.t, radius) * ok[:, None, None]

    gain = np.array([1.0, 0, 0, 0])
    known = np.zeros(len(d), bool)
    model = np.zeros((len(d), 3))
    if atlas is not None:
        color, confidence = atlas.lookup(solid, (X - pose.t) @ pose.R)
        known[on] = ok & (confidence > 0)
        fit = known[on] & inner[on]
        if fit.sum() >= 12:
            gain = brightness(color[fit], n[fit], seen[on][fit])
            model[on] = color * (gain[0] + n @ gain[1:])[:, None]
        else:
            known[:] = False

    a = 1 / (1 + np.exp(np.clip(d / (EDGE * 0.55), -30, 30)))  # logistic of the spread of a Gaussian edge
    slope = a * (1 - a) / (EDGE * 0.55)
    outward = np.einsum("mi,mij->mj", out, motion)
    residual = a[:, None] * model + (1 - a[:, None]) * B - seen
    jacobian = (slope[:, None] * (model - B))[:, :, None] * outward[:, None, :]
    blind = ~known  # no colour to compare with: how far the picture is from the background against how far it is inside
    look = shot.contrast
    amplitude, typical = look.amplitude.reshape(-1)[region], look.typical.reshape(-1)[region]
    residual[blind], jacobian[blind] = 0, 0
    texture = 1 / np.sqrt(1 + (look.spread / GREY) ** 2 / 4)
    residual[blind, 0] = ((a * typical - amplitude) * np.sqrt(3) * texture)[blind]
    jacobian[blind, 0] = (outward * (slope * typical)[:, None] * np.sqrt(3) * texture)[blind]
    surface = inner & known
    jacobian[inner], residual[inner & ~known] = 0, UNKNOWN * GREY
    h, w = shot.mask.shape
    gx, gy, whole = gradient(spread_out(model, region, (h, w)), spread_out(known, region, (h, w)))
    grad = np.stack([gx.reshape(-1, 3)[region], gy.reshape(-1, 3)[region]], -1)  # (M, 3, 2)
    lit = known & whole.reshape(-1)[region]
    jacobian[lit] -= a[lit, None, None] * (grad[lit] @ motion[lit])
    shaded = ~blind & ~inner  # a shadow of unknown depth may lie on the background: drop what it can change
    shade = look.shade.reshape(-1, 3)[region][shaded]
    residual[shaded] -= (residual[shaded] * shade).sum(1, keepdims=True) * shade
    jacobian[shaded] -= np.einsum("mci,mc->mi", jacobian[shaded], shade)[:, None, :] * shade[:, :, None]
    edge = np.where(rim, 1 / np.sqrt(1 + (SOFT * typical / GREY) ** 2), 1.0)
    residual, jacobian = residual * edge[:, None], jacobian * edge[:, None, None]
    return System(residual, jacobian, surface, rim, gain)


def spread_out(values: np.ndarray, region: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Values (M, ...) of the pixels of a region as a picture (H, W, ...), zero elsewhere."""
    full = np.zeros((size[0] * size[1], *values.shape[1:]), values.dtype)
    full[region] = values
    return full.reshape(*size, *values.shape[1:])


def hits(solid: Primitive, pose: Pose, camera, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """World surface points (N, 3), world normals (N, 3) and whether the pixel's ray meets the solid (N,)."""
    o, v = camera.rays(pixels)
    t, n = cast(solid, (o - pose.t) @ pose.R, v @ pose.R)
    ok = np.isfinite(t)
    return o + np.where(ok, t, 0)[:, None] * v, n @ pose.R.T, ok


def flow(camera, X: np.ndarray, center: np.ndarray, radius: float) -> np.ndarray:
    """Image motion (N, 2, 6) [px per length unit] of world points fixed to the body, by translation and rotation * radius."""
    p = camera.to_camera(X)
    A = np.zeros((len(X), 2, 3))
    if camera.model == "perspective":
        z = np.maximum(p[:, 2], 1e-9)
        A[:, 0, 0] = A[:, 1, 1] = 1 / z
        A[:, 0, 2], A[:, 1, 2] = -p[:, 0] / z**2, -p[:, 1] / z**2
    else:
        A[:, 0, 0] = A[:, 1, 1] = 1
    A = camera.K[:2, :2] @ A @ camera.world_to_camera[:3, :3]
    r = (X - center) / radius
    turn = np.zeros((len(X), 3, 3))  # d(w x r)/dw = -[r]
    turn[:, 0, 1], turn[:, 0, 2], turn[:, 1, 2] = r[:, 2], -r[:, 1], r[:, 0]
    turn[:, 1, 0], turn[:, 2, 0], turn[:, 2, 1] = -r[:, 2], r[:, 1], -r[:, 0]
    return np.concatenate([A, A @ turn], -1)


def brightness(color: np.ndarray, normal: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Gain (4,) by least squares of image = color * (g0 + g . n), drawn towards 1 where faces are too few to tell."""
    basis = np.concatenate([np.ones((len(normal), 1)), normal], 1)
    lum, seen = color.sum(1), image.sum(1)
    A = basis * lum[:, None]
    w = 1 / (1 + (np.abs(seen - lum) / 150) ** 2)
    tie = np.diag([1e-3, 1e-2, 1e-2, 1e-2]) * (w * lum * lum).sum()
    return np.linalg.solve(A.T @ (A * w[:, None]) + tie, A.T @ (w * seen) + tie @ np.array([1.0, 0, 0, 0]))


def gradient(image: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Central differences (H, W, 3) in x and y, and where all four neighbours exist (H, W)."""
    gx, gy = np.zeros_like(image), np.zeros_like(image)
    gx[:, 1:-1], gy[1:-1] = (image[:, 2:] - image[:, :-2]) / 2, (image[2:] - image[:-2]) / 2
    whole = np.zeros_like(there)
    whole[1:-1, 1:-1] = there[1:-1, 2:] & there[1:-1, :-2] & there[2:, 1:-1] & there[:-2, 1:-1]
    return gx, gy, whole
