"""Random states of the reconstructed object, rendered once into layers that every light and colour is a mix of.

State of a crop, 12 numbers in the crop's axes: place (offset x, y over half the crop, log apparent radius over half the crop)
and D - 1, where D carries the reference pose to the state, x = p + D R_ref X, written in the crop's axes.

Rendering parameters psi, 9 numbers: tint (3), light (3), background (3). With albedo a and normal n of a Gaussian,
    I = tint * ( sum_i w_i a_i (1 + light . n_i) ) + (1 - alpha) background,
which is linear in each of them: the layers sum w a and sum w a n_k are both the image and its derivative J = dI/dpsi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from video2phys.progress import Progress, silent
from video2phys.states.risp.crops import SIZE, Crop
from video2phys.states.risp.settings import Risp
from video2phys.types import Body

if TYPE_CHECKING:
    from torch import Tensor

PLACE, STATE = 3, 12
BASE_HARMONIC = 0.28209479177387814
TINT_SPREAD, HUE_SPREAD, LIGHT_MOST = 0.25, 0.1, 0.6  # log exposure, log colour balance, strongest directed light over ambient


@dataclass(frozen=True)
class Layers:
    """N pictures before light and colour."""

    base: Tensor  # (N, 3, S, S) sum w a
    light: Tensor  # (N, 3, 3, S, S) sum w a n_k, direction k first
    alpha: Tensor  # (N, 1, S, S)

    def __getitem__(self, index: Tensor | slice) -> Layers:
        return Layers(self.base[index], self.light[index], self.alpha[index])


@dataclass(frozen=True)
class Psi:
    """Rendering parameters."""

    tint: Tensor  # (N, 3)
    light: Tensor  # (N, 3) in the crop's axes, over the ambient light
    background: Tensor  # (N, 3)


def picture(layers: Layers, psi: Psi) -> Tensor:
    """(N, 3, S, S)."""
    return psi.tint[:, :, None, None] * _lit(layers, psi) + (1 - layers.alpha) * psi.background[:, :, None, None]


def transposed_product(layers: Layers, psi: Psi, g: Tensor) -> Tensor:
    """J^T g (N, 9) of an image gradient g (N, 3, S, S), in the order tint, light, background."""
    tint = (g * _lit(layers, psi)).sum((2, 3))
    light = ((g * psi.tint[:, :, None, None])[:, None] * layers.light).sum((2, 3, 4))
    background = (g * (1 - layers.alpha)).sum((2, 3))
    return _cat(tint, light, background)


def random_psi(count: int, generator: np.random.Generator) -> Psi:
    """Exposure and colour balance log-normal, light from anywhere, any background."""
    exposure = generator.normal(0, TINT_SPREAD, (count, 1)) + generator.normal(0, HUE_SPREAD, (count, 3))
    direction = generator.normal(size=(count, 3))
    direction *= LIGHT_MOST * generator.uniform(size=(count, 1)) / np.linalg.norm(direction, axis=1, keepdims=True)
    return Psi(_tensor(np.exp(exposure)), _tensor(direction), _tensor(generator.uniform(0, 1, (count, 3))))


def random_states(count: int, soft: bool, settings: Risp, generator: np.random.Generator) -> np.ndarray:
    """(N, 12): places around the middle of the crop, turns up to rotation_deg, for soft bodies stretches as well."""
    from scipy.spatial.transform import Rotation

    place = np.column_stack([generator.uniform(-0.25, 0.25, (count, 2)), np.log(generator.uniform(0.45, 0.95, count))])
    axis = generator.normal(size=(count, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    D = Rotation.from_rotvec(axis * np.radians(settings.rotation_deg) * generator.uniform(size=(count, 1)) ** (1 / 3)).as_matrix()
    if soft:
        strain = generator.uniform(-1, 1, (count, 3, 3)) * settings.stretch
        D = D @ (np.eye(3) + (strain + strain.transpose(0, 2, 1)) / 2)
    return np.column_stack([place, (D - np.eye(3)).reshape(count, 9)])


def radius(body: Body) -> float:
    """[length unit] Root mean square distance of the Gaussians from the body origin times sqrt(5/3): the ball of equal spread."""
    return float(np.sqrt((body.mean**2).sum(1).mean() * 5 / 3))


def render(body: Body, crops: list[Crop], states: np.ndarray, progress: Progress = silent) -> Layers:
    """Layers of one picture per crop and state (N, 12)."""
    import torch
    from scipy.spatial.transform import Rotation

    from video2phys.render.api import rasterize

    turn = Rotation.from_quat(body.rotation, scalar_first=True).as_matrix()
    mean = body.mean @ turn.T
    axes = turn @ Rotation.from_quat(body.quaternion, scalar_first=True).as_matrix()
    covariance = axes * body.scale[:, None] ** 2 @ axes.transpose(0, 2, 1)
    normal = axes[np.arange(len(mean)), :, body.scale.argmin(1)]  # a surface Gaussian is flat: its shortest axis is the normal
    normal = normal * np.where((normal * mean).sum(1, keepdims=True) < 0, -1, 1)
    albedo = np.clip(0.5 + BASE_HARMONIC * body.harmonics[:, 0], 0, 1)
    size, opacity = radius(body), _tensor(body.opacity)
    out = torch.empty(len(crops), 13, SIZE, SIZE)
    for i, (made, state) in enumerate(zip(crops, states, strict=True)):
        D = made.rotation.T @ (state[PLACE:].reshape(3, 3) + np.eye(3)) @ made.rotation
        n = normal @ np.linalg.inv(D)  # normals go with the inverse transpose
        n = n @ made.rotation.T / np.linalg.norm(n, axis=1, keepdims=True)
        colour = np.concatenate([albedo, (n[:, :, None] * albedo[:, None]).reshape(len(n), 9)], 1)
        with torch.no_grad():
            drawn = rasterize(
                _tensor(mean @ D.T + made.place(state[:PLACE], size)), None, None, opacity, _tensor(colour), _tensor(made.K),
                _tensor(made.world_to_camera), SIZE, SIZE, covariance=_tensor(D @ covariance @ D.T),
            )  # fmt: skip
        out[i, :12], out[i, 12] = drawn.colour.permute(2, 0, 1), drawn.alpha
        progress(i / len(crops), "rendering random states")
    return Layers(out[:, :3], out[:, 3:12].reshape(-1, 3, 3, SIZE, SIZE), out[:, 12:])


def _lit(layers: Layers, psi: Psi) -> Tensor:
    return layers.base + (psi.light[:, :, None, None, None] * layers.light).sum(1)


def _cat(*parts: Tensor) -> Tensor:
    import torch

    return torch.cat(parts, 1)


def _tensor(array: np.ndarray) -> Tensor:
    import torch

    return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float32)
