"""A measured path of a body in space, and how far a predicted one is from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from video2phys.simulate.rigid import rotation as quaternions
from video2phys.types import Frames, StateTrack

LEAST_POSITION = 1e-5  # of the distance travelled: no track is better than this, and a sigma of zero would divide by it
LEAST_ANGLE = 1e-4  # [rad]


@dataclass(frozen=True)
class Track:
    """Position and rotation of one object at its valid frames."""

    frame: np.ndarray  # (N,) index into the video
    time: np.ndarray  # [s] (N,)
    position: np.ndarray  # [length unit] (N, 3)
    rotation: np.ndarray  # (N, 4)
    basis: np.ndarray  # (N, 3, 3) rows: the axes along which position errors are independent
    position_sigma: np.ndarray  # [length unit] (N, 3) along those axes
    rotation_sigma: np.ndarray  # [rad] (N, 3) about world axes

    def __len__(self) -> int:
        return len(self.frame)

    def first(self, n: int) -> Track:
        """The first n frames."""
        return self.part(slice(0, n))

    def part(self, which: slice | np.ndarray) -> Track:
        return replace(self, **{name: a[which] for name, a in vars(self).items()})

    @property
    def speed(self) -> float:
        """[length unit/s] a fast speed of this track: the 90th percentile over frames."""
        return _fast(np.diff(self.position, axis=0), self.time)

    @property
    def turning(self) -> float:
        """[rad/s] a fast turning rate of this track: the 90th percentile over frames."""
        return _fast(quaternions.between(self.rotation[1:], self.rotation[:-1]), self.time)

    def away(self, position: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predicted minus measured, (B, N, 3) along the rows of `basis` and [rad] (B, N, 3), for (B, N, 3) and (B, N, 4)."""
        return np.einsum("nij,bnj->bni", self.basis, position - self.position), quaternions.between(rotation, self.rotation)


def _fast(change: np.ndarray, time: np.ndarray) -> float:
    rate = np.linalg.norm(change, axis=-1) / np.diff(time)
    return max(float(np.percentile(rate, 90)) if len(rate) else 0.0, 1e-9)


def measured(frames: Frames, states: StateTrack, obj: int = 0) -> Track:
    """The track of one object; an affine state of a rigid body gives the rotation of its polar decomposition."""
    valid = states.valid[:, obj] & np.isfinite(states.position[:, obj]).all(-1)
    k = np.flatnonzero(valid)
    position = states.position[k, obj]
    if states.deformation is not None and states.deformation_sigma is not None:
        rotation, turn_sigma = polar(states.deformation[k, obj], states.deformation_sigma[k, obj])
    else:
        rotation, turn_sigma = states.rotation[k, obj], states.rotation_sigma[k, obj]
    basis, sigma = independent_axes(frames, position, states.position_sigma[k, obj])
    reach = max(float(np.ptp(position, axis=0).max(initial=0.0)), 1e-12)
    return Track(
        k, states.time[k], position, rotation, basis, np.maximum(sigma, LEAST_POSITION * reach), np.maximum(turn_sigma, LEAST_ANGLE)
    )


def polar(F: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (N, 4) nearest to deformation gradients (N, 3, 3) with sigma (N,) per entry, and their sigma [rad] (N, 3).

    An error e in each of the nine entries turns by e / sqrt(2) about each axis: the skew part of F R^T averages two entries.
    """
    U, _, V = np.linalg.svd(F)
    flip = np.ones((len(F), 3))
    flip[:, 2] = np.linalg.det(U @ V)
    return quaternions.of_matrix((U * flip[:, None]) @ V), np.repeat(sigma[:, None], 3, 1) / np.sqrt(2)


def independent_axes(frames: Frames, position: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Axes (N, 3, 3) and standard deviations (N, 3) of position errors, from those along the world axes (N, 3).

    One perspective camera errs along its ray by s and across it by t. The three variances along the world axes are
    t^2 + (s^2 - t^2) d_i^2 for the ray's direction d: two unknowns from three numbers. Otherwise the world axes are kept.
    """
    world = np.broadcast_to(np.eye(3), (len(position), 3, 3)).copy()
    if len(frames.views) != 1 or frames.views[0].camera.model != "perspective" or not np.isfinite(sigma).all():
        return world, sigma
    ray = position - frames.views[0].camera.center
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    square = ray**2
    across_share = 1 - square
    # least squares of [1 - d^2, d^2] (t^2, s^2) = variance, per frame
    A = np.stack([across_share, square], -1)
    solved = np.linalg.solve(A.transpose(0, 2, 1) @ A + 1e-12 * np.eye(2), A.transpose(0, 2, 1) @ (sigma**2)[..., None])[..., 0]
    usable = np.asarray((solved > 0).all(-1))
    helper = np.where(np.abs(ray[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    side = np.cross(helper, ray)
    side /= np.linalg.norm(side, axis=-1, keepdims=True)
    axes = np.stack([side, np.cross(ray, side), ray], 1)
    parted = np.sqrt(np.maximum(solved, 1e-300))[:, [0, 0, 1]]
    return np.where(usable[:, None, None], axes, world), np.where(usable[:, None], parted, sigma)
