"""Outline and mass properties of the body that moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.simulate.rigid import inertia, shapes
from video2phys.types import Body

MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")


@dataclass(frozen=True)
class Solid:
    """A rigid body in its body frame."""

    shape: shapes.Shape
    centre: np.ndarray  # [length unit] (3,) of mass
    inertia: np.ndarray  # [length unit^2] (3, 3) per unit mass about the centre
    volume: float  # [length unit^3]

    def varied(self, given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Centre (B, 3) and inertia (B, 3, 3) with the free values in `given`, each (B,): center_x.., inertia_xx.. per unit mass."""
        if "center_x" not in given and "inertia_xx" not in given:
            return self.centre[None], self.inertia[None]
        B = len(next(iter(given.values())))
        centre = np.stack([given.get(f"center_{a}", np.full(B, c)) for a, c in zip("xyz", self.centre, strict=True)], -1)
        J = np.repeat(self.inertia[None], B, 0)
        for name in MOMENTS:
            if f"inertia_{name}" in given:
                i, j = ("xyz".index(a) for a in name)
                J[:, i, j] = J[:, j, i] = given[f"inertia_{name}"]
        return centre, J


def solid(body: Body) -> Solid:
    """A uniform solid with the body's outline."""
    if body.primitive is not None and body.primitive.kind in ("box", "sphere", "cylinder"):
        size = np.asarray(body.primitive.size, float)
        if body.primitive.kind == "box":
            return Solid(shapes.box(size), np.zeros(3), inertia.of_box(size), float(size.prod()))
        if body.primitive.kind == "sphere":
            return Solid(shapes.sphere(size[0] / 2), np.zeros(3), inertia.of_ellipsoid(size / 2), float(np.pi / 6 * size.prod()))
        radius, length = float(size[0]) / 2, float(size[1])
        return Solid(shapes.cylinder(radius, length), np.zeros(3), inertia.of_cylinder(radius, length), float(np.pi * radius**2 * length))
    outline = shapes.hull(body.vertices)
    if len(body.particle) > 3:
        centre, moments = inertia.of_points(body.particle, body.volume)
    else:
        centre, moments = inertia.of_hull(outline)
    return Solid(outline, centre, moments, float(body.volume.sum()))
