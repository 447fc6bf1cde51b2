"""The artefacts that stages hand to one another, and nothing else.

World frame: right-handed, z up, metres, seconds, kilograms, radians. Cameras are OpenCV (x right, y down,
z forward) world-to-camera plus K, pixel centres at +0.5. Quaternions are w, x, y, z. Where no scale is known,
`unit` is "px" and every length in the artefact counts pixels instead of metres.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Literal

import numpy as np

from video2phys.errors import BadInput

LengthUnit = Literal["m", "px"]
FLOWS = ("plasticine", "granular", "fluid", "viscoplastic")
MODELS = ("rigid", "elastic", *FLOWS)  # what `model:` in capture.yaml may name


def check(owner: object, **shapes: tuple[str | int, ...]) -> None:
    """Check array fields against symbolic shapes, e.g. check(self, time=("T",), position=("T", "N", 3)).

    Raises BadInput naming the field, the shape it has and the shape it should have, or a non-finite `time`.
    """
    sizes: dict[str, tuple[int, str]] = {}
    for name, want in shapes.items():
        value = getattr(owner, name)
        if value is None:
            continue
        have = np.shape(value)
        resolved = tuple(sizes[s][0] if isinstance(s, str) and s in sizes else s for s in want)
        fits = len(have) == len(want) and all(isinstance(w, str) or w == h for w, h in zip(resolved, have, strict=True))
        if not fits:
            hint = next((f" to match {sizes[s][1]}" for s in want if isinstance(s, str) and s in sizes), "")
            raise BadInput(
                f"{type(owner).__name__}.{name} has shape {have}, want ({', '.join(map(str, resolved))}){hint}",
                fix="Build the artefact with arrays of matching shapes.",
            )
        for symbol, size in zip(want, have, strict=True):
            if isinstance(symbol, str):
                sizes.setdefault(symbol, (size, f"{name} {have}"))


@dataclass(frozen=True)
class Camera:
    """A pinhole (or, for planar captures, orthographic) camera without distortion."""

    K: np.ndarray  # [px] (3, 3); for "orthographic" K[0, 0] is px per world length unit
    world_to_camera: np.ndarray  # (4, 4) OpenCV axes, [length unit]
    width: int  # [px]
    height: int  # [px]
    model: Literal["perspective", "orthographic"] = "perspective"

    def __post_init__(self) -> None:
        check(self, K=(3, 3), world_to_camera=(4, 4))

    @staticmethod
    def planar(width: int, height: int, px_per_unit: float = 1.0) -> Camera:
        """Motion parallel to the image: world x right, z up, y into the picture, origin at the image centre."""
        K = np.array([[px_per_unit, 0, width / 2], [0, px_per_unit, height / 2], [0, 0, 1.0]])
        axes = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
        return Camera(K, axes, width, height, "orthographic")

    @staticmethod
    def aimed(eye: np.ndarray, target: np.ndarray, K: np.ndarray, width: int, height: int) -> Camera:
        """A perspective camera at `eye` (3,) that looks at `target` (3,), world z upright in the picture."""
        z = (target - eye) / np.linalg.norm(target - eye)
        x = np.cross(z, [0, 0, 1.0])
        x /= np.linalg.norm(x)
        pose = np.eye(4)
        pose[:3, :3] = np.stack([x, np.cross(z, x), z])
        pose[:3, 3] = -pose[:3, :3] @ eye
        return Camera(K, pose, width, height)

    def to_camera(self, points: np.ndarray) -> np.ndarray:
        """World points (..., 3) to camera coordinates (..., 3)."""
        return points @ self.world_to_camera[:3, :3].T + self.world_to_camera[:3, 3]

    def project(self, points: np.ndarray) -> np.ndarray:
        """World points (..., 3) to pixels (..., 2); NaN behind a perspective camera."""
        p = self.to_camera(np.asarray(points, float))
        if self.model == "perspective":
            p = p / np.where(p[..., 2:] > 1e-9, p[..., 2:], np.nan)
        return p[..., :2] @ self.K[:2, :2].T + self.K[:2, 2]

    def rays(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pixels (..., 2) to world rays: origins (..., 3) and unit directions (..., 3)."""
        uv = (np.asarray(pixels, float) - self.K[:2, 2]) @ np.linalg.inv(self.K[:2, :2]).T
        R, t = self.world_to_camera[:3, :3], self.world_to_camera[:3, 3]
        one, zero = np.ones_like(uv[..., :1]), np.zeros_like(uv[..., :1])
        if self.model == "orthographic":
            return (np.concatenate([uv, zero], -1) - t) @ R, np.broadcast_to(R[2], (*uv.shape[:-1], 3))
        d = np.concatenate([uv, one], -1) @ R
        return np.broadcast_to(-R.T @ t, d.shape), d / np.linalg.norm(d, axis=-1, keepdims=True)

    def pixel(self, points: np.ndarray) -> np.ndarray:
        """Width (...) [length unit] that one pixel covers at world points (..., 3)."""
        f = np.sqrt(self.K[0, 0] * self.K[1, 1])
        return np.ones(points.shape[:-1]) / f if self.model == "orthographic" else np.abs(self.to_camera(points)[..., 2]) / f

    @property
    def center(self) -> np.ndarray:
        """Optical centre in the world (3,)."""
        return -self.world_to_camera[:3, :3].T @ self.world_to_camera[:3, 3]


@dataclass(frozen=True)
class Plane:
    """Points x with normal . x = offset; the free side is where normal . x > offset."""

    normal: np.ndarray  # (3,) unit
    offset: float  # [length unit]

    def __post_init__(self) -> None:
        check(self, normal=(3,))


class Seen(int, Enum):
    """How an object stands in a frame."""

    ABSENT = 0  # not found: before it enters, occluded, or gone
    CLIPPED = 1  # found, cut by the image border or by something before it: its outline is not its own
    WHOLE = 2


@dataclass(frozen=True)
class View:
    """One camera's pictures. Files live beside the artefact; read them through Frames.image and Frames.mask."""

    name: str
    camera: Camera
    images: tuple[str, ...]  # file per frame, relative to the artefact's folder; "" where the frame is missing
    masks: tuple[tuple[str, ...], ...] = ()  # per object, file per frame ("" = empty mask)
    seen: np.ndarray | None = None  # (T, O) of Seen
    background: str = ""  # picture of the scene without the object, or ""

    def whole(self, frame: int, obj: int = 0) -> bool:
        """Whether the picture of a frame shows the whole object, as far as is known."""
        return self.seen is None or self.seen[frame, obj] == Seen.WHOLE


@dataclass(frozen=True)
class About:
    """What the user told of the capture, and what it leaves open."""

    gravity: np.ndarray | None = None  # [m/s^2] (3,); None = no gravity in the plane of motion
    gravity_free: bool = False  # gravity is to be estimated
    ground: Plane | None = None
    ground_auto: bool = False  # a support exists or may exist: find it from the motion
    incline_deg: float | None = None  # [deg] known angle of the support with the horizontal; which way it falls is found from the motion
    size: tuple[float, float, float] | None = None  # [m] bounding box of the object
    diameter: float | None = None  # [m]
    mass: float | None = None  # [kg]
    density: float | None = None  # [kg/m^3]
    model: str | None = None  # rigid | elastic | ...; None = choose
    unit: LengthUnit = "m"  # of every length in the artefacts of this run
    scale: Literal["given", "size", "gravity", "unknown", "measured"] = "given"  # where px/m comes from; "gravity" = still to be fitted,
    # "measured" = lengths were measured in metres and no picture stands between: a pixel is then a unit of display
    px_per_m: float | None = None  # planar cameras with a known scale
    px_per_m_sigma: float = 0.0


@dataclass(frozen=True)
class Frames:
    """Upright, undistorted pictures on one clock, with masks of the moving object(s)."""

    folder: Path  # where the files of the views lie; set on load
    time: np.ndarray  # [s] (T,) since the first frame kept
    views: tuple[View, ...]  # () for a capture of something at rest, and for tracks measured in space
    scan: tuple[View, ...]  # stills of the object in its pose of frame 0; one image each, without masks where none are given
    objects: int
    about: About
    layout: str  # which layout was recognised
    notes: tuple[str, ...] = ()  # assumptions the numbers rest on
    warnings: tuple[str, ...] = ()
    points: np.ndarray | None = None  # [length unit] (N, 3) sparse points of the scan, where its cameras were found or checked
    points_colour: np.ndarray | None = None  # (N, 3) uint8
    tracks: StateTrack | None = None  # a capture of measured tracks: the motion itself, and no pictures
    splats: str = ""  # a capture of trained Gaussians: their file, relative to the folder; `scan` then has cameras without pictures

    def __post_init__(self) -> None:
        check(self, time=("T",), points=("N", 3), points_colour=("N", 3))
        if len(self.time) > 1 and not np.all(np.diff(self.time) > 0):
            raise BadInput("Frames.time does not increase.", fix="Check the video's time stamps, or set fps in capture.yaml.")

    def image(self, view: int, frame: int, scan: bool = False) -> np.ndarray:
        """RGB (H, W, 3) uint8. Raises BadInput where the frame is missing."""
        from video2phys.store import read_image

        file = (self.scan if scan else self.views)[view].images[frame]
        if not file:
            raise BadInput(f"view {view} has no picture for frame {frame}", fix="Ask only for frames that exist.")
        return read_image(self.folder / file)

    def mask(self, view: int, frame: int, obj: int = 0, scan: bool = False) -> np.ndarray:
        """Confidence that a pixel shows the object, (H, W) float32 in 0..1."""
        from video2phys.store import read_gray

        v = (self.scan if scan else self.views)[view]
        file = v.masks[obj][frame] if v.masks else ""
        if not file:
            return np.zeros((v.camera.height, v.camera.width), np.float32)
        return read_gray(self.folder / file).astype(np.float32) / 255

    def background(self, view: int) -> np.ndarray | None:
        """RGB (H, W, 3) uint8 of the empty scene, where one is known."""
        from video2phys.store import read_image

        file = self.views[view].background
        return read_image(self.folder / file) if file else None


@dataclass(frozen=True)
class Primitive:
    """A simple solid that stands for a body seen from one side. Axes and origin are the body's."""

    kind: Literal["sphere", "box", "cylinder", "extrusion"]
    size: np.ndarray  # [length unit] (3,) full extents; cylinder and extrusion along body y
    outline: np.ndarray | None = None  # [length unit] (K, 2) x, z of an extruded silhouette


@dataclass(frozen=True)
class Body:
    """One object's look and matter, in its body frame."""

    # Gaussians (3DGS convention; opacity after the sigmoid, scale as standard deviation)
    mean: np.ndarray  # [length unit] (G, 3)
    quaternion: np.ndarray  # (G, 4) w, x, y, z
    scale: np.ndarray  # [length unit] (G, 3)
    opacity: np.ndarray  # (G,) 0..1
    harmonics: np.ndarray  # (G, K, 3) K = 1, 4, 9, 16; colour = 0.5 + sum Y_k harmonics_k
    # matter
    particle: np.ndarray  # [length unit] (P, 3) filled solid
    volume: np.ndarray  # [length unit^3] (P,)
    vertices: np.ndarray  # [length unit] (V, 3) closed surface, oriented outwards
    faces: np.ndarray  # (F, 3) int
    # where it is in the world at the reference frame
    reference_frame: int
    position: np.ndarray  # [length unit] (3,)
    rotation: np.ndarray  # (4,) quaternion, body to world
    primitive: Primitive | None = None

    def __post_init__(self) -> None:
        check(self, mean=("G", 3), quaternion=("G", 4), scale=("G", 3), opacity=("G",), harmonics=("G", "K", 3))
        check(self, particle=("P", 3), volume=("P",), vertices=("V", 3), faces=("F", 3))
        check(self, position=(3,), rotation=(4,))


@dataclass(frozen=True)
class Gaussians:
    """The reconstruction: one body per object."""

    bodies: tuple[Body, ...]
    unit: LengthUnit
    psnr: float | None = None  # [dB] on a held-out view or pixel set inside the mask
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def refined(self, parameters: Parameters) -> Gaussians:
        """The same with the bodies as the fit refined them."""
        return self if parameters.bodies is None else replace(self, bodies=parameters.bodies)


@dataclass(frozen=True)
class StateTrack:
    """What moved where: body frame to world per frame, x = position + rotation (deformation X)."""

    time: np.ndarray  # [s] (T,)
    kind: Literal["centroid", "planar", "pose", "affine"]  # which of the fields below are measured
    position: np.ndarray  # [length unit] (T, O, 3) of the body origin; NaN where not valid
    position_sigma: np.ndarray  # [length unit] (T, O, 3) one standard deviation; inf along an unseen direction
    rotation: np.ndarray  # (T, O, 4) quaternion; identity for "centroid"; planar = about world -y (clockwise in the image is negative)
    rotation_sigma: np.ndarray  # [rad] (T, O, 3) about world axes; inf where not measured
    deformation: np.ndarray | None  # (T, O, 3, 3) affine only, full gradient F (rotation then stays identity)
    deformation_sigma: np.ndarray | None  # (T, O) one number for the nine entries
    valid: np.ndarray  # (T, O) bool; false = occluded or missing, never invented
    unit: LengthUnit
    method: str = ""  # photometric | silhouette | risp | tracks
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self, time=("T",), position=("T", "O", 3), position_sigma=("T", "O", 3), rotation=("T", "O", 4),
              rotation_sigma=("T", "O", 3), deformation=("T", "O", 3, 3), deformation_sigma=("T", "O"), valid=("T", "O"))  # fmt: skip


LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}  # [m] units in which files of markers measure


@dataclass(frozen=True)
class Markers:
    """Points that a motion-capture system followed, in its own world frame."""

    label: tuple[str, ...]  # N names, each once
    time: np.ndarray  # [s] (T,) ascending
    position: np.ndarray  # [m] (T, N, 3); NaN where missing

    def __post_init__(self) -> None:
        check(self, time=("T",), position=("T", len(self.label), 3))
        if len(set(self.label)) != len(self.label):
            raise BadInput("two markers share a label.", fix="Name each one differently.")
        if len(self.time) < 2 or not np.all(np.diff(self.time) > 0):
            raise BadInput("the time stamps of the markers do not ascend.", fix="Sort the rows, and drop those that repeat.")


class Verdict(str, Enum):
    """What the data say of a parameter."""

    IDENTIFIED = "identified"
    WEAK = "weak"
    NOT_IDENTIFIED = "not identified"
    AT_BOUND = "at bound"
    GIVEN = "given"


class Status(str, Enum):
    """How a fit ended; each member is a sentence for the user."""

    CONVERGED = "converged"
    MAX_STEPS = "stopped before converging: raise parameters.max_steps"
    UNSTABLE = "the simulation became unstable: lower parameters.youngs_modulus_max or refine the step"
    NO_EFFECT = "no free parameter changes the predicted motion: check the capture and the model"
    TOO_FEW_FRAMES = "too few frames show the object: capture a longer or closer clip"


@dataclass(frozen=True)
class Parameter:
    """A physical value with its 95 % interval and what it means."""

    name: str
    value: float | list[float]
    unit: str
    interval: list[float] | list[list[float]] | None  # [low, high], or per component; None = unbounded or given
    verdict: Verdict
    law: str = ""  # constitutive model or convention it belongs to
    note: str = ""
    obj: int | None = None  # object it belongs to, where a capture has several


@dataclass(frozen=True)
class Parameters:
    """The identified model, and the motion that it predicts."""

    model: str  # rigid | elastic
    status: Status
    parameters: tuple[Parameter, ...]
    time: np.ndarray  # [s] (T,)
    train: np.ndarray  # (T,) bool, frames used in the fit
    heldout: np.ndarray  # (T,) bool, frames only predicted
    position: np.ndarray  # [length unit] (T, O, 3) predicted body origin; NaN outside the simulated span
    rotation: np.ndarray  # (T, O, 4)
    particle: np.ndarray | None  # [length unit] (T, P, 3) predicted particles of a deformable body, in the world
    residual: dict[str, float]  # train_px, heldout_px, heldout_iou, ...
    residuals: np.ndarray  # (T, R) measured minus predicted, for plots; NaN where not measured
    residual_names: tuple[str, ...]
    correlation: np.ndarray  # (Q, Q) of the fitted scalars
    correlation_names: tuple[str, ...]
    unit: LengthUnit
    px_per_m: float | None = None  # set when the fit found it
    ground: Plane | None = None  # the support the simulation used
    gravity: np.ndarray | None = None  # [length unit/s^2] (3,)
    bodies: tuple[Body, ...] | None = None  # where the fit has refined the reconstruction; None = as it was
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self, time=("T",), train=("T",), heldout=("T",), position=("T", "O", 3), rotation=("T", "O", 4),
              particle=("T", "P", 3), residuals=("T", "R"), correlation=("Q", "Q"))  # fmt: skip

    def get(self, name: str, obj: int | None = None) -> Parameter | None:
        """The named parameter, or None."""
        return next((p for p in self.parameters if p.name == name and (obj is None or p.obj == obj)), None)


@dataclass(frozen=True)
class Interior:
    """One interior that the motion allows."""

    kind: Literal["solid", "void", "insert"]
    description: str
    density: np.ndarray  # [kg/m^3] (P,) per particle
    mass: float | None  # [kg]; None when only ratios are known
    center: np.ndarray  # [length unit] (3,) body frame
    inertia: np.ndarray  # [kg m^2] (3, 3) about the centre
    misfit: float  # chi-square of the ten numbers that the motion fixes, per number known
    allowed: bool


@dataclass(frozen=True)
class Topology:
    """What the motion says about the interior: a family, never more than is known."""

    tested: bool
    statement: str
    family: tuple[Interior, ...]
    mass: Parameter | None = None
    center: Parameter | None = None
    inertia: Parameter | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TwinFile:
    """A file of the twin and the check it passed."""

    path: str  # relative to the artefact's folder
    format: str
    check: str  # what was verified, e.g. "loads in MuJoCo, dropped for 1 s"
    passed: bool


@dataclass(frozen=True)
class Twin:
    """The digital twin: files, and how they were checked."""

    folder: Path
    files: tuple[TwinFile, ...]
    replay: dict[str, float] = field(default_factory=dict)  # comparison of the MuJoCo replay with the video
    warnings: tuple[str, ...] = ()
