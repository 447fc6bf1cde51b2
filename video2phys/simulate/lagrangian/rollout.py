"""From a start to a track: frames on the video's clock, whole steps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.lagrangian.kernel import advance
from video2phys.simulate.lagrangian.lanes import FEW, LANES, pack, pack_vectors, unpack_vectors
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
    light = np.divide(1.0, node_mass, out=np.zeros_like(node_mass), where=node_mass > 0)
    mobility = (lattice.touch_shares.power(2) @ light.T).T
    material = np.stack([mu, lam, 1 / params.size, offset, friction, damping, loss], 1)
    steps_each = np.broadcast_to(schedule(params, scene, time, steps, COURANT), (len(time) - 1, batch))
    lane = LANES if batch >= FEW else 1
    order, cell, held = lattice.cells
    side_by_side = np.argsort(steps_each.sum(0), kind="stable")  # members of a block wait for one another

    def rows(a: np.ndarray) -> np.ndarray:
        return pack(a[side_by_side], lane, real)

    def vectors(a: np.ndarray) -> np.ndarray:
        return pack_vectors(np.broadcast_to(a, (batch, *a.shape[1:]))[side_by_side], lane, real)

    def fixed(a: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(a, real)

    x, v, pressed = vectors(state.position), vectors(state.velocity), rows(spring)
    blocks = len(x)
    common = (
        np.zeros_like(x), np.zeros((blocks, len(lattice.node), lane), real), rows(node_mass), rows(light), cell, held, lattice.offset,
        fixed(lattice.weight[order]), fixed(lattice.slope[order]), fixed(scene.volume[order]), lattice.touch_first,
        fixed(lattice.touch_weight), rows(mobility), pressed, *(np.zeros_like(pressed) for _ in range(3)),
        np.zeros((*pressed.shape[:2], 3 * lane), real), np.zeros(pressed.shape[:2], np.int32), rows(material), vectors(params.gravity),
        vectors(normal),
    )  # fmt: skip
    kernel, nodes = advance(scene.precision, law, lane), [x.copy()]
    failed = np.zeros((blocks, lane), bool)
    for gap, count in zip(np.diff(time), steps_each[:, side_by_side], strict=True):
        count = np.append(count, np.zeros(-batch % lane, np.int32)).reshape(blocks, lane)
        kernel(x, v, *common, float(gap), np.where(failed, 0, count).astype(np.int32))
        failed |= ~np.isfinite(x).reshape(blocks, -1, lane).all(1)
        nodes.append(np.where(failed[:, None, None].repeat(3, 2).reshape(blocks, 1, -1), np.nan, x))
    back = np.argsort(side_by_side)
    failed = failed.ravel()[:batch][back]
    v = unpack_vectors(v, batch)[back]
    v[failed] = np.nan
    return Track(np.asarray(time, float), unpack_vectors(np.stack(nodes), batch)[:, back], v, params.size, failed, lattice)


def plane(params: Params, scene: Scene) -> tuple[np.ndarray, ...]:
    """Normal (1, 3), offsets (B,) and friction (B,) of the plane; without one it is put out of reach."""
    walls, batch = scene.boundaries, len(params.size)
    if len(walls) == 0:
        return np.array([[0, 0, 1.0]]), np.full(batch, -1e9), np.zeros(batch)
    if len(walls) > 1 or not walls[0].endless or walls[0].velocity.any():
        raise BadInput("this simulator knows one plane at rest and no other boundary.", fix="Simulate it with simulate.mpm.")
    return walls[0].normal[None], params.offset[:, 0], params.friction[:, 0]
