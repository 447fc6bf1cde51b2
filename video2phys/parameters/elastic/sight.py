"""What of a body the cameras see: the points whose affine motion the states are.

A body that bends or flattens has no one affine motion. The states have that of what is in the pictures, where every pixel counts alike
and an underside that only the ground sees counts nothing, so the simulated body has to be read in the same way. Outlines do tell of the
underside, to cameras that are low; by how much is left to the fit, as a nuisance between these points and all of the surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.types import Body, Camera, Frames, StateTrack


@dataclass(frozen=True)
class Sight:
    """Points of the surface at rest and how much of the pictures each fills."""

    point: np.ndarray  # [m] (K, 3) body frame
    weight: np.ndarray  # (T, K) pixels, up to a factor for each frame
    area: np.ndarray  # [m^2] (K,) at rest


def sight(frames: Frames, body: Body, states: StateTrack, obj: int = 0) -> Sight:
    """Every triangle of the surface with the pixels that it fills, summed over the views that show the object whole.

    Triangles turned away from a camera are hidden from it; that other parts may hide one is left out. In a frame without states or
    views all triangles count by their area.
    """
    corners = body.vertices[body.faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    weight = np.tile(area, (len(frames.time), 1))
    if states.deformation is None:
        return Sight(corners.mean(1), weight, area)
    for k in np.flatnonzero(states.valid[:, obj]):
        moved = states.position[k, obj] + corners @ states.deformation[k, obj].T
        views = [view for view in frames.views if view.images[k] and view.whole(int(k), obj)]
        seen = sum((_pixels(view.camera, moved) for view in views), np.zeros(len(corners)))
        if seen.any():
            weight[k] = seen
    return Sight(corners.mean(1), weight, area)


def _pixels(camera: Camera, corners: np.ndarray) -> np.ndarray:
    """Area [px] (K,) of triangles (K, 3, 3) that face the camera, whose corners run clockwise in the picture since y points down."""
    a, b, c = np.moveaxis(np.nan_to_num(camera.project(corners)), 1, 0)
    (ux, uy), (vx, vy) = (b - a).T, (c - a).T
    return np.maximum(uy * vx - ux * vy, 0) / 2
