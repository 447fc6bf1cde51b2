"""Small artefacts with known physics in closed form, for tests of the stages that come after the states."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from video2phys.store import write_image
from video2phys.types import (
    About,
    Body,
    Camera,
    Frames,
    Gaussians,
    Parameter,
    Parameters,
    Plane,
    Primitive,
    Seen,
    StateTrack,
    Status,
    Verdict,
    View,
)  # fmt: skip

SIZE = np.array([0.12, 0.08, 0.06])
FRICTION, RESTITUTION, SPEED = 0.3, 0.6, 1.0
G = 9.81


@dataclass(frozen=True)
class Sample:
    frames: Frames
    gaussians: Gaussians
    states: StateTrack
    parameters: Parameters

    @property
    def artefacts(self) -> tuple[Frames, Gaussians, StateTrack, Parameters]:
        return self.frames, self.gaussians, self.states, self.parameters


def box_mesh(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners (8, 3) and outward triangles (12, 3) of a box about the origin."""
    corner = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
    return corner, np.array(faces)


def box_body(size: np.ndarray = SIZE, primitive: bool = True, cells: int = 10, position: np.ndarray | None = None) -> Body:
    """A box of particles on a lattice, with one flat orange Gaussian per outer particle."""
    axes = [(np.arange(cells) + 0.5) / cells - 0.5] * 3
    particle = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3) * size
    shell = particle[(np.abs(particle / size) > 0.5 - 0.75 / cells).any(1)]
    n = len(shell)
    vertices, faces = box_mesh(size)
    colour = np.clip([0.9, 0.5, 0.15] + 0.4 * (shell / size)[:, :1], 0, 1)
    return Body(
        mean=shell, quaternion=np.tile([1.0, 0, 0, 0], (n, 1)), scale=np.tile(0.6 * size / cells, (n, 1)), opacity=np.full(n, 0.95),
        harmonics=((colour - 0.5) / 0.28209479177387814)[:, None, :], particle=particle,
        volume=np.full(len(particle), size.prod() / len(particle)), vertices=vertices, faces=faces, reference_frame=0,
        position=np.zeros(3) if position is None else position, rotation=np.array([1.0, 0, 0, 0]),
        primitive=Primitive("box", size) if primitive else None,
    )  # fmt: skip


def sliding_x(t: np.ndarray) -> np.ndarray:
    """Coulomb slide to a stop: x = v t - mu g t^2 / 2."""
    t = np.minimum(t, SPEED / (FRICTION * G))
    return SPEED * t - FRICTION * G * t**2 / 2


def bouncing_z(t: np.ndarray, height: float) -> np.ndarray:
    """Height above the ground of a point body dropped from `height` that rebounds with RESTITUTION."""
    z, v, left = np.empty_like(t), 0.0, float(height)
    start, land = 0.0, np.sqrt(2 * height / G)
    for i, now in enumerate(t):
        while now >= land:
            v = RESTITUTION * (G * (land - start) - v)
            left, start, land = 0.0, land, land + 2 * v / G
        z[i] = left + v * (now - start) - G * (now - start) ** 2 / 2
    return z


def rigid(folder: Path, motion: str = "slide", *, unit: str = "m", count: int = 30, fps: float = 60) -> Sample:
    """A box that slides to a stop ("slide") or drops flat and bounces ("bounce"), filmed from the side."""
    time = np.arange(count) / fps
    px_per_m = 250.0
    per = px_per_m if unit == "px" else 1.0  # artefact lengths per metre
    camera = Camera.planar(161, 121, px_per_m / per)
    rest = SIZE[2] / 2 - 0.2
    x = sliding_x(time) - 0.25 if motion == "slide" else np.zeros(count)
    z = np.full(count, rest) if motion == "slide" else rest + bouncing_z(time, 0.3)
    position = np.stack([x, np.zeros(count), z], 1)[:, None] * per
    body = box_body(SIZE * per, position=position[0, 0])
    frames = film(folder, camera, time, position[:, 0], SIZE * per, unit)
    one, ones = np.tile([1.0, 0, 0, 0], (count, 1, 1)), np.ones((count, 1), bool)
    noise = np.random.default_rng(0).normal(size=position.shape) * [0.001, 0, 0.001] * per
    states = StateTrack(time, "planar", position + noise, np.full(position.shape, 0.001 * per) * [1, np.inf, 1], one,
                        np.full((count, 1, 3), 0.01), None, None, ones, unit, "silhouette")  # type: ignore[arg-type]  # fmt: skip
    heldout = np.arange(count) >= 2 * count // 3
    found = (
        Parameter("friction", FRICTION, "1", [0.28, 0.32], Verdict.IDENTIFIED, "Coulomb"),
        Parameter("restitution", RESTITUTION, "1", [0.5, 0.7], Verdict.WEAK, "Newton", "one impact only"),
        Parameter("initial_velocity", [SPEED * per if motion == "slide" else 0.0, 0.0, 0.0], f"{unit}/s",
                  [[0.98 * per, 1.02 * per], [0, 0], [0, 0]], Verdict.IDENTIFIED),
        Parameter("density", 600.0, "kg/m^3", None, Verdict.GIVEN),
    )  # fmt: skip
    parameters = Parameters(
        "rigid", Status.CONVERGED, found, time, ~heldout, heldout, position, one, None, {"train_px": 0.21, "heldout_px": 0.34},
        noise[:, 0, ::2] * px_per_m / per, ("x_px", "z_px"), np.array([[1, 0.4], [0.4, 1]]), ("friction", "restitution"), unit,  # type: ignore[arg-type]
        ground=Plane(np.array([0, 0, 1.0]), -0.2 * per), gravity=np.array([0, 0, -G * per]), notes=("The scale is the one given.",),
        warnings=("Only one impact is seen.",),
    )  # fmt: skip
    return Sample(frames, Gaussians((body,), unit, 31.0, ("The side that is not seen is assumed.",)), states, parameters)  # type: ignore[arg-type]


def elastic(folder: Path, *, young: float = 1.5e5, count: int = 24, fps: float = 60) -> Sample:
    """A soft cube of 0.2 m in free fall from 0.3 m above the ground; the track ends before it lands."""
    time, size = np.arange(count) / fps, np.full(3, 0.2)
    height = 0.9 - G * np.minimum(time, 0.37) ** 2 / 2
    position = np.stack([0 * time, 0 * time, height], 1)[:, None]
    K = np.array([[150.0, 0, 80], [0, 150, 60], [0, 0, 1]])
    pose = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0.5], [0, 1, 0, 2], [0, 0, 0, 1]])
    camera = Camera(K, pose, 160, 120)
    body = box_body(size, primitive=False, cells=8, position=position[0, 0])
    one, ones = np.tile([1.0, 0, 0, 0], (count, 1, 1)), np.ones((count, 1), bool)
    states = StateTrack(time, "affine", position, np.full(position.shape, 0.001), one, np.full((count, 1, 3), np.inf),
                        np.tile(np.eye(3), (count, 1, 1, 1)), np.full((count, 1), 0.01), ones, "m", "silhouette")  # fmt: skip
    heldout = np.arange(count) >= 2 * count // 3
    found = (
        Parameter("youngs_modulus", young, "Pa", [0.9 * young, 1.1 * young], Verdict.IDENTIFIED, "fixed corotated"),
        Parameter("poisson_ratio", 0.3, "1", [0.1, 0.45], Verdict.WEAK, "fixed corotated"),
        Parameter("density", 1000.0, "kg/m^3", None, Verdict.GIVEN),
    )
    parameters = Parameters(
        "elastic", Status.CONVERGED, found, time, ~heldout, heldout, position, one, position + body.particle[None],
        {"train_px": 0.3, "heldout_px": 0.5, "heldout_iou": 0.93}, np.zeros((count, 1)), ("position_px",), np.eye(2),
        ("log10 youngs_modulus", "poisson_ratio"), "m", ground=Plane(np.array([0, 0, 1.0]), 0.0), gravity=np.array([0, 0, -G]),
    )  # fmt: skip
    return Sample(film(folder, camera, time, position[:, 0], size, "m"), Gaussians((body,), "m"), states, parameters)


def film(folder: Path, camera: Camera, time: np.ndarray, position: np.ndarray, size: np.ndarray, unit: str) -> Frames:
    """Pictures of a flat orange box on grey; position (T, 3)."""
    import cv2

    corners, faces = box_mesh(size)
    images, masks = [], []
    for k, p in enumerate(position):
        mask = np.zeros((camera.height, camera.width), np.uint8)
        for triangle in camera.project(corners + p)[faces]:
            cv2.fillConvexPoly(mask, np.rint(triangle - 0.5).astype(np.int32), 255)
        image = np.full((*mask.shape, 3), 150, np.uint8)
        image[mask > 0] = (230, 130, 40)
        images.append(f"cam0/{k:05d}.png")
        masks.append(f"cam0/mask_{k:05d}.png")
        write_image(folder / images[-1], image)
        write_image(folder / masks[-1], mask)
    write_image(folder / "cam0/background.png", np.full((camera.height, camera.width, 3), 150, np.uint8))
    view = View("cam0", camera, tuple(images), (tuple(masks),), np.full((len(time), 1), int(Seen.WHOLE)), "cam0/background.png")
    about = About(np.array([0, 0, -G]), unit=unit, density=600.0, scale="given" if unit == "m" else "unknown")  # type: ignore[arg-type]
    return Frames(folder, time, (view,), (), 1, about, "bare folder", ("The camera is taken as parallel to the motion.",))
