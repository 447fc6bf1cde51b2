"""How fast are steps of finite elements and their adjoint? Projective dynamics against Newton's method that factorises anew.

python benchmarks/fem.py [--json [FILE]]     prints a table, or JSON to stdout or FILE.

A cantilever of some 10,000 unknowns swings under its weight; both ways meet the same tolerance, 1e-9 N + 1e-4 of the acting forces, and
give the derivative of the tip's place by every parameter. Newton solves its steps, and the adjoint, by a sparse direct factorisation.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import output

COUNTS, SIZE = (44, 8, 7), (0.22, 0.04, 0.035)
STEPS, GAP = 10, 0.01  # [s]


def cantilever():
    """Scene, parameters and start of the beam."""
    from video2phys.simulate.fem.mesh import hexahedra
    from video2phys.simulate.fem.parts import Solid
    from video2phys.simulate.fem.scene import Params, build, start

    node, element = hexahedra(COUNTS, SIZE)
    beam = Solid.of(node, element, law="fixed corotated")
    scene = build(node, beam, clamped=node[:, 0] < 1e-9)
    return scene, Params.of(scene, beam.material(youngs_modulus=2e5, poisson_ratio=0.35, density=1000.0)), start(scene)


def measure(method: str, steps: int) -> dict[str, float]:
    """Seconds of a rollout of `steps` steps, and of its pullback, and what both came to."""
    from video2phys.simulate.fem.gradient import differentiable
    from video2phys.simulate.fem.solver import Solver

    scene, params, state = cantilever()
    solver = Solver(method=method, iterations=200 if method == "projective" else 0)  # type: ignore[arg-type]
    began = time.perf_counter()
    track, pullback = differentiable(params, scene, state, np.arange(steps + 1) * GAP, integrator="euler", solver=solver)
    middle = time.perf_counter()
    seed = np.zeros_like(track.position)
    seed[-1, -1, 2] = 1.0
    gradient = pullback(seed)
    end = time.perf_counter()
    return {
        "forward_s": middle - began, "backward_s": end - middle, "tip": float(track.position[-1, -1, 2]),
        "d_modulus": float(gradient.params[0].material[0].youngs_modulus.sum()), "iterations": track.iterations,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    output.add_option(parser)
    asked = parser.parse_args().json
    measure("projective", 1)  # compiles
    fast, newton = measure("projective", STEPS), measure("newton", STEPS)
    scene, _, _ = cantilever()
    found = {
        "unknowns": 3 * len(scene.free), "steps": STEPS,
        "speedup_vs_newton_cholesky": (newton["forward_s"] + newton["backward_s"]) / (fast["forward_s"] + fast["backward_s"]),
        "forward_s": fast["forward_s"], "backward_s": fast["backward_s"], "newton_forward_s": newton["forward_s"],
        "newton_backward_s": newton["backward_s"], "iterations": fast["iterations"], "newton_iterations": newton["iterations"],
        "tip_difference_m": abs(fast["tip"] - newton["tip"]), "gradient_difference": abs(fast["d_modulus"] / newton["d_modulus"] - 1),
    }  # fmt: skip
    if asked is None:
        for name, value in found.items():
            print(f"{name:28s} {value:12.4g}")
    output.write(found, asked)


if __name__ == "__main__":
    main()
