"""One place that starts Taichi, quietly and once, resolves the device, and keeps torch to one thread."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from video2phys.errors import MissingBackend

if TYPE_CHECKING:
    from types import ModuleType


CHUNKS = 64  # Taichi splits a parallel loop into at most this many tasks on the CPU ...
MIN_CHUNK = 512  # ... of at least this many iterations: where one iteration is a task, it is one in this many


@cache
def taichi() -> ModuleType:
    """The taichi module, initialised for the CPU with its offline cache.

    The banner is switched off before the import, because it would go to stdout where results belong.
    """
    os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
    os.environ.setdefault("TI_LOG_LEVEL", "error")
    import taichi as ti

    with contextlib.redirect_stdout(io.StringIO()):  # init() prints, too
        ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=True, cpu_max_num_threads=os.cpu_count() or 1)
    return ti


def resolve_device(name: str) -> str:
    """'auto' | 'cpu' | 'cuda' to the device really used. Raises MissingBackend for cuda without one."""
    if name == "cpu":
        return "cpu"
    import torch

    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise MissingBackend("device cuda was asked for and there is none.", fix="Use --device cpu, or install a CUDA build of torch.")
    return "cuda" if there else "cpu"


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """For torch operations too small to share: threads that wait for one another slow a busy machine down fivefold."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
