"""A clamped body from markers, held against Timoshenko's beam, which is not what the fit simulates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from synthetic import beam

from video2phys.errors import BadInput
from video2phys.parameters.markers import fit
from video2phys.parameters.markers.body import Body
from video2phys.parameters.markers.identify import identify
from video2phys.parameters.markers.predict import predict_sag
from video2phys.parameters.markers.release import find
from video2phys.parameters.markers.ring import ring_of
from video2phys.parameters.markers.specimen import Specimen, find_pose
from video2phys.simulate.fem.attach import attach, carried
from video2phys.solve.covariance import parameters
from video2phys.types import Markers, Status, Verdict

TURN = Rotation.from_euler("zy", [25, 90], degrees=True).as_matrix() @ Rotation.from_euler("x", 90, degrees=True).as_matrix()
MARKERS, GRAVITY = beam.markers(TURN)
SPECIMEN = Specimen(beam.SIZE, beam.DENSITY, GRAVITY, beam.NU)


@pytest.fixture(scope="module")
def found():
    return identify(MARKERS, SPECIMEN, across=2)


def within(parameter, truth):
    low, high = parameter.interval
    return low <= truth <= high


def test_modulus_frequency_and_damping_lie_in_their_intervals(found):
    f, zeta = beam.truth()
    assert found.status is Status.CONVERGED and not found.warnings
    for name, truth in (("youngs_modulus", beam.E), ("first_frequency", f), ("damping_ratio", zeta), ("reach", 0.15),
                        ("release_time", beam.RELEASE), ("stiffness_damping", beam.BETA), ("mass_damping", beam.ALPHA)):  # fmt: skip
        assert within(found[name], truth), (name, truth, found[name])
    for name, share in (("youngs_modulus", 0.15), ("first_frequency", 0.005), ("damping_ratio", 0.05)):
        low, high = found[name].interval
        assert (high - low) / 2 < share * found[name].value and found[name].verdict is Verdict.IDENTIFIED
    assert found["stiffness_damping"].verdict is Verdict.NOT_IDENTIFIED and found["poisson_ratio"].verdict is Verdict.GIVEN
    assert found["dynamic_modulus"].value == pytest.approx(beam.E, rel=0.04)  # the beam's sections stay plane, the solid's do not


def test_the_modulus_does_not_depend_on_the_mesh(found):
    (coarse, first), (fine, last) = found.meshes
    assert fine > 3 * coarse and abs(first / last - 1) < 0.03


def test_the_last_part_is_predicted_as_well_as_the_rest_is_fitted(found):
    assert found.train_rms < 3e-5 and found.heldout_rms < 1.2 * found.train_rms


def test_the_sag_of_another_record_is_predicted(found):
    other, _ = beam.markers(TURN, seed=1)
    sag = predict_sag(found, other)
    assert sag.interval[0] < sag.measured < sag.interval[1] and abs(sag.error) < 0.05
    E, (length, width, height) = beam.E, beam.SIZE
    more = 0.1 * length**3 / (3 * E * width * height**3 / 12)  # of a beam under a load at its end
    assert predict_sag(found, other, 0.1).predicted - sag.predicted == pytest.approx(more, rel=0.06)


def test_a_free_poisson_ratio_is_called_not_identified():
    """Bending says next to nothing of it."""
    release = find(MARKERS)
    specimen = replace(SPECIMEN, poisson_ratio=None)
    ring, pose = ring_of(MARKERS, release), find_pose(specimen, release)
    problem, space = fit.start(specimen, pose, release, ring, Body.of(specimen, pose, 1))
    problem, estimate = fit.settle(problem, space)
    named = {p.name: p for p in parameters(estimate, space, channels=ring.value.shape[1])}
    assert named["poisson_ratio"].verdict in (Verdict.NOT_IDENTIFIED, Verdict.AT_BOUND, Verdict.WEAK)
    assert within(named["youngs_modulus"], beam.E)


def test_the_release_is_found_before_any_model():
    release = find(MARKERS)
    assert list(release.moving) == [0, 1, 2] and list(release.still) == [3, 4]
    assert release.time == pytest.approx(beam.RELEASE, abs=1 / beam.RATE)
    assert release.noise == pytest.approx(2e-5, rel=0.3)
    np.testing.assert_allclose(release.held, beam.PLACES @ TURN.T + (0.3, -0.2, 1.0), atol=2e-5)
    assert not (release.train & release.heldout).any() and MARKERS.time[release.heldout].min() > MARKERS.time[release.train].max()


def test_the_pose_is_found_from_the_markers():
    pose = find_pose(SPECIMEN, find(MARKERS))
    assert np.degrees(np.arccos(pose.rotation[:, 0] @ TURN[:, 0])) < 3  # the markers are not quite around the axis
    np.testing.assert_allclose(pose.rotation.T @ pose.rotation, np.eye(3), atol=1e-12)
    exact = find_pose(replace(SPECIMEN, axis=tuple(TURN[:, 0])), find(MARKERS))
    np.testing.assert_allclose(exact.rotation, TURN, atol=1e-6)


def test_attached_points_follow_any_affine_motion():
    rng = np.random.default_rng(0)
    body = Body.of(SPECIMEN, find_pose(SPECIMEN, find(MARKERS)), 1)
    point = rng.uniform(-0.03, 0.18, (6, 3))  # inside and far outside
    F, shift = np.eye(3) + 0.2 * rng.normal(size=(3, 3)), rng.normal(size=3)
    moved = carried(body.scene.node @ F.T + shift, *attach(body.scene.node, body.solid.element, point))
    np.testing.assert_allclose(moved, point @ F.T + shift, atol=1e-9)


def changed(position=None, time=None):
    p = MARKERS.position if position is None else position
    return Markers(MARKERS.label, MARKERS.time[: len(p)] if time is None else time, p)


@pytest.mark.parametrize(("markers", "says"), [
    (changed(np.full_like(MARKERS.position, np.nan)), "no marker is seen"),
    (changed(np.repeat(MARKERS.position[:1], 100, 0)), "no marker moves"),
    (changed(MARKERS.position[45:]), "begun before"),
    (changed(MARKERS.position[:60]), "fewer than twenty"),
    (changed(MARKERS.position[:80]), "rung twice"),
])  # fmt: skip
def test_a_record_without_a_release_is_refused(markers, says):
    with pytest.raises(BadInput, match=says):
        ring_of(markers, find(markers))


def test_what_is_known_of_the_body_must_make_sense():
    with pytest.raises(BadInput, match="positive"):
        replace(SPECIMEN, density=0.0)
    with pytest.raises(BadInput, match="Poisson"):
        replace(SPECIMEN, poisson_ratio=0.5)
    with pytest.raises(BadInput, match="across"):
        identify(MARKERS, SPECIMEN, across=1)
    release = find(MARKERS)
    with pytest.raises(BadInput, match="would lie"):
        find_pose(replace(SPECIMEN, reach=0.3), release)
    with pytest.raises(BadInput, match="all markers move"):
        find_pose(SPECIMEN, replace(release, still=release.still[:0]))
