"""Gaussians in space to Gaussians in the picture: the EWA approximation, in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from video2phys.render.kernels import FAINT

if TYPE_CHECKING:
    from torch import Tensor

BLUR = 0.3  # [px^2] added to every projected covariance, so that none falls between pixels
FIELD = 1.3  # the slope x/z is held within this multiple of the picture in the first-order map, as far outside it the map is no use


class Projected(NamedTuple):
    """Gaussians in the picture."""

    centre: Tensor  # [px] (G, 2)
    conic: Tensor  # [1/px^2] (G, 3) a, b, c of the inverse covariance
    depth: Tensor  # [length unit] (G,) along the camera's z axis
    box: Tensor  # [px] (G, 4) int32 x0, x1, y0, y1: pixels that it can reach, clipped to the picture; empty when it is not drawn


def rotations(quaternion: Tensor) -> Tensor:
    """Rotation matrices (G, 3, 3) of quaternions (G, 4) w, x, y, z of any length."""
    import torch

    w, x, y, z = (quaternion / quaternion.norm(dim=-1, keepdim=True)).unbind(-1)
    return torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).view(-1, 3, 3)  # fmt: skip


def covariances(quaternion: Tensor, scale: Tensor) -> Tensor:
    """R diag(scale)^2 R^T (G, 3, 3) of quaternions (G, 4) of any length and standard deviations (G, 3)."""
    M = rotations(quaternion) * scale[:, None]
    return M @ M.mT


def reach(K: Tensor, width: int, height: int) -> tuple[float, float]:
    """Largest |x/z| and |y/z| at which the first-order map is taken."""
    (fx, _, cx), (_, fy, cy), _ = K.tolist()
    return FIELD * max(cx, width - cx) / fx, FIELD * max(cy, height - cy) / fy


def project(mean: Tensor, covariance: Tensor, opacity: Tensor, K: Tensor, world_to_camera: Tensor, width: int, height: int,
            orthographic: bool, near: float) -> Projected:  # fmt: skip
    """Project by the first-order map of the camera at each mean. Shapes as in `rasterize`; covariance (G, 3, 3) in the world."""
    import torch

    R, t = world_to_camera[:3, :3], world_to_camera[:3, 3]
    point = mean @ R.T + t
    x, y, z = point.unbind(-1)
    if orthographic:
        centre = point[:, :2] @ K[:2, :2].T + K[:2, 2]
        M = (K[:2, :2] @ R[:2]).expand(len(mean), 2, 3)
        shown = torch.ones_like(z, dtype=torch.bool)
    else:
        shown = z > near
        inverse = 1 / torch.where(shown, z, torch.ones_like(z))
        sx, sy = x * inverse, y * inverse
        centre = torch.stack([sx, sy], -1) @ K[:2, :2].T + K[:2, 2]
        reach_x, reach_y = reach(K, width, height)
        sx, sy = sx.clamp(-reach_x, reach_x), sy.clamp(-reach_y, reach_y)
        rows = torch.stack([R[0] - sx[:, None] * R[2], R[1] - sy[:, None] * R[2]], 1) * inverse[:, None, None]
        M = K[:2, :2] @ rows
    plane = M @ covariance @ M.mT
    A, B, C = plane[:, 0, 0] + BLUR, plane[:, 0, 1], plane[:, 1, 1] + BLUR
    determinant = A * C - B * B
    conic = torch.stack([C, -B, A], -1) / determinant[:, None]
    with torch.no_grad():
        shown = shown & (opacity > FAINT) & (determinant > 0)
        limit = 2 * torch.log((opacity / FAINT).clamp_min(1))
        half = torch.stack([(limit * A).sqrt(), (limit * C).sqrt()], -1)
        size = torch.tensor([width, height], dtype=mean.dtype)
        low = (centre - half - 0.5).ceil().clamp_min(0).minimum(size)
        high = ((centre + half - 0.5).floor() + 1).clamp_min(0).minimum(size)
        box = torch.stack([low, high], -1).view(-1, 4) * shown[:, None]  # x0, x1, y0, y1
    return Projected(centre, conic, z, box.to(torch.int32))
