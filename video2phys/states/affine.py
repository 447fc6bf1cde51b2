"""Soft bodies in several views: the affine map x = c + F X of every frame that explains pictures and outlines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.states.settings import Settings
from video2phys.states.warp import Moving, Sight, system
from video2phys.types import Body, Camera, Frames, Gaussians, StateTrack

BLURS = ((3.0, 4), (1.5, 4), (0.7, 6))  # [px], steps: coarse to fine
MARGIN = 12  # [px] kept around the outline, so that a guess some pixels off is still in the picture
STILL = 0.01  # [px] a step that moves the body by less ends the search
FRAME_CHANGE = 0.3  # prior sigma of the entries of F from one frame to the next
LOST = 0.6  # overlap of the outlines under which no affine map explains the pictures
ROUND = 0.65  # area over perimeter of a ball's outline, in rms radii: loss of overlap to the distance between the outlines, which is
# as far as a body that bends, bulges or flattens at a contact moves beyond any affine map
BENT = 0.05  # loss of overlap that is worth a warning: the outline is off by 3 % of the radius
STRETCH = 10.0  # no body that an affine map can describe is stretched or flattened further
FLOOR_PX = 0.05  # [px] sampling, compression and calibration leave at least this much


@dataclass(frozen=True)
class Fit:
    """One frame."""

    c: np.ndarray  # [length unit] (3,)
    F: np.ndarray  # (3, 3)
    c_sigma: np.ndarray  # [length unit] (3,)
    F_sigma: float
    cost: float
    overlap: float


def track(frames: Frames, gaussians: Gaussians, settings: Settings, context: Context) -> StateTrack:
    """Measure c and F per frame. Raises BadInput where no frame shows a body whole in two views."""
    T, count = len(frames.time), len(gaussians.bodies)
    position, sigma = np.full((T, count, 3), np.nan), np.full((T, count, 3), np.nan)
    F, F_sigma, valid = np.full((T, count, 3, 3), np.nan), np.full((T, count), np.nan), np.zeros((T, count), bool)
    notes, warnings = [], []
    for obj, body in enumerate(gaussians.bodies):
        fits = follow(frames, body, obj, context)
        lost = [k for k, fit in fits.items() if fit.overlap < LOST]
        if lost:
            warnings.append(f"object {obj}: no affine map explains frames {lost[0]} to {lost[-1]} ({len(lost)} frames); they are left out.")
        radius, tightest = float(np.sqrt((body.particle**2).sum(1).mean())), max(fit.overlap for fit in fits.values())
        for k, fit in fits.items():
            if fit.overlap >= LOST:
                beyond = ROUND * radius * (tightest - fit.overlap)
                position[k, obj], F[k, obj], valid[k, obj] = fit.c, fit.F, True
                sigma[k, obj], F_sigma[k, obj] = np.hypot(fit.c_sigma, beyond), np.hypot(fit.F_sigma, beyond / radius)
        bent = [k for k, fit in fits.items() if LOST <= fit.overlap < tightest - BENT]
        if bent:
            warnings.append(
                f"object {obj} changes shape as no affine map does in {len(bent)} frames (first {bent[0]}); "
                "for a fluid or granular body F is not its deformation."
            )
        notes.append(f"object {obj}: outlines overlap by {np.median([f.overlap for f in fits.values()]):.1%} in the median frame.")
    identity = np.tile([1.0, 0, 0, 0], (T, count, 1))
    return StateTrack(frames.time, "affine", position, sigma, identity, np.full((T, count, 3), np.inf), F, F_sigma, valid, gaussians.unit,
                      settings.method, tuple(notes), tuple(warnings))  # fmt: skip


def follow(frames: Frames, body: Body, obj: int, context: Context) -> dict[int, Fit]:
    """Fits of the frames that show the body whole in two views, from the reference frame forwards and then backwards."""
    moving = Moving(body, context.device)
    usable = [k for k in range(len(frames.time)) if len(whole(frames, k, obj)) >= 2]
    if not usable:
        raise BadInput(
            f"no frame shows object {obj} whole in two views.", fix="Move the cameras back, or track one view with states.kind=pose."
        )
    fits: dict[int, Fit] = {}
    first = min(usable, key=lambda k: abs(k - body.reference_frame))
    ahead, behind = [k for k in usable if k >= first], [k for k in usable if k < first][::-1]
    for chain in (ahead, [first, *behind]):
        history: list[tuple[int, Fit, np.ndarray]] = []
        for k in chain:
            sights = look(frames, k, obj)
            centre = meeting(sights)
            fit = fits.get(k) or best(moving, sights, guesses(history, k, centre, body))
            fits[k] = fit
            if fit.overlap >= LOST:
                history = [*history[-1:], (k, fit, centre)]
            context.progress(len(fits) / len(usable), f"frame {k}: outlines overlap by {fit.overlap:.1%}")
    return relative(fits, body) if first == body.reference_frame else fits


def relative(fits: dict[int, Fit], body: Body) -> dict[int, Fit]:
    """Maps from the body as it is at the reference frame, where c = position and F = 1 by definition.

    What is measured there instead is the bias of the reconstruction, e.g. Gaussians that reach past the outline. It belongs to the
    body and not to the motion, so it is taken out of every frame.
    """
    own = fits[body.reference_frame]
    out = {}
    for k, fit in fits.items():
        F = fit.F @ np.linalg.inv(own.F)
        out[k] = replace(fit, c=fit.c + F @ (body.position - own.c), F=F)
    return out


def guesses(history: list, k: int, centre: np.ndarray, body: Body) -> list[tuple[np.ndarray, np.ndarray]]:
    """Starts for frame k: the last map carried along with the outlines, with F as it was and as it was changing."""
    if not history:
        return [(body.position, np.eye(3))]
    last, fit, seen = history[-1]
    c = fit.c + centre - seen
    if len(history) == 1:
        return [(c, fit.F)]
    before, older, _ = history[0]
    changed = fit.F + (fit.F - older.F) * (k - last) / (last - before)
    return [(c, fit.F), (c, changed)] if sane(changed) else [(c, fit.F)]


def best(moving: Moving, sights: list[Sight], starts: list[tuple[np.ndarray, np.ndarray]]) -> Fit:
    """Coarse to fine from the start that fits best at the coarsest level."""
    c, F = min(starts, key=lambda s: system(moving, sights, *s, BLURS[0][0]).cost) if len(starts) > 1 else starts[0]
    F_start, r = F, moving.radius
    per_px = np.median([s.camera.pixel(c) for s in sights])  # [length unit/px]
    prior = np.r_[np.zeros(3), np.full(9, 1 / (r * FRAME_CHANGE) ** 2)]
    for blur, steps in BLURS:
        found, step = None, np.zeros(12)
        for _ in range(steps):
            now = system(moving, sights, c, F, blur)
            if found is not None and now.cost > found.cost:  # the last step was no gain: go half of it
                step = step / 2
                c, F = c - step[:3], F - step[3:].reshape(3, 3) / r
                if np.abs(step).max() < STILL * per_px:
                    break
                continue
            found = now
            pull = np.r_[np.zeros(3), (F - F_start).ravel() * r]
            step = -np.linalg.solve(now.hessian + np.diag(prior + 1e-6 * np.diag(now.hessian)), now.gradient + prior * pull)
            if not sane(F + step[3:].reshape(3, 3) / r):
                break
            c, F = c + step[:3], F + step[3:].reshape(3, 3) / r
            if np.abs(step).max() < STILL * per_px:
                break
    last = system(moving, sights, c, F, BLURS[-1][0])
    inverse = np.linalg.inv(last.hessian + np.diag(prior + 1e-6 * np.diag(last.hessian)))
    variance = np.maximum(*(np.diag(inverse @ scatter @ inverse) for scatter in (last.by_block, last.by_view)))
    spread = np.sqrt(variance + (FLOOR_PX * per_px) ** 2)
    return Fit(c, F, spread[:3], float(np.sqrt((spread[3:] ** 2).mean()) / r), last.cost, last.overlap)


def sane(F: np.ndarray) -> bool:
    """Whether a map neither turns the body inside out nor flattens or stretches it beyond STRETCH."""
    stretches = np.linalg.svd(F, compute_uv=False)
    return bool(np.linalg.det(F) > 0 and stretches[0] < STRETCH and stretches[-1] > 1 / STRETCH)


def whole(frames: Frames, k: int, obj: int) -> list[int]:
    """Views that see the object whole in frame k."""
    return [i for i, v in enumerate(frames.views) if v.images[k] and v.whole(k, obj)]


def look(frames: Frames, k: int, obj: int) -> list[Sight]:
    """Cropped pictures of frame k from the views that see the object whole."""
    sights = []
    for i in whole(frames, k, obj):
        mask, camera = frames.mask(i, k, obj), frames.views[i].camera
        rows, columns = np.flatnonzero(mask.max(1) > 0.1), np.flatnonzero(mask.max(0) > 0.1)
        if not len(rows):
            continue
        top, left = max(0, rows[0] - MARGIN), max(0, columns[0] - MARGIN)
        part = slice(top, rows[-1] + 1 + MARGIN), slice(left, columns[-1] + 1 + MARGIN)
        K = camera.K.copy()
        K[:2, 2] -= (left, top)
        mask = np.ascontiguousarray(mask[part])
        image = frames.image(i, k)[part].astype(np.float32) / 255 * mask[..., None]
        sights.append(Sight(Camera(K, camera.world_to_camera, mask.shape[1], mask.shape[0], camera.model), image, mask))
    return sights


def meeting(sights: list[Sight]) -> np.ndarray:
    """The point (3,) nearest to the rays through the centres of the outlines."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    for s in sights:
        y, x = np.mgrid[: s.mask.shape[0], : s.mask.shape[1]] + 0.5
        origin, d = s.camera.rays(np.array([(x * s.mask).sum(), (y * s.mask).sum()]) / s.mask.sum())
        across = np.eye(3) - np.outer(d, d)
        A, b = A + across, b + across @ origin
    return np.linalg.solve(A, b)
