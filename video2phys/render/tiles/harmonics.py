"""Colours from spherical harmonics, and their adjoint, as Taichi kernels for the CPU. The formulas are those of render/harmonics.py."""

# pyright: reportInvalidTypeForm=false
# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.render.harmonics import C0, C1, C2, C3


@cache
def kernels(double: bool, degree: int) -> SimpleNamespace:
    """forward and backward. mean (G, 3), eye (3,) centre of the camera, or towards (3,) = the one direction of an orthographic one;
    h (G, K, 3), colour (G, 3), d_ = derivative of the loss."""
    ti = taichi()
    real = ti.f64 if double else ti.f32
    flat, table, cube = (ti.types.ndarray(dtype=real, ndim=n) for n in (1, 2, 3))
    count = (degree + 1) ** 2
    vec3 = ti.types.vector(3, real)

    @ti.func
    def basis(d):
        x, y, z = d[0], d[1], d[2]
        Y = ti.Vector([0.0] * count, dt=real)
        Y[0] = real(C0)
        if ti.static(degree > 0):
            Y[1], Y[2], Y[3] = -real(C1) * y, real(C1) * z, -real(C1) * x
        if ti.static(degree > 1):
            Y[4], Y[5], Y[6] = real(C2[0]) * x * y, -real(C2[0]) * y * z, real(C2[1]) * (3 * z * z - 1)
            Y[7], Y[8] = -real(C2[0]) * x * z, real(C2[2]) * (x * x - y * y)
        if ti.static(degree > 2):
            Y[9], Y[10] = -real(C3[0]) * y * (3 * x * x - y * y), real(C3[1]) * x * y * z
            Y[11], Y[12] = -real(C3[2]) * y * (5 * z * z - 1), real(C3[3]) * z * (5 * z * z - 3)
            Y[13], Y[14], Y[15] = (
                -real(C3[2]) * x * (5 * z * z - 1),
                real(C3[4]) * z * (x * x - y * y),
                -real(C3[0]) * x * (x * x - 3 * y * y),
            )
        return Y

    @ti.func
    def slope(d, w):
        """Gradient of sum_k w_k Y_k in the direction."""
        x, y, z = d[0], d[1], d[2]
        gx, gy, gz = real(0.0), real(0.0), real(0.0)
        if ti.static(degree > 0):
            gx, gy, gz = -real(C1) * w[3], -real(C1) * w[1], real(C1) * w[2]
        if ti.static(degree > 1):
            gx += real(C2[0]) * (y * w[4] - z * w[7]) + 2 * real(C2[2]) * x * w[8]
            gy += real(C2[0]) * (x * w[4] - z * w[5]) - 2 * real(C2[2]) * y * w[8]
            gz += -real(C2[0]) * (y * w[5] + x * w[7]) + 6 * real(C2[1]) * z * w[6]
        if ti.static(degree > 2):
            five = 5 * z * z - 1
            gx += (
                -6 * real(C3[0]) * x * y * w[9] + real(C3[1]) * y * z * w[10] - real(C3[2]) * five * w[13] + 2 * real(C3[4]) * x * z * w[14]
            )
            gx += -3 * real(C3[0]) * (x * x - y * y) * w[15]
            gy += (
                -3 * real(C3[0]) * (x * x - y * y) * w[9]
                + real(C3[1]) * x * z * w[10]
                - real(C3[2]) * five * w[11]
                - 2 * real(C3[4]) * y * z * w[14]
            )
            gy += 6 * real(C3[0]) * x * y * w[15]
            gz += real(C3[1]) * x * y * w[10] - 10 * real(C3[2]) * z * (y * w[11] + x * w[13]) + real(C3[3]) * (15 * z * z - 3) * w[12]
            gz += real(C3[4]) * (x * x - y * y) * w[14]
        return vec3(gx, gy, gz)

    @ti.func
    def sight(mean: ti.template(), eye: ti.template(), towards: ti.template(), g, parallel):
        d = vec3(towards[0], towards[1], towards[2])
        length = real(1.0)
        if not parallel:
            d = vec3(mean[g, 0] - eye[0], mean[g, 1] - eye[1], mean[g, 2] - eye[2])
            length = ti.max(d.norm(), real(1e-12))
            d = d / length
        return d, length

    @ti.kernel
    def forward(mean: table, h: cube, eye: flat, towards: flat, parallel: ti.i32, colour: table):
        for g in range(mean.shape[0]):
            Y = basis(sight(mean, eye, towards, g, parallel)[0])
            for k in ti.static(range(3)):
                value = real(0.5)
                for n in ti.static(range(count)):
                    value += Y[n] * h[g, n, k]
                colour[g, k] = ti.max(value, real(0.0))

    @ti.kernel
    def backward(mean: table, h: cube, eye: flat, towards: flat, parallel: ti.i32, colour: table, d_colour: table,
                 d_mean: table, d_towards: table, d_h: cube):  # fmt: skip
        """d_mean is what the eye gets, negated; d_towards is written for a parallel camera only."""
        for g in range(mean.shape[0]):
            d, length = sight(mean, eye, towards, g, parallel)
            Y = basis(d)
            w = ti.Vector([0.0] * count, dt=real)
            for k in ti.static(range(3)):
                due = ti.select(colour[g, k] > 0, d_colour[g, k], real(0.0))
                for n in ti.static(range(count)):
                    d_h[g, n, k] = Y[n] * due
                    w[n] += h[g, n, k] * due
            s = slope(d, w)
            across = (s - d * d.dot(s)) / length
            for k in ti.static(range(3)):
                if parallel:
                    d_towards[g, k] = s[k]
                else:
                    d_mean[g, k] = across[k]

    return SimpleNamespace(forward=forward, backward=backward)
