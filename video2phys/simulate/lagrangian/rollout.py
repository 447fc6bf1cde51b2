"""From a start to a track: frames on the video's clock, whole steps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.lagrangian.kernel import advance
from video2phys.simulate.lagrangian.lattice import Lattice, Nodes
from video2phys.simulate.materials.elastic import lame
from video2phys.simulate.mpm.rollout import schedule
from video2phys.simulate.mpm.scene import Params, Scene
from video2phys.types import check

STIFFNESS = 3.0  # of the contact layer, in units of (lam + 2 mu) / particle spacing: a wave's pressure presses it in by a few per cent
COURANT = 0.35  # cells a pressure wave may cross in a step; hard impacts failed from 0.5 on, and with a stiffer layer from 0.42 on


@dataclass(frozen=True)
class Track:
    """Nodes at the frame times. Rows of a failed member are NaN from the frame in which it failed."""

    time: np.ndarray  # [s] (T,)
    node: np.ndarray  # [m] (T, B, G, 3)
    velocity: np.ndarray  # [m/s] (B, G, 3) of the nodes at the end
    size: np.ndarray  # (B,)
    failed: np.ndarray  # (B,) bool: a position was no longer a number
    lattice: Lattice

    def __post_init__(self) -> None:
        check(self, time=("T",), node=("T", "B", "G", 3), velocity=("B", "G", 3), size=("B",), failed=("B",))

    @property
    def end(self) -> Nodes:
        """What moves, at the last time."""
        return Nodes(self.node[-1], self.velocity)

    def particles(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions [m] (T, B, N, 3) and deformation gradients (T, B, N, 3, 3)."""
        T, B, G, _ = self.node.shape
        flat = self.node.transpose(2, 0, 1, 3).reshape(G, -1)
        to_particles, columns = self.lattice.operators
        x, *parts = ((m @ flat).reshape(-1, T, B, 3).transpose(1, 2, 0, 3) for m in (to_particles, *columns))
        return x, np.stack(parts, -1) / self.size[:, None, None, None]


def rollout(
    params: Params, lattice: Lattice, state: Nodes, time: np.ndarray, *, damping: np.ndarray | float = 0.0, loss: np.ndarray | float = 0.0,
    steps: np.ndarray | int | None = None,
) -> Track:  # fmt: skip
    """Simulate a batch from time[0] to time[-1], keeping the nodes at every time (T,) [s].

    `damping` [1/s], one or (B,): the rate at which velocities of deformation fade; a vibration's amplitude falls by exp(-damping t / 2).
    `loss`, one or (B,), 0 to 1: the share of the speed of approach that touching particles lose in a step.
    `steps`: whole steps between frames, a number, (T - 1, 1) or (T - 1, B); by default from the wave speed.
    Raises BadInput where state and parameters do not belong together, damping or loss have impossible values, or the matter is not
    simply elastic.
    """
    scene, batch = lattice.scene, len(params.size)
    law = scene.law
    if law not in ("neo-Hookean", "fixed corotated"):
        raise BadInput(f"the law {law} needs a grid at rest in space.", fix="Simulate it with simulate.mpm.")
    if not (np.all(params.stiffness == 1) and np.all(params.presence == 1) and np.all(params.viscosity == 0)):
        raise BadInput("stiffness, presence and viscosity are not for this simulator.", fix="Use simulate.mpm, or damping for viscosity.")
    if state.position.shape[:2] != (batch, len(lattice.node)) or params.density.shape[1] != len(scene.volume):
        raise BadInput(
            f"{batch} parameter sets on {len(lattice.node)} nodes do not fit a state of {state.position.shape[:2]}.",
            fix="Build parameters and state from the same lattice and batch.",
        )
    damping, loss = (np.broadcast_to(np.asarray(a, float), batch) for a in (damping, loss))
    if not ((damping >= 0).all() and (loss >= 0).all() and (loss <= 1).all()):
        raise BadInput("damping must not be negative and loss lie between 0 and 1.", fix="Bound them so.")
    real = scene.dtype
    to_particles = lattice.operators[0]
    volume = scene.volume * params.size[:, None] ** 3
    node_mass = (to_particles.T @ (params.density * volume).T).T
    mu, lam = lame(params.youngs_modulus, params.poisson_ratio)
    normal, offset, friction = plane(params, scene)
    spring = STIFFNESS * lattice.touch_area * (params.size**2 * (lam + 2 * mu) / np.cbrt(volume.mean(1)))[:, None]
    push, goal, lost = (np.zeros(spring.shape, real) for _ in range(3))

    def array(a: np.ndarray) -> np.ndarray:
        return np.array(a, real, order="C")

    x, v = array(state.position), array(state.velocity)
    count = schedule(params, scene, time, steps, COURANT)
    failed = np.zeros(batch, np.int32)
    common = (
        np.zeros_like(x), array(node_mass), lattice.first, lattice.stride, array(lattice.weight), array(lattice.slope), array(volume),
        lattice.touch_first, array(lattice.touch_weight), array(spring), push, goal, lost, np.zeros((*spring.shape, 3), real), array(mu),
        array(lam), array(params.gravity), array(normal), array(offset), array(friction), array(damping), array(loss),
        array(1 / params.size),
    )  # fmt: skip
    kernel, nodes = advance(scene.precision, law), [x.copy()]
    for k, gap in enumerate(np.diff(time)):
        kernel(x, v, *common, array(gap / count[k]), count[k], failed)
        failed[~np.isfinite(x).all((1, 2))] = 1
        nodes.append(np.where(failed[:, None, None] > 0, np.nan, x))
    v[failed > 0] = np.nan
    return Track(np.asarray(time, float), np.stack(nodes), v, params.size, failed > 0, lattice)


def plane(params: Params, scene: Scene) -> tuple[np.ndarray, ...]:
    """Normal (1, 3), offsets (B,) and friction (B,) of the plane; without one it is put out of reach."""
    walls, batch = scene.boundaries, len(params.size)
    if len(walls) == 0:
        return np.array([[0, 0, 1.0]]), np.full(batch, -1e9), np.zeros(batch)
    if len(walls) > 1 or not walls[0].endless or walls[0].velocity.any():
        raise BadInput("this simulator knows one plane at rest and no other boundary.", fix="Simulate it with simulate.mpm.")
    return walls[0].normal[None], params.offset[:, 0], params.friction[:, 0]
