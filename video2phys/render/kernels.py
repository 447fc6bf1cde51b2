"""Front-to-back compositing of projected Gaussians on tiles, and its adjoint, as Taichi kernels for the CPU.

A tile belongs to one thread, and within a tile the Gaussians come in order of depth; each visits only the pixels of its own ellipse.
The adjoint writes one row per (tile, Gaussian) pair, so that no two threads ever add to the same number.
"""

# pyright: reportInvalidTypeForm=false
# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi

TILE = 16  # [px]
OPAQUE = 0.99  # largest alpha of one Gaussian, so that 1 - alpha never vanishes
FAINT = 1 / 255  # smallest alpha that is drawn
DARK = 1e-4  # transmittance under which a pixel is finished


@cache
def kernels(double: bool) -> SimpleNamespace:
    """count, fill, forward and backward, compiled for float64 or float32.

    Arrays: box (G, 4) pixel ranges x0, x1, y0, y1; start (tiles + 1,) into pair (N,) = Gaussian per entry;
    centre [px] (G, 2); conic [1/px^2] (G, 3) = a, b, c of a x^2 + 2 b x y + c y^2; feature (G, F).
    """
    ti = taichi()
    real = ti.f64 if double else ti.f32
    ints, longs = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=1)
    flat, table, image = (ti.types.ndarray(dtype=real, ndim=n) for n in (1, 2, 3))

    @ti.kernel
    def count(box: ints, across: ti.i32, start: longs):
        ti.loop_config(serialize=True)
        for g in range(box.shape[0]):
            if box[g, 1] > box[g, 0] and box[g, 3] > box[g, 2]:
                for ty in range(box[g, 2] // TILE, (box[g, 3] - 1) // TILE + 1):
                    for tx in range(box[g, 0] // TILE, (box[g, 1] - 1) // TILE + 1):
                        start[ty * across + tx + 1] += 1

    @ti.kernel
    def fill(box: ints, order: longs, across: ti.i32, cursor: longs, pair: longs):
        ti.loop_config(serialize=True)
        for k in range(order.shape[0]):
            g = order[k]
            if box[g, 1] > box[g, 0] and box[g, 3] > box[g, 2]:
                for ty in range(box[g, 2] // TILE, (box[g, 3] - 1) // TILE + 1):
                    for tx in range(box[g, 0] // TILE, (box[g, 1] - 1) // TILE + 1):
                        tile = ty * across + tx
                        pair[cursor[tile]] = g
                        cursor[tile] += 1

    @ti.func
    def fall(a, b, c, dx, dy):
        """exp(-(a dx^2 + 2 b dx dy + c dy^2) / 2). In float32 as 2^n times a series, 2e-7 off: the library's exp is half of the time."""
        x = real(-0.5) * (a * dx * dx + 2 * b * dx * dy + c * dy * dy)
        value = x
        if ti.static(double):
            value = ti.exp(x)
        else:
            n = ti.floor(x * 1.4426950409 + 0.5)
            r = x - n * 0.69314718056
            series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r / 720)))))
            value = series * ti.bit_cast((ti.cast(n, ti.i32) + 127) << 23, ti.f32)
        return value

    @ti.func
    def span(u, a, b, c, dy, limit, low, high):
        """Pixels low..high of a row, cut to where a dx^2 + 2 b dx dy + c dy^2 <= limit."""
        inside = b * b * dy * dy - a * (c * dy * dy - limit)
        x0, x1 = low, low
        if inside > 0:
            half = ti.sqrt(inside)
            x0 = ti.max(low, ti.cast(ti.ceil(u - real(0.5) + (-b * dy - half) / a), ti.i32))
            x1 = ti.min(high, ti.cast(ti.floor(u - real(0.5) + (-b * dy + half) / a), ti.i32) + 1)
        return x0, x1

    @ti.kernel
    def forward(start: longs, pair: longs, box: ints, centre: table, conic: table, opacity: flat, feature: table, across: ti.i32,
                out: image, light: table):  # fmt: skip
        for tile in range(start.shape[0] - 1):
            top, left = tile // across * TILE, tile % across * TILE
            alive = ti.min(TILE, light.shape[0] - top) * ti.min(TILE, light.shape[1] - left)
            for k in range(start[tile], start[tile + 1]):
                if alive == 0:
                    break
                g = pair[k]
                u, v, a, b, c, o = centre[g, 0], centre[g, 1], conic[g, 0], conic[g, 1], conic[g, 2], opacity[g]
                limit = 2 * ti.log(o / real(FAINT))
                for y in range(ti.max(box[g, 2], top), ti.min(box[g, 3], top + TILE)):
                    dy = y + real(0.5) - v
                    x0, x1 = span(u, a, b, c, dy, limit, ti.max(box[g, 0], left), ti.min(box[g, 1], left + TILE))
                    for x in range(x0, x1):
                        T = light[y, x]
                        if T > real(DARK):
                            dx = x + real(0.5) - u
                            alpha = ti.min(real(OPAQUE), o * fall(a, b, c, dx, dy))
                            for f in range(feature.shape[1]):
                                out[y, x, f] = out[y, x, f] + T * alpha * feature[g, f]  # += would be atomic
                            light[y, x] = T * (1 - alpha)
                            if T * (1 - alpha) <= real(DARK):
                                alive -= 1

    @ti.kernel
    def backward(start: longs, pair: longs, box: ints, centre: table, conic: table, opacity: flat, feature: table, across: ti.i32,
                 d_out: image, d_alpha: table, behind: table, light: table, d_pair: table):  # fmt: skip
        """`behind` holds, per pixel, d_out . out + d_alpha alpha of what is not yet passed; `light` starts at 1. Both are consumed.

        d_pair (N, 6 + F): derivatives of u, v, a, b, c, opacity, features of each pair.
        """
        for tile in range(start.shape[0] - 1):
            top, left = tile // across * TILE, tile % across * TILE
            for k in range(start[tile], start[tile + 1]):
                g = pair[k]
                u, v, a, b, c, o = centre[g, 0], centre[g, 1], conic[g, 0], conic[g, 1], conic[g, 2], opacity[g]
                limit = 2 * ti.log(o / real(FAINT))
                du, dv, da, db, dc, do = real(0.0), real(0.0), real(0.0), real(0.0), real(0.0), real(0.0)
                for y in range(ti.max(box[g, 2], top), ti.min(box[g, 3], top + TILE)):
                    dy = y + real(0.5) - v
                    x0, x1 = span(u, a, b, c, dy, limit, ti.max(box[g, 0], left), ti.min(box[g, 1], left + TILE))
                    for x in range(x0, x1):
                        T = light[y, x]
                        if T > real(DARK):
                            dx = x + real(0.5) - u
                            full = o * fall(a, b, c, dx, dy)
                            alpha = ti.min(real(OPAQUE), full)
                            worth = d_alpha[y, x]
                            for f in range(feature.shape[1]):
                                worth += d_out[y, x, f] * feature[g, f]
                                d_pair[k, 6 + f] = d_pair[k, 6 + f] + T * alpha * d_out[y, x, f]
                            rest = behind[y, x] - T * alpha * worth
                            behind[y, x] = rest
                            light[y, x] = T * (1 - alpha)
                            if full < real(OPAQUE):
                                d = (T * worth - rest / (1 - alpha)) * alpha
                                du += d * (a * dx + b * dy)
                                dv += d * (b * dx + c * dy)
                                da -= real(0.5) * d * dx * dx
                                db -= d * dx * dy
                                dc -= real(0.5) * d * dy * dy
                                do += d / o
                d_pair[k, 0], d_pair[k, 1], d_pair[k, 2] = du, dv, da
                d_pair[k, 3], d_pair[k, 4], d_pair[k, 5] = db, dc, do

    return SimpleNamespace(count=count, fill=fill, forward=forward, backward=backward)
