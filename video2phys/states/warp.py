"""How a rendered picture changes when the body moves by an affine map, and the Gauss-Newton system that follows.

The body's point X is at x = c + F X and is seen at the pixel u(x). A small change of (c, F) carries the picture along,
dI = -grad I . (du/dx)(dc + dF X): the forward-additive method of Lucas and Kanade (1981), here with the mean of the gradients of both
pictures (Benhimane and Malis 2004), over all views at once. One rendering gives the picture and X at every pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from video2phys.render.api import rasterize
from video2phys.render.harmonics import colour
from video2phys.render.projection import covariances
from video2phys.types import Body, Camera

EDGE = 0.02  # alpha from which a pixel counts
FLOOR = 0.02  # least residual scale, of 1: pictures are not exact to better than this
BLOCK = 12  # [px] residuals within a block are taken as one observation when sigma is estimated, as neighbours err together
HUBER = 1.345
LIGHT = 0.06  # [square roots of the outline's area] over which brightness may differ: light stays behind when a body turns
FAINT = 1e-4  # brightness squared that tells nothing of the light
ENOUGH = 5000  # pixels of a view that are compared: more cost time, and what no affine map explains limits the result


@dataclass(frozen=True)
class Sight:
    """One view of one moment, cropped around the outline."""

    camera: Camera
    image: np.ndarray  # RGB (H, W, 3) float32 0..1 times mask
    mask: np.ndarray  # (H, W) float32 0..1


@dataclass(frozen=True)
class System:
    """Normal equations in (c, radius F) of all views, and what is needed to judge them."""

    hessian: np.ndarray  # (12, 12)
    gradient: np.ndarray  # (12,)
    by_block: np.ndarray  # (12, 12) sum over blocks of pixels of gradient gradient^T: noise, texture, compression
    by_view: np.ndarray  # (12, 12) sum over views of gradient gradient^T: what no affine map explains pulls views apart
    cost: float  # mean robust cost
    overlap: float  # median over the views of intersection over union of the outlines


class Moving:
    """Gaussians of a body that can be drawn at any affine map."""

    def __init__(self, body: Body, device: str) -> None:
        self.mean, self.opacity, self.harmonics = (torch.as_tensor(a, dtype=torch.float32, device=device)
                                                   for a in (body.mean, body.opacity, body.harmonics))  # fmt: skip
        shape = [torch.as_tensor(a, dtype=torch.float32, device=device) for a in (body.quaternion, body.scale)]
        self.covariance = covariances(*shape)
        self.radius = float(np.sqrt((body.particle**2).sum(1).mean()))  # [length unit]

    @torch.no_grad()
    def draw(self, camera: Camera, c: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Colour over black (H, W, 3), alpha (H, W) and alpha-weighted body coordinates X (H, W, 3)."""
        centre, map_ = torch.as_tensor(c).to(self.mean), torch.as_tensor(F).to(self.mean)
        mean = self.mean @ map_.T + centre
        eye = torch.as_tensor(np.linalg.solve(F, camera.center - c)).to(self.mean)
        feature = torch.cat([colour(self.harmonics, torch.nn.functional.normalize(self.mean - eye, dim=1)), self.mean], 1)
        K, pose = (torch.as_tensor(a).to(self.mean) for a in (camera.K, camera.world_to_camera))
        picture = rasterize(mean, None, None, self.opacity, feature, K, pose, camera.width, camera.height,
                            covariance=map_ @ self.covariance @ map_.T, model=camera.model)  # fmt: skip
        out = picture.colour.cpu().numpy()
        return out[..., :3], picture.alpha.cpu().numpy(), out[..., 3:]


def system(moving: Moving, sights: list[Sight], c: np.ndarray, F: np.ndarray, blur: float) -> System:
    """Linearise all views at (c, F), with both pictures blurred by `blur` [px]."""
    g, cost, weight, overlaps = np.zeros(12), 0.0, 0, []
    H, by_block, by_view = np.zeros((12, 12)), np.zeros((12, 12)), np.zeros((12, 12))
    for sight in sights:
        J, r, block, overlap = _view(moving, sight, c, F, blur)
        overlaps.append(overlap)
        if not len(r):
            continue
        scale = np.maximum(1.4826 * np.median(np.abs(r), axis=0), FLOOR)
        r, J = r / scale, J / scale[:, None]
        size = np.abs(r)
        w = np.where(size < HUBER, 1.0, HUBER / np.maximum(size, HUBER)).astype(np.float32)
        Jw = J * w[..., None]
        H += Jw.reshape(-1, 12).T @ J.reshape(-1, 12)
        per_pixel = (Jw * r[..., None]).sum(1, dtype=float)
        mine = per_pixel.sum(0)
        g += mine
        by_view += np.outer(mine, mine)
        sums = np.stack([np.bincount(block, column) for column in per_pixel.T], 1)
        by_block += sums.T @ sums
        cost += float((np.where(size < HUBER, size**2 / 2, HUBER * (size - HUBER / 2)) * scale**2).sum())
        weight += len(r)
    return System(H, g, by_block, by_view, cost / max(weight, 1), float(np.median(overlaps)))


def _view(moving: Moving, sight: Sight, c: np.ndarray, F: np.ndarray, blur: float):
    """Jacobian (N, 4, 12), residual (N, 4) of colour and alpha, block (N,), overlap."""
    import cv2

    picture, alpha, X = moving.draw(sight.camera, c, F)
    overlap = float(np.minimum(alpha, sight.mask).sum() / max(np.maximum(alpha, sight.mask).sum(), 1e-6))

    def smooth(a: np.ndarray, width: float = blur) -> np.ndarray:
        return cv2.GaussianBlur(a, (0, 0), width)

    both = ((alpha > 0.5) & (sight.mask > 0.5)).astype(np.float32)
    own, common = (smooth((picture * other).sum(-1) * both, max(LIGHT * np.sqrt(both.sum()), 1.0)) for other in (picture, sight.image))
    gain = np.clip((common + FAINT) / (own + FAINT), 0.5, 2.0)
    have, want = smooth(np.dstack([gain[..., None] * picture, alpha]).astype(np.float32)), smooth(np.dstack([sight.image, sight.mask]))
    near = smooth(np.dstack([X, alpha]).astype(np.float32))
    stride = max(1, round(blur), round(np.sqrt(sight.mask.sum() / ENOUGH)))  # a blurred picture says no more at every pixel
    used = ((near[..., 3] > EDGE) & ((have[..., 3] > EDGE) | (want[..., 3] > EDGE)))[::stride, ::stride]
    rows, columns = (index * stride for index in np.nonzero(used))
    if not len(rows):
        return np.zeros((0, 4, 12)), np.zeros((0, 4)), np.zeros(0, int), overlap
    dy, dx = np.gradient((have + want) / 2, axis=(0, 1))
    slope = np.stack([dx, dy], -1)[rows, columns]  # (N, 4, 2)
    X = (near[..., :3] / np.maximum(near[..., 3:], EDGE))[rows, columns]
    du_dx = projection_slope(sight.camera, c + X @ F.T).astype(np.float32)
    by_c = -slope @ du_dx  # (N, 4, 3)
    by_F = by_c[..., :, None] * (X / np.float32(moving.radius))[:, None, None, :]  # (N, 4, 3, 3)
    J = np.concatenate([by_c, by_F.reshape(len(X), 4, 9)], -1)
    block = rows // BLOCK * (have.shape[1] // BLOCK + 1) + columns // BLOCK
    return J, (have - want)[rows, columns], block, overlap


def projection_slope(camera: Camera, points: np.ndarray) -> np.ndarray:
    """du/dx [px/length unit] (N, 2, 3) at world points (N, 3)."""
    R = camera.world_to_camera[:3, :3]
    if camera.model == "orthographic":
        return np.broadcast_to(camera.K[:2, :2] @ R[:2], (len(points), 2, 3))
    p = camera.to_camera(points)
    z = p[:, 2:, None]
    rows = (R[None, :2] - (p[:, :2, None] / z) * R[None, 2:]) / z
    return camera.K[:2, :2] @ rows
