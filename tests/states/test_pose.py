"""A tumbling textured box of known size, seen by one camera: its poses come back."""

from __future__ import annotations

import numpy as np
import pytest
from textured_box import SIZE, frames, poses

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.gaussians import primitive
from video2phys.gaussians.settings import Settings as GaussiansSettings
from video2phys.solids.pose import Pose, angle, symmetries
from video2phys.states import pose
from video2phys.states.settings import Settings
from video2phys.types import About, Primitive


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return frames(tmp_path_factory.mktemp("box"))


@pytest.fixture(scope="module")
def solid(clip):
    return primitive.reconstruct(clip, GaussiansSettings(), Context(clip.folder))


def test_the_box_is_recognised_and_dressed(solid):
    body = solid.bodies[0]
    assert body.primitive.kind == "box"
    assert np.abs(body.mean).max(0) == pytest.approx(SIZE / 2, rel=1e-6)
    assert body.volume.sum() == pytest.approx(np.prod(SIZE))
    assert "box" in solid.notes[0]


def test_poses_come_back_within_their_sigma(clip, solid):
    track = pose.track(clip, solid, Settings(), Context(clip.folder))
    assert track.valid.all() and track.kind == "pose"
    got = [Pose.of(track.position[k, 0], track.rotation[k, 0]) for k in range(len(clip.time))]
    want = poses(len(clip.time))
    turn = min(np.mean([angle(g.R @ s, R) ** 2 for g, (R, _) in zip(got, want, strict=True)]) for s in symmetries(Primitive("box", SIZE)))
    off = np.array([g.t - t for g, (_, t) in zip(got, want, strict=True)])
    assert np.degrees(np.sqrt(turn)) < 1.5  # 1 degree moves the surface by 0.4 px here
    assert np.sqrt((off[:, :2] ** 2).sum(1).mean()) < 0.0008  # 0.3 px: what three faces and the rim can tell
    assert np.sqrt((off[:, 2] ** 2).mean()) < 0.008  # 0.2 px on each side of a 36 px outline
    assert (np.abs(off) < 4 * track.position_sigma[:, 0]).all()


def test_without_a_size_the_scale_is_unknown():
    with pytest.raises(BadInput, match="its size is not given") as error:
        primitive.candidates(About())
    assert "object.size" in error.value.fix
