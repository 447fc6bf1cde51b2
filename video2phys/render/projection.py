"""What all back-ends agree on about a Gaussian in space and in the picture, in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

OPAQUE = 0.99  # largest alpha of one Gaussian, so that 1 - alpha never vanishes
FAINT = 1 / 255  # smallest alpha that is drawn
DARK = 1e-4  # transmittance under which a pixel is finished
BLUR = 0.3  # [px^2] added to every projected covariance, so that none falls between pixels
FIELD = 1.3  # the slope x/z is held within this multiple of the picture in the first-order map, as far outside it the map is no use


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


def shortest(form: Tensor, mean: Tensor, world_to_camera: Tensor, orthographic: bool) -> Tensor:
    """Shortest axes (G, 3), unit, turned to the camera, of Gaussians given as quaternion and scale (G, 7) or covariance (G, 9)."""
    import torch

    if form.shape[1] == 7:
        index = form[:, 4:].argmin(1)
        axis = rotations(form[:, :4])[torch.arange(len(form), device=form.device), :, index]
    else:
        axis = torch.linalg.eigh(form.view(-1, 3, 3))[1][..., 0]
    R, t = world_to_camera[:3, :3].detach(), world_to_camera[:3, 3].detach()
    sight = R[2] if orthographic else mean.detach() + R.T @ t
    return torch.where((axis * sight).sum(1, keepdim=True) > 0, -axis, axis)
