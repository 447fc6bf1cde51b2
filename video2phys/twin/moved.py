"""The reconstructed Gaussians where the simulation has moved the body: the picture that the twin predicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from video2phys.solids.bind import Binding, bind, carry
from video2phys.types import Body, Camera, Parameters

GREY = 0.25  # behind the Gaussians where the empty scene is not known

Bindings = Sequence["Binding | None"]


def bindings(bodies: Sequence[Body], parameters: Parameters) -> Bindings:
    """For each body, which of its particles carry which Gaussian; None where it moves rigidly."""
    return [bind(body.mean, body.particle) if parameters.particle is not None and o == 0 else None for o, body in enumerate(bodies)]


def place(body: Body, parameters: Parameters, frame: int, o: int, binding: Binding | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Means (G, 3) and covariances F S F^T (G, 3, 3) in the world at a frame; None where no motion is predicted.

    Rigid: x = R X + t and F = R. Deforming: each Gaussian follows the particles that it is bound to.
    """
    from scipy.spatial.transform import Rotation

    axes = Rotation.from_quat(body.quaternion, scalar_first=True).as_matrix() * body.scale[:, None]
    if binding is not None and parameters.particle is not None:
        if not np.isfinite(parameters.particle[frame]).all():
            return None
        mean, F = carry(binding, body.particle, parameters.particle[frame])
    elif np.isfinite(parameters.position[frame, o]).all():
        F = Rotation.from_quat(parameters.rotation[frame, o], scalar_first=True).as_matrix()
        mean = body.mean @ F.T + parameters.position[frame, o]
    else:
        return None
    return mean, (F @ axes) @ (F @ axes).mT


def picture(
    camera: Camera, bodies: Sequence[Body], parameters: Parameters, frame: int, bound: Bindings, empty: np.ndarray | None
) -> np.ndarray:
    """The moved Gaussians of all bodies before the empty scene (H, W, 3) uint8, or grey: RGB (H, W, 3) uint8.

    Only the harmonic of degree 0 is drawn: the others belong to the light where the body lay when it was photographed.
    """
    import torch

    from video2phys.render.api import rasterize

    behind = np.full((camera.height, camera.width, 3), GREY) if empty is None else empty / 255
    placed = [(body, p) for o, body in enumerate(bodies) if (p := place(body, parameters, frame, o, bound[o])) is not None]
    if placed:
        mean, covariance, opacity, base = (
            torch.as_tensor(np.concatenate(parts), dtype=torch.float32)
            for parts in zip(*((*p, body.opacity, body.harmonics[:, :1]) for body, p in placed), strict=True)
        )
        K, pose = (torch.as_tensor(a, dtype=torch.float32) for a in (camera.K, camera.world_to_camera))
        with torch.no_grad():
            drawn = rasterize(mean, None, None, opacity, base, K, pose, camera.width, camera.height, covariance=covariance,
                              model=camera.model)  # fmt: skip
        behind = drawn.colour.numpy() + (1 - drawn.alpha.numpy()[..., None]) * behind
    return (255 * behind.clip(0, 1)).round().astype(np.uint8)
