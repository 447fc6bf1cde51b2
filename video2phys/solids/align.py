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
UNKNOWN = 0.3  # cost charged for surface of unknown colour above that of known surface


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
    part: np.ndarray  # (M,) 1 = surface of known colour, 2 = rim, 3 = surface of unknown colour, 0 = outside
    gain: np.ndarray  # (4,)


def align(solid: Primitive, pose: Pose, shots: Sequence[Shot], atlas: Atlas | None, *, steps: int = 12, coarse: bool = True) -> Aligned:
    """Refine a pose on the shots. Without an atlas only the rim is used. `coarse` starts at half the resolution."""
    if not coarse:
        return _descend(solid, pose, shots, atlas, steps)
    rough = _descend(solid, pose, [s.halved for s in shots], atlas.half if atlas else None, steps).pose
    radius = float(np.linalg.norm(solid.size)) / 2
    return _descend(solid, min((pose, rough), key=lambda p: cost_of(solid, p, shots, atlas, radius)), shots, atlas, steps)


def cost_of(solid: Primitive, pose: Pose, shots: Sequence[Shot], atlas: Atlas | None, radius: float) -> float:
    """Mean robust cost of a pose as it is; inf where it cannot be compared."""
    found = evaluate(solid, pose, shots, atlas, radius)
    return np.inf if found is None else found[0]


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
    return Aligned(pose, cost, covariance, tuple(p.gain for p in parts), sum(int((p.part == 1).sum()) for p in parts))


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
    loss = square / (1 + square / k2)
    part = np.concatenate([p.part for p in parts])
    if (part == 1).any():  # surface of unknown colour costs what known surface costs, and a little more: showing it must not pay
        loss[part == 3] = loss[part == 1].mean() + UNKNOWN
    cost = float(loss.mean())
    rows = (J * np.sqrt(weight / 3)[:, None, None]).reshape(-1, 6)
    return cost, rows.T @ rows, rows.T @ (r * np.sqrt(weight / 3)[:, None]).reshape(-1), parts


def system(solid: Primitive, pose: Pose, shot: Shot, atlas: Atlas | None, radius: float) -> System | None:
    """Residuals and derivatives of one shot; None when the solid is not before the camera or off the mask's surroundings."""
    camera, s = shot.camera, shot.samples
    shape = outline(solid, pose, camera)
    if shape is None:
        return None
    d, out = signed_distance(shape, s.pixel)
    rim, inner = np.abs(d) < RIM, d <= -RIM
    if rim.sum() + inner.sum() < 12:
        return None
    on = np.flatnonzero(d < RIM)
    origin, direction = s.origin[on], s.direction[on]
    past = d[on] > -0.3  # just outside: take the surface just inside the outline
    moved = s.pixel[on][past] - out[on][past] * (d[on][past] + 0.3)[:, None]
    origin[past], direction[past] = camera.rays(moved)
    X, n, ok = hits(solid, pose, origin, direction)
    motion = flow(camera, X, pose.t, radius) * ok[:, None, None]

    d, out, seen, behind, rim, inner = d[on], out[on], s.seen[on], s.behind[on], rim[on], inner[on]
    gain = np.array([1.0, 0, 0, 0])
    known, model = np.zeros(len(on), bool), np.zeros((len(on), 3))
    if atlas is not None:
        color, known = atlas.lookup(solid, (X - pose.t) @ pose.R)
        known &= ok
        fit = known & inner
        if fit.sum() >= 12:
            gain = brightness(color[fit], n[fit], seen[fit])
            model = color * (gain[0] + n @ gain[1:])[:, None]
        else:
            known[:] = False
    surface = inner & known

    residual, jacobian = np.zeros((len(s.pixel), 3)), np.zeros((len(s.pixel), 3, 6))
    r, J = np.zeros((len(on), 3)), np.zeros((len(on), 3, 6))
    r[surface] = model[surface] - seen[surface]
    J[surface] = -(s.slope[on[surface]] @ motion[surface])
    a = 1 / (1 + np.exp(np.clip(d / (EDGE * 0.55), -30, 30)))  # logistic of the spread of a Gaussian edge
    step = a * (1 - a) / (EDGE * 0.55)
    soft = 1 / np.sqrt(1 + (SOFT * s.typical[on] / GREY) ** 2)
    outward = (out[:, None, :] @ motion)[:, 0]
    k = np.flatnonzero(rim & known)
    if len(k):  # a shadow of unknown depth may lie on the background: drop what it can change
        shade = s.shade[on[k]]
        off, contrast = a[k, None] * model[k] + (1 - a[k, None]) * behind[k] - seen[k], step[k, None] * (model[k] - behind[k])
        off, contrast = (x - (x * shade).sum(1, keepdims=True) * shade for x in (off, contrast))
        r[k], J[k] = off * soft[k, None], (contrast * soft[k, None])[:, :, None] * outward[k][:, None, :]
    k = np.flatnonzero(rim & ~known)
    if len(k):  # no colour to compare with: how far the picture is from the background, against how far it is inside
        soft = soft * np.sqrt(3 / (1 + (s.spread / GREY) ** 2 / 4))
        r[k, 0] = (a * s.typical[on] - s.amplitude[on])[k] * soft[k]
        J[k, 0] = outward[k] * (step * s.typical[on] * soft)[k, None]
    far = np.ones(len(s.pixel), bool)
    far[on] = False
    residual[far] = s.behind[far] - s.seen[far]
    residual[far] -= (residual[far] * s.shade[far]).sum(1, keepdims=True) * s.shade[far]
    residual[on], jacobian[on] = r, J
    part = np.zeros(len(s.pixel), int)
    part[on] = surface + 2 * rim + 3 * (inner & ~known)
    return System(residual, jacobian, part, gain)


def hits(solid: Primitive, pose: Pose, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """World surface points (N, 3), world normals (N, 3) and whether a ray meets the solid (N,)."""
    t, n = cast(solid, (origin - pose.t) @ pose.R, direction @ pose.R)
    ok = np.isfinite(t)
    return origin + np.where(ok, t, 0)[:, None] * direction, n @ pose.R.T, ok


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
