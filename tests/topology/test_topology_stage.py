"""The topology stage never claims more than is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import samples

from video2phys import store
from video2phys.context import Context
from video2phys.topology.moments import ball, cloud
from video2phys.topology.settings import Settings
from video2phys.topology.stage import run
from video2phys.types import Parameter, Topology, Verdict


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> samples.Sample:
    return samples.rigid(tmp_path_factory.mktemp("slide"), count=4)


def topology(sample: samples.Sample, *extra: Parameter, drop: tuple[str, ...] = ()) -> Topology:
    kept = tuple(p for p in sample.parameters.parameters if p.name not in drop)
    parameters = replace(sample.parameters, parameters=(*kept, *extra))
    frames = replace(sample.frames, about=replace(sample.frames.about, density=None)) if "density" in drop else sample.frames
    return run(frames, sample.gaussians, sample.states, parameters, Settings(), Context(Path()))


def measured(sample: samples.Sample, added: tuple[np.ndarray, float, float] | None) -> tuple[Parameter, ...]:
    """Mass, centre and inertia of the box with a ball added, each with a narrow interval."""
    body = sample.gaussians.bodies[0]
    m = cloud(body.particle, body.volume, np.full(len(body.volume), 600.0))
    if added:
        m = m + ball(*added)
    n = m.numbers()

    def around(values: np.ndarray, sigma: float) -> list[list[float]]:
        return [[float(v - 1.96 * sigma), float(v + 1.96 * sigma)] for v in values]

    s = 0.01 * m.mass
    return (
        Parameter("mass", m.mass, "kg", [m.mass - 1.96 * s, m.mass + 1.96 * s], Verdict.IDENTIFIED),
        Parameter("center_of_mass", m.center.tolist(), "m", around(m.center, 2e-4), Verdict.IDENTIFIED),
        Parameter("inertia", n[4:].tolist(), "kg m^2", around(n[4:], 0.02 * n[4]), Verdict.IDENTIFIED),
    )


def kinds(result: Topology) -> set[str]:
    return {i.kind for i in result.family if i.allowed}


def test_a_slide_tests_nothing(slide: samples.Sample) -> None:
    result = topology(slide)
    assert not result.tested and "Nothing was tested" in result.statement and "ten numbers" in result.statement
    assert kinds(result) == {"solid", "void", "insert"}
    assert result.mass is not None and result.mass.verdict is Verdict.GIVEN and "solid only" in result.mass.note


def test_without_density_or_mass_there_are_only_ratios(slide: samples.Sample) -> None:
    result = topology(slide, drop=("density",))
    assert not result.tested and result.mass is None and all(i.mass is None for i in result.family)


def test_a_mass_not_identified_is_not_a_mass(slide: samples.Sample) -> None:
    result = topology(slide, Parameter("mass", float("nan"), "kg", None, Verdict.NOT_IDENTIFIED), drop=("density",))
    assert not result.tested and all(i.mass is None for i in result.family)


def test_a_light_body_of_known_material_is_not_solid(slide: samples.Sample) -> None:
    solid = 600 * float(samples.SIZE.prod())
    result = topology(slide, Parameter("mass", 0.82 * solid, "kg", None, Verdict.GIVEN))
    assert result.tested and "solid" not in kinds(result) and "void" in kinds(result)
    assert "ruled out" in result.statement


def test_the_solid_is_allowed_where_it_is_true_and_is_not_alone(slide: samples.Sample) -> None:
    result = topology(slide, *measured(slide, None))
    assert result.tested and "solid" in kinds(result) and len(kinds(result)) > 1, "a small void cannot be excluded"
    assert "cannot be told apart" in result.statement


def test_a_heavy_insert_is_found_in_the_family(slide: samples.Sample) -> None:
    at, radius = np.array([0.03, 0.005, 0.0]), 0.014
    result = topology(slide, *measured(slide, (at, radius, 5400.0)))
    assert result.tested and "solid" not in kinds(result) and "insert" in kinds(result)
    found = next(i for i in result.family if i.kind == "insert")
    truth = measured(slide, (at, radius, 5400.0))
    assert found.mass == pytest.approx(truth[0].value, rel=0.02)
    np.testing.assert_allclose(found.center, truth[1].value, atol=4e-4)


def test_a_void_off_the_middle_is_found_in_the_family(slide: samples.Sample) -> None:
    result = topology(slide, *measured(slide, (np.array([-0.03, 0.0, 0.0]), 0.026, -600.0)))
    assert "solid" not in kinds(result) and any(i.allowed and "off the middle" in i.description for i in result.family)


def test_soft_bodies_are_assumed_solid(tmp_path: Path) -> None:
    sample = samples.elastic(tmp_path, count=4)
    result = run(*sample.artefacts, Settings(), Context(tmp_path))
    assert not result.tested and result.statement.startswith("Solid assumed, not tested") and result.family == ()


def test_without_scale_nothing_is_said_of_the_interior(tmp_path: Path) -> None:
    sample = samples.rigid(tmp_path, unit="px", count=4)
    result = run(*sample.artefacts, Settings(), Context(tmp_path))
    assert not result.tested and "no length scale" in result.statement


def test_topology_saves_and_loads(slide: samples.Sample, tmp_path: Path) -> None:
    made = topology(slide)
    store.save(made, tmp_path)
    back = store.load(Topology, tmp_path)
    assert back.statement == made.statement and len(back.family) == len(made.family)
