"""The pieces of the twin's files."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
import samples

from video2phys.twin import overlay, replay
from video2phys.twin.build import moments
from video2phys.twin.formats import json as json_format
from video2phys.twin.formats import mesh, mjcf
from video2phys.twin.words import number, span


@pytest.mark.parametrize("restitution", [0.0, 0.2, 0.55, 0.9, 1.0])
def test_contact_rebounds_with_the_wanted_restitution(restitution: float) -> None:
    stiffness, step = 1e6, 2e-4
    assert mjcf.bounce(stiffness, mjcf.damping_for(restitution, stiffness, step), step) == pytest.approx(restitution, abs=0.05)


def test_lattice_fills_the_box_with_positive_tetrahedra() -> None:
    body = samples.box_body(np.array([0.2, 0.1, 0.1]), cells=8)
    points, elements = mesh.lattice(body, 6)
    corner = points[elements]
    volume = np.linalg.det(corner[:, 1:] - corner[:, :1]) / 6
    assert (volume > 0).all() and volume.sum() == pytest.approx(0.002, rel=1e-6)


def test_lattice_leaves_out_what_is_empty() -> None:
    from dataclasses import replace

    body = samples.box_body(np.full(3, 0.2), cells=8)
    inside = (body.particle[:, 0] < 0) | (body.particle[:, 2] < 0)  # an L of three quarters
    points, elements = mesh.lattice(replace(body, particle=body.particle[inside], volume=body.volume[inside]), 4)
    corner = points[elements]
    assert np.linalg.det(corner[:, 1:] - corner[:, :1]).sum() / 6 == pytest.approx(0.006, rel=1e-6)


def test_moments_of_a_box() -> None:
    size = samples.SIZE
    body = samples.box_body(size, cells=12)
    mass, center, inertia = moments(body.particle, body.volume, np.full(len(body.volume), 500.0))
    assert mass == pytest.approx(500 * size.prod())
    np.testing.assert_allclose(center, 0, atol=1e-12)
    np.testing.assert_allclose(np.diag(inertia), mass / 12 * (np.sum(size**2) - size**2), rtol=5e-3)


def test_spin_about_a_world_axis_stays_about_it(tmp_path: Path) -> None:
    """A free joint takes its spin in the body frame: a turned body that spins about world z does not tilt."""
    from dataclasses import replace

    from video2phys.twin.build import scene
    from video2phys.types import Topology

    sample = samples.rigid(tmp_path, "bounce", count=4)
    quarter = np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0])
    built = scene(sample.gaussians, sample.states, sample.parameters, Topology(False, "", ()))
    solid = replace(built.solids[0], rotation=quarter, spin=np.array([0, 0, 3.0]), inertia=np.eye(3) * 1e-4)
    built = replace(built, solids=(solid,), planar=False, ground=None)
    model = mujoco.MjModel.from_xml_string(mjcf.rigid(built))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    while data.time < 0.1:
        mujoco.mj_step(model, data)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, 1, velocity, 0)
    np.testing.assert_allclose(velocity[:3], [0, 0, 3], atol=1e-6)


def test_a_broken_model_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "twin.xml").write_text("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>")
    with pytest.raises(replay.Rejected):
        replay.drop(tmp_path / "twin.xml")


def test_video_pads_odd_sizes(tmp_path: Path) -> None:
    overlay.video(tmp_path / "v.mp4", [np.full((33, 47, 3), 40 * i, np.uint8) for i in range(5)], 25)
    assert overlay.count(tmp_path / "v.mp4") == 5


def test_json_schema_refuses_what_is_missing() -> None:
    tree = {key: {} for key in json_format.REQUIRED}
    assert json_format.valid(tree)
    assert not json_format.valid({k: v for k, v in tree.items() if k != "device"})
    assert not json_format.valid(tree | {"parameters": {"friction": {"value": 0.3, "unit": "1"}}})


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.3, 0.02, "0.300"), (0.3, None, "0.3"), (151234.0, 15000.0, "151\u2009000"), (-0.12345, 0.011, "−0.123"),
        (2.5e9, None, "2.5·10^9"), (np.nan, 1, "–"),
    ],
)  # fmt: skip
def test_numbers_read_well(value: float, half: float | None, text: str) -> None:
    assert number(value, half) == text


def test_vectors_read_component_by_component() -> None:
    assert span([1.0, 2.0], [[0.9, 1.1], [1.9, 2.1]]) == ("(1.00, 2.00)", "0.90 to 1.10; 1.90 to 2.10")
    assert span(0.3, [0.2, None])[1] == "0.2 to unbounded"
