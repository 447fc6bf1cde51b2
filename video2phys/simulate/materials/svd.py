"""The singular value decomposition of a 3x3 matrix with rotations on both sides, as Taichi functions.

F = U diag(s) V^T with det U = det V = 1, s descending, so that only the last value carries the sign of det F (Irving et al. 2004,
"Invertible finite elements", section 5). V are the eigenvectors of F^T F by Jacobi's rotations; U follows from F V, its last column from
the first two, so it is a rotation also where the last value vanishes.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi

SWEEPS = 8  # Jacobi converges quadratically: four or five are the rule
FLAT = 1e-30  # squared length [1] below which a column tells no direction; literals are single precision in kernels
DIAGONAL = {"f32": 1e-14, "f64": 1e-36}  # squares off the diagonal, relative to those on it, that are round-off


@cache
def decomposition(real_name: str) -> SimpleNamespace:
    """`signed_svd(F) -> (U, s, V)` and `diagonal(s)`, the matrix between U and V^T."""
    ti = taichi()
    real = getattr(ti, real_name)
    vec3, mat3 = ti.types.vector(3, real), ti.types.matrix(3, 3, real)

    @ti.func
    def diagonal(a: vec3):
        return mat3([[a[0], 0, 0], [0, a[1], 0], [0, 0, a[2]]])

    @ti.func
    def column(M: mat3, k: ti.template()):
        return vec3(M[0, k], M[1, k], M[2, k])

    @ti.real_func
    def signed_svd(F: mat3) -> tuple[mat3, vec3, mat3]:
        C = F.transpose() @ F
        V = ti.Matrix.identity(real, 3)
        for _ in range(SWEEPS):
            off = C[0, 1] ** 2 + C[0, 2] ** 2 + C[1, 2] ** 2
            if off <= ti.static(DIAGONAL[real_name]) * (C[0, 0] ** 2 + C[1, 1] ** 2 + C[2, 2] ** 2):
                break
            for pair in ti.static(((0, 1), (0, 2), (1, 2))):
                p, q = ti.static(pair[0], pair[1])
                r = ti.static(3 - pair[0] - pair[1])
                if C[p, q] != 0.0:
                    ratio = (C[q, q] - C[p, p]) / (2 * C[p, q])
                    t = 1.0 / (ti.abs(ratio) + ti.sqrt(1 + ratio * ratio))
                    t = ti.select(ratio < 0, -t, t)
                    c = 1 / ti.sqrt(1 + t * t)
                    s = t * c
                    C[p, p] -= t * C[p, q]
                    C[q, q] += t * C[p, q]
                    C[p, q] = 0.0
                    C[q, p] = 0.0
                    a, b = C[r, p], C[r, q]
                    C[r, p] = c * a - s * b
                    C[r, q] = s * a + c * b
                    C[p, r] = C[r, p]
                    C[q, r] = C[r, q]
                    for k in ti.static(range(3)):
                        a, b = V[k, p], V[k, q]
                        V[k, p] = c * a - s * b
                        V[k, q] = s * a + c * b
        for pair in ti.static(((0, 1), (1, 2), (0, 1))):
            p, q = ti.static(pair[0], pair[1])
            if C[p, p] < C[q, q]:  # exchange two columns, one of them turned round: V stays a rotation
                C[p, p], C[q, q] = C[q, q], C[p, p]
                for k in ti.static(range(3)):
                    V[k, p], V[k, q] = V[k, q], -V[k, p]
        M = F @ V
        u0, u1 = column(M, 0), column(M, 1)
        u0 = ti.select(u0.norm_sqr() > FLAT, u0 / ti.sqrt(ti.max(u0.norm_sqr(), FLAT)), vec3(1, 0, 0))
        u1 -= u1.dot(u0) * u0
        if u1.norm_sqr() <= FLAT * ti.max(column(M, 0).norm_sqr(), 1.0):  # round-off: any direction across
            u1 = u0.cross(ti.select(ti.abs(u0[0]) < 0.6, vec3(1, 0, 0), vec3(0, 1, 0)))
        u1 /= u1.norm()
        U = ti.Matrix.cols([u0, u1, u0.cross(u1)])
        return U, vec3(u0.dot(column(M, 0)), u1.dot(column(M, 1)), u0.cross(u1).dot(column(M, 2))), V

    return SimpleNamespace(signed_svd=signed_svd, diagonal=diagonal)
