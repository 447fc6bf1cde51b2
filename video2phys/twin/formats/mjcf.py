"""MuJoCo's MJCF: rigid bodies with explicit inertia and calibrated contact, soft bodies as flexcomp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from video2phys.twin.build import Scene, Solid
from video2phys.twin.formats.mesh import lattice

CONTACT_DEPTH = 0.02  # of the smallest extent: how far the contact spring may give way at the highest speed seen
STEPS_IN_CONTACT = 16  # time steps while a bounce lasts; with fewer the rebound depends on where a step falls
LONGEST_STEP = 1e-3  # [s]
LEAST_DAMPING = 1e-6  # [s] without any, MuJoCo warns that the body has no passive forces
SOLIMP = 'solimp="0.95 0.95 0.001 0.5 2"'


def write(folder: Path, scene: Scene, cells: int) -> Path:
    """Write twin.xml (and the meshes it needs are expected beside it)."""
    file = folder / "twin.xml"
    file.write_text(soft(scene, cells) if scene.model == "elastic" else rigid(scene))
    return file


def rigid(scene: Scene) -> str:
    """MJCF of rigid bodies: free in space, on two slides and a hinge where the motion is planar, or on a pendulum's hinge."""
    stiffness, step = contact(scene)
    bodies, contacts = [], []
    for solid in scene.solids:
        damping = damping_for(solid.restitution, stiffness, step)
        contacts.append(f'solref="{_f(-stiffness, -damping)}" friction="{_f(solid.friction)} 0 0"')
        bodies.append(_body(scene, solid, contacts[-1]))
    speeds = np.concatenate([_velocity(scene, solid) for solid in scene.solids])
    # MuJoCo mixes the two sides of a contact; the ground repeats the (first) body's values so that the mix is the value itself
    return _document(scene, step, _assets(scene), _ground(scene, contacts[0]) + "\n".join(bodies), speeds)


def soft(scene: Scene, cells: int) -> str:
    """MJCF of one soft body as a flexcomp of tetrahedra; its own elasticity and damping make the rebound."""
    from scipy.spatial.transform import Rotation

    solid = scene.solids[0]
    points, elements = lattice(solid.body, cells)
    edge = np.linalg.norm(points[elements[:, 1]] - points[elements[:, 0]], axis=1).min()
    lame = scene.youngs_modulus * scene.poisson_ratio / ((1 + scene.poisson_ratio) * (1 - 2 * scene.poisson_ratio))
    wave = np.sqrt((lame + scene.youngs_modulus / (1 + scene.poisson_ratio)) * solid.body.volume.sum() / solid.mass)
    frame = float(np.median(np.diff(scene.time)))
    step = frame / np.ceil(frame / min(0.2 * edge / wave, LONGEST_STEP))
    stiffness = (0.2 / step) ** 2  # stiff beside the body; its damping is half critical: the ground keeps no energy, the body does
    damping = max(scene.damping, LEAST_DAMPING)
    body = (
        f'    <flexcomp name="{solid.name}" type="direct" dim="3" mass="{_f(solid.mass)}" radius="{_f(1e-3 * edge)}" '
        f'pos="{_f(*solid.position)}" quat="{_f(*solid.rotation)}" rgba="{_colour(solid)}"\n'
        f'      point="{_f(*points.ravel())}"\n      element="{" ".join(map(str, elements.ravel()))}">\n'
        f'      <elasticity young="{_f(scene.youngs_modulus)}" poisson="{_f(scene.poisson_ratio)}" damping="{_f(damping)}"/>\n'
        f'      <contact selfcollide="none" solref="{_f(-stiffness, -np.sqrt(stiffness))}" {SOLIMP} friction="{_f(solid.friction)} 0 0"/>\n'
        "    </flexcomp>"
    )
    turned = Rotation.from_quat(solid.rotation, scalar_first=True).apply(points)
    speeds = (solid.velocity + np.cross(solid.spin, turned)).ravel()
    return _document(scene, step, "", _ground(scene, f'friction="{_f(solid.friction)} 0 0"') + body, speeds, "Euler")


def contact(scene: Scene) -> tuple[float, float]:
    """Stiffness [1/s^2] of the contact spring and the time step [s], a whole number of which makes a frame.

    A contact spring x'' = -k x met at speed v gives way by v / sqrt(k), and a bounce lasts pi / sqrt(k).
    """
    extent = min(float(np.ptp(s.body.vertices, axis=0).min()) for s in scene.solids)
    g = float(np.linalg.norm(scene.gravity))
    span = float(scene.time[-1] - scene.time[0])
    start = max(float(np.linalg.norm(s.velocity)) for s in scene.solids)
    fall = g * span if scene.ground is None else np.sqrt(2 * g * max(_height(scene, s) for s in scene.solids))
    root = max(np.hypot(start, fall) / (CONTACT_DEPTH * extent), np.sqrt(g / (0.1 * CONTACT_DEPTH * extent)), 100.0)
    frame = float(np.median(np.diff(scene.time)))
    step = frame / np.ceil(frame / min(np.pi / root / STEPS_IN_CONTACT, LONGEST_STEP))
    return float(root**2), float(step)


def damping_for(restitution: float, stiffness: float, step: float) -> float:
    """Damping b [1/s] of the contact x'' = -k x - b v with which MuJoCo rebounds with the wanted restitution.

    Starts from the damped oscillator, e = exp(-pi z / sqrt(1 - z^2)), b = 2 z sqrt(k), and is corrected by bounces
    simulated in MuJoCo, whose soft constraints and one-sided force shift the value.
    """
    from scipy.optimize import brentq

    if restitution >= 1:
        return 0.0

    def excess(ratio: float) -> float:
        return bounce(stiffness, 2 * ratio * np.sqrt(stiffness), step) - restitution

    most = 2.0
    if excess(most) >= 0:  # a perfectly inelastic contact
        return 2 * most * float(np.sqrt(stiffness))
    root: Any = brentq(excess, 0.0, most, xtol=1e-4) if excess(0.0) > 0 else 0.0
    return 2 * float(np.sqrt(stiffness)) * float(root)


def bounce(stiffness: float, damping: float, step: float) -> float:
    """Restitution that MuJoCo shows for a ball that meets a plane without gravity; it does not depend on the speed."""
    import mujoco

    root = float(np.sqrt(stiffness))
    depth = 1 / root  # penetration at unit speed
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" gravity="0 0 0" cone="elliptic" impratio="10" integrator="implicitfast"/>'
        f'<default><geom solref="{_f(-stiffness, -damping)}" {SOLIMP}/></default><worldbody><geom type="plane" size="0 0 1"/>'
        f'<body pos="0 0 {_f(100 * depth + 0.37 * step)}"><freejoint/><geom size="{_f(100 * depth)}" mass="1"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    data.qvel[2] = -1.0
    for _ in range(int(20 * np.pi / root / step)):
        mujoco.mj_step(model, data)
        if data.qvel[2] > 0 and data.ncon == 0:
            return float(data.qvel[2])
    return 0.0


def _document(scene: Scene, step: float, assets: str, world: str, speeds: np.ndarray, integrator: str = "implicitfast") -> str:
    return f"""<mujoco model="video2phys twin">
  <!-- lengths in {scene.unit}, seconds, kilograms, z up; keyframe 0 is the state at {_f(scene.time[scene.start])} s of the video -->
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{step:.12g}" gravity="{_f(*scene.gravity)}" cone="elliptic" impratio="10" integrator="{integrator}"/>
  <size memory="200M"/>
  <default>
    <geom condim="3" {SOLIMP}/>
  </default>
  <asset>
    <texture name="grid" type="2d" builtin="checker" rgb1=".85 .86 .88" rgb2=".75 .77 .8" width="256" height="256"/>
    <material name="grid" texture="grid" texrepeat="4 4" texuniform="true"/>
{assets}  </asset>
  <worldbody>
    <light directional="true" dir="-.3 .4 -1" diffuse=".8 .8 .8"/>
{world}
  </worldbody>
  <keyframe>
    <key name="start" qvel="{_f(*speeds)}"/>
  </keyframe>
</mujoco>
"""


def _assets(scene: Scene) -> str:
    meshes = [s.name for s in scene.solids if _needs_mesh(s)]
    return "".join(f'    <mesh name="{name}" file="{name}.obj" inertia="convex"/>\n' for name in meshes)


def _ground(scene: Scene, contact_: str) -> str:
    if scene.ground is None:
        return ""
    normal = np.asarray(scene.ground.normal, float)
    at, turn = normal * scene.ground.offset, _from_z(normal)
    return f'    <geom name="ground" type="plane" size="0 0 1" pos="{_f(*at)}" quat="{_f(*turn)}" material="grid" {contact_}/>\n'


def _body(scene: Scene, solid: Solid, contact_: str) -> str:
    from scipy.spatial.transform import Rotation

    I = solid.inertia  # noqa: E741
    loss = f' frictionloss="{_f(solid.mass * solid.drag)}"' if solid.drag else ""  # a table; exact for motion along x or z
    if scene.planar:  # joint axes are given in the body's own frame
        back = Rotation.from_quat(solid.rotation, scalar_first=True).inv()
        axes = back.apply([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
        joints = "".join(
            f'      <joint name="{solid.name}_{name}" type="{kind}" axis="{_f(*axis)}"{loss if kind == "slide" else ""}/>\n'
            for name, kind, axis in zip("xzr", ("slide", "slide", "hinge"), axes, strict=True)
            if kind == "slide" or solid.rolls
        )
        if solid.pivot is not None:
            at = back.apply(solid.pivot - solid.position)
            joints = (
                f'      <joint name="{solid.name}_r" type="hinge" axis="{_f(*axes[2])}" pos="{_f(*at)}" damping="{_f(solid.bearing)}"/>\n'
            )
    else:
        joints = f'      <freejoint name="{solid.name}"/>\n'
    return (
        f'    <body name="{solid.name}" pos="{_f(*solid.position)}" quat="{_f(*solid.rotation)}">\n{joints}'
        f'      <inertial mass="{_f(solid.mass)}" pos="{_f(*solid.center)}" '
        f'fullinertia="{_f(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])}"/>\n'
        f'      <geom {_shape(solid)} rgba="{_colour(solid)}" {contact_}/>\n    </body>'
    )


def _needs_mesh(solid: Solid) -> bool:
    return solid.body.primitive is None or solid.body.primitive.kind == "extrusion"


def _shape(solid: Solid) -> str:
    primitive = solid.body.primitive
    if primitive is None or _needs_mesh(solid):
        return f'type="mesh" mesh="{solid.name}"'
    half = np.asarray(primitive.size, float) / 2
    if primitive.kind == "sphere":
        return f'type="sphere" size="{_f(half.mean())}"'
    if primitive.kind == "box":
        return f'type="box" size="{_f(*half)}"'
    along_y = _from_z(np.array([0.0, 1, 0]))
    return f'type="cylinder" size="{_f((half[0] + half[2]) / 2, half[1])}" quat="{_f(*along_y)}"'


def _velocity(scene: Scene, solid: Solid) -> np.ndarray:
    """Generalised velocity: a hinge turns about -y, a free joint takes its spin in the body frame."""
    from scipy.spatial.transform import Rotation

    if solid.pivot is not None:
        return np.array([-solid.spin[1]])
    if scene.planar:
        return np.array([solid.velocity[0], solid.velocity[2], -solid.spin[1]][: 3 if solid.rolls else 2])
    return np.concatenate([solid.velocity, Rotation.from_quat(solid.rotation, scalar_first=True).inv().apply(solid.spin)])


def _height(scene: Scene, solid: Solid) -> float:
    ground: Any = scene.ground
    return max(0.0, float(solid.position @ ground.normal - ground.offset))


def _colour(solid: Solid) -> str:
    rgb = (
        np.clip(0.5 + 0.28209479177387814 * np.median(solid.body.harmonics[:, 0], axis=0), 0, 1) if len(solid.body.harmonics) else [0.6] * 3
    )
    return _f(*np.round(rgb, 3), 1)


def _from_z(direction: np.ndarray) -> np.ndarray:
    """Quaternion (4,) that turns +z into the unit vector."""
    x, y, z = direction
    if z < -1 + 1e-12:
        return np.array([0.0, 1, 0, 0])
    q = np.array([1 + z, -y, x, 0.0])
    return q / np.linalg.norm(q)


def _f(*values: Any) -> str:
    return " ".join(f"{float(v) + 0.0:.9g}" for v in values)  # + 0.0 turns -0 into 0
