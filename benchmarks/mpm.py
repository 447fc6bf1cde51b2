"""What does an MPM step cost, forwards and backwards, by law, and what does the compiler cost once?

python benchmarks/mpm.py [--json [FILE]] [--counts 1000 10000 100000]     prints a table, or JSON to stdout or FILE

ratio_vs_atomics compares whole steps of one body in one thread with those of mpm_plain.py, whose loops over particles run in parallel with
atomic adds; the comparison with Genesis is described in mpm_genesis.py. Times are the least of several repeats, compilation apart.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import output
from mpm_genesis import ABSENT, compare
from mpm_plain import plain

from video2phys.simulate.materials.elastic import Law, lame
from video2phys.simulate.mpm.gradient import differentiable
from video2phys.simulate.mpm.rollout import rollout
from video2phys.simulate.mpm.scene import Params, Scene, build, largest_step, start

GENESIS = (10, 22)  # particles along an edge of the cube that both drop
FIRST_USE = """
import sys, time
import taichi as ti
init = ti.init
ti.init = lambda **k: init(**{**k, "offline_cache_file_path": sys.argv[1]})
sys.path.insert(0, sys.argv[2])
from mpm import cube, fall
begin = time.perf_counter()
fall(cube(1000), 1, 1)
print(time.perf_counter() - begin)
"""


def cube(count: int, precision: str = "f64") -> Scene:
    """A 0.2 m cube of about `count` particles above a plane."""
    n = round(count ** (1 / 3))
    lattice = (np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.5) * (0.2 / n)
    return build(lattice, np.full(n**3, (0.2 / n) ** 3), normal=np.array([0, 0, 1.0]), precision=precision)  # pyright: ignore[reportArgumentType]


def fall(scene: Scene, batch: int, steps: int) -> float:
    """Seconds of `steps` steps of a batch in contact with the plane."""
    params = Params.of(scene, youngs_modulus=np.full(batch, 1e5), poisson_ratio=0.3, friction=0.4, yield_stress=500.0, friction_angle=0.5)
    state = start(scene, params, position=(0.1, 0.1, 0.0), velocity=(0, 0, -1.0))
    clock = np.array([0, float(largest_step(params, scene).min()) * steps])
    begin = time.perf_counter()
    rollout(params, scene, state, clock, steps=steps)
    return time.perf_counter() - begin


def backward(scene: Scene, steps: int) -> float:
    """Seconds of the reverse pass, which includes the forward steps that it records."""
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3, friction=0.4)
    state = start(scene, params, position=(0.1, 0.1, 0.0), velocity=(0, 0, -1.0))
    clock = np.array([0, float(largest_step(params, scene).min()) * steps])
    track, pullback = differentiable(params, scene, state, clock, steps=steps)
    begin = time.perf_counter()
    pullback(np.ones_like(track.position), None)
    return time.perf_counter() - begin


def by_law(count: int) -> dict[str, float]:
    """Microseconds per particle and step of each law."""
    found = {}
    for law in get_args(Law):
        scene = replace(cube(count), law=law)
        steps = max(2, 100_000 // count)
        fall(scene, 1, 1)
        found[law] = 1e6 * least(lambda scene=scene, steps=steps: fall(scene, 1, steps), 3) / steps / len(scene.volume)
    return found


def atomics(scene: Scene, steps: int) -> float:
    """Seconds of as many steps, of fixed corotated elasticity, by the product and by mpm_plain.py: their ratio."""
    scene = replace(scene, law="fixed corotated")
    params = Params.of(scene, youngs_modulus=1e5, poisson_ratio=0.3)
    mu, lam = (float(np.ravel(m)[0]) for m in lame(1e5, 0.3))
    dt = float(largest_step(params, scene).min())
    fall(scene, 1, 1)
    own = least(lambda: fall(scene, 1, steps), 3)
    return plain(scene.particle, scene.volume, scene.cell, dt, mu, lam, steps, 3) / own


def least(measure, repeats: int) -> float:
    return min(measure() for _ in range(repeats))


def compilation() -> tuple[float, float]:
    """Seconds to the first step in a new process, with an empty cache and with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-c", FIRST_USE, cache, str(Path(__file__).parent)]
        first, second = (float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]) for _ in range(2))
    return first, second


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    output.add_option(parser)
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 10_000, 100_000])
    args = parser.parse_args()
    say = sys.stderr if args.json == output.STDOUT else sys.stdout
    first, cached = compilation()
    rows = []
    print(f"{'particles':>9} {'us_per_particle_step':>21} {'batch of 8':>11} {'ratio_vs_atomics':>17} "
          f"{'backward_over_forward':>22}", file=say)  # fmt: skip
    for count in args.counts:
        scene = cube(count)
        n, steps = len(scene.volume), max(2, 200_000 // count)
        fall(scene, 1, 1)
        backward(scene, 1)
        one = least(lambda scene=scene, steps=steps: fall(scene, 1, steps), 3)
        eight = least(lambda scene=scene, steps=steps: fall(scene, 8, steps), 2)
        back = least(lambda scene=scene, steps=steps: backward(scene, steps), 2)
        row = {
            "particles": n, "us_per_particle_step": 1e6 * one / steps / n, "us_per_particle_step_batch8": 1e6 * eight / steps / n / 8,
            "ratio_vs_atomics": atomics(scene, steps), "backward_over_forward": back / one,
        }  # fmt: skip
        rows.append(row)
        print(f"{n:9d} {row['us_per_particle_step']:21.3f} {row['us_per_particle_step_batch8']:11.3f} "
              f"{row['ratio_vs_atomics']:17.2f} {row['backward_over_forward']:22.2f}", file=say)  # fmt: skip
    print(f"first_use_s {first:.1f}  cached_use_s {cached:.1f}", file=say)
    laws = by_law(args.counts[0])
    print("us_per_particle_step by law:", ", ".join(f"{law} {cost:.3f}" for law, cost in laws.items()), file=say)
    genesis = None if ABSENT else [compare(n) for n in GENESIS]
    for row in genesis or []:
        print(f"Genesis takes {row['ratio']:.1f} times as long for {row['particles']} particles; the centres of the falling bodies get "
              f"{row['fall_gap_cells']:.2f} cells apart before they touch and {row['gap_cells']:.2f} in all", file=say)  # fmt: skip
    if ABSENT:
        print(f"no comparison with Genesis: {ABSENT}", file=say)
    found = {
        "rows": rows, "us_per_particle_step_by_law": laws, "first_use_s": first, "cached_use_s": cached,
        "ratio_vs_genesis": genesis[-1]["ratio"] if genesis else None, "ratio_vs_genesis_reason": ABSENT, "genesis": genesis,
    }  # fmt: skip
    output.write(found, args.json)


if __name__ == "__main__":
    main()
