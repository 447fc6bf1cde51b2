"""Two sets of cameras of the same pictures, each in a world of its own, laid over one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.types import Camera


@dataclass(frozen=True)
class Alignment:
    """y = scale rotation x + shift takes the first world to the second."""

    scale: float
    rotation: np.ndarray  # (3, 3)
    shift: np.ndarray  # [length unit of the second] (3,)
    rotation_error: np.ndarray  # [deg] (N,) between the cameras' axes after alignment
    centre_error: np.ndarray  # [length unit of the second] (N,)

    def apply(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) of the first world in the second."""
        return self.scale * points @ self.rotation.T + self.shift


def align(first: Sequence[Camera], second: Sequence[Camera]) -> Alignment:
    """Similarity between two worlds from cameras of the same pictures, in the same order.

    The rotation is the mean over the cameras (the orthogonal matrix nearest to sum R2^T R1); scale and shift follow from the centres by
    least squares (Umeyama 1991, with the rotation known). Raises BadInput for fewer than two cameras, or cameras all in one place.
    """
    if len(first) < 2 or len(first) != len(second):
        raise BadInput(f"align: {len(first)} and {len(second)} cameras.", fix="Give the same pictures' cameras, two at least.")
    one, two = (np.array([c.world_to_camera[:3, :3] for c in cameras]) for cameras in (first, second))
    here, there = (np.array([c.center for c in cameras]) for cameras in (first, second))
    u, _, vt = np.linalg.svd(np.einsum("nji,njk->ik", two, one))
    R = u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt
    a, b = (here - here.mean(0)) @ R.T, there - there.mean(0)
    if not (a**2).sum():
        raise BadInput("align: all cameras stand in one place.", fix="Give cameras that look from several places.")
    scale = float((a * b).sum() / (a**2).sum())
    shift = there.mean(0) - scale * R @ here.mean(0)
    cosine = (np.einsum("nij,njk,nik->n", one, R.T[None].repeat(len(one), 0), two) - 1) / 2
    error = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return Alignment(scale, R, shift, error, np.linalg.norm(scale * here @ R.T + shift - there, axis=1))
