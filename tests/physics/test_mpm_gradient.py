"""The hand-written adjoint against central differences, in double precision."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from stretches import each_stretch

from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.mpm.gradient import differentiable, rigid_start
from video2phys.simulate.mpm.rollout import rollout
from video2phys.simulate.mpm.scene import Params, State, build, start

LAWS = get_args(Law)


def body(law, count=3, h=0.02):
    """A small irregular body over a tilted plane."""
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(*[np.arange(count) * h] * 3, indexing="ij"), -1).reshape(-1, 3)
    grid = grid - grid.mean(0) + rng.uniform(-0.2, 0.2, grid.shape) * h
    return build(grid, h**3 * rng.uniform(0.8, 1.2, len(grid)), normal=np.array([0.1, -0.2, 1.0]), law=law, precision="f64")


def case(scene, height=0.045, friction=0.3):
    rng = np.random.default_rng(4)
    params = Params.of(
        scene,
        youngs_modulus=8e4,
        poisson_ratio=0.28,
        density=rng.uniform(800, 1200, (1, len(scene.volume))),
        gravity=(0.5, -0.3, -9.81),
        friction=friction,
        yield_stress=400.0,
        friction_angle=0.5,
        viscosity=20.0,
        fading=30.0,
        stiffness=rng.uniform(0.7, 1.3, (1, len(scene.volume))),
        presence=rng.uniform(0.5, 1.0, (1, len(scene.volume))),
    )
    state = start(
        scene, params, position=np.array([0.01, 0.02, height]), velocity=np.array([0.8, 0.2, -1.5]), angular_velocity=np.array([3.0, -2, 4])
    )
    return params, replace(state, deformation=pressed(scene, state.deformation))


def pressed(scene, F):
    """Sand under some pressure: the tip of its cone, at rest, has no derivative."""
    return 0.995 * F if scene.law == "Drucker-Prager" else F


def compare(scene, params, state, time, steps, rel=1e-5):
    """Every derivative of a random linear functional of the track (positions and F) against central differences."""
    rng = np.random.default_rng(5)
    track, pullback = differentiable(params, scene, state, time, steps=steps)
    assert not track.failed.any()
    a, c = rng.normal(size=track.position.shape), 0.1 * rng.normal(size=track.deformation.shape)
    g = pullback(a, c)

    def loss(p, s):
        t = rollout(p, scene, s, time, steps=steps)
        return float((a * t.position).sum() + (c * t.deformation).sum())

    def check(name, got, vary, size):
        h = 1e-6 * size
        # fourth-order central difference
        ends = [vary(k * h) for k in (-2, -1, 1, 2)]
        want = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        scale = max(abs(want), 1e-3)
        assert np.isfinite(got), name
        assert abs(got - want) <= rel * scale, (name, got, want)

    for name in ("youngs_modulus", "poisson_ratio", "offset", "friction", "yield_stress", "friction_angle", "viscosity", "fading"):
        value = getattr(params, name)
        size = {"youngs_modulus": 1e5, "offset": 0.05, "yield_stress": 400, "viscosity": 20, "fading": 30}.get(name, 1.0)
        check(name, getattr(g, name).sum(), lambda h, name=name, value=value: loss(replace(params, **{name: value + h}), state), size)
    for name, size in (("gravity", 10.0), ("density", 1000.0), ("stiffness", 1.0), ("presence", 1.0)):
        value = getattr(params, name)
        d = rng.normal(size=value.shape)
        check(name, (getattr(g, name) * d).sum(), lambda h, n=name, v=value, d=d: loss(replace(params, **{n: v + h * d}), state), size)
    for name, size in (("position", 0.02), ("velocity", 1.0), ("affine", 10.0), ("deformation", 1.0)):
        value = getattr(state, name)
        d = rng.normal(size=value.shape)
        check(
            name, (getattr(g.start, name) * d).sum(), lambda h, n=name, v=value, d=d: loss(params, replace(state, **{n: v + h * d})), size
        )
    return g


@pytest.mark.parametrize("law", LAWS)
def test_one_step_at_rest(law):
    """At F = I, where the derivative of a singular value decomposition does not exist."""
    scene = body(law)
    params, state = case(scene, height=0.2)
    compare(scene, params, state, np.array([0, 2e-4]), 1)


@pytest.mark.parametrize("law", LAWS)
@each_stretch
def test_one_step_deformed(law, F):
    scene = body(law)
    params, state = case(scene, height=0.2)
    state = State(state.position, state.velocity, state.affine, pressed(scene, np.broadcast_to(F, state.deformation.shape)))
    compare(scene, params, state, np.array([0, 2e-4]), 1)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", [0.0, 0.22, 1e6])  # with 0.2 a node of sand begins to slip within the difference
def test_contact(law, friction):
    """Through an impact on the tilted plane: slipping, mixed, and sticking."""
    scene = body(law)
    params, state = case(scene, height=0.035, friction=friction)
    g = compare(scene, params, state, np.array([0, 4e-3]), 20, rel=1e-5)
    assert abs(g.offset[0, 0]) > 1e-3  # it touched


@pytest.mark.parametrize("law", LAWS)
def test_whole_rollout(law):
    """Fall, impact and rebound over several frames, with checkpoints and unequal frame gaps."""
    scene = body(law)
    params, state = case(scene)
    compare(scene, params, state, np.array([0, 0.012, 0.02, 0.035]), np.array([[30], [20], [38]]), rel=1e-5)


def test_rigid_start():
    """Derivatives by a rigid start's position, velocity and spin."""
    scene = body("neo-Hookean")
    params, _ = case(scene)
    time, steps = np.array([0, 0.02, 0.03]), 40
    base = {"position": np.array([0.01, 0.02, 0.045]), "velocity": np.array([0.8, 0.2, -1.5]), "angular_velocity": np.array([3.0, -2, 4])}
    track, pullback = differentiable(params, scene, start(scene, params, **base), time, steps=steps)
    a = np.random.default_rng(1).normal(size=track.position.shape)
    got = rigid_start(params, scene, pullback(a, None))
    for (name, value), g in zip(base.items(), got, strict=True):
        for axis in range(3):
            ends = []
            for s in (-1e-6, 1e-6):
                state = start(scene, params, **{**base, name: value + s * np.eye(3)[axis]})
                ends.append((a * rollout(params, scene, state, time, steps=steps).position).sum())
            assert g[0, axis] == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-4, abs=1e-5), (name, axis)


def test_failed_members_have_no_derivative():
    scene = body("neo-Hookean")
    params = Params.of(scene, youngs_modulus=np.array([8e4, 1e10]), poisson_ratio=0.3)
    state = start(scene, params, position=np.array([0, 0, 0.04]), velocity=np.array([0, 0, -1.0]))
    track, pullback = differentiable(params, scene, state, np.arange(4) * 0.01, steps=40)
    assert list(track.failed) == [False, True]
    g = pullback(np.ones_like(track.position), None)
    assert np.isfinite(g.youngs_modulus[0]) and np.isnan(g.youngs_modulus[1])
