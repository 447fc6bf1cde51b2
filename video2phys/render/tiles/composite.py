"""Front-to-back compositing of projected Gaussians on tiles, and its adjoint, as Taichi kernels for the CPU.

A tile belongs to one thread and keeps its pixels in local arrays. Its width is one vector of the processor: the innermost loop runs
over the pixels of one row, without a branch and with an index whose bounds the compiler can prove, so that it becomes vector
instructions. The adjoint writes one row per (tile, Gaussian) pair, so that no two threads ever add to the same number.
"""

# pyright: reportInvalidTypeForm=false
# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import CHUNKS, MIN_CHUNK, taichi
from video2phys.render.projection import DARK, FAINT, OPAQUE

WIDE, HIGH = 8, 16  # [px] of a tile
AREA = WIDE * HIGH
CHECK = 16  # Gaussians between two looks at whether a tile is finished


@cache
def kernels(double: bool, channels: int) -> SimpleNamespace:
    """forward and backward for Gaussians of so many features, compiled for float64 or float32.

    The last feature makes a picture of its own (`far`): colours and depth are used apart, and neither is copied for it.

    start (tiles + 1,) into pair (N,) = entries of owner and rows, near before far; owner (N,) = Gaussian, rows (N, 2) = first row and
    row past the last within the tile. flat (G, 6) = centre u, v [px], conic a, b, c [1/px^2], opacity; feature (G, channels).
    """
    ti = taichi()
    real = ti.f64 if double else ti.f32
    longs, ints = (ti.types.ndarray(dtype=ti.i32, ndim=n) for n in (1, 2))
    table, image = (ti.types.ndarray(dtype=real, ndim=n) for n in (2, 3))
    over, shown, last_one = range(channels), range(channels - 1), channels - 1

    @ti.func
    def fall(x):
        """exp(x) for x <= 0. In float32 as 2^n times a series, 2e-7 off, which has no call in it."""
        x = ti.max(x, real(-20.0))  # fainter than anything drawn
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
    def pixels(value):
        return ti.Vector([value] * AREA, dt=real)

    @ti.func
    def total(lanes):
        value = real(0.0)
        for i in range(WIDE):
            value += lanes[i]
        return value

    @ti.kernel
    def forward(start: longs, pair: longs, owner: longs, rows: ints, flat: table, feature: table, across: ti.i32,
                out: image, far: table, light: table, stop: longs):  # fmt: skip
        """Fills out (H, W, channels - 1), far (H, W), light (H, W) = what passes all Gaussians, and stop (tiles,) = entry at which a tile
        was finished."""
        ti.loop_config(block_dim=CHUNKS)
        for q in range((start.shape[0] - 1) * MIN_CHUNK):
            tile = q // MIN_CHUNK
            if q % MIN_CHUNK == 0:
                top, left = tile // across * HIGH, tile % across * WIDE
                T = pixels(1.0)
                c = [pixels(0.0) for _ in ti.static(over)]
                last = start[tile + 1]
                for n in range(start[tile], start[tile + 1]):
                    if (n - start[tile]) % CHECK == CHECK - 1:
                        brightest = real(0.0)
                        for j in range(AREA):
                            brightest = ti.max(brightest, T[j])
                        if brightest <= real(DARK):
                            last = n
                            break
                    s = pair[n]
                    g = owner[s]
                    u, v = flat[g, 0] - left - real(0.5), flat[g, 1] - top - real(0.5)
                    a, b, e, o = real(-0.5) * flat[g, 2], flat[g, 3], real(-0.5) * flat[g, 4], flat[g, 5]
                    f = [feature[g, m] for m in ti.static(over)]
                    for y in range(rows[s, 0], rows[s, 1]):
                        dy = y - v
                        slope, fixed = -b * dy, e * dy * dy
                        row = (y & (HIGH - 1)) * WIDE
                        for i in range(WIDE):
                            j = row + i
                            dx = i - u
                            t = T[j]
                            alpha = ti.min(real(OPAQUE), o * fall(dx * (a * dx + slope) + fixed))
                            w = t * ti.select((alpha >= real(FAINT)) & (t > real(DARK)), alpha, real(0.0))
                            T[j] = t - w
                            for m in ti.static(over):
                                c[m][j] += w * f[m]
                stop[tile] = last
                for y in range(ti.min(HIGH, light.shape[0] - top)):
                    for x in range(ti.min(WIDE, light.shape[1] - left)):
                        light[top + y, left + x], far[top + y, left + x] = T[y * WIDE + x], c[last_one][y * WIDE + x]
                        for m in ti.static(shown):
                            out[top + y, left + x, m] = c[m][y * WIDE + x]

    @ti.kernel
    def backward(start: longs, pair: longs, owner: longs, rows: ints, flat: table, feature: table, across: ti.i32, stop: longs,
                 d_out: image, d_far: table, d_light: table, out: image, far: table, light: table, d_pair: table):  # fmt: skip
        """d_pair (N, 6 + channels): derivatives of the entries of flat and feature, in the order of owner.
        `rest` is what a pixel's light is worth from a Gaussian on: the whole pixel, less what was passed.
        """
        ti.loop_config(block_dim=CHUNKS)
        for q in range((start.shape[0] - 1) * MIN_CHUNK):
            tile = q // MIN_CHUNK
            if q % MIN_CHUNK == 0:
                top, left = tile // across * HIGH, tile % across * WIDE
                T, rest, da = pixels(1.0), pixels(0.0), pixels(0.0)
                dc = [pixels(0.0) for _ in ti.static(over)]
                for y in range(ti.min(HIGH, light.shape[0] - top)):
                    for x in range(ti.min(WIDE, light.shape[1] - left)):
                        da[y * WIDE + x] = -d_light[top + y, left + x]
                        whole = (light[top + y, left + x] - 1) * d_light[top + y, left + x]
                        whole += d_far[top + y, left + x] * far[top + y, left + x]
                        dc[last_one][y * WIDE + x] = d_far[top + y, left + x]
                        for m in ti.static(shown):
                            dc[m][y * WIDE + x] = d_out[top + y, left + x, m]
                            whole += d_out[top + y, left + x, m] * out[top + y, left + x, m]
                        rest[y * WIDE + x] = whole
                for n in range(stop[tile], start[tile + 1]):
                    for m in ti.static(range(6 + channels)):
                        d_pair[pair[n], m] = 0
                for n in range(start[tile], stop[tile]):
                    s = pair[n]
                    g = owner[s]
                    u, v = flat[g, 0] - left - real(0.5), flat[g, 1] - top - real(0.5)
                    a, b, e, o = real(-0.5) * flat[g, 2], flat[g, 3], real(-0.5) * flat[g, 4], flat[g, 5]
                    f = [feature[g, m] for m in ti.static(over)]
                    sums = [ti.Vector([0.0] * WIDE, dt=real) for _ in ti.static(range(3 + channels))]  # d, d dy, d dy^2, features
                    for y in range(rows[s, 0], rows[s, 1]):
                        dy = y - v
                        slope, fixed = -b * dy, e * dy * dy
                        row = (y & (HIGH - 1)) * WIDE
                        for i in range(WIDE):
                            j = row + i
                            dx = i - u
                            t = T[j]
                            full = o * fall(dx * (a * dx + slope) + fixed)
                            drawn = (full >= real(FAINT)) & (t > real(DARK))
                            alpha = ti.select(drawn, ti.min(real(OPAQUE), full), real(0.0))
                            w = t * alpha
                            worth = da[j]
                            for m in ti.static(over):
                                worth += dc[m][j] * f[m]
                                sums[3 + m][i] += w * dc[m][j]
                            left_over = rest[j] - w * worth
                            rest[j] = left_over
                            T[j] = t - w
                            d = ti.select(full < real(OPAQUE), (t * worth - left_over / (1 - alpha)) * alpha, real(0.0))
                            sums[0][i] += d
                            sums[1][i] += d * dy
                            sums[2][i] += d * dy * dy
                    d, x1, xx, xy, y1, yy = real(0.0), real(0.0), real(0.0), real(0.0), real(0.0), real(0.0)
                    for i in range(WIDE):  # a pixel's dx is its column's: the moments in it can wait until here
                        dx = i - u
                        d += sums[0][i]
                        x1 += sums[0][i] * dx
                        xx += sums[0][i] * dx * dx
                        y1 += sums[1][i]
                        xy += sums[1][i] * dx
                        yy += sums[2][i]
                    d_pair[s, 0], d_pair[s, 1] = b * y1 - 2 * a * x1, b * x1 - 2 * e * y1
                    d_pair[s, 2], d_pair[s, 3], d_pair[s, 4] = real(-0.5) * xx, -xy, real(-0.5) * yy
                    d_pair[s, 5] = d / o
                    for m in ti.static(over):
                        d_pair[s, 6 + m] = total(sums[3 + m])

    return SimpleNamespace(forward=forward, backward=backward)
