"""The colours of a solid's surface, seen face by face and kept in one map.

The map is a cube: a body point p lies on the cube face of the largest |q|, q = 2 p / size, at (u, v) = the other two
over that one. For a box these are its own faces without distortion; ellipsoids and cylinders use the same six tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from video2phys.solids.outline import outline, signed_distance
from video2phys.solids.pose import Pose
from video2phys.solids.shape import surface
from video2phys.solids.shot import Shot
from video2phys.types import Primitive

RIM = 2.0  # [px] colours this close to the outline are mixed with the background and are not stored


@dataclass
class Atlas:
    """Mean colour and its confidence per texel; six tiles +x -x +y -y +z -z stacked in rows."""

    color: np.ndarray  # (6, N, N, 3) float32 0..255
    weight: np.ndarray  # (6, N, N) float32; 0 = never seen
    _packed: np.ndarray | None = field(default=None, repr=False)  # premultiplied copy for lookup, stale after add
    _half: Atlas | None = field(default=None, repr=False)

    @staticmethod
    def empty(texels: int) -> Atlas:
        """An atlas of tiles of `texels` by `texels` that has seen nothing."""
        return Atlas(np.zeros((6, texels, texels, 3), np.float32), np.zeros((6, texels, texels), np.float32))

    @property
    def texels(self) -> int:
        return self.weight.shape[1]

    @property
    def half(self) -> Atlas:
        """The map at half the resolution, for pictures at half the resolution."""
        import cv2

        if self._half is None:
            n = max(self.texels // 2, 2)
            color = np.stack(
                [cv2.resize(c * w[..., None], (n, n), interpolation=cv2.INTER_AREA) for c, w in zip(self.color, self.weight, strict=True)]
            )
            weight = np.stack([cv2.resize(w, (n, n), interpolation=cv2.INTER_AREA) for w in self.weight])
            self._half = Atlas(color / np.maximum(weight, 1e-6)[..., None], weight)
        return self._half

    def lookup(self, solid: Primitive, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Colour (N, 3) and whether it is known (N,) at body surface points (N, 3), bilinear within a tile."""
        import cv2

        if self._packed is None:
            known = (self.weight > 0).astype(np.float32)[..., None]
            self._packed = np.concatenate([self.color * known, known], -1).reshape(-1, self.texels, 4)
        face, u, v = chart(solid, points)
        n = self.texels
        x, y = np.clip((u + 1) / 2 * n - 0.5, 0, n - 1), np.clip((v + 1) / 2 * n - 0.5, 0, n - 1) + face * n
        x, y = (c.astype(np.float32)[:, None] for c in (x, y))
        found = cv2.remap(self._packed, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[:, 0].astype(float)
        return found[:, :3] / np.maximum(found[:, 3:], 1e-6), found[:, 3] > 0.5

    def add(self, solid: Primitive, pose: Pose, shot: Shot, gain: np.ndarray, most: float = 8.0) -> None:
        """Blend what one shot shows into the map. gain (4,): the shot's brightness is colour * (gain . [1, world normal]).

        A texel's weight in a shot is the cosine of its slant times how sharply it is resolved; the map's confidence is
        capped at `most`, so that later, sharper looks still count.
        """
        import cv2

        self._packed = self._half = None
        body, normal = texel_points(solid.kind, tuple(float(e) for e in solid.size), self.texels)
        camera = shot.camera
        eye = pose.R.T @ (camera.center - pose.t)
        to_eye = eye - body if camera.model == "perspective" else np.broadcast_to(-camera.world_to_camera[2, :3] @ pose.R, body.shape)
        slant = (normal * to_eye).sum(1) / np.linalg.norm(to_eye, axis=1)
        shape = outline(solid, pose, camera)
        if shape is None:
            return
        look = np.flatnonzero(slant > 0.15)
        pixel = camera.project(body[look] @ pose.R.T + pose.t)
        h, w = shot.mask.shape
        inside = (pixel > 1).all(1) & (pixel[:, 0] < w - 1) & (pixel[:, 1] < h - 1) & (signed_distance(shape, pixel)[0] < -RIM)
        pixel, inside = pixel[inside], look[inside]
        n = normal[inside] @ pose.R.T
        at = (pixel - 0.5).astype(np.float32)
        if not len(at):
            return
        seen = cv2.remap(shot.image, at[:, 0].reshape(-1, 1), at[:, 1].reshape(-1, 1), cv2.INTER_LINEAR)[:, 0]
        bright = np.maximum(gain[0] + n @ gain[1:], 0.2)[:, None]
        W, C = self.weight.reshape(-1), self.color.reshape(-1, 3)
        new = slant[inside] ** 2
        old = W[inside]
        C[inside] = (old[:, None] * C[inside] + new[:, None] * seen / bright) / (old + new)[:, None]
        W[inside] = np.minimum(old + new, most)

    def filled(self) -> np.ndarray:
        """Colours with unseen texels replaced by the nearest seen one of their tile, or the mean of all."""
        from scipy.ndimage import distance_transform_edt

        out = self.color.copy()
        known = self.weight > 0
        mean = self.color[known].mean(0) if known.any() else np.full(3, 128.0)
        for tile, ok in zip(out, known, strict=True):
            if not ok.any():
                tile[:] = mean
            elif not ok.all():
                at = np.asarray(distance_transform_edt(~ok, return_distances=False, return_indices=True))
                tile[:] = tile[at[0], at[1]]
        return out


def chart(solid: Primitive, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tile (N,) 0..5 and coordinates u, v (N,) in -1..1 of body points (N, 3)."""
    q = points / (np.asarray(solid.size) / 2)
    axis = np.argmax(np.abs(q), 1)
    rows = np.arange(len(q))
    top = q[rows, axis]
    big = np.maximum(np.abs(top), 1e-12)
    return axis * 2 + (top < 0), q[rows, (axis + 1) % 3] / big, q[rows, (axis + 2) % 3] / big


@lru_cache(maxsize=4)
def texel_points(kind: str, size: tuple[float, float, float], texels: int) -> tuple[np.ndarray, np.ndarray]:
    """Body points and outward normals (6 N N, 3) of all texels, in the order of the flattened map."""
    c = (np.arange(texels) + 0.5) / texels * 2 - 1
    v, u = np.meshgrid(c, c, indexing="ij")
    parts = []
    for face in range(6):
        axis = face // 2
        d = np.empty((texels, texels, 3))
        d[..., axis] = 1 - 2 * (face % 2)
        d[..., (axis + 1) % 3], d[..., (axis + 2) % 3] = u, v
        parts.append(d.reshape(-1, 3))
    return surface(Primitive(kind, np.array(size)), np.concatenate(parts))  # type: ignore[arg-type]


def texels_for(solid: Primitive, pose: Pose, shots: Sequence[Shot]) -> int:
    """Texels per tile side that match the pixels across the solid in the sharpest shot, between 16 and 128."""
    across = 0.0
    for shot in shots:
        shape = outline(solid, pose, shot.camera)
        if shape is not None:
            across = max(across, float(np.ptp(shape, axis=0).max()))
    return int(np.clip(np.ceil(across), 16, 128))
