"""The twin stage on captures whose motion is known in closed form."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import samples

from video2phys import store
from video2phys.context import Context
from video2phys.twin import stage
from video2phys.twin.settings import Settings
from video2phys.types import Topology, Twin

UNTESTED = Topology(False, "The interior was not tested.", ())
QUICK = Settings(video_size=200)


@pytest.fixture(scope="module")
def bounce(tmp_path_factory: pytest.TempPathFactory) -> tuple[samples.Sample, Twin]:
    folder = tmp_path_factory.mktemp("bounce")
    sample = samples.rigid(folder / "frames", "bounce", count=45)
    (folder / "out").mkdir()
    record = {"capture": "/c/box", "timings_s": {"frames": 1.0}, "device": "cpu", "versions": {"mujoco": mujoco.__version__}}
    return sample, stage.run(*sample.artefacts, UNTESTED, QUICK, Context(folder / "out", record=record))


def test_every_file_passes_its_check(bounce: tuple[samples.Sample, Twin]) -> None:
    _, twin = bounce
    assert {f.path for f in twin.files} >= {
        "twin.xml",
        "twin.json",
        "gaussians.ply",
        "particles.ply",
        "body.obj",
        "overlay.mp4",
        "report.html",
    }
    assert all(f.passed for f in twin.files), [f for f in twin.files if not f.passed]
    assert all((twin.folder / f.path).stat().st_size > 0 for f in twin.files)


def test_replay_follows_the_bounce(bounce: tuple[samples.Sample, Twin]) -> None:
    """Restitution 0.6 in closed form; the contact spring may lag by its own duration, about a centimetre of path."""
    _, twin = bounce
    assert twin.replay["from_fit_rms_m"] < 0.006
    assert twin.replay["position_rms_m"] < 0.008


def test_mjcf_carries_the_identified_numbers(bounce: tuple[samples.Sample, Twin]) -> None:
    _, twin = bounce
    model = mujoco.MjModel.from_xml_path(str(twin.folder / "twin.xml"))
    mass = 600 * samples.SIZE.prod()
    want = mass / 12 * (np.sum(samples.SIZE**2) - samples.SIZE**2)
    body = model.body("body")
    assert body.mass[0] == pytest.approx(mass, rel=1e-6)
    np.testing.assert_allclose(np.sort(body.inertia), np.sort(want), rtol=0.01)  # particles stand for the solid
    assert model.geom("ground").friction[0] == pytest.approx(samples.FRICTION)
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -samples.G])


def test_json_follows_the_schema(bounce: tuple[samples.Sample, Twin]) -> None:
    _, twin = bounce
    tree = json.loads((twin.folder / "twin.json").read_text())
    assert tree["model"] == "rigid" and tree["status"] == "converged"
    assert tree["parameters"]["friction"] == {
        "value": 0.3,
        "unit": "1",
        "interval": [0.28, 0.32],
        "verdict": "identified",
        "law": "Coulomb",
    }
    assert tree["residual"] == {"train_px": 0.21, "heldout_px": 0.34} and tree["provenance"]["layout"] == "bare folder"


def test_report_is_one_page(bounce: tuple[samples.Sample, Twin]) -> None:
    _, twin = bounce
    page = (twin.folder / "report.html").read_text()
    assert "data:video/mp4;base64," in page and "0.30" in page and "Only one impact is seen." in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    assert len(page) < 4e6


def test_twin_saves_and_loads(bounce: tuple[samples.Sample, Twin], tmp_path: Path) -> None:
    _, twin = bounce
    store.save(twin, tmp_path)
    assert store.load(Twin, tmp_path).files == twin.files


def test_slide_replays_within_a_millimetre(tmp_path: Path) -> None:
    sample = samples.rigid(tmp_path / "frames", "slide")
    (tmp_path / "out").mkdir()
    twin = stage.run(*sample.artefacts, UNTESTED, QUICK, Context(tmp_path / "out"))
    assert twin.replay["from_fit_rms_m"] < 1e-3 and not any("replay leaves" in w for w in twin.warnings)


def test_a_pendulum_hangs_from_its_pivot_and_swings_with_its_period(tmp_path: Path) -> None:
    """theta'' = -(g / l) sin theta - damping theta', here from scipy; the twin's body has the inertia of its own shape."""
    from dataclasses import replace

    from scipy.integrate import solve_ivp

    from video2phys.types import Parameter, Verdict

    sample = samples.rigid(tmp_path / "frames", "slide", count=60)
    radius, period, damping, pivot = 0.15, 0.8, 0.3, np.array([0.02, 0.0, 0.1])
    rate2 = (2 * np.pi / period) ** 2
    time = sample.parameters.time
    angle = solve_ivp(lambda _, y: (y[1], -rate2 * np.sin(y[0]) - damping * y[1]), (0, time[-1]), [0.9, 0.5], t_eval=time, rtol=1e-9).y[0]
    position = pivot + radius * np.stack([np.sin(angle), 0 * angle, -np.cos(angle)], -1)
    told = (("period", period), ("damping", damping), ("initial_angular_velocity", 0.5), ("camera_roll", 0.0), ("pivot", pivot.tolist()))
    found = tuple(Parameter(n, v, "m", None, Verdict.IDENTIFIED) for n, v in told)
    turned = np.stack([np.cos(angle / 2), 0 * angle, -np.sin(angle / 2), 0 * angle], -1)[:, None]
    parameters = replace(sample.parameters, parameters=found, position=position[:, None], rotation=turned, ground=None)
    (tmp_path / "out").mkdir()
    twin = stage.run(sample.frames, sample.gaussians, sample.states, parameters, UNTESTED, QUICK, Context(tmp_path / "out"))
    model = mujoco.MjModel.from_xml_path(str(twin.folder / "twin.xml"))
    assert model.nq == 1 and np.linalg.norm(model.opt.gravity) > 1.02 * rate2 * radius  # the body's own inertia asks for more
    assert twin.replay["from_fit_rms_m"] < 5e-4 and np.ptp(position[:, 0]) > 0.2


def test_without_scale_the_twin_says_so(tmp_path: Path) -> None:
    sample = samples.rigid(tmp_path / "frames", "bounce", unit="px")
    (tmp_path / "out").mkdir()
    twin = stage.run(*sample.artefacts, UNTESTED, QUICK, Context(tmp_path / "out"))
    assert any("no metric scale" in w for w in twin.warnings)
    assert twin.replay["from_fit_rms_px"] < 1.5


def test_a_scale_found_by_the_fit_makes_the_twin_metric(tmp_path: Path) -> None:
    from dataclasses import replace

    sample = samples.rigid(tmp_path / "frames", "slide", unit="px")
    (tmp_path / "out").mkdir()
    parameters = replace(sample.parameters, px_per_m=250.0)
    twin = stage.run(sample.frames, sample.gaussians, sample.states, parameters, UNTESTED, QUICK, Context(tmp_path / "out"))
    model = mujoco.MjModel.from_xml_path(str(twin.folder / "twin.xml"))
    np.testing.assert_allclose(model.geom_size[1], samples.SIZE / 2, rtol=1e-6)
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -samples.G])
    assert twin.replay["from_fit_rms_m"] < 1e-3


def test_soft_body_becomes_a_flexcomp(tmp_path: Path) -> None:
    sample = samples.elastic(tmp_path / "frames", count=20)
    (tmp_path / "out").mkdir()
    twin = stage.run(*sample.artefacts, UNTESTED, Settings(video_size=200, soft_cells=3), Context(tmp_path / "out"))
    assert all(f.passed for f in twin.files)
    model = mujoco.MjModel.from_xml_path(str(twin.folder / "twin.xml"))
    assert model.nflex == 1 and model.body_mass.sum() == pytest.approx(8.0, rel=1e-6)
    assert twin.replay["from_fit_rms_m"] < 2e-3  # free fall


def test_a_fit_without_motion_still_gets_a_report(tmp_path: Path) -> None:
    from dataclasses import replace

    from video2phys.types import Status

    sample = samples.rigid(tmp_path / "frames", "slide", count=8)
    (tmp_path / "out").mkdir()
    lost = replace(sample.parameters, position=np.full_like(sample.parameters.position, np.nan), status=Status.TOO_FEW_FRAMES)
    twin = stage.run(sample.frames, sample.gaussians, sample.states, lost, UNTESTED, QUICK, Context(tmp_path / "out"))
    assert "twin.xml" not in {f.path for f in twin.files} and any("no motion" in w for w in twin.warnings)
    assert "capture a longer or closer clip" in (twin.folder / "report.html").read_text()


@pytest.mark.parametrize("shape", ["box", "ball"])
def test_a_slide_down_a_plank_gets_its_support(tmp_path: Path, shape: str) -> None:
    """The planar fit knows slope and friction and no plane; the camera is not level: the path is at 20 degrees, the slope 24.

    A small block's outline can look round; what slides must not roll for that.
    """
    from dataclasses import replace

    from video2phys.solids.fill import mesh, particles
    from video2phys.types import Parameter, Primitive, Verdict

    sample = samples.rigid(tmp_path / "frames", "slide")
    (tmp_path / "out").mkdir()
    time, seen, slope = sample.parameters.time, np.radians(20), np.radians(24)
    way = 0.3 * time + samples.G * (np.sin(slope) - 0.3 * np.cos(slope)) * time**2 / 2
    position = (way[:, None] * [np.cos(seen), 0, -np.sin(seen)] - [0.2, 0, 0])[:, None]
    rotation = np.broadcast_to([np.cos(seen / 2), 0, np.sin(seen / 2), 0], (len(time), 1, 4))
    found = tuple(p for p in sample.parameters.parameters if p.name in ("friction", "density"))
    found += (Parameter("slope", 24.0, "deg", [23.5, 24.5], Verdict.IDENTIFIED),)
    parameters = replace(sample.parameters, parameters=found, position=position, rotation=np.array(rotation), ground=None)
    gaussians, states = sample.gaussians, sample.states
    if shape == "ball":
        ball = Primitive("sphere", np.full(3, 0.05))
        (particle, volume), (vertices, faces) = particles(ball, 500), mesh(ball)
        body = replace(gaussians.bodies[0], primitive=ball, particle=particle, volume=volume, vertices=vertices, faces=faces)
        gaussians, states = replace(gaussians, bodies=(body,)), replace(states, kind="planar")
    twin = stage.run(sample.frames, gaussians, states, parameters, UNTESTED, QUICK, Context(tmp_path / "out"))
    assert twin.replay["from_fit_rms_m"] < 2e-3


def test_pucks_collide_with_restitution_and_mass_ratio(tmp_path: Path) -> None:
    """Seen from above, in pixels: the second is twice as heavy and at rest, e = 0.6, nothing slows them but a light drag."""
    from dataclasses import replace

    from video2phys.types import Parameter, Verdict

    sample = samples.rigid(tmp_path / "frames", "slide", unit="px", count=40)
    (tmp_path / "out").mkdir()
    body = sample.gaussians.bodies[0]
    long = float(np.ptp(body.vertices[:, 0]))
    time, approach, hit = sample.parameters.time, 60.0, 0.25
    after = (time - hit).clip(0)
    first = -30 + approach * time.clip(max=hit) + approach * (1 - 0.6 * 2) / 3 * after
    second = np.full(len(time), -30 + approach * hit + long) + approach * 1.6 / 3 * after
    zero = np.zeros_like(time)
    position = np.stack([np.stack([x, zero, zero], 1) for x in (first, second)], 1)
    both = np.tile([1.0, 0, 0, 0], (len(time), 2, 1))
    found = (
        Parameter("restitution", 0.6, "1", [0.5, 0.7], Verdict.IDENTIFIED),
        Parameter("mass_ratio", 2.0, "1", [1.9, 2.1], Verdict.IDENTIFIED),
    )
    parameters = replace(sample.parameters, parameters=found, position=position, rotation=both, ground=None, gravity=None)
    double = [np.repeat(getattr(sample.states, n), 2, 1) for n in ("position_sigma", "rotation_sigma", "valid")]
    states = replace(sample.states, position=position, rotation=both, position_sigma=double[0], rotation_sigma=double[1], valid=double[2])
    gaussians = replace(sample.gaussians, bodies=(body, body))
    twin = stage.run(sample.frames, gaussians, states, parameters, UNTESTED, QUICK, Context(tmp_path / "out"))
    assert twin.replay["from_fit_rms_px"] < 1.0
