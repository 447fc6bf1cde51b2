"""A tighter body: what lies outside its outlines in the frames of the video, carried along with the motion, is no part of it.

The reconstruction knows the outlines of one frame, whose visual hull (Laurentini 1994) bulges where no camera looked, often
below, where the body will touch. A moving body shows more of itself: the intersection over frames is much closer (Cheung,
Baker and Kanade 2005, there for rigid bodies; here each frame has an affine map).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from video2phys.silhouette import signed_distance
from video2phys.types import Body, Camera, Frames, StateTrack

MARGIN = 0.1  # [px] an outline is not known better
DOUBT = 0.35  # [px] by which outlines may err all along
FRAMES = 2  # that must disagree: one mask may have a hole
HALVINGS = 5  # of the way from a vertex to the matter below it
LEAST = 0.5  # share of the matter that must stay, else masks or states are not to be trusted
FINE = 0.02  # sigma of F up to which a frame can judge
BENT = 1.0  # [of the largest stretch and the body size] by which a stretched body may also bend, so that its outline is off


@dataclass(frozen=True)
class Matter:
    """Small cells that fill a body, and its surface."""

    particle: np.ndarray  # [m] (N, 3)
    volume: np.ndarray  # [m^3] (N,)
    vertices: np.ndarray  # [m] (V, 3) of the body's faces


def carved(frames: Frames, body: Body, states: StateTrack) -> tuple[Body, Matter, Matter | None]:
    """The body without what two frames exclude, the cells that fill it, and those that fill it if all outlines err by DOUBT.

    The body stays as it is, and the last is None, where too few frames can judge or they would leave less than half of it.
    """
    whole = Matter(body.particle, body.volume, body.vertices)
    judges = _judges(frames, states, float(np.cbrt(body.volume.sum())))
    if len({judge.frame for judge in judges}) < FRAMES:
        return body, whole, None
    cells, owner, edge = _cells(body)
    off = excess(cells, judges)
    inside, tight = off <= 0, off <= -DOUBT
    volume = np.full(len(cells), edge**3)
    if volume[tight].sum() < LEAST * body.volume.sum():
        return body, whole, None
    held = np.bincount(owner[inside], volume[inside], len(body.particle))
    kept = held > 0
    smaller = replace(body, particle=body.particle[kept], volume=held[kept])
    made, tighter = (
        Matter(cells[k], volume[k], _drawn_in(body.vertices, cells[k], judges, by)) for k, by in ((inside, 0.0), (tight, DOUBT))
    )
    return replace(smaller, vertices=made.vertices), made, tighter


class Judge:
    """One view of one frame: how far [px] points of the body lie outside its outline."""

    def __init__(self, frame: int, camera: Camera, mask: np.ndarray, c: np.ndarray, F: np.ndarray, sigma: float) -> None:
        self.frame, self.camera, self.c, self.F = frame, camera, c, F
        self.depth = signed_distance(mask)
        self.margin = max(MARGIN, sigma / float(camera.pixel(c)))

    def excess(self, points: np.ndarray) -> np.ndarray:
        """[px] (N,) by which body points (N, 3) are further out than the outline's uncertainty."""
        from scipy.ndimage import map_coordinates

        u = self.camera.project(self.c + points @ self.F.T) - 0.5
        return -map_coordinates(self.depth, [u[:, 1], u[:, 0]], order=1, mode="nearest") - self.margin


def excess(points: np.ndarray, judges: list[Judge]) -> np.ndarray:
    """[px] (N,) how far outside points are by the judgement of FRAMES frames, each by its sternest view."""
    most = np.full((FRAMES, len(points)), -np.inf)
    for frame in sorted({judge.frame for judge in judges}):
        here = np.max([judge.excess(points) for judge in judges if judge.frame == frame], axis=0)
        most = np.sort(np.concatenate([most, here[None]]), axis=0)[1:]
    return most[0]


def _judges(frames: Frames, states: StateTrack, size: float, obj: int = 0) -> list[Judge]:
    if states.deformation is None or states.deformation_sigma is None:
        return []
    out = []
    for k in np.flatnonzero(states.valid[:, obj] & (states.deformation_sigma[:, obj] < FINE)):
        c, F, sigma = states.position[k, obj], states.deformation[k, obj], float(states.position_sigma[k, obj].max())
        bent = BENT * size * float(np.abs(np.linalg.svd(F, compute_uv=False) - 1).max())
        for v, view in enumerate(frames.views):
            if view.whole(int(k), obj) and view.images[k] and view.masks and view.masks[obj][k]:
                out.append(Judge(int(k), view.camera, frames.mask(v, int(k), obj), c, F, sigma + bent))
    return out


def _cells(body: Body) -> tuple[np.ndarray, np.ndarray, float]:
    """Centres (N, 3) of cells half as wide as the body's lattice inside its surface, the nearest particle (N,), the edge."""
    from scipy.spatial import cKDTree

    tree = cKDTree(body.particle)
    step = float(np.median(tree.query(body.particle, k=2)[0][:, 1]))
    index = np.round((body.particle - body.particle[0]) / step).astype(int)
    around = np.array(list(product((-1, 0, 1), repeat=3)))  # a lattice cell whose centre is outside may still be half inside
    index = np.unique((index[:, None] + around).reshape(-1, 3), axis=0)
    eighths = np.array(list(product((-0.25, 0.25), repeat=3)))
    cells = (body.particle[0] + step * (index[:, None] + eighths)).reshape(-1, 3)
    cells = cells[_within(cells, body)]
    return cells, tree.query(cells)[1], step / 2


def _within(points: np.ndarray, body: Body) -> np.ndarray:
    """(N,) bool: behind the nearest piece of the surface, whose triangles are small."""
    from scipy.spatial import cKDTree

    corners = body.vertices[body.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    center = corners.mean(1)
    near = cKDTree(center).query(points)[1]
    return ((points - center[near]) * normal[near]).sum(1) < 0


def _drawn_in(vertices: np.ndarray, cells: np.ndarray, judges: list[Judge], by: float) -> np.ndarray:
    """Vertices (V, 3) outside outlines that are tighter `by` [px], moved towards the nearest cell that is left, by bisection."""
    from scipy.spatial import cKDTree

    out = np.flatnonzero(excess(vertices, judges) > -by)
    target = cells[cKDTree(cells).query(vertices[out])[1]]
    low, high = np.zeros(len(out)), np.ones(len(out))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        off = excess(target + middle[:, None] * (vertices[out] - target), judges) > -by
        low, high = np.where(off, low, middle), np.where(off, middle, high)
    moved = vertices.copy()
    moved[out] = target + low[:, None] * (vertices[out] - target)
    return moved
