"""The rendering-invariant network: its Jacobian, its loss, its crops, and what training does."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import samples
import torch

from video2phys.states.risp import crops as crops_
from video2phys.states.risp.loss import error_and_penalty, sensitivity
from video2phys.states.risp.network import seeded
from video2phys.states.risp.predict import join, nearest_rotation
from video2phys.states.risp.randomise import Layers, Psi, picture, radius, random_psi, random_states, render, transposed_product
from video2phys.states.risp.settings import Risp
from video2phys.states.risp.stage import chain
from video2phys.states.risp.train import Trained, train

QUICK = Risp(renders=96, steps=60, batch=12, penalty=0.0, rotation_deg=30)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> samples.Sample:
    return samples.elastic(tmp_path_factory.mktemp("risp"), count=6)


@pytest.fixture(scope="module")
def rendered(sample: samples.Sample) -> tuple[Layers, np.ndarray]:
    crops = crops_.gather(sample.frames)
    generator = np.random.default_rng(0)
    seats = [crops[i % len(crops)] for i in range(QUICK.renders)]
    states = random_states(len(seats), False, QUICK, generator)
    return render(sample.gaussians.bodies[0], seats, states), states


@pytest.fixture(scope="module")
def plain(rendered: tuple[Layers, np.ndarray]) -> Trained:
    """Trained without the penalty: domain randomisation alone."""
    return train(*rendered, QUICK, 0)


def as_psi(flat: torch.Tensor) -> Psi:
    return Psi(flat[:, :3], flat[:, 3:6], flat[:, 6:])


def test_jacobian_product_is_the_central_difference(rendered: tuple[Layers, np.ndarray]) -> None:
    """J^T g = d(g . I)/dpsi, in float64; the image is bilinear, so that the difference is exact."""
    layers = Layers(*(t[:3].double() for t in (rendered[0].base, rendered[0].light, rendered[0].alpha)))
    generator = torch.Generator().manual_seed(0)
    flat = torch.rand(3, 9, generator=generator, dtype=torch.float64)
    g = torch.randn(layers.base.shape, generator=generator, dtype=torch.float64)
    found, h = transposed_product(layers, as_psi(flat), g), 1e-4
    for k in range(9):
        step = torch.zeros_like(flat)
        step[:, k] = h
        change = picture(layers, as_psi(flat + step)) - picture(layers, as_psi(flat - step))
        np.testing.assert_allclose(found[:, k], (g * change).sum((1, 2, 3)) / (2 * h), rtol=1e-8, atol=1e-8)


def test_layers_are_the_rendering_of_lit_colours(sample: samples.Sample) -> None:
    """A picture mixed from layers equals one rendered with the light already in the colours."""
    bright, crop = sample.gaussians.bodies[0], crops_.gather(sample.frames)[0]
    body = replace(bright, harmonics=bright.harmonics * 0.3)  # so that no lit colour leaves 0..1
    state = random_states(1, False, QUICK, np.random.default_rng(3))
    layers = render(body, [crop], state)
    light = torch.tensor([[0.2, -0.3, 0.1]])
    mixed = picture(layers, Psi(torch.ones(1, 3), light, torch.zeros(1, 3)))
    D = crop.rotation.T @ (state[0, 3:].reshape(3, 3) + np.eye(3)) @ crop.rotation
    n = np.zeros_like(body.mean)
    n[np.arange(len(n)), body.scale.argmin(1)] = 1
    n *= np.where((n * body.mean).sum(1, keepdims=True) < 0, -1, 1)
    shade = 1 + (n @ np.linalg.inv(D) @ crop.rotation.T) @ light[0].numpy()
    albedo = np.clip(0.5 + 0.28209479177387814 * body.harmonics[:, 0], 0, 1)
    lit = replace(body, harmonics=((albedo * shade[:, None] - 0.5) / 0.28209479177387814)[:, None])
    np.testing.assert_allclose(render(lit, [crop], state).base, mixed, atol=2e-5)


def test_the_penalty_alone_collapses_to_a_constant(rendered: tuple[Layers, np.ndarray], plain: Trained) -> None:
    """Nobody may simplify the loss: without the state error a network that knew the states stops to look."""
    layers, states = rendered
    network, spread = copy.deepcopy(plain.network), torch.as_tensor(plain.spread, dtype=torch.float32)
    target, psi = torch.as_tensor(states[:12], dtype=torch.float32), random_psi(12, np.random.default_rng(1))

    def variety() -> float:
        with torch.no_grad():
            return float((network(picture(layers[:12], psi)) / spread).std(0).mean())

    before, optimiser = variety(), torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(25):
        _, penalty = error_and_penalty(network, layers[:12], psi, target, spread)
        optimiser.zero_grad()
        penalty.backward()
        optimiser.step()
    assert variety() < 0.3 * before


def test_training_lowers_the_error_and_the_penalty_the_sensitivity(rendered: tuple[Layers, np.ndarray], plain: Trained) -> None:
    layers, states = rendered
    careful = train(layers, states, QUICK.model_copy(update={"penalty": 0.3}), 0)
    for trained in (plain, careful):
        assert np.mean(trained.history[-10:]) < 0.85 * np.mean(trained.history[:5])
        assert np.isfinite(trained.sigma).all()
    assert plain.sigma[:3].mean() < 0.8 * plain.spread[:3].mean(), "places are learnt first"
    psi, spread = random_psi(16, np.random.default_rng(5)), torch.as_tensor(plain.spread, dtype=torch.float32)
    assert sensitivity(careful.network, layers[-16:], psi, spread) < 0.85 * sensitivity(plain.network, layers[-16:], psi, spread)


def test_the_penalty_differentiates_through_the_network_twice(rendered: tuple[Layers, np.ndarray]) -> None:
    layers, states = rendered
    target = torch.as_tensor(states[:4], dtype=torch.float32)
    network = seeded(target.mean(0), torch.ones(12), 0)
    _, penalty = error_and_penalty(network, layers[:4], random_psi(4, np.random.default_rng(0)), target, torch.ones(12))
    penalty.backward()
    first = next(network.parameters()).grad
    assert first is not None and float(first.abs().max()) > 0


def test_a_place_goes_to_the_world_and_back(sample: samples.Sample) -> None:
    crop = crops_.gather(sample.frames)[2]
    at = crop.place(np.array([0.1, -0.2, np.log(0.7)]), 0.15)
    local = crop.rotation @ (at - crop.center)
    np.testing.assert_allclose(local[:2] / local[2] * crop.focal / 32, [0.1, -0.2])
    assert 0.15 * crop.focal / local[2] / 32 == pytest.approx(0.7)


def test_a_crop_sees_what_the_camera_saw(sample: samples.Sample) -> None:
    """The centre of the object, projected by the crop's camera, is where the crop's mask has its middle."""
    frames = sample.frames
    crop = crops_.gather(frames)[4]
    _, mask = crops_.seen(frames, crop)
    p = crop.world_to_camera @ [*sample.states.position[4, 0], 1]
    want = (p[:2] / p[2]) * crop.focal + crops_.SIZE / 2
    middle = np.array([(np.arange(64) + 0.5) @ mask.sum(axis) / mask.sum() for axis in (0, 1)])
    np.testing.assert_allclose(middle, want, atol=1.0)
    assert 0.5 < mask.max() <= 1 and mask[0].max() < 0.1


def test_views_join_where_they_cross(sample: samples.Sample) -> None:
    """Two views across each other: each hardly knows depth, together they know the place, and D comes back to the world."""
    first = crops_.gather(sample.frames)[0]
    target = np.array([0.05, 0.1, 0.7])
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    second = replace(first, rotation=first.rotation @ turn, center=target + turn.T @ (first.center - target), view=1)
    D = nearest_rotation(np.eye(3) + 0.2 * np.array([[0, -1, 0.5], [1, 0, 0.2], [-0.5, -0.2, 0]]))
    size, found = 0.15, []
    for crop in (first, second):
        local = crop.rotation @ (target - crop.center)
        place = [*(local[:2] / local[2] * crop.focal / 32), np.log(size * crop.focal / local[2] / 32)]
        found.append(np.concatenate([place, (crop.rotation @ D @ crop.rotation.T - np.eye(3)).ravel()]))
    sigma = np.array([0.02, 0.02, 0.2, *[0.05] * 9])
    joined = join([first, second], np.array(found), Trained(seeded(torch.zeros(12), torch.ones(12), 0), sigma, np.ones(12), ()), size)
    np.testing.assert_allclose(joined.position, target, atol=1e-9)
    np.testing.assert_allclose(joined.D, D, atol=1e-9)
    alone = join([first], np.array(found[:1]), Trained(seeded(torch.zeros(12), torch.ones(12), 0), sigma, np.ones(12), ()), size)
    assert joined.position_sigma.max() < 0.3 * alone.position_sigma.max()


def test_states_beyond_the_trained_turn_are_left_out() -> None:
    """One doubtful frame is bridged, two in a row or a turn over the range end the chain, in both directions."""
    frames, turn = list(range(10)), dict.fromkeys(range(10), 10.0)
    assert chain(4, frames, set(frames), turn, 45) == set(frames)
    assert chain(4, frames, set(frames) - {6}, turn, 45) == set(frames)
    assert chain(4, frames, set(frames) - {6, 7}, turn, 45) == set(range(7))
    assert chain(4, frames, set(frames), turn | {2: 50.0}, 45) == set(range(3, 10))


def test_the_stage_gives_states_with_sigmas(sample: samples.Sample, tmp_path: Path) -> None:
    from video2phys.context import Context
    from video2phys.states.risp.stage import track
    from video2phys.states.settings import Settings

    settings = Settings(kind="pose", method="risp", risp=QUICK.model_copy(update={"steps": 30, "renders": 60}))
    states = track(sample.frames, sample.gaussians, settings, Context(tmp_path))
    assert states.kind == "pose" and states.method == "risp" and states.valid.any()
    k = int(np.argmax(states.valid[:, 0]))
    assert np.isfinite(states.position_sigma[k]).all() and np.isfinite(states.rotation_sigma[k]).all()
    off = np.abs(states.position[k, 0] - sample.states.position[k, 0])
    assert (off < 4 * states.position_sigma[k, 0] + 0.02).all()
    assert radius(sample.gaussians.bodies[0]) == pytest.approx(0.13, abs=0.03)
