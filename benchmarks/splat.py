"""How fast is the rasteriser on this machine? Against plain torch, with one core and with two.

python benchmarks/splat.py [--out splat.json]     prints a table and JSON; the least of several repeats, compilation left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

SIZE, REPEATS = 240, 6
PLAIN = 200  # Gaussians drawn by plain torch, whose time and memory grow in proportion: 5000 of them would take 10 GB


def scene(count: int):
    """Opaque flat Gaussians that cover a sphere whose picture is two thirds of the frame wide, as a reconstruction has them."""
    import torch

    gen = torch.Generator().manual_seed(0)
    normal = torch.nn.functional.normalize(torch.randn(count, 3, generator=gen), dim=1)
    spacing = math.sqrt(4 * math.pi / count)
    quaternion = torch.cat([1.0001 + normal[:, 2:], -normal[:, 1:2], normal[:, :1], torch.zeros(count, 1)], 1)
    scale = spacing * torch.tensor([0.5, 0.5, 0.15]).expand(count, 3)
    tensors = [normal, quaternion, scale, torch.full((count,), 0.9), torch.rand(count, 3, generator=gen)]
    K = torch.tensor([[SIZE / 3 * 4, 0, SIZE / 2], [0, SIZE / 3 * 4, SIZE / 2], [0, 0, 1]])
    pose = torch.eye(4)
    pose[2, 3] = 4.1
    return [t.clone().requires_grad_() for t in tensors], K, pose


def measure(count: int, backend: str, repeats: int = REPEATS) -> tuple[float, float]:
    """Least time [ms] of forward, and of forward and backward."""
    from video2phys.render.api import rasterize

    tensors, K, pose = scene(count)
    forward, both = [], []
    for _ in range(repeats + (backend != "reference")):  # the first run compiles
        start = time.perf_counter()
        picture = rasterize(*tensors, K, pose, SIZE, SIZE, backend=backend)  # type: ignore[arg-type]
        forward.append(time.perf_counter() - start)
        (picture.colour.square().sum() + picture.alpha.sum()).backward()
        both.append(time.perf_counter() - start)
    return min(forward) * 1e3, min(both) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)  # its operations here are too small to share; the kernels take every core
    if options.worker:
        sys.stdout.write(json.dumps(measure(5000, "taichi")))
        return
    plans = ((1000, "taichi"), (5000, "taichi"), (20_000, "taichi"), (PLAIN, "reference"))
    rows = [(count, backend, *measure(count, backend, 1 if backend == "reference" else REPEATS)) for count, backend in plans]
    fast, slow = rows[1][3], rows[3][3] * 5000 / PLAIN
    core = str(min(os.sched_getaffinity(0)))
    single = json.loads(
        subprocess.run(["taskset", "-c", core, sys.executable, __file__, "--worker"], capture_output=True, check=True).stdout
    )
    for count, backend, forward, both in rows:
        sys.stdout.write(f"{count:7d} Gaussians  {backend:10s} forward {forward:9.1f} ms   forward and backward {both:9.1f} ms\n")
    result = {"forward_backward_ms": fast, "speedup_vs_torch_5k": slow / fast, "two_core_gain": single[1] / fast,
              "gaussians": 5000, "size_px": SIZE, "cores": len(os.sched_getaffinity(0))}  # fmt: skip
    text = json.dumps(result, indent=1)
    sys.stdout.write(text + "\n")
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
