"""The rasteriser's kernels against plain torch and against central differences."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from video2phys.errors import BadInput, MissingBackend  # noqa: E402
from video2phys.render.api import rasterize  # noqa: E402

NAMES = ("mean", "quaternion", "scale", "opacity", "colour", "K", "world_to_camera", "background", "shift")
WIDTH, HEIGHT = 61, 47  # no multiple of the tile


def scene(count: int = 40, channels: int = 3, dtype: torch.dtype = torch.float64, degree: int | None = None) -> list[torch.Tensor]:
    """Overlapping Gaussians, some cut by the border, before a tilted camera with unequal focal lengths."""
    gen = torch.Generator().manual_seed(4)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=gen, dtype=torch.float64)

    K = torch.tensor([[80.0, 0, 28], [0, 90, 25], [0, 0, 1]], dtype=torch.float64)
    pose = torch.eye(4, dtype=torch.float64)
    pose[:3, :3] = torch.matrix_exp(torch.tensor([[0, -0.2, 0.5], [0.2, 0, -0.1], [-0.5, 0.1, 0]], dtype=torch.float64))
    pose[2, 3] = 1.0
    shape = (uniform(count, 3) - 0.5) * 0.8, uniform(count, 4) - 0.5, 0.01 + 0.05 * uniform(count, 3), 0.05 + 0.94 * uniform(count)
    looks = uniform(count, channels) if degree is None else uniform(count, (degree + 1) ** 2, 3) - 0.5  # some colours end at 0
    tensors = [*shape, looks, K, pose, uniform(looks.shape[-1]), uniform(count, 2) - 0.5]
    return [t.to(dtype) for t in tensors]


def draw(tensors: list[torch.Tensor], model: str, backend: str, **more: object):
    background, shift = tensors[7:]
    return rasterize(*tensors[:7], WIDTH, HEIGHT, background=background, shift=shift, model=model, backend=backend, normals=True, **more)  # type: ignore[arg-type]


def loss(tensors: list[torch.Tensor], model: str, backend: str, **more: object) -> torch.Tensor:
    gen = torch.Generator().manual_seed(5)
    picture = draw(tensors, model, backend, **more)
    return sum((torch.randn(field.shape, generator=gen, dtype=field.dtype) * field).sum() for field in vars(picture).values())  # type: ignore


models = pytest.mark.parametrize("model", ["perspective", "orthographic"])


@models
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("degree", [None, 0, 3])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_forward_equals_the_reference(model: str, antialias: bool, degree: int | None, dtype: torch.dtype, tolerance: float) -> None:
    fast = draw(scene(dtype=dtype, degree=degree), model, "taichi", antialias=antialias)
    slow = draw(scene(degree=degree), model, "reference", antialias=antialias)
    assert float(slow.alpha.max()) > 0.9
    for name in ("colour", "alpha", "depth"):
        assert float((getattr(fast, name) - getattr(slow, name)).abs().max()) < tolerance, name
    assert float(((fast.normal - slow.normal) * slow.alpha[..., None]).abs().max()) < 10 * tolerance  # a direction, divided by its length


@models
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("degree", [None, 0, 1, 2, 3])
def test_gradients_equal_the_reference(model: str, antialias: bool, degree: int | None) -> None:
    gradients = []
    for backend in ("taichi", "reference"):
        tensors = [t.requires_grad_() for t in scene(degree=degree)]
        gradients.append(torch.autograd.grad(loss(tensors, model, backend, antialias=antialias), tensors))
    for name, fast, slow in zip(NAMES, *gradients, strict=True):
        assert float(slow.abs().max()) > 0, name
        assert float((fast - slow).abs().max() / slow.abs().max()) < 1e-9, name


@pytest.mark.parametrize("which", range(len(NAMES)), ids=NAMES)
def test_gradients_equal_central_differences(which: int) -> None:
    tensors = [t.requires_grad_() for t in scene(12, degree=2)]
    gradient = torch.autograd.grad(loss(tensors, "perspective", "taichi", antialias=True), tensors)[which]
    gen = torch.Generator().manual_seed(6)
    direction = torch.randn(gradient.shape, generator=gen, dtype=torch.float64)
    if NAMES[which] == "K":
        direction[2] = 0  # the last row is fixed
    step = 1e-7  # so small that no pixel crosses the faintest alpha that is drawn
    ends = []
    for sign in (1, -1):
        moved = [t.detach() + sign * step * direction if k == which else t.detach() for k, t in enumerate(tensors)]
        ends.append(float(loss(moved, "perspective", "taichi", antialias=True)))
    expected = float((gradient * direction).sum())
    assert abs((ends[0] - ends[1]) / (2 * step) - expected) < 1e-5 * max(1.0, abs(expected))


def test_covariance_gradient_equals_the_reference() -> None:
    from video2phys.render.projection import covariances

    found = []
    for backend in ("taichi", "reference"):
        mean, quaternion, scale, opacity, colour, K, pose, *_ = scene()
        inputs = [t.requires_grad_() for t in (mean, covariances(quaternion, scale), opacity, K, pose)]
        picture = rasterize(inputs[0], None, None, inputs[2], colour, inputs[3], inputs[4], WIDTH, HEIGHT, covariance=inputs[1],
                            antialias=True, backend=backend)  # type: ignore[arg-type]  # fmt: skip
        found.append(torch.autograd.grad(picture.colour.square().sum() + picture.depth.sum(), inputs))
    for fast, slow in zip(*found, strict=True):
        slow = (slow + slow.mT) / 2 if slow.ndim == 3 else slow  # a covariance stays symmetric
        assert float((fast - slow).abs().max() / slow.abs().max()) < 1e-9


def test_float32_gradients_are_close_to_float64() -> None:
    gradients = []
    for dtype in (torch.float32, torch.float64):
        tensors = [t.requires_grad_() for t in scene(dtype=dtype)]
        picture = draw(tensors, "perspective", "taichi")
        gradients.append(torch.autograd.grad(picture.colour.square().sum() + picture.depth.sum(), tensors))
    for name, single, double in zip(NAMES, *gradients, strict=True):
        assert float((single - double).abs().max() / double.abs().max()) < 1e-3, name


def test_covariance_takes_the_place_of_rotation_and_scale() -> None:
    from video2phys.render.projection import covariances

    mean, quaternion, scale, opacity, colour, K, pose, *_ = scene()
    other = rasterize(mean, None, None, opacity, colour, K, pose, WIDTH, HEIGHT, covariance=covariances(quaternion, scale))
    same = rasterize(mean, quaternion, scale, opacity, colour, K, pose, WIDTH, HEIGHT)
    torch.testing.assert_close(other.colour, same.colour)


def test_nothing_in_view_is_the_background() -> None:
    tensors = scene()
    tensors[0] = tensors[0] - torch.tensor([0, 0, 50.0], dtype=torch.float64)  # behind the camera
    picture = draw(tensors, "perspective", "taichi")
    assert float(picture.alpha.abs().max()) == 0
    torch.testing.assert_close(picture.colour, tensors[7].expand(HEIGHT, WIDTH, 3))


def test_what_is_not_finite_is_named_and_does_not_end_the_process() -> None:
    tensors = scene()
    tensors[0][3, 1] = float("nan")
    with pytest.raises(BadInput, match="finite"):
        draw(tensors, "perspective", "taichi")


def test_wrong_shapes_and_backends_are_named() -> None:
    tensors = scene()
    with pytest.raises(BadInput, match="no back-end 'taich'"):
        draw(tensors, "perspective", "taich")
    with pytest.raises(BadInput, match=r"opacity has shape \(39,\), want \(40,\)"):
        draw([*tensors[:3], tensors[3][1:], *tensors[4:]], "perspective", "taichi")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_gsplat_without_cuda_is_a_missing_backend() -> None:
    with pytest.raises(MissingBackend):
        draw(scene(), "perspective", "gsplat")


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="gsplat draws on a CUDA device only")
def test_gsplat_equals_the_reference() -> None:
    pytest.importorskip("gsplat")
    fast = draw([t.cuda().float() for t in scene(channels=3)], "perspective", "gsplat")
    slow = draw(scene(channels=3), "perspective", "reference")
    assert float((fast.colour.cpu() - slow.colour).abs().mean()) < 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_needles_giants_and_specks_are_drawn_without_harm(dtype: torch.dtype) -> None:
    """A needle 1e5 times longer than wide, a Gaussian larger than the scene, one smaller than a pixel and one at the camera."""
    mean, quaternion, scale, opacity, colour, K, pose, *_ = scene(5, dtype=dtype)
    scale = torch.tensor([[1e-5, 1e-5, 1.0], [1e3, 1e3, 1e3], [1e-9, 1e-9, 1e-9], [1.0, 1e-7, 1e-7], [0.05, 0.05, 0.05]], dtype=dtype)
    mean[4] = -pose[:3, :3].T @ pose[:3, 3] + 2e-3 * pose[2, :3]
    tensors = [t.requires_grad_() for t in (mean, quaternion, scale, opacity, colour)]
    fast, slow = (rasterize(*tensors, K, pose, WIDTH, HEIGHT, backend=b) for b in ("taichi", "reference"))  # type: ignore[arg-type]
    tolerance = 1e-9 if dtype == torch.float64 else 1e-2  # the needle's determinant in float32
    assert float((fast.colour - slow.colour).detach().abs().mean()) < tolerance
    for gradient in torch.autograd.grad(fast.colour.sum() + fast.depth.sum(), tensors):
        assert bool(gradient.isfinite().all())


def test_long_thin_gaussian_is_listed_only_where_it_is() -> None:
    from video2phys.render.tiles.bins import bins
    from video2phys.render.tiles.composite import HIGH, WIDE
    from video2phys.render.tiles.rasterize import Project

    size = 512
    turn = torch.tensor([[math.cos(math.pi / 8), 0, 0, math.sin(math.pi / 8)]])  # 45 degrees in the picture
    form = torch.cat([turn, torch.tensor([[80.0, 0.5, 0.5]])], 1)
    K = torch.tensor([[1.0, 0, size / 2], [0, 1, size / 2], [0, 0, 1]])
    flat, depth, extent = Project.apply(
        torch.zeros(1, 3), form, torch.ones(1), torch.zeros(1, 2), K, torch.eye(4), (size, size), True, 0, False
    )
    lists = bins(flat, extent, depth, size, size)
    box = (2 * float(extent[0, 0]) / WIDE) * (2 * float(extent[0, 0]) / HIGH)
    assert 0 < len(lists.pair) < box / 8


def test_pictures_and_gradients_repeat_exactly() -> None:
    def once() -> list[torch.Tensor]:
        tensors = [t.requires_grad_() for t in scene(dtype=torch.float32)]
        picture = draw(tensors, "perspective", "taichi")
        return [picture.colour, *torch.autograd.grad(picture.colour.square().sum(), tensors[:5])]

    for first, second in zip(once(), once(), strict=True):
        assert torch.equal(first, second)
