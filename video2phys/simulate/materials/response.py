"""What a step does to a particle's matter, whatever the law: from F and the velocity gradient C to what goes on and to the stress.

settle(F, C, m, dt) -> (E, tau): E is the elastic part of F, from which the next step goes on, and tau [Pa] the Kirchhoff stress. The
constants m are (mu, lam, strength, viscosity), see `Law`. Viscous stress 2 viscosity dev(sym C) adds to elastic stress (Kelvin-Voigt)
and is the shear stress of a Newtonian fluid, whose E = J^(1/3) I keeps the volume only and whose pressure is
    p = -lam / 7 (J - J^-6), lam the bulk modulus.
The von Mises law uses viscosity for its flow instead. For laws that do not flow E is F itself.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.materials.hencky import flow
from video2phys.simulate.materials.kernels import stress


@cache
def response(real_name: str, law: Law) -> SimpleNamespace:
    """`settle(F, C, m, dt) -> (E, tau)` and `pullback(F, C, m, dt, d_E, T) -> (d_F, d_C, d_m)` for a symmetric adjoint T of tau.

    `flows`: whether E may differ from F.
    """
    ti = taichi()
    real = getattr(ti, real_name)
    vec4, mat3 = ti.types.vector(4, real), ti.types.matrix(3, 3, real)

    @ti.func
    def shear(C: mat3):
        """dev(sym C), its own adjoint."""
        return 0.5 * (C + C.transpose()) - C.trace() / 3 * ti.Matrix.identity(real, 3)

    if law == "Newtonian":

        @ti.func
        def matter(F: mat3, m: vec4, dt: real):
            J = F.determinant()
            return J ** (ti.cast(1, real) / 3) * ti.Matrix.identity(real, 3), m[1] / 7 * (J - (1 / J) ** 6) * ti.Matrix.identity(real, 3)

        @ti.func
        def matter_pullback(F: mat3, m: vec4, dt: real, d_E: mat3, T: mat3):
            J, trace = F.determinant(), T.trace()
            d_J = d_E.trace() / 3 * J ** (ti.cast(-2, real) / 3) + trace * m[1] / 7 * (1 + 6 * (1 / J) ** 7)
            return d_J * J * F.inverse().transpose(), vec4(0, trace / 7 * (J - (1 / J) ** 6), 0, 0)

    elif law in ("neo-Hookean", "fixed corotated"):
        elastic = stress(real_name, law)

        @ti.func
        def matter(F: mat3, m: vec4, dt: real):
            return F, elastic.tau(F, m[0], m[1])

        @ti.func
        def matter_pullback(F: mat3, m: vec4, dt: real, d_E: mat3, T: mat3):
            d_F, d_mu, d_lam = elastic.pullback(F, m[0], m[1], T)
            return d_E + d_F, vec4(d_mu, d_lam, 0, 0)

    else:
        plastic = flow(real_name, law)
        matter, matter_pullback = plastic.settle, plastic.pullback

    if law == "von Mises":

        @ti.func
        def settle(F: mat3, C: mat3, m: vec4, dt: real):
            return matter(F, m, dt)

        @ti.func
        def pullback(F: mat3, C: mat3, m: vec4, dt: real, d_E: mat3, T: mat3):
            d_F, d_m = matter_pullback(F, m, dt, d_E, T)
            return d_F, mat3(0), d_m

    else:

        @ti.func
        def settle(F: mat3, C: mat3, m: vec4, dt: real):
            E, tau = matter(F, m, dt)
            return E, tau + 2 * m[3] * shear(C)

        @ti.func
        def pullback(F: mat3, C: mat3, m: vec4, dt: real, d_E: mat3, T: mat3):
            d_F, d_m = matter_pullback(F, m, dt, d_E, T)
            d_m[3] += 2 * (T * shear(C)).sum()
            return d_F, 2 * m[3] * shear(T), d_m

    return SimpleNamespace(settle=settle, pullback=pullback, flows=law not in ("neo-Hookean", "fixed corotated", "Hencky"))
