"""Real spherical harmonics up to degree 3, in the order and sign of the 3D Gaussian Splatting files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

C0, C1 = 0.28209479177387814, 0.4886025119029199
C2 = (1.0925484305920792, 0.31539156525252005, 0.5462742152960396)
C3 = (0.5900435899266435, 2.890611442640554, 0.4570457994644658, 0.3731763325901154, 1.445305721320277)


def basis(direction: Tensor, degree: int) -> Tensor:
    """Y_k (..., (degree + 1)^2) at unit directions (..., 3) from the camera to the Gaussian."""
    import torch

    x, y, z = direction.unbind(-1)
    Y = [torch.full_like(x, C0)]
    if degree > 0:
        Y += [-C1 * y, C1 * z, -C1 * x]
    if degree > 1:
        Y += [C2[0] * x * y, -C2[0] * y * z, C2[1] * (3 * z * z - 1), -C2[0] * x * z, C2[2] * (x * x - y * y)]
    if degree > 2:
        Y += [-C3[0] * y * (3 * x * x - y * y), C3[1] * x * y * z, -C3[2] * y * (5 * z * z - 1), C3[3] * z * (5 * z * z - 3),
              -C3[2] * x * (5 * z * z - 1), C3[4] * z * (x * x - y * y), -C3[0] * x * (x * x - 3 * y * y)]  # fmt: skip
    return torch.stack(Y, -1)


def colour(harmonics: Tensor, direction: Tensor) -> Tensor:
    """RGB (G, 3), not below 0, of coefficients (G, K, 3) seen along unit directions (G, 3): 0.5 + sum_k Y_k h_k."""
    degree = round(harmonics.shape[1] ** 0.5) - 1
    return (0.5 + (basis(direction, degree)[..., None] * harmonics).sum(-2)).clamp_min(0)


def turned(harmonics: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Coefficients (G, K, 3) of the same colours after a rotation `turn` (3, 3) of the world: Y(R d) h' = Y(d) h for all d.

    A rotation mixes harmonics of one degree only, so that enough directions give h' exactly, by least squares.
    """
    import torch

    degree = round(harmonics.shape[1] ** 0.5) - 1
    direction = np.random.default_rng(0).normal(size=(4 * harmonics.shape[1], 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    before, after = (basis(torch.from_numpy(d), degree).numpy() for d in (direction, direction @ turn.T))
    return np.einsum("kl,glc->gkc", np.linalg.lstsq(after, before, rcond=None)[0], harmonics)


def shade(mean: Tensor, harmonics: Tensor, world_to_camera: Tensor, orthographic: bool) -> Tensor:
    """RGB (G, 3) of Gaussians at means (G, 3) as a camera sees them; differentiable in all three tensors."""
    import torch

    R, t = world_to_camera[:3, :3], world_to_camera[:3, 3]
    if orthographic:
        return colour(harmonics, R[2].expand(len(mean), 3))
    return colour(harmonics, torch.nn.functional.normalize(mean + R.T @ t, dim=1))
