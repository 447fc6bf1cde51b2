"""The MJCF simulated in MuJoCo: does it load, does it stand a drop, does it follow the video."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.twin.build import Scene
from video2phys.types import Parameters, StateTrack, Twin


class Rejected(BadInput):
    """MuJoCo does not take the file, or its simulation breaks down."""


def load(file: Path) -> Any:  # a pair of mujoco types; mujoco is imported on use
    """The compiled model and its data at the start keyframe. Raises Rejected with MuJoCo's reason."""
    import mujoco

    mujoco.set_mju_user_warning(_unwritten)
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        raise Rejected(f"MuJoCo rejects {file.name}: {str(error).strip().splitlines()[0]}", fix="Report this capture as a bug.") from error
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def _unwritten(message: str) -> None:
    """Takes the place of MuJoCo's own handler, which writes MUJOCO_LOG.TXT where the user stands; data.warning keeps the counts."""


def drop(file: Path, seconds: float = 1.0) -> None:
    """Simulate for `seconds` from the keyframe. Raises Rejected on a warning of MuJoCo or a non-finite state."""
    import mujoco

    model, data = load(file)
    for _ in range(int(np.ceil(seconds / model.opt.timestep))):
        mujoco.mj_step(model, data)
    bad = [mujoco.mjtWarning(i).name for i, w in enumerate(data.warning) if w.number]
    if bad or not np.isfinite(data.qpos).all():
        raise Rejected(
            f"MuJoCo cannot simulate {file.name}: {', '.join(bad) or 'the state is not finite'}", fix="Report this capture as a bug."
        )


def replay(file: Path, scene: Scene) -> np.ndarray:
    """Body origins in the scene's units at the frame times (T, O, 3); NaN before the start."""
    import mujoco

    model, data = load(file)
    out = np.full((len(scene.time), len(scene.solids), 3), np.nan)
    ids = [] if model.nflex else [model.body(solid.name).id for solid in scene.solids]
    for frame in range(scene.start, len(scene.time)):
        steps = round((scene.time[frame] - scene.time[scene.start]) / model.opt.timestep)
        while round(data.time / model.opt.timestep) < steps:
            mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        if model.nflex:
            mujoco.mj_flex(model, data)
            out[frame, 0] = data.flexvert_xpos.mean(0)
        else:
            out[frame] = data.xpos[ids]
    return out


def simulate_csv(twin: Twin, seconds: float, rate: float = 100.0) -> str:
    """The twin from its start keyframe: one row per body and 1 / rate [s], position [m] and quaternion w, x, y, z.

    A soft body's row is the mean of its vertices, without a rotation. Raises Rejected where the twin has no MJCF.
    """
    import mujoco

    file = next((twin.folder / f.path for f in twin.files if f.format == "MJCF" and (twin.folder / f.path).is_file()), None)
    if file is None:
        raise Rejected("this twin has no simulator model.", fix=f"{twin.folder / 'report.html'} says why.")
    model, data = load(file)
    rows = ["time,body,x,y,z,qw,qx,qy,qz"]
    for k in range(int(seconds * rate) + 1):
        while data.time < k / rate - 0.5 * model.opt.timestep:
            mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        if model.nflex:
            mujoco.mj_flex(model, data)
            bodies = [("soft", [*data.flexvert_xpos.mean(0), 1.0, 0, 0, 0])]
        else:
            moving = [i for i in range(1, model.nbody) if model.body(i).dofnum[0] > 0]
            bodies = [(model.body(i).name, [*data.xpos[i], *data.xquat[i]]) for i in moving]
        rows += [f"{k / rate:.6g},{name}," + ",".join(f"{v:.6g}" for v in values) for name, values in bodies]
    return "\n".join(rows) + "\n"


def compare(simulated: np.ndarray, scene: Scene, states: StateTrack, parameters: Parameters) -> dict[str, float]:
    """RMS distance of the replay from the measured and from the predicted positions, over the frames fitted or held out.

    Directions in which nothing was measured (infinite sigma) do not count. `size` is the median object extent, for scale.
    """
    unit = scene.unit
    measured = np.where(np.isfinite(states.position_sigma) & states.valid[..., None], states.position * scene.scale, np.nan)
    table: dict[str, float] = {}
    for name, rows in (("train", parameters.train), ("heldout", parameters.heldout)):
        table[f"{name}_rms_{unit}"] = rms((simulated - measured)[rows])
    table[f"position_rms_{unit}"] = rms((simulated - measured)[parameters.train | parameters.heldout])
    table[f"from_fit_rms_{unit}"] = rms(simulated - parameters.position * scene.scale)
    table[f"size_{unit}"] = float(np.median([np.ptp(s.body.vertices, axis=0).max() for s in scene.solids]))
    return {k: v for k, v in table.items() if np.isfinite(v)}


def rms(difference: np.ndarray) -> float:
    """Root mean square length of vectors (..., 3); a missing component counts as zero, a missing vector not at all."""
    seen = np.isfinite(difference).any(-1)
    return float(np.sqrt((np.nan_to_num(difference[seen]) ** 2).sum(-1).mean())) if seen.any() else float("nan")
