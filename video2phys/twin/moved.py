"""The reconstructed Gaussians where the simulation has moved the body: the picture that the twin predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.solids.bind import Binding, bind, carry
from video2phys.types import Body, Camera, Frames, Parameters

GREY = 0.25  # behind the Gaussians where the empty scene is not known


@dataclass(frozen=True)
class Rider:
    """A body's Gaussians and what carries them."""

    body: Body
    covariance: np.ndarray  # [length unit^2] (G, 3, 3) at rest
    binding: Binding | None  # to the body's particles; None = it moves rigidly

    def place(self, parameters: Parameters, frame: int, o: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Means (G, 3) and covariances F S F^T (G, 3, 3) in the world at a frame; None where no motion is predicted.

        Rigid: x = R X + t and F = R. Deforming: each Gaussian follows the particles that it is bound to.
        """
        from scipy.spatial.transform import Rotation

        if self.binding is not None and parameters.particle is not None:
            if not np.isfinite(parameters.particle[frame]).all():
                return None
            mean, F = carry(self.binding, self.body.particle, parameters.particle[frame])
        elif np.isfinite(parameters.position[frame, o]).all():
            F = Rotation.from_quat(parameters.rotation[frame, o], scalar_first=True).as_matrix()
            mean = self.body.mean @ F.T + parameters.position[frame, o]
        else:
            return None
        return mean, F @ self.covariance @ F.mT


@dataclass(frozen=True)
class Moved:
    """All bodies, the motion predicted for them, and the views that show it."""

    riders: tuple[Rider, ...]
    parameters: Parameters
    views: tuple[tuple[Camera, np.ndarray], ...]  # with the empty scene (H, W, 3) 0..1, or grey

    @staticmethod
    def of(frames: Frames, views: Sequence[int], bodies: Sequence[Body], parameters: Parameters) -> Moved:
        """What does not change from frame to frame."""
        return Moved(
            tuple(_rider(body, parameters, o) for o, body in enumerate(bodies)), parameters, tuple(_scene(frames, v) for v in views)
        )

    def pictures(self, frame: int) -> list[np.ndarray]:
        """The moved Gaussians before the empty scene, RGB (H, W, 3) uint8, in each view.

        Only the harmonic of degree 0 is drawn: the others belong to the light where the body lay when it was photographed.
        """
        import torch

        from video2phys.render.api import rasterize

        there = [(r.body, p) for o, r in enumerate(self.riders) if (p := r.place(self.parameters, frame, o)) is not None]
        if not there:
            return [_bytes(empty) for _, empty in self.views]
        mean, covariance, opacity, base = (
            torch.as_tensor(np.concatenate(parts), dtype=torch.float32)
            for parts in zip(*((*p, body.opacity, body.harmonics[:, :1]) for body, p in there), strict=True)
        )
        out = []
        for camera, empty in self.views:
            K, pose = (torch.as_tensor(a, dtype=torch.float32) for a in (camera.K, camera.world_to_camera))
            with torch.no_grad():
                drawn = rasterize(mean, None, None, opacity, base, K, pose, camera.width, camera.height, covariance=covariance,
                                  model=camera.model)  # fmt: skip
            out.append(_bytes(drawn.colour.numpy() + (1 - drawn.alpha.numpy()[..., None]) * empty))
        return out


def _rider(body: Body, parameters: Parameters, o: int) -> Rider:
    import torch

    from video2phys.render.projection import covariances

    covariance = covariances(torch.as_tensor(body.quaternion), torch.as_tensor(body.scale)).numpy()
    return Rider(body, covariance, bind(body.mean, body.particle) if parameters.particle is not None and o == 0 else None)


def _scene(frames: Frames, view: int) -> tuple[Camera, np.ndarray]:
    camera, empty = frames.views[view].camera, frames.background(view)
    return camera, np.full((camera.height, camera.width, 3), GREY) if empty is None else empty / 255


def _bytes(picture: np.ndarray) -> np.ndarray:
    return (255 * picture.clip(0, 1)).round().astype(np.uint8)
