"""What capture.yaml tells of the capture, in world axes, and the assumptions made where it is silent."""

from __future__ import annotations

import numpy as np

from video2phys.frames.capture import Capture
from video2phys.types import About, Plane

EARTH = np.array([0.0, 0.0, -9.81])  # [m/s^2]


def up_axis(keys: Capture, usual: str) -> str:
    """Which axis of the capture's own world points up: against a gravity along one axis, else `usual`."""
    if isinstance(keys.gravity, list) and np.count_nonzero(keys.gravity) == 1:
        i = int(np.flatnonzero(keys.gravity)[0])
        return ("-" if keys.gravity[i] > 0 else "") + "xyz"[i]
    return usual


def about(keys: Capture, planar: bool, up: np.ndarray | None, zoom: float) -> tuple[About, list[str], list[str]]:
    """About with notes and warnings. `up` (3, 3) turns the capture's world to z up; `zoom` = final px per original px."""
    turn = np.eye(3) if up is None else up
    notes: list[str] = []
    warnings: list[str] = []
    gravity = _gravity(keys, turn, notes)
    if planar and isinstance(keys.gravity, list) and keys.gravity[1] < 0 and not keys.gravity[2]:
        warnings.append("gravity points along -y, towards the camera; in a planar capture 'down in the picture' is [0, 0, -9.81].")
    ground, auto = _ground(keys, turn, gravity, notes)
    told = keys.object
    camera = keys.camera
    px_per_m = camera.px_per_m * zoom if planar and camera and camera.px_per_m else None
    scale = "given" if not planar or px_per_m else "gravity" if camera and camera.scale else "unknown"
    if planar and camera is None:
        notes.append("no camera is given: motion parallel to the image is assumed, with unknown scale.")
    return (
        About(
            gravity=gravity,
            gravity_free=keys.gravity == "free",
            ground=ground,
            ground_auto=auto,
            incline_deg=keys.ground.incline_deg if keys.ground else None,
            size=(told.size[0], told.size[1], told.size[2]) if told.size else None,
            diameter=told.diameter,
            mass=told.mass,
            density=told.density,
            model=keys.model,
            unit="m" if scale == "given" else "px",
            scale=scale,
            px_per_m=px_per_m,
        ),
        notes,
        warnings,
    )


def _gravity(keys: Capture, turn: np.ndarray, notes: list[str]) -> np.ndarray | None:
    if keys.gravity == "none":
        return None
    if isinstance(keys.gravity, list):
        return turn @ np.array(keys.gravity, float) if any(keys.gravity) else None
    if keys.gravity is None:
        notes.append("gravity is not given: 9.81 m/s^2 downwards is assumed.")
    return EARTH.copy()


def _ground(keys: Capture, turn: np.ndarray, gravity: np.ndarray | None, notes: list[str]) -> tuple[Plane | None, bool]:
    told = keys.ground
    if told is None:
        if gravity is not None:
            notes.append("the ground is not given: a support is looked for in the motion.")
        return None, gravity is not None
    if told.normal is not None:
        normal = np.array(told.normal, float)
        length = float(np.linalg.norm(normal))
        return Plane(turn @ normal / length, told.offset / length), False
    return None, told.mode != "none"
