"""How fast is the rasteriser on this machine? Against plain torch, by size, with one core and with two, and on CUDA where there is one.

python benchmarks/splat.py [--json [FILE]]     prints a table, or JSON to stdout or FILE; least of several repeats, without compilation.

The scene is a ball covered by flat Gaussians, two thirds of the frame high, as a reconstruction has it: more Gaussians are smaller ones,
so that each pixel is painted about as often. Plain torch draws one Gaussian after another over the whole picture and keeps all of it for
its gradient; where that would take more than a few GB, PLAIN Gaussians are drawn and the time is scaled, which is marked with ~.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time

import output

from video2phys.backend import one_thread

COUNTS, SIZES = (1000, 5000, 20_000), ((160, 120), (320, 240), (640, 480))
REPEATS, PLAIN = 8, 100
LARGEST = 1.2e8  # Gaussians times pixels that plain torch is given in full


def scene(count: int, width: int, height: int, device: str = "cpu"):
    """Tensors of `rasterize` for a ball of `count` Gaussians, K and pose."""
    import torch

    gen = torch.Generator().manual_seed(0)
    normal = torch.nn.functional.normalize(torch.randn(count, 3, generator=gen), dim=1)
    spacing = math.sqrt(4 * math.pi / count)
    quaternion = torch.cat([1.0001 + normal[:, 2:], -normal[:, 1:2], normal[:, :1], torch.zeros(count, 1)], 1)
    scale = spacing * torch.tensor([0.5, 0.5, 0.15]).expand(count, 3)
    tensors = [normal, quaternion, scale, torch.full((count,), 0.9), torch.rand(count, 3, generator=gen)]
    K = torch.tensor([[height / 3 * 4, 0, width / 2], [0, height / 3 * 4, height / 2], [0, 0, 1]])
    pose = torch.eye(4)
    pose[2, 3] = 4.1
    return [t.to(device).clone().requires_grad_() for t in tensors], K.to(device), pose.to(device)


@one_thread()  # as training does: torch's own threads spin for a while after each operation, on cores that the kernels need
def measure(count: int, width: int, height: int, backend: str, repeats: int = REPEATS) -> tuple[float, float]:
    """Least time [ms] of forward, and of forward and backward."""
    import torch

    from video2phys.render.api import rasterize

    device = "cuda" if backend == "gsplat" else "cpu"
    tensors, K, pose = scene(count, width, height, device)
    seed = [torch.ones(height, width, 3, device=device), torch.ones(height, width, device=device)]
    forward, both = [], []
    for _ in range(repeats + (backend != "reference")):  # the first run compiles
        start = time.perf_counter()
        picture = rasterize(*tensors, K, pose, width, height, backend=backend)  # type: ignore[arg-type]
        if device == "cuda":
            torch.cuda.synchronize()
        forward.append(time.perf_counter() - start)
        torch.autograd.backward([picture.colour, picture.alpha], seed)
        if device == "cuda":
            torch.cuda.synchronize()
        both.append(time.perf_counter() - start)
    return min(forward) * 1e3, min(both) * 1e3


def work(count: int, width: int, height: int) -> tuple[int, float]:
    """(Gaussian, pixel) pairs that the kernels look at, and the memory [MB] of a picture with its lists and gradients."""
    import torch

    from video2phys.render.tiles.bins import bins
    from video2phys.render.tiles.composite import WIDE
    from video2phys.render.tiles.rasterize import Project

    (mean, quaternion, scale, opacity, colour), K, pose = scene(count, width, height)
    with torch.no_grad():
        form, shift = torch.cat([quaternion, scale], 1), torch.zeros(count, 2)
        flat, depth, extent = Project.apply(mean, form, opacity, shift, K, pose, (width, height), False, 1e-3, False)
        lists = bins(flat, extent, depth, width, height)
    entries = 6 + colour.shape[1] + 1  # derivatives of one pair; a picture has the colours, depth, and what passes
    numbers = len(lists.pair) * (4 + entries) + 2 * width * height * (colour.shape[1] + 2) + count * (2 * entries + 7 + 5)
    return int((lists.rows[:, 1] - lists.rows[:, 0]).sum()) * WIDE, 4 * numbers / 2**20


def plain(count: int, width: int, height: int) -> tuple[float, bool]:
    """Forward and backward of plain torch [ms], and whether it was scaled from PLAIN Gaussians."""
    if count * width * height <= LARGEST:
        return measure(count, width, height, "reference", 1)[1], False
    return measure(PLAIN, width, height, "reference", 1)[1] * count / PLAIN, True


def worker(count: int, width: int, height: int) -> dict[str, float]:
    """One size in a process of its own."""
    return dict(zip(("forward_ms", "both_ms"), measure(count, width, height, "taichi"), strict=True))


def alone(count: int, size: tuple[int, int], *before: str) -> dict[str, float]:
    """`worker` in a new process."""
    command = [*before, sys.executable, __file__, "--worker", str(count), *map(str, size)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def on_cuda() -> dict[str, float] | None:
    """Forward and backward [ms] with gsplat by size; None without a CUDA device."""
    import torch

    if not torch.cuda.is_available():
        return None
    return {f"{n}@{w}x{h}": measure(n, w, h, "gsplat")[1] for w, h in SIZES for n in COUNTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    output.add_option(parser)
    parser.add_argument("--worker", nargs=3, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        sys.stdout.write(json.dumps(worker(*options.worker)))
        return
    say = sys.stderr.write if options.json == output.STDOUT else sys.stdout.write
    say(f"{'Gaussians':>9s} {'picture':>8s} {'forward':>9s} {'+ backward':>11s} {'plain torch':>12s} {'ratio':>7s} {'per pixel':>9s}"
        f" {'ns each':>8s} {'memory':>8s}\n")  # fmt: skip
    both, ratio, memory = {}, {}, {}
    for size in SIZES:
        for count in COUNTS:
            key, row, (slow, scaled), (seen, held) = (
                f"{count}@{size[0]}x{size[1]}",
                alone(count, size),
                plain(count, *size),
                work(count, *size),
            )
            both[key], ratio[key], memory[key] = row["both_ms"], slow / row["both_ms"], held
            say(f"{count:9d} {size[0]:4d}x{size[1]:<3d} {row['forward_ms']:6.1f} ms {row['both_ms']:8.1f} ms {'~' if scaled else ' '}"
                f"{slow / 1e3:8.1f} s {ratio[key]:7.0f} {seen / size[0] / size[1]:9.1f} {1e6 * row['both_ms'] / seen:8.1f}"
                f" {held:5.1f} MB\n")  # fmt: skip
    core = str(min(os.sched_getaffinity(0)))
    largest = SIZES[-1]
    gains = {n: alone(n, largest, "taskset", "-c", core)["both_ms"] / both[f"{n}@{largest[0]}x{largest[1]}"] for n in COUNTS}
    for n, gain in gains.items():
        say(f"{len(os.sched_getaffinity(0))} cores against 1, {n} Gaussians at {largest[0]}x{largest[1]}: {gain:.2f} times as fast\n")
    cuda = on_cuda()
    say("gsplat on CUDA: " + ("skipped, there is no CUDA device\n" if cuda is None else f"{cuda} ms\n"))
    result = {"forward_backward_ms": both, "speedup_vs_torch_5k": ratio["5000@160x120"], "speedup_vs_torch": ratio,
              "two_core_gain": gains[5000], "memory_mb": memory, "cuda_ms": cuda, "cores": len(os.sched_getaffinity(0))}  # fmt: skip
    output.write(result, options.json)


if __name__ == "__main__":
    main()
