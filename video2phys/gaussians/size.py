"""Metres for a body whose reconstruction has no unit, from its size as capture.yaml gives it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from video2phys.types import About, Body, Gaussians

UNLIKE = 0.1  # sides that ask for scales further apart than this share are not those of the body


def metric(found: Gaussians, about: About) -> Gaussians:
    """Bodies in metres: the ratio of the given sides to those of the smallest box about the body, all sorted by length (geometric mean)."""
    size = about.size or (about.diameter and (about.diameter,) * 3)
    if not size:
        return found
    bodies, notes, warnings = [], list(found.notes), list(found.warnings)
    for body in found.bodies:
        sides = _sides(body)
        ratio = np.sort(size) / sides
        scale = float(np.exp(np.log(ratio).mean()))
        apart = float(ratio.max() / ratio.min() - 1)
        bodies.append(_scaled(body, scale))
        told = "size" if about.size else "diameter"
        notes.append(f"metres from object.{told}: a unit of the reconstruction is {scale:.4g} m; the sides agree to {apart:.0%}.")
        if apart > UNLIKE:
            shown = " x ".join(f"{s:.3g}" for s in sides * scale)
            warnings.append(f"object.{told} does not have the proportions of the body found ({shown} m): is it the whole object?")
    return replace(found, bodies=tuple(bodies), notes=tuple(notes), warnings=tuple(warnings))


def _sides(body: Body) -> np.ndarray:
    """[length unit] (3,) sides of the smallest box about the surface, shortest first."""
    import trimesh

    return np.sort(trimesh.bounds.oriented_bounds(trimesh.Trimesh(body.vertices, body.faces, process=False))[1])


def _scaled(body: Body, scale: float) -> Body:
    return replace(body, mean=scale * body.mean, scale=scale * body.scale, particle=scale * body.particle, volume=scale**3 * body.volume,
                   vertices=scale * body.vertices, position=scale * body.position)  # fmt: skip
