"""Natural vibrations of a clamped body about where it rests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.fem.potential import Body, Potential
from video2phys.simulate.fem.scene import Params, Scene
from video2phys.types import check


@dataclass(frozen=True)
class Modes:
    """The slowest vibrations x(t) = rest + sum_k shape_k q_k(t), q'' + (alpha + beta omega^2) q' + omega^2 q = 0."""

    frequency: np.ndarray  # [Hz] (K,) ascending, undamped: omega / 2 pi
    shape: np.ndarray  # [1/sqrt(kg)] (K, V, 3), of unit modal mass: sum m shape^2 = 1
    damping_ratio: np.ndarray  # (K,) alpha / 2 omega + beta omega / 2

    def __post_init__(self) -> None:
        check(self, frequency=("K",), shape=("K", "V", 3), damping_ratio=("K",))


def modes(params: Params, scene: Scene, rest: np.ndarray, count: int = 6) -> Modes:
    """The `count` slowest modes of K shape = omega^2 M shape, K the second derivative at `rest` (V, 3), M the lumped masses.

    Exact for small vibrations: no step of time, so no numerical damping and no shift of a frequency. Plane and air are left out.
    Raises BadInput where the body does not rest stably there.
    """
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh

    body = Body.of(scene, params)
    potential = Potential.at_rest(body, rest)
    K, mass = potential.matrix(potential.blocks(rest)), np.repeat(body.mass[scene.free], 3)
    square, vector = eigsh(K, min(count, len(mass) - 1), diags(mass).tocsc(), sigma=0.0, v0=np.ones(len(mass)))
    if not (square > 0).all():
        raise BadInput("the body does not rest stably: it has no vibrations.", fix="Give its equilibrium, and clamp at least three nodes.")
    shape = np.zeros((len(square), len(scene.node), 3))
    shape[:, scene.free] = vector.T.reshape(len(square), -1, 3)
    omega = np.sqrt(square)
    ratio = params.mass_damping / (2 * omega) + params.stiffness_damping * omega / 2
    return Modes(omega / (2 * np.pi), shape, ratio)
