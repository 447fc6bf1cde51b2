"""Training brings the pictures nearer, keeps the Gaussians in the hull and repeats exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from solids import CENTRE, RADIUS, shots

from video2phys.gaussians import initialise, sheet
from video2phys.gaussians.exposure import Exposure
from video2phys.gaussians.hull import Shot, carve
from video2phys.gaussians.losses import psnr, ssim
from video2phys.gaussians.shrink import shrink
from video2phys.gaussians.surface import surface, volume_and_centre
from video2phys.gaussians.train import Moment, Plan, look, overlaps, sample, train
from video2phys.render.harmonics import basis
from video2phys.store import read_image

EXTENT = 2 * RADIUS


@pytest.fixture(scope="module")
def trained():
    pictures = shots("ball")
    hull = carve(pictures, 40)
    first, spacing = initialise.on_surface(*surface(hull), pictures, 600, 0, 0)
    result = train(first, pictures[:7], EXTENT, Plan(90), hull=hull, spacing=spacing)
    return pictures, hull, first, result.cloud, spacing


def test_a_view_that_was_held_out_improves(trained) -> None:
    pictures, _, first, last, _ = trained
    assert look(last, pictures[7]) > look(first, pictures[7]) + 1
    assert look(last, pictures[7]) > 21


def test_gaussians_stay_in_the_hull(trained) -> None:
    pictures, hull, _, last, spacing = trained
    outside = -sample(hull, last.mean.detach())
    assert float(outside.max()) < 0.5 * spacing
    assert min(overlaps(last, pictures)) > 0.95


def test_shrinking_keeps_a_body_that_fills_its_hull(trained) -> None:
    pictures, hull, _, last, _ = trained
    volume, centre = volume_and_centre(*surface(shrink(hull, last, pictures)))
    assert 0.97 < volume / (4 / 3 * np.pi * RADIUS**3) < 1.03
    np.testing.assert_allclose(centre, CENTRE, atol=0.002)


@pytest.mark.parametrize("density", ["mcmc", "adaptive"])
def test_the_set_grows_up_to_its_cap_and_repeats_exactly(trained, density: str) -> None:
    pictures, hull, first, _, spacing = trained
    plan = Plan(360, density, cap=700, degree=1, antialias=True, coarse=True, seed=3)
    once, again = (train(first, pictures[:7], EXTENT, plan, hull=hull, spacing=spacing).cloud for _ in range(2))
    assert 600 < len(once) <= 700 or density == "adaptive"
    assert len(once) <= 700
    assert torch.equal(once.mean, again.mean) and torch.equal(once.rest, again.rest)
    assert look(once, pictures[7], antialias=True) > look(first, pictures[7]) + 1


def test_training_stops_when_a_view_held_out_gets_no_better_and_keeps_the_best(trained) -> None:
    pictures, hull, first, _, spacing = trained
    other = replace(pictures[7], image=1 - pictures[7].image)  # what no training can approach
    seen: list[Moment] = []
    result = train(first, pictures[:7], EXTENT, Plan(120, early=True), held=[other], hull=hull, spacing=spacing, watch=seen.append)
    figures = [m.psnr for m in seen if m.psnr is not None]
    assert result.stopped and result.steps < 120
    assert result.psnr == max(figures) and look(result.cloud, other) == pytest.approx(max(figures), abs=1e-4)


def test_a_scene_without_masks_is_learnt_from_points() -> None:
    pictures = [Shot(s.name, s.camera, s.image, None) for s in shots("ball")]
    gen = np.random.default_rng(0)
    direction = gen.normal(size=(400, 3))
    points = CENTRE + RADIUS * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    first = initialise.at_points(points, np.full((400, 3), 0.5), 1.2, 1)
    result = train(first, pictures[:7], 1.2, Plan(150, "mcmc", 800, 1, exposure=True), held=[pictures[7]])
    assert result.psnr is not None and result.psnr > look(first, pictures[7]) + 3


def test_random_gaussians_lie_where_at_least_two_pictures_look() -> None:
    pictures = [Shot(s.name, s.camera, s.image, None) for s in shots("ball")]
    cloud = initialise.at_random(pictures, 5000, 0, 0)
    pixel = np.stack([s.camera.project(cloud.mean.numpy()) for s in pictures])
    seen = (np.isfinite(pixel).all(-1) & (pixel >= 0).all(-1) & (pixel < 96).all(-1)).sum(0)
    assert len(cloud) > 100 and seen.min() >= 2
    centre, distance = initialise.region([s.camera for s in pictures])
    assert np.linalg.norm(centre - CENTRE) < 0.15 and 1.0 < distance < 1.6


def test_exposure_of_each_photograph_is_found() -> None:
    truth = torch.rand(16, 20, 3, generator=torch.Generator().manual_seed(0))
    photographs = [1.15 * truth + 0.02, truth / 1.15 - 0.02]
    exposure = Exposure(2)
    for step in range(2000):
        loss = (exposure.apply(truth, step % 2) - photographs[step % 2]).abs().mean()
        loss.backward()
        exposure.step()
    for which, photograph in enumerate(photographs):
        assert float((exposure.apply(truth, which) - photograph).detach().abs().mean()) < 0.01
    assert float(exposure.value.mean(0).detach().abs().max()) < 1e-6


def test_ssim_is_the_published_one() -> None:
    metrics = pytest.importorskip("skimage.metrics")
    gen = torch.Generator().manual_seed(0)
    a = torch.rand(40, 52, 3, generator=gen)
    b = (a + 0.2 * torch.rand(40, 52, 3, generator=gen)).clamp(0, 1)
    expected = metrics.structural_similarity(
        a.double().numpy(), b.double().numpy(), channel_axis=2, data_range=1, gaussian_weights=True, sigma=1.5, use_sample_covariance=False
    )
    assert float(ssim(a, b)) == pytest.approx(expected, abs=1e-3)
    assert float(ssim(a, a)) == pytest.approx(1)


def test_psnr_counts_what_the_mask_shows() -> None:
    a, mask = torch.zeros(4, 4, 3), torch.zeros(4, 4, dtype=torch.bool)
    b = a + 1.0
    b[0], mask[0] = 0.1, True
    assert psnr(a, b, mask) == pytest.approx(20) and psnr(a, b) < 3


def test_contact_sheet_shows_photograph_render_and_error(trained, tmp_path) -> None:
    pictures, _, _, last, _ = trained
    sheet.write(tmp_path / "held_out.png", last, pictures[6:])
    image = read_image(tmp_path / "held_out.png")
    assert image.shape[1] % 3 == 0 and image.max() > 100


def test_harmonics_are_orthonormal() -> None:
    direction = torch.nn.functional.normalize(
        torch.randn(200_000, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64), dim=1
    )
    Y = basis(direction, 3)
    product = 4 * torch.pi * Y.T @ Y / len(Y)
    torch.testing.assert_close(product, torch.eye(16, dtype=torch.float64), atol=0.03, rtol=0)
