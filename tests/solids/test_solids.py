"""Geometry of the solids and the derivatives of the alignment."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from video2phys.solids.align import flow
from video2phys.solids.fill import mesh, particles, triangles, volume
from video2phys.solids.outline import area_centroid, outline, signed_distance
from video2phys.solids.pose import Pose, symmetries
from video2phys.solids.shape import cast, surface
from video2phys.types import Camera, Primitive

L_SHAPE = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]], float)
SOLIDS = [
    Primitive(kind, np.array([0.12, 0.08, 0.06] if kind != "cylinder" else [0.06, 0.1, 0.06])) for kind in ("box", "sphere", "cylinder")
]
CAMERA = Camera(np.array([[400.0, 0, 160], [0, 410, 120], [0, 0, 1]]), np.eye(4), 320, 240)
POSE = Pose(Rotation.from_euler("xyz", [0.4, 0.7, -0.2]).as_matrix(), np.array([0.05, -0.02, 0.9]))


@pytest.mark.parametrize(
    "solid", [*SOLIDS, Primitive("extrusion", np.array([2, 0.5, 3.0]), L_SHAPE - area_centroid(L_SHAPE)[1])], ids=lambda s: s.kind
)
def test_mesh_is_closed_and_particles_fill_it(solid):
    body = trimesh.Trimesh(*mesh(solid), process=False)
    assert body.is_watertight
    assert body.volume == pytest.approx(volume(solid), rel=1e-6)
    points, part = particles(solid, 3000)
    assert part.sum() == pytest.approx(volume(solid))
    assert 0.8 < len(points) / 3000 < 1.25
    assert np.abs(points.mean(0)).max() < 0.02 * max(solid.size)


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda s: s.kind)
def test_rays_meet_the_surface_point_they_are_aimed_at(solid):
    points, normal = surface(solid, np.random.default_rng(0).normal(size=(500, 3)))
    start = points + normal * 0.3
    t, n = cast(solid, start, points - start)
    np.testing.assert_allclose(t, 1, atol=1e-6)
    np.testing.assert_allclose(n, normal, atol=1e-6)
    assert np.isinf(cast(solid, start, normal)[0]).all()


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda s: s.kind)
def test_outline_encloses_the_rays_that_hit(solid):
    shape = outline(solid, POSE, CAMERA)
    x, y = np.meshgrid(np.arange(320) + 0.5, np.arange(240) + 0.5)
    pixels = np.stack([x, y], -1).reshape(-1, 2)
    o, v = CAMERA.rays(pixels)
    hit = np.isfinite(cast(solid, (o - POSE.t) @ POSE.R, v @ POSE.R)[0])
    d, _ = signed_distance(shape, pixels)
    assert (hit == (d < 0))[np.abs(d) > 0.05].all()


def test_signed_distance_outside_a_corner():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])
    d, g = signed_distance(square, np.array([[2, 2], [0.5, 0.25], [0.5, -1]]))
    np.testing.assert_allclose(d, [np.sqrt(2), -0.25, 1])
    np.testing.assert_allclose(g, [[np.sqrt(0.5)] * 2, [0, -1], [0, -1]])


def test_flow_is_the_derivative_of_projection():
    X = surface(SOLIDS[0], np.random.default_rng(1).normal(size=(20, 3)))[0]
    got = flow(CAMERA, X @ POSE.R.T + POSE.t, POSE.t, 0.08)
    for i, e in enumerate(np.eye(6) * 1e-6):
        hi, lo = (CAMERA.project(X @ p.R.T + p.t) for p in (POSE.moved(e, 0.08), POSE.moved(-e, 0.08)))
        np.testing.assert_allclose(got[:, :, i], (hi - lo) / 2e-6, rtol=1e-5, atol=1e-3)


def test_symmetries():
    assert len(symmetries(SOLIDS[0])) == 4
    for s in symmetries(SOLIDS[0]):
        assert np.linalg.det(s) == pytest.approx(1)
    assert len(symmetries(Primitive("box", np.ones(3)))) == 24


def test_ear_clipping_covers_a_concave_polygon():
    faces = triangles(L_SHAPE)
    assert sum(area_centroid(L_SHAPE[f])[0] for f in faces) == pytest.approx(4.0)
    assert all(area_centroid(L_SHAPE[f])[0] > 0 for f in faces)
