"""Training brings the pictures nearer and keeps the Gaussians in the hull."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from solids import CENTRE, RADIUS, shots

from video2phys.gaussians.hull import carve
from video2phys.gaussians.shrink import shrink
from video2phys.gaussians.surface import surface, volume_and_centre
from video2phys.gaussians.train import overlaps, psnr, sample, ssim, start, train
from video2phys.render.harmonics import basis


@pytest.fixture(scope="module")
def trained():
    pictures = shots("ball")
    hull = carve(pictures, 40)
    first, spacing = start(*surface(hull), pictures, 600, 0, 0)
    return pictures, hull, first, train(first, spacing, pictures[:7], hull, 90, 0), spacing


def test_a_view_that_was_held_out_improves(trained) -> None:
    pictures, _, first, last, _ = trained
    assert psnr(last, pictures[7]) > psnr(first, pictures[7]) + 1
    assert psnr(last, pictures[7]) > 21


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


def test_ssim_of_a_picture_with_itself_is_one_and_falls_with_noise() -> None:
    picture = torch.rand(20, 24, 3, generator=torch.Generator().manual_seed(0))
    assert float(ssim(picture, picture)) == pytest.approx(1)
    assert float(ssim(picture, picture.flip(0))) < 0.5


def test_harmonics_are_orthonormal() -> None:
    direction = torch.nn.functional.normalize(
        torch.randn(200_000, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64), dim=1
    )
    Y = basis(direction, 3)
    product = 4 * torch.pi * Y.T @ Y / len(Y)
    torch.testing.assert_close(product, torch.eye(16, dtype=torch.float64), atol=0.03, rtol=0)
