"""Isotropic elastic energies psi(s1, s2, s3) [J/m^3] of signed principal stretches, as Taichi functions, with their derivatives.

corotated:        psi = mu sum (s_i - 1)^2 + 3 lam / 2 min over det D = 1 of |s - d|^2      (both by projection: Bouaziz et al. 2014)
fixed corotated:  psi = mu sum (s_i - 1)^2 + lam / 2 (J - 1)^2                              (Stomakhin et al. 2012, eq. 6)
neo-Hookean:      psi = mu / 2 (sum s_i^2 - 3 - 2 log J) + lam / 2 log(J)^2,  infinite where J <= 0

membrane:         psi = mu sum (s_i - 1)^2 + lam / 2 (s1 + s2 - 2)^2 of two stretches: F has rank two, lam is that of plane stress
norm:             psi = mu / 2 |F|^2 - lam |F|: a spring of natural length lam / mu where F is a fibre or a curvature, a pull where mu = 0

The first three are those of linear elasticity for small strains; the factor 3 of the projection onto det D = 1 is there for that: a
small strain e is tr(e) / sqrt(3) away from the nearest isochoric one. That projection is unique up to a volume of at least eight times;
beyond the energy counts as infinite.

What the second derivative by F needs besides psi_ij are the quotients (psi_i - psi_j) / (s_i - s_j) and (psi_i + psi_j) / (s_i + s_j)
(e.g. Stomakhin et al. 2012, section 4; Smith et al. 2019, "Analytic eigensystems for isotropic distortion energies"). Here both are
written out, so nothing is divided by a difference: equal stretches are no special case. Across a
sheet both quotients are psi_i / s_i: what a pull does to a direction across itself.

`growth` is what the viscous potential calls the change of volume by F (`kernel.py`), and `mixed` the derivative of growth(G) : B by G.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace
from typing import Literal

from video2phys.backend import taichi
from video2phys.simulate.materials.svd import decomposition

Law = Literal["corotated", "fixed corotated", "neo-Hookean"]
LAWS = ("corotated", "fixed corotated", "neo-Hookean")
Slender = Literal["membrane", "norm"]
INVERTED = 1e-6  # the sum of two stretches counts as at least this: where it vanishes the rotation of F is not unique


@cache
def principal(law: Law | Slender) -> SimpleNamespace:
    """`slope(s, mu, lam) -> (psi, psi_i)`, `curvature(s, mu, lam) -> (psi_ij, minus, plus)`, where pair k leaves out direction k,
    `growth(G)` and `mixed(G, B)`. All but the last two scale with (mu, lam)."""
    ti = taichi()
    real = ti.f64
    vec3, mat3 = ti.types.vector(3, real), ti.types.matrix(3, 3, real)
    diagonal = decomposition("f64").diagonal

    @ti.func
    def pairs(a: vec3):
        """Products of two of three."""
        return vec3(a[1] * a[2], a[2] * a[0], a[0] * a[1])

    @ti.func
    def sums(s: vec3):
        return ti.max(vec3(s[1] + s[2], s[2] + s[0], s[0] + s[1]), INVERTED)

    @ti.func
    def growth(G: mat3):
        """Cofactors, d(det G)/dG: cross products of two columns."""
        a, b, c = vec3(G[0, 0], G[1, 0], G[2, 0]), vec3(G[0, 1], G[1, 1], G[2, 1]), vec3(G[0, 2], G[1, 2], G[2, 2])
        return ti.Matrix.cols([b.cross(c), c.cross(a), a.cross(b)])

    @ti.func
    def mixed(G: mat3, B: mat3):
        """Cofactors are quadratic."""
        return growth(G + B) - growth(G) - growth(B)

    if law == "corotated":

        @ti.func
        def isochoric(s: vec3):
            """Nearest d with d1 d2 d3 = 1, all positive: s_i - d_i = eta / d_i. Returns (d, eta, found).

            sum log d_i falls with eta and is concave: Newton's method overshoots once at most.
            """
            least = ti.min(s[0], ti.min(s[1], s[2]))
            cap = ti.select(least > 0, 0.25 * least * least, 0.0)
            eta = ti.select(least > 0, 0.0, -1.0 - least * least)
            d = s
            found = False
            for _ in range(60):
                root = ti.sqrt(ti.max(s * s - 4 * eta, 1e-30))
                d = 0.5 * (s + root)
                for k in ti.static(range(3)):
                    if s[k] < 0:
                        d[k] = -2 * eta / (root[k] - s[k])  # the same without cancellation
                off = ti.log(d[0]) + ti.log(d[1]) + ti.log(d[2])
                step = off / (1 / (d * root)).sum()
                if ti.abs(off) < 1e-15 or ti.abs(step) < 1e-16:
                    found = True
                    break
                eta = ti.select(eta + step < cap, eta + step, 0.5 * (eta + cap))
            return d, eta, found or ti.abs(ti.log(d[0] * d[1] * d[2])) < 1e-12

        @ti.func
        def slope(s: vec3, mu: real, lam: real):
            d, _, found = isochoric(s)
            psi = mu * (s - 1).norm_sqr() + 1.5 * lam * (s - d).norm_sqr()
            if not found and lam != 0:
                psi = ti.math.inf
            return psi, 2 * mu * (s - 1) + 3 * lam * (s - d)

        @ti.func
        def curvature(s: vec3, mu: real, lam: real):
            d, eta, _ = isochoric(s)
            a = 1 / (1 - eta / (d * d))  # d(d_i) = a_i (d(s_i) - d(eta) / d_i),  sum d(d_i) / d_i = 0
            b = a / d
            H = 3 * lam * (diagonal(1 - a) + b.outer_product(b) / (b / d).sum()) + 2 * mu * ti.Matrix.identity(real, 3)
            dd = pairs(d)
            return H, 2 * mu - 3 * lam * eta / (dd - eta), 2 * mu * (1 - 2 / sums(s)) + 3 * lam * eta / (dd + eta)

    elif law == "fixed corotated":

        @ti.func
        def slope(s: vec3, mu: real, lam: real):
            J = s[0] * s[1] * s[2]
            return mu * (s - 1).norm_sqr() + 0.5 * lam * (J - 1) ** 2, 2 * mu * (s - 1) + lam * (J - 1) * pairs(s)

        @ti.func
        def curvature(s: vec3, mu: real, lam: real):
            J, c = s[0] * s[1] * s[2], pairs(s)
            p = lam * (J - 1) * s
            H = 2 * mu * ti.Matrix.identity(real, 3) + lam * c.outer_product(c)
            H += mat3([[0, p[2], p[1]], [p[2], 0, p[0]], [p[1], p[0], 0]])
            return H, 2 * mu - p, 2 * mu * (1 - 2 / sums(s)) + p

    elif law == "membrane":

        @ti.func
        def slope(s: vec3, mu: real, lam: real):
            t = s[0] + s[1] - 2
            g = vec3(2 * mu * (s[0] - 1) + lam * t, 2 * mu * (s[1] - 1) + lam * t, 0)
            return mu * ((s[0] - 1) ** 2 + (s[1] - 1) ** 2) + 0.5 * lam * t * t, g

        @ti.func
        def curvature(s: vec3, mu: real, lam: real):
            _, g = slope(s, mu, lam)
            across0, across1 = g[0] / ti.max(s[0], INVERTED), g[1] / ti.max(s[1], INVERTED)
            H = mat3([[2 * mu + lam, lam, 0], [lam, 2 * mu + lam, 0], [0, 0, 0]])
            sheared = 2 * mu + 2 * (lam * (s[0] + s[1] - 2) - 2 * mu) / ti.max(s[0] + s[1], INVERTED)
            return H, vec3(across1, across0, 2 * mu), vec3(across1, across0, sheared)

        @ti.func
        def growth(G: mat3):
            return G

        @ti.func
        def mixed(G: mat3, B: mat3):
            return B

    elif law == "norm":

        @ti.func
        def slope(s: vec3, mu: real, lam: real):
            size = s.norm()
            psi = -lam * size
            if mu > 0:
                psi = 0.5 * mu * (size - lam / mu) ** 2  # counted from its own rest
            return psi, (mu - lam / ti.max(size, INVERTED)) * s

        @ti.func
        def curvature(s: vec3, mu: real, lam: real):
            size = ti.max(s.norm(), INVERTED)
            across, unit = mu - lam / size, s / size
            return across * ti.Matrix.identity(real, 3) + lam / size * unit.outer_product(unit), vec3(across), vec3(across)

        @ti.func
        def growth(G: mat3):
            return mat3(0)

        @ti.func
        def mixed(G: mat3, B: mat3):
            return mat3(0)

    else:

        @ti.func
        def slope(s: vec3, mu: real, lam: real):
            psi, g = ti.cast(ti.math.inf, real), vec3(0)  # a bare literal would make psi single
            if ti.min(s[0], ti.min(s[1], s[2])) > 0:
                log, e = ti.log(s), s - 1  # |s|^2 - 3 - 2 log J by stretch: no difference of large numbers near rest
                psi = mu * (e + 0.5 * e * e - log).sum() + 0.5 * lam * log.sum() ** 2
                g = mu * e * (s + 1) / s + lam * log.sum() / s
            return psi, g

        @ti.func
        def curvature(s: vec3, mu: real, lam: real):
            q = lam * ti.log(s[0] * s[1] * s[2]) - mu
            r = 1 / s
            H = diagonal(mu - q * r * r) + lam * r.outer_product(r)
            return H, mu - q * pairs(r), mu + q * pairs(r)

    return SimpleNamespace(slope=slope, curvature=curvature, growth=growth, mixed=mixed)
