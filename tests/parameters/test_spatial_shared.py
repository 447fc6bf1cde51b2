"""Several throws of one box, simulated in finer steps: what they tell together, and the search on a lattice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.parameters.settings import Settings
from video2phys.parameters.spatial.shared import Throw, identify, lowest
from video2phys.simulate.rigid import inertia, rotation, shapes, spatial
from video2phys.types import About, Body, Frames, Gaussians, Plane, Primitive, StateTrack

SIZE = np.array([0.12, 0.10, 0.08])
FRICTION, RESTITUTION, FPS = 0.3, 0.3, 100
PLACE, TURN = 3e-4, 3e-3  # [m], [rad] noise of a motion capture


def throw(rng: np.random.Generator, frames: int, up: float = 0.3) -> Throw | None:
    """A throw with a start of its own, as measured with noise."""
    speed = np.array([rng.uniform(0.6, 1.4), rng.uniform(-0.3, 0.3), up])
    start = spatial.State(np.array([[0, 0, 0.22]]), rotation.exp(0.3 * rng.normal(size=(1, 3))), speed[None], rng.uniform(-2, 2, (1, 3)))
    params = spatial.params(friction=FRICTION, restitution=RESTITUTION, offset=0.0, inertia=inertia.of_box(SIZE))
    time = np.arange(frames) / FPS
    moved = spatial.rollout(params, spatial.Scene(shapes.box(SIZE), largest_dt=1 / 9600), start, time)
    place = moved.position[0] + PLACE * rng.normal(size=(frames, 3))
    turned = rotation.times(rotation.exp(TURN * rng.normal(size=(frames, 3))), moved.rotation[0])
    states = StateTrack(
        time, "pose", place[:, None], np.full((frames, 1, 3), PLACE), turned[:, None], np.full((frames, 1, 3), TURN), None, None,
        np.ones((frames, 1), bool), "m",
    )  # fmt: skip
    none, zero = np.zeros((0, 3)), np.zeros(0)
    body = Body(none, np.zeros((0, 4)), none, zero, np.zeros((0, 1, 3)), none, zero, none, np.zeros((0, 3), int), 0, place[0], turned[0],
                Primitive("box", SIZE))  # fmt: skip
    about = About(gravity=np.array([0, 0, -9.81]), ground=Plane(np.array([0, 0, 1.0]), 0.0))
    return Throw.of(Frames(Path("."), time, (), (), 1, about, "test"), Gaussians((body,), "m"), states)


def throws(count: int, frames: int = 60) -> list[Throw]:
    rng = np.random.default_rng(2)
    return [t for t in (throw(rng, frames) for _ in range(count)) if t is not None]


def test_friction_and_restitution_of_six_throws() -> None:
    several = throws(6)
    shared = identify(several, Settings())  # type: ignore[call-arg]
    friction, restitution = shared.parameters
    for found, truth, near in ((friction, FRICTION, 0.015), (restitution, RESTITUTION, 0.05)):
        assert abs(found.value - truth) < near and found.interval[0] <= truth <= found.interval[1]
    away = [t.distance(np.array([[0.4, 0.3, 1.0]]))[0] for t in several]
    assert np.median(shared.distance) < 0.2 * np.median(away)  # one of the throws tumbles another way, whatever the values


def test_too_few_throws() -> None:
    with pytest.raises(BadInput, match=r"2 throw\(s\) reach the ground"):
        identify(throws(2), Settings())  # type: ignore[call-arg]


def test_a_flight_alone_is_no_throw() -> None:
    assert throw(np.random.default_rng(3), 20, up=3.0) is None


def test_the_lowest_point_of_a_quadratic_between_samples() -> None:
    rng, free = np.random.default_rng(0), np.array([True, True, False])
    low, high = np.array([0.0, -1.0, 1.0]), np.array([1.0, 1.0, 1.0])
    sample = low + (high - low) * rng.uniform(size=(120, 3))
    cost = (sample[:, 0] - 0.33) ** 2 + 2 * (sample[:, 1] - 0.1) ** 2 + (sample[:, 0] - 0.33) * (sample[:, 1] - 0.1)
    np.testing.assert_allclose(lowest(sample, cost, free, low, high), [0.33, 0.1, 1.0], atol=1e-9)
    dearest = sample[np.argmin(-cost)]
    np.testing.assert_allclose(lowest(sample, -cost, free, low, high), dearest)  # no lowest point: the cheapest sample
