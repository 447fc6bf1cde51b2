"""Members of a batch side by side: kernel types and the local arrays in which vector instructions work.

LANES members share every node and particle index, so each number of the scalar algorithm becomes a row of LANES numbers, and a vector
x, y, z three such rows in turn. Loops over a row run over local arrays with an index that the compiler can bound: they become vector
instructions. Arrays in memory hold whole rows as elements, which are read and written at once; in a loop the compiler could not tell
that a store leaves the arguments of the kernel alone.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

import numpy as np

from video2phys.backend import taichi

LANES = 8  # one vector register of doubles where there are the widest, two or four elsewhere
FEW = 4  # members fewer than this are simulated one by one, since empty lanes cost as much as full ones
NODES = 27  # that carry a particle


@cache
def lanes(real_name: str, count: int) -> SimpleNamespace:
    """Array types and functions for rows of `count` members in one precision, 'f32' or 'f64'."""
    ti = taichi()
    real = getattr(ti, real_name)
    array, row, triple = ti.types.ndarray, ti.types.vector(count, real), ti.types.vector(3 * count, real)
    rows, triples = array(dtype=row, ndim=2), array(dtype=triple, ndim=2)
    ints = array(dtype=ti.i32, ndim=1)

    @ti.func
    def zeros():
        return ti.Vector([0.0] * count, dt=real)

    @ti.func
    def zero_triple():
        return ti.Vector([0.0] * (3 * count), dt=real)

    @ti.func
    def gather(local: ti.template(), x: triples, b: ti.i32, base: ti.i32, offset: ints):
        """Copy the vectors of the 27 nodes from `base` on to a local array."""
        for n in range(NODES):
            node = x[b, base + offset[n]]
            for j in ti.static(range(3 * count)):
                local[n * ti.static(3 * count) + j] = node[j]

    @ti.func
    def gather_rows(local: ti.template(), x: rows, b: ti.i32, base: ti.i32, offset: ints):
        """Copy the numbers of the 27 nodes from `base` on to a local array."""
        for n in range(NODES):
            node = x[b, base + offset[n]]
            for i in ti.static(range(count)):
                local[n * count + i] = node[i]

    return SimpleNamespace(
        real=real, zeros=zeros, zero_triple=zero_triple, gather=gather, gather_rows=gather_rows, rows=rows, triples=triples, ints=ints,
        vectors_per_member=array(dtype=triple, ndim=1), counts=array(dtype=ti.i32, ndim=2), scalars=array(dtype=real, ndim=1),
        weights=array(dtype=ti.types.matrix(3, 3, real), ndim=1),
    )  # fmt: skip


def pack(a: np.ndarray, count: int, real: type) -> np.ndarray:
    """Members (B, ...) side by side: (blocks, ..., count), vectors (B, ..., 3) to (blocks, ..., 3 count) by `pack_vectors`.

    Lanes without a member repeat the last one.
    """
    filled = np.concatenate([a, np.repeat(a[-1:], -len(a) % count, 0)])
    return np.ascontiguousarray(np.moveaxis(filled.reshape(-1, count, *a.shape[1:]), 1, -1), real)


def pack_vectors(a: np.ndarray, count: int, real: type) -> np.ndarray:
    """Vectors of members (B, ..., 3) side by side: (blocks, ..., 3 count), all x first."""
    packed = pack(a, count, real)
    return packed.reshape(*packed.shape[:-2], 3 * count)


def unpack_vectors(a: np.ndarray, batch: int) -> np.ndarray:
    """The inverse: (..., blocks, G, 3 count) to (..., B, G, 3)."""
    *head, blocks, G, width = a.shape
    apart = a.reshape(*head, blocks, G, 3, width // 3)
    return np.moveaxis(apart, -1, -3).reshape(*head, blocks * (width // 3), G, 3)[..., :batch, :, :]
