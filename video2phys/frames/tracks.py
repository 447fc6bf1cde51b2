"""Measured tracks to Frames: the motion itself instead of pictures of it, in the world that the later stages expect.

Pixels and lengths in a plane become motion parallel to the picture (x right, z up). Positions in space with a pose keep all axes.
Positions in space alone are a path in a plane, vertical under gravity; a ball's path may also leave it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames import cameras, sync
from video2phys.frames.about import about, up_axis
from video2phys.frames.capture import Capture
from video2phys.frames.layouts.source import Layout, Tracks
from video2phys.frames.settings import Settings
from video2phys.frames.spread import noise, points, turn_noise, way
from video2phys.types import About, Camera, Frames, StateTrack, View

WIDE = 1000.0  # pixels that a motion measured in metres is about as wide as, were it filmed
LEAST = 1e-3  # of the way: errors of calibration and smoothing, which the scatter from row to row does not show
LEAST_TURN = 5e-3  # [rad] the same of rotations
FLAT = 0.02  # of the way: further from a plane than this, and from its noise, a path does not lie in it
UNIT = 0.01  # a quaternion's length may be off by this much


@dataclass(frozen=True)
class Motion:
    """Tracks in the world of the stages."""

    kind: Literal["centroid", "planar", "pose"]
    position: np.ndarray  # [length unit] (T, O, 3)
    seen: np.ndarray  # (3,) bool: axes that are measured
    rotation: np.ndarray  # (T, O, 4), identity where not measured
    turned: np.ndarray  # (T, O) bool: rotation measured
    camera: Camera | None  # that a motion in a plane would be filmed by
    about: About


def run(layout: Layout, tracks: Tracks, keys: Capture, settings: Settings, context: Context) -> Frames:
    """Frames without pictures. Raises BadInput where the file and capture.yaml do not tell where things were when."""
    notes, warnings = list(layout.notes), list(layout.warnings)
    limit = min(settings.max_frames, keys.frames or settings.max_frames)
    seconds = _seconds(tracks, keys, notes)
    time, (index,) = sync.clock([seconds], settings.start, settings.stop, limit)
    if len(time) < 2:
        raise BadInput(f"{len(time)} of {len(seconds)} rows can be used.", fix="Check frames.start and frames.stop.")
    if len(time) == settings.max_frames < len(seconds) and not keys.frames:
        warnings.append(f"only the first {len(time)} rows are read (frames.max_frames); choose others with frames.start and frames.stop.")
    values = {name: table[index] for name, table in tracks.columns.items()}
    for o, name in enumerate(tracks.objects):
        if not np.isfinite([values[q][:, o] for q in ("xyz" if "x" in values else "uv") if q in values]).all(0).any():
            raise BadInput(f"{tracks.file.name}: object '{name}' is never seen." if name else f"{tracks.file.name} never shows the object.",
                           fix="Fill its columns of positions.")  # fmt: skip
    motion = _motion(values, keys, notes, warnings)
    states = _states(time, motion, values, tracks, notes)
    if len(tracks.objects) > 1:
        notes.append("objects: " + ", ".join(f"{k} = {name}" for k, name in enumerate(tracks.objects)))
    views = () if motion.camera is None else (View("tracks", motion.camera, ("",) * len(time)),)
    context.progress(1.0, f"{len(time)} rows of {len(tracks.objects)} object(s)")
    return Frames(context.folder, time, views, (), len(tracks.objects), motion.about, layout.name, tuple(notes), tuple(warnings),
                  tracks=states)  # fmt: skip


def _seconds(tracks: Tracks, keys: Capture, notes: list[str]) -> np.ndarray:
    """[s] (T,) true time of each row."""
    if tracks.time is not None:
        seconds, note = sync.correct(tracks.time, keys.fps)
        notes += [note] if note else []
        return seconds
    if keys.fps is None or tracks.frame is None:
        raise BadInput(f"{tracks.file.name} numbers frames and gives no time.", fix="Add `fps:` to capture.yaml, or a column time_s.")
    return tracks.frame / keys.fps


def _motion(values: dict[str, np.ndarray], keys: Capture, notes: list[str], warnings: list[str]) -> Motion:
    """The tracks in world axes, with the camera that would see them so."""
    posed, in_space = "qw" in values, {"x", "y", "z"} <= set(values)
    if posed and (not in_space or "angle" in values):
        raise BadInput("a pose (qw, qx, qy, qz) goes with x_m, y_m, z_m and no angle.", fix="Add the missing axis, or leave out the pose.")
    if "x" not in values:
        return _pixels(values, keys, notes, warnings)
    if "u" in values:
        notes.append("the columns in metres are used, and not those in pixels.")
    if keys.camera is not None or keys.cameras is not None:
        warnings.append("the tracks are in metres: the camera in capture.yaml is not used.")
    up = up_axis(keys, "z")
    turn = cameras.to_z_up(up)
    told, more, odd = about(keys, planar=False, up=turn, zoom=1.0)
    notes += more
    warnings += odd
    place = {axis: values.get(axis, 0 * values["x"]) for axis in "xyz"}
    flat = not in_space and up in ("z", "-z")  # as gravity points in a picture: the second axis of a plane is its upward one
    if flat and "y" in values:
        place |= {"y": place["z"], "z": place["y"]}
    at = np.stack(list(place.values()), -1)
    at = at if turn is None else at @ turn.T
    if flat:
        return _measured(at, values, told)
    if posed or (in_space and told.diameter is not None and told.gravity is not None and "angle" not in values):
        rotation, turned = _pose(values, turn)
        return Motion("pose", at, np.ones(3, bool), rotation, turned, None, told)
    return _measured(_flattened(at, told, notes), values, told)


def _pixels(values: dict[str, np.ndarray], keys: Capture, notes: list[str], warnings: list[str]) -> Motion:
    """Motion parallel to a picture; x right and y down in it."""
    camera = keys.camera
    if keys.cameras is not None or (camera is not None and not camera.planar):
        raise BadInput("tracks in pixels need a planar camera.", fix="Give {mode: planar, px_per_m: ...}, or tracks in metres.")
    told, more, odd = about(keys, planar=True, up=None, zoom=1.0)
    notes += more
    warnings += odd
    if told.unit == "px" and (told.size or told.diameter):
        notes.append("the object's size gives no scale here: a track has no outline to compare it with.")
    width, height = (
        given or int(np.ceil(np.nanmax(values[axis], initial=1.0)))
        for given, axis in ((camera.w if camera else None, "u"), (camera.h if camera else None, "v"))
    )
    if camera is None or camera.w is None or camera.h is None:
        notes.append(f"the picture is taken to be {width}x{height} px, as far as the tracks reach; camera.w and camera.h tell its size.")
    view = Camera.planar(width, height, told.px_per_m or 1.0)
    per_unit = view.K[0, 0]
    at = np.stack([(values["u"] - width / 2) / per_unit, 0 * values["u"], -(values["v"] - height / 2) / per_unit], -1)
    return _planar(at, values, view, told)


def _measured(at: np.ndarray, values: dict[str, np.ndarray], told: About) -> Motion:
    """Motion in the x-z plane, `at` (T, O, 3) [m], with a camera whose pixel is a power of ten of a metre."""
    per_m = 10.0 ** round(float(np.log10(WIDE / way(at))))
    side = 2 * int(np.ceil(np.abs(points(at)).max() * per_m + 1))  # the origin is the middle of the picture
    return _planar(at, values, Camera.planar(side, side, per_m), replace(told, scale="measured", px_per_m=per_m))


def _planar(at: np.ndarray, values: dict[str, np.ndarray], camera: Camera, told: About) -> Motion:
    """Motion in the x-z plane, `at` (T, O, 3); angles count anticlockwise, from x towards z."""
    angle = values.get("angle", np.full(at.shape[:2], np.nan))
    half = -np.nan_to_num(angle) / 2  # about world -y
    rotation = np.stack([np.cos(half), 0 * half, np.sin(half), 0 * half], -1)
    kind = "planar" if "angle" in values else "centroid"
    return Motion(kind, at, np.array([True, False, True]), rotation, np.isfinite(angle), camera, told)


def _pose(values: dict[str, np.ndarray], turn: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (T, O, 4), body to world, and whether it is measured (T, O)."""
    shape = values["x"].shape
    q = np.stack([values.get(f"q{a}", np.full(shape, np.nan)) for a in "wxyz"], -1)
    length = np.linalg.norm(q, axis=-1)
    turned = np.isfinite(length)
    if np.any(np.abs(length[turned] - 1) > UNIT):
        raise BadInput("qw, qx, qy, qz are no unit quaternions.", fix="Check their order: w, x, y, z.")
    rotation = np.where(turned[..., None], q / length[..., None], [1.0, 0, 0, 0])
    if turn is not None:
        spun = Rotation.from_matrix(turn) * Rotation.from_quat(rotation.reshape(-1, 4), scalar_first=True)
        rotation = np.where(turned[..., None], spun.as_quat(scalar_first=True).reshape(*shape, 4), [1.0, 0, 0, 0])
    for o in range(shape[1]):  # q and -q are one rotation: keep neighbours on the same side
        flip = np.cumprod(np.where((rotation[1:, o] * rotation[:-1, o]).sum(-1) < 0, -1.0, 1.0))
        rotation[1:, o] *= flip[:, None]
    return rotation, turned


def _flattened(at: np.ndarray, told: About, notes: list[str]) -> np.ndarray:
    """A path in space (T, O, 3) as one in the x-z plane: the vertical plane through it, or seen from above without gravity."""
    spread = points(at) - points(at).mean(0)
    if told.gravity is None:
        across = np.linalg.svd(spread, full_matrices=False)[2][2]
        up = np.eye(3)[1] - across[1] * across if abs(across[1]) < 0.9 else np.eye(3)[2] - across[2] * across
        what, fix = "a plane", "Add the pose (qw, qx, qy, qz), or object.diameter of a ball."
    else:
        up = -told.gravity / np.linalg.norm(told.gravity)
        level = spread - np.outer(spread @ up, up)
        across = np.cross(np.linalg.svd(level, full_matrices=False)[2][0], up)
        what, fix = "a vertical plane", "For motion on a table say `gravity: none`; else add the pose, or object.diameter of a ball."
    up = up / np.linalg.norm(up)
    right = np.cross(across, up)
    right *= 1.0 if right[np.argmax(np.abs(right))] > 0 else -1.0
    away = float(np.percentile(np.abs(spread @ np.cross(up, right)), 95))
    if away > max(FLAT * way(at), 4 * noise(at)):
        raise BadInput(f"the path leaves {what} by {away:.3g} m, and no rotation is measured.", fix=fix)
    notes.append(f"the path lies in {what}: x of the results is ({', '.join(f'{v:.3f}' for v in right + 0.0)}), z is up in that plane.")
    return np.stack([at @ right, 0 * at[..., 0], at @ up], -1)


def _states(time: np.ndarray, motion: Motion, values: dict[str, np.ndarray], tracks: Tracks, notes: list[str]) -> StateTrack:
    """The tracks with a sigma: as the file says, or as they scatter."""
    T, N = motion.position.shape[:2]
    valid = np.asarray(np.isfinite(motion.position).all(-1))
    sigma, turn_sigma = values.get("sigma"), values.get("turn_sigma")
    if sigma is None:
        sigma = np.tile([max(noise(motion.position[:, [o]]), LEAST * way(motion.position[:, [o]])) for o in range(N)], (T, 1))
        unit = motion.about.unit
        notes.append(f"no column sigma: {', '.join(f'{s:.2g}' for s in sigma[0])} {unit}, from the scatter of the track and its length.")
    elif motion.about.unit == "m" and "x" not in values and motion.camera is not None:
        sigma = sigma / motion.camera.K[0, 0]
    if np.any(~(sigma[valid] > 0)):
        raise BadInput(f"{tracks.file.name}: sigma is not above zero in every row.", fix="Correct it, or leave the column out.")
    if turn_sigma is None:
        turn_sigma = np.tile([max(turn_noise(motion.rotation[motion.turned[:, o], o]), LEAST_TURN) for o in range(N)], (T, 1))
    turn_sigma = np.where(motion.turned & valid, turn_sigma, np.inf)
    about_axes = np.ones(3, bool) if motion.kind == "pose" else np.array([False, True, False])
    return StateTrack(
        time, motion.kind, np.where(valid[..., None], motion.position, np.nan),
        np.where(motion.seen & valid[..., None], sigma[..., None], np.inf), motion.rotation,
        np.where(about_axes, turn_sigma[..., None], np.inf), None, None, valid, motion.about.unit, "tracks",
    )  # fmt: skip
