"""The same elastic drop by Genesis and by the product: seconds per particle-step, and how far apart the falling body's centres get.

Genesis (`pip install genesis-world`) is no dependency; benchmarks/mpm.py says so where it is absent. Both in double precision on the CPU,
neo-Hookean, with the same cells, particles and steps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

SIDE, DROP, SECONDS = 0.2, 0.05, 0.25  # [m] of the cube, [m] it falls, [s] until it rises again
E, NU, RHO = 1e5, 0.3, 1000.0
FRAMES = 25
ABSENT = None if find_spec("genesis") else "Genesis is not installed: pip install genesis-world"


@dataclass(frozen=True)
class Drop:
    """One way to simulate it."""

    cell: float  # [m]
    us_per_particle_step: float  # [us] median of the frames
    height: np.ndarray  # [m] (FRAMES + 1,) of the centre


def compare(n: int) -> dict[str, float]:
    """Of n^3 particles: how many times as long Genesis takes, and how far the centres get apart, on the way down and in all."""
    own, other = drops(n)
    gap = np.abs(own.height - other.height) / own.cell
    return {"particles": n**3, "ratio": other.us_per_particle_step / own.us_per_particle_step, "gap_cells": float(gap.max()),
            "fall_gap_cells": float(gap[:5].max())}  # fmt: skip


def drops(n: int) -> tuple[Drop, Drop]:
    """Of a cube of n^3 particles by the product, and by Genesis."""
    from video2phys.simulate.mpm.rollout import rollout
    from video2phys.simulate.mpm.scene import Params, build, largest_step, start

    lattice = (np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.5) * (SIDE / n) - SIDE / 2
    scene = build(lattice, np.full(n**3, (SIDE / n) ** 3), normal=np.array([0, 0, 1.0]))
    params = Params.of(scene, youngs_modulus=E, poisson_ratio=NU, density=RHO)
    frame = SECONDS / FRAMES
    steps = int(np.ceil(frame / float(largest_step(params, scene).min())))
    state, height, took = start(scene, params, position=(0, 0, SIDE / 2 + DROP)), [SIDE / 2 + DROP], []
    for k in range(FRAMES):
        begin = time.perf_counter()
        track = rollout(params, scene, state, np.array([k, k + 1]) * frame, steps=steps)
        took.append(time.perf_counter() - begin)
        state = track.end
        height.append(float(track.position[-1, 0, :, 2].mean()))
    own = Drop(scene.cell, 1e6 * float(np.median(took)) / steps / n**3, np.array(height))
    return own, genesis(n, scene.cell, frame, steps)


def genesis(n: int, cell: float, frame: float, steps: int) -> Drop:
    """The drop by Genesis."""
    import genesis as gs  # pyright: ignore[reportMissingImports]

    if not gs._initialized:
        gs.init(backend=gs.cpu, precision="64", logging_level="error")
    wide = SIDE / 2 + 6 * cell  # it wants some cells of room
    scene = gs.Scene(
        sim_options=gs.options.SimOptions(dt=frame, substeps=steps),
        mpm_options=gs.options.MPMOptions(
            lower_bound=(-wide, -wide, -6 * cell),
            upper_bound=(wide, wide, SIDE + DROP + 6 * cell),
            grid_density=1 / cell,
            particle_size=SIDE / n,
        ),
        show_viewer=False,
    )
    scene.add_entity(gs.morphs.Plane())
    body = scene.add_entity(
        material=gs.materials.MPM.Elastic(E=E, nu=NU, rho=RHO, model="neohooken", sampler="regular"),
        morph=gs.morphs.Box(pos=(0, 0, SIDE / 2 + DROP), size=(SIDE,) * 3),
    )
    scene.build()
    height, took = [float(body.get_particles_pos()[..., 2].mean())], []
    for _ in range(FRAMES):
        begin = time.perf_counter()
        scene.step()
        took.append(time.perf_counter() - begin)
        height.append(float(body.get_particles_pos()[..., 2].mean()))
    return Drop(cell, 1e6 * float(np.median(took)) / steps / body.n_particles, np.array(height))
