"""Which Gaussian touches which tile, and in which rows: lists by tile, near before far.

The ellipse where a Gaussian fades to the faintest alpha that is drawn is cut with the columns of tiles, so that a long thin one is
listed where it is and not in its whole bounding box.
"""

# pyright: reportInvalidTypeForm=false
# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from video2phys.backend import CHUNKS, MIN_CHUNK, taichi
from video2phys.render.tiles.composite import HIGH, WIDE

SLACK = 1e-3  # [px] so that rounding leaves no pixel out; whether one is drawn is decided by its alpha
BANDS = 2  # strips of the picture that are sorted side by side


class Bins(NamedTuple):
    """Pairs of tile and Gaussian."""

    start: Tensor  # (tiles + 1,) int32 into pair
    pair: Tensor  # (N,) int32 into owner and rows, by tile and then by depth
    owner: Tensor  # (N,) int32 Gaussian, in order
    rows: Tensor  # (N, 2) int32 first row and row past the last, within the tile
    first: Tensor  # (G + 1,) int32 where a Gaussian's pairs begin
    across: int  # tiles in a row


def bins(flat: Tensor, extent: Tensor, depth: Tensor, width: int, height: int) -> Bins:
    """Sort Gaussians, projected as `project` does, into the tiles of a picture."""
    kernel = kernels(flat.dtype == torch.float64)
    across, down = -(-width // WIDE), -(-height // HIGH)
    first = torch.zeros(len(flat) + 1, dtype=torch.int32)
    kernel.count(flat, extent, width, height, first)
    first = first.cumsum(0, dtype=torch.int32)
    number = int(first[-1])
    owner, tile = (torch.empty(max(1, number), dtype=torch.int32) for _ in range(2))
    rows = torch.empty(max(1, number), 2, dtype=torch.int32)
    kernel.emit(flat, extent, width, height, across, first, owner, tile, rows)
    start = torch.zeros(across * down + 1, dtype=torch.int32)
    torch.cumsum(torch.bincount(tile[:number], minlength=across * down), 0, out=start[1:])
    pair = torch.empty_like(owner)
    kernel.bucket(torch.from_numpy(np.argsort(depth.numpy()).astype(np.int32)), first, tile, across, down, start.clone(), pair)
    return Bins(start, pair, owner, rows, first, across)


@cache
def kernels(double: bool) -> SimpleNamespace:
    """count, emit and bucket, compiled for float64 or float32."""
    ti = taichi()
    real = ti.f64 if double else ti.f32
    table = ti.types.ndarray(dtype=real, ndim=2)
    longs, ints = (ti.types.ndarray(dtype=ti.i32, ndim=n) for n in (1, 2))

    @ti.func
    def columns(u, half, width):
        """First tile column that an ellipse reaches, and the one past the last."""
        first = ti.max(ti.cast(ti.ceil(ti.max(u - half, real(0.0)) - real(0.5)), ti.i32), 0)
        last = ti.cast(ti.floor(ti.min(u + half, real(width)) - real(0.5)), ti.i32)
        return first // WIDE, ti.select((half > 0) & (last >= first), last // WIDE + 1, 0)

    @ti.func
    def strip(u, v, half, top, shear, thick, column, width, height):
        """Rows that an ellipse reaches in a column of tiles: first, and past the last.

        At distance dx from the centre it spans v + shear dx -+ thick sqrt(1 - (dx / half)^2) and is highest at dx = top.
        """
        low = column * WIDE + real(0.5) - u
        high = ti.min(column * WIDE + WIDE, width) - real(0.5) - u
        below, above = ti.min(ti.max(top, low), high), ti.min(ti.max(-top, low), high)
        y1 = v + shear * below + thick * ti.sqrt(ti.max(real(0.0), 1 - (below / half) ** 2)) + real(SLACK)
        y0 = v + shear * above - thick * ti.sqrt(ti.max(real(0.0), 1 - (above / half) ** 2)) - real(SLACK)
        first = ti.cast(ti.ceil(ti.max(y0, real(0.0)) - real(0.5)), ti.i32)
        last = ti.cast(ti.floor(ti.min(y1, real(height)) - real(0.5)), ti.i32) + 1
        return ti.max(first, 0), last

    @ti.kernel
    def count(flat: table, extent: table, width: ti.i32, height: ti.i32, first: longs):
        for g in range(flat.shape[0]):
            number = 0
            x0, x1 = columns(flat[g, 0], extent[g, 0], width)
            for x in range(x0, x1):
                y0, y1 = strip(flat[g, 0], flat[g, 1], extent[g, 0], extent[g, 1], extent[g, 2], extent[g, 3], x, width, height)
                if y1 > y0:
                    number += (y1 - 1) // HIGH - y0 // HIGH + 1
            first[g + 1] = number

    @ti.kernel
    def emit(flat: table, extent: table, width: ti.i32, height: ti.i32, across: ti.i32, first: longs,
             owner: longs, tile: longs, rows: ints):  # fmt: skip
        for g in range(flat.shape[0]):
            n = first[g]
            if first[g + 1] > n:
                x0, x1 = columns(flat[g, 0], extent[g, 0], width)
                for x in range(x0, x1):
                    y0, y1 = strip(flat[g, 0], flat[g, 1], extent[g, 0], extent[g, 1], extent[g, 2], extent[g, 3], x, width, height)
                    if y1 > y0:
                        for y in range(y0 // HIGH, (y1 - 1) // HIGH + 1):
                            owner[n], tile[n] = g, y * across + x
                            rows[n, 0], rows[n, 1] = ti.max(y0 - y * HIGH, 0), ti.min(y1 - y * HIGH, HIGH)
                            n += 1

    @ti.kernel
    def bucket(order: longs, first: longs, tile: longs, across: ti.i32, down: ti.i32, cursor: longs, pair: longs):
        ti.loop_config(block_dim=CHUNKS)
        for q in range(BANDS * MIN_CHUNK):
            band = q // MIN_CHUNK
            if q % MIN_CHUNK == 0:
                low, high = down * band // BANDS * across, down * (band + 1) // BANDS * across
                for k in range(order.shape[0]):
                    g = order[k]
                    for n in range(first[g], first[g + 1]):
                        if low <= tile[n] and tile[n] < high:
                            pair[cursor[tile[n]]] = n
                            cursor[tile[n]] = cursor[tile[n]] + 1  # += would be atomic

    return SimpleNamespace(count=count, emit=emit, bucket=bucket)
