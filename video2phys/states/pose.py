"""Position and rotation of a simple solid per frame, from how its surface and its rim look in calibrated views."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.solids.align import Aligned
from video2phys.solids.pose import Pose
from video2phys.solids.start import both, is_ball, seen, shots_of
from video2phys.solids.track import Track, begin, refine
from video2phys.states.settings import Settings
from video2phys.types import Body, Frames, Gaussians, Seen, StateTrack

CORRELATED = 2.0  # coding and colour subsampling tie 2 by 2 pixels together: a quarter as many independent ones
EDGE_BIAS = 0.14  # [px] what is known of the outline's width: two edges to 0.1 px each, the same in all frames
UNKNOWN_TURN = 0.5  # [rad] a rotation less certain than this is not measured


def track(frames: Frames, gaussians: Gaussians, settings: Settings, context: Context) -> StateTrack:
    """Frames and bodies with a Primitive to a StateTrack of kind "pose". Raises BadInput for bodies without one."""
    T, N = len(frames.time), frames.objects
    position, sigma = np.full((T, N, 3), np.nan), np.full((T, N, 3), np.inf)
    rotation, rotation_sigma = np.tile([1.0, 0, 0, 0], (T, N, 1)), np.full((T, N, 3), np.inf)
    valid, notes = np.zeros((T, N), bool), []
    for obj, body in enumerate(gaussians.bodies):
        followed = _follow(frames, obj, body, settings, context)
        limit = 3 * followed.cost() + 0.5
        whole = [k for k in sorted(followed.found) if followed.found[k].cost < limit]
        for k in whole:
            fit = followed.found[k]
            position[k, obj], valid[k, obj] = fit.pose.t, True
            place, turn = spread(frames, body, fit)
            sigma[k, obj] = place
            if turn.max() < UNKNOWN_TURN and not is_ball(followed.solid):
                rotation[k, obj], rotation_sigma[k, obj] = fit.pose.quaternion(), turn
        rotation[:, obj] = continuous(rotation[:, obj])
        notes.append(f"median misfit of the look {followed.cost():.2f} of the expected noise; {len(whole)} of {T} frames measured")
    return StateTrack(
        frames.time, "pose", position, sigma, rotation, rotation_sigma, None, None, valid, gaussians.unit, "photometric", tuple(notes)
    )


def _follow(frames: Frames, obj: int, body: Body, settings: Settings, context: Context) -> Track:
    solid = body.primitive
    if solid is None or solid.kind == "extrusion" or frames.views[0].camera.model == "orthographic":
        raise BadInput(
            "pose states need a sphere, box or cylinder and a calibrated camera.",
            fix="Set states.kind to planar or affine for this capture.",
        )
    shots, T = shots_of(frames, obj), len(frames.time)
    done = sum(seen(frames, 0, k, obj) != Seen.ABSENT for k in range(T))

    def progress(frame: int) -> None:
        context.progress(0.6 * len(followed.found) / max(done, 1), f"pose in frame {frame}")

    followed = begin(solid, Pose.of(body.position, body.rotation), body.reference_frame, shots)
    both(followed, body.reference_frame, 0, T, shots, context.seed, progress)
    refine(followed, shots, rounds=2, progress=lambda share: context.progress(0.6 + 0.4 * share, "poses against the whole surface"))
    return followed


def spread(frames: Frames, body: Body, fit: Aligned) -> tuple[np.ndarray, np.ndarray]:
    """One standard deviation of the position [length unit] (3,) and of the rotation [rad] (3,), along and about world axes.

    Gauss-Newton covariance, with fewer independent pixels than pixels, and along the view ray the error that a common
    misjudgement of the outline's width makes: dz = z (error in px) / (width in px),
    and the turn that the same error on half the width makes.
    """
    place = np.diag(fit.covariance)[:3] * CORRELATED**2
    turn = np.diag(fit.covariance)[3:] * CORRELATED**2
    if len(frames.views) == 1:
        camera = frames.views[0].camera
        ray = fit.pose.t - camera.center
        width = float(camera.K[0, 0]) * float(np.cbrt(np.prod(body.primitive.size if body.primitive else 1.0))) / np.linalg.norm(ray)
        place = place + (ray * EDGE_BIAS / width) ** 2
        turn = turn + (2 * EDGE_BIAS / width) ** 2
    return np.sqrt(place), np.sqrt(turn)


def continuous(quaternion: np.ndarray) -> np.ndarray:
    """Signs of (T, 4) quaternions so that neighbours lie on the same side."""
    flip = np.cumprod(np.where((quaternion[1:] * quaternion[:-1]).sum(1) < 0, -1, 1))
    return np.concatenate([quaternion[:1], quaternion[1:] * flip[:, None]])
