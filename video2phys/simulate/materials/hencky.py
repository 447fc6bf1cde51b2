"""Logarithmic (Hencky) elasticity with plastic flow, as Taichi functions: F = U diag(s) V^T, e = log s, E = U diag(exp e') V^T.

What goes on after the flow, and its stress, with t = tr(e), dev = e - t / 3, d = |dev|:

    e' = t / 3 + k dev,   tau = U diag(2 mu k dev + (lam + 2 mu / 3) b t) U^T

Hencky         k = b = 1
von Mises      k d = d - w (d - r), r = sqrt(2/3) strength / (2 mu), where d > r; w = 2 mu dt / (2 mu dt + viscosity), so that a
               viscosity of zero is rate-independent and any other flows after Perzyna (1966), the overstress 2 mu d - 2 mu r = viscosity
               times the rate of dev. `strength` is the yield stress in uniaxial tension [Pa] (Simo and Hughes 1998, box 3.1).
Drucker-Prager k d = -c t strength where d > -c t strength, c = 1 + 3 lam / (2 mu), and k = b = 0 where t >= 0: sand bears no tension.
               `strength` is alpha = sqrt(2/3) 2 sin(phi) / (3 - sin(phi)) of the angle of friction phi (Klar et al. 2016). Matter that came
               apart bears pressure again only when it is as dense as at rest: its expansion t stays in E (Tampubolon et al. 2017,
               "Multi-species simulation of porous sand and water mixtures", carry the same number beside E).

Derivatives need the quotients (g_i - g_j) / (s_i - s_j) of g = exp(e'). As e'_i - e'_j = k (log s_i - log s_j), they are k times the
quotient of exp by e' times that of log by s, both written as series where stretches are near: equal stretches are no special case.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.materials.svd import decomposition


@cache
def flow(real_name: str, law: Law) -> SimpleNamespace:
    """`settle(F, m, dt) -> (E, tau)` and `pullback(F, m, dt, d_E, T) -> (d_F, d_m)`; m = (mu, lam, strength, viscosity), T symmetric."""
    ti = taichi()
    real = getattr(ti, real_name)
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    signed_svd, diagonal = decomposition(real_name).signed_svd, decomposition(real_name).diagonal

    @ti.func
    def slip(t: real, d: real, m: vec4, dt: real):
        """(flows, b, k, k's derivatives by t, by d, and by m)."""
        flows, borne, k, by_t, by_d, by_m = False, ti.cast(1, real), ti.cast(1, real), ti.cast(0, real), ti.cast(0, real), vec4(0)
        if ti.static(law == "von Mises"):
            root = ti.sqrt(ti.cast(2, real) / 3)  # |dev tau| of a uniaxial stress of one
            q, r = 2 * m[0] * d, root * m[2]
            if q > r:
                flows = True
                w = 2 * m[0] * dt / (2 * m[0] * dt + m[3])
                k = 1 - w + w * r / q
                by_d = -w * r / (q * d)
                by_w = r / q - 1
                by_m = vec4(by_w * w * (1 - w) / m[0] - w * r / (q * m[0]), 0, w * root / q, -by_w * w * w / (2 * m[0] * dt))
        elif ti.static(law == "Drucker-Prager"):
            c = 1 + 1.5 * m[1] / m[0]
            if t >= 0:
                flows = True
                borne, k = 0, 0
            elif d > -c * t * m[2]:
                flows = True
                k = -c * t * m[2] / d
                by_t, by_d = k / t, -k / d
                by_m = vec4(-1.5 * k / c * m[1] / (m[0] * m[0]), 1.5 * k / (c * m[0]), -c * t / d, 0)
        return flows, borne, k, by_t, by_d, by_m

    @ti.func
    def strains(s: vec3):
        e = ti.log(s)
        t = e.sum()
        dev = e - t / 3
        return t, dev, dev.norm()

    @ti.func
    def settle(F: mat3, m: vec4, dt: real):
        U, s, V = signed_svd(F)
        t, dev, d = strains(s)
        flows, borne, k, _, _, _ = slip(t, d, m, dt)
        E = F
        if flows:
            E = U @ diagonal(ti.exp(t / 3 + k * dev)) @ V.transpose()
        return E, U @ diagonal(2 * m[0] * k * dev + (m[1] + 2 * m[0] / 3) * borne * t) @ U.transpose()

    @ti.func
    def log_quotient(a: real, b: real):
        """(log a - log b) / (a - b)."""
        x = (a - b) / (a + b)
        y = x * x
        series = 1 + y * (1 / 3 + y * (1 / 5 + y * (1 / 7 + y * (1 / 9 + y / 11))))
        return ti.select(ti.abs(x) < 0.03, 2 * series / (a + b), ti.log(a / b) / ti.select(a == b, 1, a - b))

    @ti.func
    def exp_quotient(a: real, b: real):
        """(exp a - exp b) / (a - b)."""
        h = 0.5 * (a - b)
        y = h * h
        series = 1 + y / 6 * (1 + y / 20 * (1 + y / 42 * (1 + y / 72)))
        return ti.exp(0.5 * (a + b)) * ti.select(ti.abs(h) < 0.03, series, 0.5 * (ti.exp(h) - ti.exp(-h)) / ti.select(h == 0, 1, h))

    @ti.func
    def pullback(F: mat3, m: vec4, dt: real, d_E: mat3, T: mat3):
        U, s, V = signed_svd(F)
        t, dev, d = strains(s)
        _, borne, k, by_t, by_d, by_m = slip(t, d, m, dt)
        e = t / 3 + k * dev
        g = ti.exp(e)
        N, M = U.transpose() @ d_E @ V, U.transpose() @ T @ U
        trace = M.trace()
        a, mean = vec3(0), borne * (m[1] + 2 * m[0] / 3) * trace
        for i in ti.static(range(3)):
            a[i] = N[i, i] * g[i] + 2 * m[0] * M[i, i]
            mean += N[i, i] * g[i] / 3
        A = a.dot(dev)
        by_e = mean + k * (a - a.sum() / 3) + A * (by_t + by_d * dev / ti.select(d > 0, d, 1))
        D = diagonal(by_e / s)
        for i, j in ti.static(((0, 1), (0, 2), (1, 2))):
            across = k * log_quotient(s[i], s[j])
            even = 0.5 * across * exp_quotient(e[i], e[j]) * (N[i, j] + N[j, i])
            odd = 0.5 * (g[i] + g[j]) / (s[i] + s[j]) * (N[i, j] - N[j, i])
            turn = 4 * m[0] * across / (s[i] + s[j]) * M[i, j]
            D[i, j] = even + odd + turn * s[j]
            D[j, i] = even - odd + turn * s[i]
        d_m = A * by_m
        for i in ti.static(range(3)):
            d_m[0] += 2 * M[i, i] * (k * dev[i] + borne * t / 3)
        d_m[1] += borne * t * trace
        return U @ D @ V.transpose(), d_m

    return SimpleNamespace(settle=settle, pullback=pullback)
