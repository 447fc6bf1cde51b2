"""Sums over a Gaussian's pairs."""

# pyright: reportInvalidTypeForm=false
# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from collections.abc import Callable
from functools import cache

from video2phys.backend import taichi


@cache
def reduce(double: bool) -> Callable[..., None]:
    """Kernel: rows first[g] .. first[g + 1] of d_pair (N, 6 + F) summed into d_flat (G, 6) and d_feature (G, F)."""
    ti = taichi()
    real = ti.f64 if double else ti.f32
    table, longs = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def kernel(first: longs, d_pair: table, d_flat: table, d_feature: table):
        for g in range(d_flat.shape[0]):
            for k in range(6 + d_feature.shape[1]):
                value = real(0.0)
                for n in range(first[g], first[g + 1]):
                    value += d_pair[n, k]
                if k < 6:
                    d_flat[g, k] = value
                else:
                    d_feature[g, k - 6] = value

    return kernel
