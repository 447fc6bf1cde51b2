"""Gaussians in space to Gaussians in the picture by the EWA approximation, and its adjoint, as Taichi kernels for the CPU.

Symbols as in `rasterize`: p = R m + t in camera axes, s = (x / z, y / z), N = K' J R with J the camera's first-order map at p,
S2 = N S N^T, conic = (S2 + BLUR I)^-1.
"""

# pyright: reportInvalidTypeForm=false
# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.render.projection import BLUR, FAINT

CAMERA = 18  # derivatives of R (9), t (3), K' (4) and the principal point (2)


@cache
def kernels(double: bool, shaped: bool, orthographic: bool, antialias: bool) -> SimpleNamespace:
    """forward and backward. `shaped`: Gaussians come as quaternion and scale, else as covariance.

    mean (G, 3); form (G, 7) = quaternion and scale, or (G, 9) = covariance; lens (20,) = R (9), t (3), K' = K[:2, :2] (4), principal
    point (2), largest |x / z| and |y / z| at which J is taken. flat (G, 6) = u, v, conic a, b, c, opacity;
    extent (G, 4) for `bins`; depth (G,).
    """
    ti = taichi()
    real = ti.f64 if double else ti.f32
    flat_, table = (ti.types.ndarray(dtype=real, ndim=n) for n in (1, 2))
    mat22, mat23, mat33 = (ti.types.matrix(*n, real) for n in ((2, 2), (2, 3), (3, 3)))
    vec2, vec3, vec4 = (ti.types.vector(n, real) for n in (2, 3, 4))

    @ti.func
    def turn(q):
        w, x, y, z = q[0], q[1], q[2], q[3]
        return mat33([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip

    @ti.func
    def root(form: ti.template(), g):
        """M with M M^T = covariance, of a shaped Gaussian."""
        q = vec4(form[g, 0], form[g, 1], form[g, 2], form[g, 3])
        Q = turn(q / q.norm())
        return mat33([[Q[i, k] * form[g, 4 + k] for k in ti.static(range(3))] for i in ti.static(range(3))])

    @ti.func
    def covariance(form: ti.template(), g):
        S = mat33(0)
        if ti.static(shaped):
            M = root(form, g)
            S = M @ M.transpose()
        else:
            S = mat33([[form[g, 3 * i + k] for k in ti.static(range(3))] for i in ti.static(range(3))])
        return S

    @ti.func
    def camera(lens: ti.template()):
        R = mat33([[lens[3 * i + k] for k in ti.static(range(3))] for i in ti.static(range(3))])
        return R, vec3(lens[9], lens[10], lens[11]), mat22([[lens[12], lens[13]], [lens[14], lens[15]]])

    @ti.func
    def slopes(p, lens: ti.template()):
        """s, and s held within the lens's reach for J."""
        s, held = vec2(p[0], p[1]), vec2(0)
        if ti.static(not orthographic):
            s = s / p[2]
            for k in ti.static(range(2)):
                held[k] = ti.min(ti.max(s[k], -lens[18 + k]), lens[18 + k])
        return s, held

    @ti.func
    def rows(R, p, held):
        """J R (2, 3)."""
        J = mat23([[R[0, k] for k in ti.static(range(3))], [R[1, k] for k in ti.static(range(3))]])
        if ti.static(not orthographic):
            for i, k in ti.static(ti.ndrange(2, 3)):
                J[i, k] = (R[i, k] - held[i] * R[2, k]) / p[2]
        return J

    @ti.func
    def spread(N, form: ti.template(), g):
        """S2 as A, B, C, and its determinant, not below 0."""
        A, B, C, inner = real(0.0), real(0.0), real(0.0), real(0.0)
        if ti.static(shaped):  # sum of squared minors: no cancellation for needles
            W = N @ root(form, g)
            for i in ti.static(range(3)):
                A += W[0, i] * W[0, i]
                B += W[0, i] * W[1, i]
                C += W[1, i] * W[1, i]
                minor = W[0, i] * W[1, (i + 1) % 3] - W[0, (i + 1) % 3] * W[1, i]
                inner += minor * minor
        else:
            P = N @ covariance(form, g) @ N.transpose()
            A, B, C = P[0, 0], (P[0, 1] + P[1, 0]) / 2, P[1, 1]
            inner = ti.max(A * C - B * B, real(0.0))
        return A, B, C, inner

    @ti.kernel
    def forward(mean: table, form: table, opacity: flat_, shift: table, lens: flat_, near: real, flat: table, extent: table, depth: flat_):
        for g in range(mean.shape[0]):
            R, t, K = camera(lens)
            p = R @ vec3(mean[g, 0], mean[g, 1], mean[g, 2]) + t
            depth[g] = p[2]
            for k in ti.static(range(6)):
                flat[g, k] = 0
            extent[g, 0] = 0
            shown = True
            if ti.static(not orthographic):
                shown = not p[2] <= near  # a NaN stays, and is found in flat
            if shown:
                s, held = slopes(p, lens)
                A, B, C, inner = spread(K @ rows(R, p, held), form, g)
                whole = inner + real(BLUR) * (A + C) + real(BLUR * BLUR)
                o = opacity[g]
                if ti.static(antialias):
                    o = o * ti.sqrt(inner / whole)
                A, C = A + real(BLUR), C + real(BLUR)
                c = K @ s
                flat[g, 0], flat[g, 1] = c[0] + lens[16] + shift[g, 0], c[1] + lens[17] + shift[g, 1]
                flat[g, 2], flat[g, 3], flat[g, 4], flat[g, 5] = C / whole, -B / whole, A / whole, o
                if o > real(FAINT):
                    limit = 2 * ti.log(o / real(FAINT))
                    extent[g, 0], extent[g, 1] = ti.sqrt(limit * A), B * ti.sqrt(limit / C)
                    extent[g, 2], extent[g, 3] = B / A, ti.sqrt(limit * whole / A)

    @ti.kernel
    def backward(mean: table, form: table, opacity: flat_, lens: flat_, extent: table, d_flat: table, d_depth: flat_, ask: ti.i32,
                 d_mean: table, d_form: table, d_opacity: flat_, d_lens: table):  # fmt: skip
        """d_lens (G, 18) is written where `ask` is 1. Nothing comes from Gaussians that are not drawn."""
        for g in range(mean.shape[0]):
            if extent[g, 0] > 0:
                R, t, K = camera(lens)
                m = vec3(mean[g, 0], mean[g, 1], mean[g, 2])
                p = R @ m + t
                s, held = slopes(p, lens)
                JR = rows(R, p, held)
                N = K @ JR
                A, B, C, inner = spread(N, form, g)
                whole = inner + real(BLUR) * (A + C) + real(BLUR * BLUR)
                Q = mat22([[C + real(BLUR), -B], [-B, A + real(BLUR)]]) / whole
                G = -Q @ mat22([[d_flat[g, 2], d_flat[g, 3] / 2], [d_flat[g, 3] / 2, d_flat[g, 4]]]) @ Q  # dL / dS2
                d_opacity[g] = d_flat[g, 5]
                if ti.static(antialias):
                    share = ti.sqrt(inner / whole)
                    d_opacity[g] = d_flat[g, 5] * share
                    if inner > 0:
                        d = opacity[g] * d_flat[g, 5] / (2 * share * whole)
                        inward, outward = d * (1 - inner / whole), -d * inner / whole * real(BLUR)
                        G += mat22([[inward * C + outward, -inward * B], [-inward * B, inward * A + outward]])
                S = covariance(form, g)
                dN = 2 * G @ N @ S
                dS = N.transpose() @ G @ N
                dJ = K.transpose() @ dN
                d_centre = vec2(d_flat[g, 0], d_flat[g, 1])
                ds = K.transpose() @ d_centre
                dp, dR = vec3(ds[0], ds[1], d_depth[g]), mat33(0)
                if ti.static(orthographic):
                    for i, k in ti.static(ti.ndrange(2, 3)):
                        dR[i, k] = dJ[i, k]
                else:
                    dp[2] -= ds.dot(s) / p[2]
                    dp[0], dp[1] = ds[0] / p[2], ds[1] / p[2]
                    for i in ti.static(range(2)):
                        along = real(0.0)
                        for k in ti.static(range(3)):
                            dR[i, k] = dJ[i, k] / p[2]
                            dR[2, k] -= held[i] * dJ[i, k] / p[2]
                            dp[2] -= dJ[i, k] * JR[i, k] / p[2]
                            along -= dJ[i, k] * R[2, k] / p[2]
                        if held[i] == s[i]:
                            dp[i] += along / p[2]
                            dp[2] -= along * s[i] / p[2]
                dm = R.transpose() @ dp
                for k in ti.static(range(3)):
                    d_mean[g, k] = dm[k]
                if ti.static(shaped):
                    shape(form, g, dS, d_form)
                else:
                    for i, k in ti.static(ti.ndrange(3, 3)):
                        d_form[g, 3 * i + k] = dS[i, k]
                if ask:
                    dK = dN @ JR.transpose() + d_centre.outer_product(s)
                    for i, k in ti.static(ti.ndrange(3, 3)):
                        d_lens[g, 3 * i + k] = dR[i, k] + dp[i] * m[k]
                    for k in ti.static(range(3)):
                        d_lens[g, 9 + k] = dp[k]
                    for i, k in ti.static(ti.ndrange(2, 2)):
                        d_lens[g, 12 + 2 * i + k] = dK[i, k]
                    d_lens[g, 16], d_lens[g, 17] = d_centre[0], d_centre[1]

    @ti.func
    def shape(form: ti.template(), g, dS, d_form: ti.template()):
        """dL / dS to quaternion and scale."""
        q = vec4(form[g, 0], form[g, 1], form[g, 2], form[g, 3])
        length = q.norm()
        q = q / length
        Q = turn(q)
        D = mat33(0)  # dL / dQ
        for k in ti.static(range(3)):
            scale = form[g, 4 + k]
            column = 2 * scale * (dS @ vec3(Q[0, k], Q[1, k], Q[2, k]))  # dL / d(Q diag(scale))
            d_form[g, 4 + k] = column[0] * Q[0, k] + column[1] * Q[1, k] + column[2] * Q[2, k]
            for i in ti.static(range(3)):
                D[i, k] = column[i] * scale
        w, x, y, z = q[0], q[1], q[2], q[3]
        d = 2 * vec4(
            z * (D[1, 0] - D[0, 1]) + y * (D[0, 2] - D[2, 0]) + x * (D[2, 1] - D[1, 2]),
            y * (D[0, 1] + D[1, 0]) + z * (D[0, 2] + D[2, 0]) + w * (D[2, 1] - D[1, 2]) - 2 * x * (D[1, 1] + D[2, 2]),
            x * (D[0, 1] + D[1, 0]) + z * (D[1, 2] + D[2, 1]) + w * (D[0, 2] - D[2, 0]) - 2 * y * (D[0, 0] + D[2, 2]),
            x * (D[0, 2] + D[2, 0]) + y * (D[1, 2] + D[2, 1]) + w * (D[1, 0] - D[0, 1]) - 2 * z * (D[0, 0] + D[1, 1]),
        )
        d = (d - q * q.dot(d)) / length
        for k in ti.static(range(4)):
            d_form[g, k] = d[k]

    return SimpleNamespace(forward=forward, backward=backward)
