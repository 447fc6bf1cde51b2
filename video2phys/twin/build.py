"""From artefacts to a scene in the units of the twin: metres where the scale is known, else the artefacts' pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from video2phys.types import Body, Gaussians, Parameters, Plane, StateTrack, Topology, Verdict

DENSITY = 1000.0  # [kg/m^3] stands in where neither mass nor density is known; a rigid motion under gravity does not show it
SMOOTH = 2e-3  # of the object's size: first frames that a parabola follows this closely are free of impacts
FRICTION = 0.5  # stands in where no sliding contact was seen


@dataclass(frozen=True)
class Solid:
    """One object of the scene at the start of the replay. Lengths in `Scene.unit`."""

    name: str
    body: Body  # lengths scaled to the scene
    mass: float  # [kg]
    center: np.ndarray  # (3,) of mass, body frame
    inertia: np.ndarray  # [kg length^2] (3, 3) about the centre of mass, body axes
    density: np.ndarray  # [kg/length^3] (P,) per particle
    position: np.ndarray  # (3,) of the body origin
    rotation: np.ndarray  # (4,) quaternion
    velocity: np.ndarray  # [length/s] (3,) of the body origin
    spin: np.ndarray  # [rad/s] (3,) world axes
    friction: float
    restitution: float
    drag: float = 0.0  # [length/s^2] constant deceleration on a table that lies in the picture plane
    pivot: np.ndarray | None = None  # (3,) in the world, of the hinge that a pendulum swings from
    bearing: float = 0.0  # [kg length^2/s] torque per spin about the pivot
    rolls: bool = True  # False for a round body that was seen to slide: on a planar scene it gets no hinge


@dataclass(frozen=True)
class Scene:
    """What the twin simulates."""

    model: str
    solids: tuple[Solid, ...]
    unit: Literal["m", "px"]
    scale: float  # scene length = artefact length * scale
    planar: bool  # motion stays in the x-z plane
    gravity: np.ndarray  # [length/s^2] (3,)
    ground: Plane | None
    start: int  # frame in which the replay starts
    time: np.ndarray  # [s] (T,)
    youngs_modulus: float = 0.0  # [Pa] soft bodies
    poisson_ratio: float = 0.0
    damping: float = 0.0  # [s] Rayleigh, stiffness-proportional
    notes: tuple[str, ...] = ()


def scene(gaussians: Gaussians, states: StateTrack, parameters: Parameters, topology: Topology) -> Scene:
    """The identified model as a scene that starts where the fit's simulation starts."""
    metric = parameters.unit == "m" or parameters.px_per_m is not None
    scale = 1.0 if parameters.unit == "m" or parameters.px_per_m is None else 1 / parameters.px_per_m
    known = np.isfinite(parameters.position).all((1, 2))
    start = int(np.argmax(known))
    notes: list[str] = [] if metric else ["no metric scale: lengths of the twin count pixels, masses and forces are in arbitrary units"]
    solids = tuple(_solid(o, body, scale, start, metric, parameters, topology, notes) for o, body in enumerate(gaussians.bodies))
    solids = _ratios(solids, parameters)
    gravity = np.zeros(3) if parameters.gravity is None else np.asarray(parameters.gravity, float) * scale
    ground = None if parameters.ground is None else Plane(parameters.ground.normal, parameters.ground.offset * scale)
    slope = _number(parameters, "slope")
    if ground is None and slope is not None and gravity.any() and len(solids) == 1:
        ground, gravity = _slide(solids[0], parameters, start, scale, np.radians(slope), gravity)
        shape = solids[0].body.primitive
        if shape is not None and shape.kind == "sphere":
            solids = (replace(solids[0], rolls=False, spin=np.zeros(3)),)
            notes.append("the outline is round, but the motion was found to be a slide: the twin's body does not roll")
    hinge = parameters.get("pivot")
    if hinge is not None:
        pendulum, gravity = _hang(solids[0], _vector(hinge.value) * (scale if hinge.unit == "px" else 1.0), parameters)
        solids = (pendulum,)
        notes.append(f"the twin's gravity, {np.linalg.norm(gravity):.4g} {'m' if metric else 'px'}/s^2, gives its body the period seen")
    return Scene(
        model=parameters.model,
        solids=solids,
        unit="m" if metric else "px",
        scale=scale,
        planar=states.kind in ("planar", "centroid"),
        gravity=gravity,
        ground=ground,
        start=start,
        time=parameters.time,
        youngs_modulus=_number(parameters, "youngs_modulus") or 0.0,
        poisson_ratio=_number(parameters, "poisson_ratio") or 0.0,
        notes=tuple(dict.fromkeys(notes)),
    )


def scaled(body: Body, scale: float) -> Body:
    """The same body in another length unit."""
    solid = body.primitive and replace(
        body.primitive, size=body.primitive.size * scale, outline=None if body.primitive.outline is None else body.primitive.outline * scale
    )
    return replace(body, mean=body.mean * scale, scale=body.scale * scale, particle=body.particle * scale, volume=body.volume * scale**3,
                   vertices=body.vertices * scale, position=body.position * scale, primitive=solid)  # fmt: skip


def _solid(
    o: int, body: Body, scale: float, start: int, metric: bool, parameters: Parameters, topology: Topology, notes: list[str]
) -> Solid:
    body = scaled(body, scale)
    density = _density(o, body, metric, parameters, topology, notes)
    friction, restitution = _number(parameters, "friction", o), _number(parameters, "restitution", o)
    if friction is None:
        notes.append(f"friction is not known from this capture: {FRICTION} stands in")
    if restitution is None and parameters.model == "rigid":
        notes.append("restitution is not known from this capture: 0 stands in")
    mass, center, inertia = moments(body.particle, body.volume, density)
    velocity, spin = _initial(o, scale, start, float(np.ptp(body.vertices, axis=0).max()), parameters)
    slowing = parameters.get("acceleration", o) or parameters.get("acceleration")
    slows = 0.0 if slowing is None or parameters.gravity is not None else abs(_number(parameters, "acceleration", o) or 0.0)
    drag = slows * (scale if slowing and slowing.unit.startswith("px") else 1.0)
    return Solid(
        name="body" if parameters.position.shape[1] == 1 else f"body_{o}", body=body, mass=mass, center=center, inertia=inertia,
        density=density, position=parameters.position[start, o] * scale, rotation=parameters.rotation[start, o], velocity=velocity,
        spin=spin, friction=FRICTION if friction is None else friction, restitution=float(np.clip(restitution or 0.0, 0, 1)), drag=drag,
    )  # fmt: skip


def _density(o: int, body: Body, metric: bool, parameters: Parameters, topology: Topology, notes: list[str]) -> np.ndarray:
    """Density per particle of the simplest interior that the motion allows, else of a uniform solid."""
    volume = body.volume
    if not metric:
        notes.append("masses are not known: each body has mass 1")
        return np.full(len(volume), 1 / volume.sum())
    interior = next((i for i in topology.family if i.allowed and len(i.density) == len(volume) and i.mass is not None), None)
    if o == 0 and interior is not None:
        return interior.density
    given, mass = _number(parameters, "density", o), parameters.get("mass", o)
    density = np.full(len(volume), DENSITY if given is None else given)
    if mass is not None and mass.verdict is not Verdict.NOT_IDENTIFIED and isinstance(mass.value, int | float):
        return density * mass.value / float(volume @ density)
    if given is None:
        notes.append(f"density is not known: {DENSITY:.0f} kg/m^3 stands in; it does not change this motion")
    return density


def moments(particle: np.ndarray, volume: np.ndarray, density: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass (3,) and inertia about it (3, 3) of particles (P, 3), each a small cube of its volume."""
    share = volume * density
    total = float(share.sum())
    center = share @ particle / total
    r = particle - center
    own = float(share @ volume ** (2 / 3)) / 6  # a cube's own inertia is m a^2 / 6
    return total, center, (float(share @ (r**2).sum(1)) + own) * np.eye(3) - (share[:, None] * r).T @ r


def _slide(solid: Solid, parameters: Parameters, start: int, scale: float, slope: float, gravity: np.ndarray) -> tuple[Plane, np.ndarray]:
    """The support under a body that slides in the x-z plane, and gravity at the fitted slope to it.

    The support runs along the predicted path, through the body's lowest corner; a camera that is not level turns the two alike.
    """
    from scipy.spatial.transform import Rotation

    path = parameters.position[start:, 0]
    path = path[np.isfinite(path).all(1)]
    along = path[-1] - path[0]
    along /= np.linalg.norm(along)
    normal = np.array([-along[2], 0.0, along[0]])
    normal *= -np.sign(normal @ gravity)  # upwards
    corners = Rotation.from_quat(solid.rotation, scalar_first=True).apply(solid.body.vertices) + solid.position
    down = along * np.sign(along @ gravity)
    pull = np.linalg.norm(gravity) * (np.sin(slope) * down - np.cos(slope) * normal)
    return Plane(normal, float((corners @ normal).min())), pull


def _hang(solid: Solid, pivot: np.ndarray, parameters: Parameters) -> tuple[Solid, np.ndarray]:
    """The body on its hinge, and the gravity (3,) [length/s^2] under which it swings as fitted: w^2 = m g r / I, damping I the bearing.

    I is the body's own inertia about the pivot. A camera that is not level turns gravity.
    """
    from scipy.spatial.transform import Rotation

    roll, damping, spin = (_number(parameters, name) or 0.0 for name in ("camera_roll", "damping", "initial_angular_velocity"))
    arm = float(np.linalg.norm(solid.position + Rotation.from_quat(solid.rotation, scalar_first=True).apply(solid.center) - pivot))
    about = solid.inertia[1, 1] + solid.mass * arm**2
    rate = 2 * np.pi / (_number(parameters, "period") or np.inf)
    pull = rate**2 * about / (solid.mass * arm) * np.array([np.sin(np.radians(roll)), 0.0, -np.cos(np.radians(roll))])
    return replace(solid, pivot=pivot, bearing=damping * about, spin=_vector(spin)), pull


def _ratios(solids: tuple[Solid, ...], parameters: Parameters) -> tuple[Solid, ...]:
    """Where a collision told the ratio of two masses, the second is the first times that ratio."""
    ratio = _number(parameters, "mass_ratio")
    if len(solids) != 2 or ratio is None or any(_number(parameters, "mass", o) is not None for o in (0, 1)):
        return solids
    first, second = solids
    factor = ratio * first.mass / second.mass
    return first, replace(second, mass=second.mass * factor, inertia=second.inertia * factor, density=second.density * factor)


def _initial(o: int, scale: float, start: int, size: float, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Velocity [scene length/s] and spin [rad/s] at the start: of the predicted motion, whose first frames are smooth unless
    the body meets something within them; then as fitted."""
    from scipy.spatial.transform import Rotation

    span = slice(start, min(start + 5, len(parameters.time)))
    t, x = parameters.time[span] - parameters.time[start], parameters.position[span, o] * scale
    good = np.asarray(np.isfinite(x).all(1))
    velocity, spin = np.zeros(3), np.zeros(3)
    smooth = False
    if good.sum() > 2:
        curve = np.polyfit(t[good], x[good], 2)
        velocity = curve[-2]
        smooth = bool(np.abs(t[good][:, None] ** [2, 1, 0] @ curve - x[good]).max() < SMOOTH * size)
    if int(good[:2].sum()) == 2:
        first, second = (Rotation.from_quat(parameters.rotation[i, o], scalar_first=True) for i in (start, start + 1))
        spin = (second * first.inv()).as_rotvec() / t[1]
    fitted, turning = parameters.get("initial_velocity", o), parameters.get("initial_angular_velocity", o)
    if fitted is not None and not smooth:
        velocity = _vector(fitted.value) * (scale if fitted.unit.startswith("px") else 1.0)
    return velocity, spin if turning is None else _vector(turning.value)


def _vector(value: float | list[float]) -> np.ndarray:
    """A world vector (3,); a planar pair is x, z, a lone spin is about -y (counter-clockwise in the picture)."""
    items = np.atleast_1d(np.asarray(value, float))
    if len(items) == 2:
        return np.array([items[0], 0, items[1]])
    return np.array([0, -items[0], 0]) if len(items) == 1 else items


def _number(parameters: Parameters, name: str, obj: int | None = None) -> float | None:
    """The parameter of this object, else the shared one."""
    found = parameters.get(name, obj) or parameters.get(name)
    return float(found.value) if found is not None and isinstance(found.value, int | float) and np.isfinite(found.value) else None
