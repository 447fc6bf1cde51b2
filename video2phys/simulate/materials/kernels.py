"""Kirchhoff stress tau(F) of the elastic laws and its reverse derivative, as Taichi functions.

neo-Hookean:      tau = mu (F F^T - I) + lam log(J) I
fixed corotated:  tau = 2 mu (F - R) F^T + lam J (J - 1) I,  F = R S the polar decomposition

The derivative of R needs no singular vectors: with R^T dR = [w]x,
    (tr(S) I - S) w = axial(R^T dF),  axial(M) = (M32 - M23, M13 - M31, M21 - M12),
a 3x3 system that is regular wherever the sum of any two principal stretches is positive, so also at F = I and at
equal stretches (e.g. McAdams et al. 2011, "Efficient elasticity for character skinning", section 5).

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.materials.elastic import Elastic


@cache
def stress(real_name: str, law: Elastic) -> SimpleNamespace:
    """`tau(F, mu, lam)` and `pullback(F, mu, lam, T) -> (dF, dmu, dlam)` for a symmetric adjoint T of tau."""
    ti = taichi()
    real = getattr(ti, real_name)
    vec3, mat3 = ti.types.vector(3, real), ti.types.matrix(3, 3, real)
    whole, digits, bias, terms = (ti.i32, 23, 127, 5) if real_name == "f32" else (ti.i64, 52, 1023, 10)

    @ti.func
    def identity():
        return ti.Matrix.identity(real, 3)

    @ti.func
    def polar(F: mat3):
        """Rotation of F = R S by Newton's iteration R <- (R + R^-T) / 2 (Higham 1986), which leaves half the square of its last step."""
        R = F
        for _ in range(12):
            step = 0.5 * (R.inverse().transpose() - R)
            R += step
            if step.norm_sqr() < ti.static(1e-7 if real_name == "f32" else 1e-16):
                break
        return R

    @ti.func
    def axial(M: mat3):
        return vec3(M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1])

    @ti.func
    def cross(w: vec3):
        return mat3([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])

    @ti.func
    def log(x: real):
        """Natural logarithm to round-off, without a call, so that a loop over it becomes vector instructions; NaN unless x > 0.

        x = 2^n m with m within a factor sqrt(2) of one, and log m = 2 artanh y, y = (m - 1) / (m + 1), |y| < 0.172, as a series.
        """
        bits, one = ti.bit_cast(x, whole), ti.cast(1, whole)
        n = ti.cast(bits >> digits, ti.i32) - bias
        m = ti.bit_cast((bits & ((one << digits) - one)) | (one << digits) * bias, real)
        large = m > real(2**0.5)
        m, n = ti.select(large, 0.5 * m, m), ti.select(large, n + 1, n)
        y = (m - 1) / (m + 1)
        square, series = y * y, real(0.0)
        for k in ti.static(range(terms, 0, -1)):
            series = square * (series + real(ti.static(1 / (2 * k + 1))))
        return ti.select(x > 0, n * real(0.6931471805599453) + 2 * (y + y * series), real(ti.math.nan))

    if law == "neo-Hookean":

        @ti.func
        def tau(F: mat3, mu: real, lam: real):
            return mu * (F @ F.transpose()) + (lam * log(F.determinant()) - mu) * identity()

        @ti.func
        def pullback(F: mat3, mu: real, lam: real, T: mat3):
            dF = 2 * mu * (T @ F) + lam * T.trace() * F.inverse().transpose()
            dmu = (T * (F @ F.transpose() - identity())).sum()
            return dF, dmu, T.trace() * log(F.determinant())

    else:

        @ti.func
        def tau(F: mat3, mu: real, lam: real):
            J = F.determinant()
            return 2 * mu * ((F - polar(F)) @ F.transpose()) + lam * J * (J - 1) * identity()

        @ti.func
        def pullback(F: mat3, mu: real, lam: real, T: mat3):
            R, J = polar(F), F.determinant()
            S = R.transpose() @ F
            dR = -2 * mu * (T @ F)
            w = (S.trace() * identity() - S).inverse() @ axial(R.transpose() @ dR)
            dF = 2 * mu * (T @ (F - R) + T @ F) + R @ cross(w)
            dF += lam * (2 * J - 1) * J * T.trace() * F.inverse().transpose()
            dmu = 2 * (T * ((F - R) @ F.transpose())).sum()
            return dF, dmu, T.trace() * J * (J - 1)

    return SimpleNamespace(tau=tau, pullback=pullback)
