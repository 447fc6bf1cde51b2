"""A body seen from one side: a simple solid of known size that explains its outlines, with the look of what was seen on it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians.planar import planar_body
from video2phys.gaussians.settings import GAUSSIANS, Settings
from video2phys.solids.atlas import Atlas, texel_points
from video2phys.solids.fill import mesh, particles
from video2phys.solids.pose import Pose
from video2phys.solids.start import both, choose, first_track, shots_of
from video2phys.solids.track import refine
from video2phys.types import About, Body, Frames, Gaussians, Primitive

Y0 = 0.28209479177387814  # spherical harmonic of degree 0
ALIKE = 0.05  # two extents closer than this share may be a circle's


def reconstruct(frames: Frames, settings: Settings, context: Context) -> Gaussians:
    """Frames to one body per object, each a Primitive with Gaussians on its surface. Raises BadInput without a known size."""
    bodies, notes = [], []
    for obj in range(frames.objects):
        if frames.views[0].camera.model == "orthographic":
            body, note = planar_body(frames, obj, settings)
        else:
            body, note = _posed(frames, obj, settings, context)
        bodies.append(body)
        notes += [f"object {obj}: {n}" if frames.objects > 1 else n for n in note]
        context.progress((obj + 1) / frames.objects, "solid fitted")
    return Gaussians(tuple(bodies), frames.about.unit, None, tuple(notes))


def candidates(about: About) -> list[Primitive]:
    """Solids of the size the user gave. Raises BadInput when there is none: one perspective view cannot tell size from distance."""
    if about.diameter is not None:
        return [Primitive("sphere", np.full(3, float(about.diameter)))]
    if about.size is None:
        raise BadInput(
            "one calibrated view cannot tell a small near object from a large far one, and its size is not given.",
            fix="Set object.size: [x, y, z] or object.diameter in metres in capture.yaml.",
        )
    size = np.asarray(about.size, float)
    found = [Primitive("box", size), Primitive("sphere", size)]
    pairs = [(abs(size[i] - size[j]) / max(size[i], size[j]), i, j) for i, j in ((0, 2), (0, 1), (1, 2))]
    gap, i, j = min(pairs)
    if gap < ALIKE:  # the third extent is the axis of a cylinder, which lies along body y
        across = (size[i] + size[j]) / 2
        found.append(Primitive("cylinder", np.array([across, size[3 - i - j], across])))
    return found


def _posed(frames: Frames, obj: int, settings: Settings, context: Context) -> tuple[Body, list[str]]:
    shots = shots_of(frames, obj)
    start = choose(frames, obj, candidates(frames.about), context.seed)
    context.progress(0.3 / frames.objects, f"outline explained by a {start.solid.kind}")
    count = len(frames.time)
    track = first_track(start, shots, count, context.seed)
    both(track, start.frame, 0, count, shots, context.seed, lambda k: context.progress(0.6, f"colours of frame {k}"))
    refine(track, shots, rounds=1)
    pose = track.found[start.frame].pose
    body = dressed(start.solid, track.atlas, start.frame, pose, settings)
    tried = ", ".join(f"{kind} {rms:.2f} px" for kind, rms in sorted(start.rms.items(), key=lambda r: r[1]))
    seen = float((track.atlas.weight > 0).mean())
    notes = [f"shape assumed: {start.solid.kind} (RMS distance to the outlines: {tried})", f"{seen:.0%} of the surface was seen"]
    return body, notes


def dressed(solid: Primitive, atlas: Atlas, frame: int, pose: Pose, settings: Settings) -> Body:
    """A body with flat Gaussians on a cube grid of its surface, coloured from the map."""
    import cv2

    n = max(int(np.sqrt((settings.gaussians or GAUSSIANS) / 6)), 4)
    points, normal = texel_points(solid.kind, tuple(float(e) for e in solid.size), n)
    color = np.stack([cv2.resize(tile, (n, n), interpolation=cv2.INTER_AREA) for tile in atlas.filled()]).reshape(-1, 3)
    grid = points.reshape(6, n, n, 3)
    du, dv = (np.linalg.norm(np.gradient(grid, axis=a), axis=-1).reshape(-1) for a in (2, 1))
    along = np.gradient(grid, axis=2).reshape(-1, 3)
    along = along - (along * normal).sum(1, keepdims=True) * normal
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    frame_axes = np.stack([along, np.cross(normal, along), normal], -1)
    quaternion = Rotation.from_matrix(frame_axes).as_quat(scalar_first=True)
    scale = np.stack([du * 0.55, dv * 0.55, np.minimum(du, dv) * 0.1], 1)  # neighbours overlap at about 60 % of their height
    particle, volume = particles(solid, settings.particles)
    vertices, faces = mesh(solid)
    return Body(
        points, quaternion, scale, np.full(len(points), 0.95), ((color / 255 - 0.5) / Y0)[:, None, :], particle, volume, vertices, faces,
        frame, pose.t, pose.quaternion(), solid,
    )  # fmt: skip
