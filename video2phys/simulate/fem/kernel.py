"""Sums over all quadrature points: energy, forces, second derivatives and their pullback, as Taichi kernels.

With F = sum_a x_a (x) grad N_a at a point of volume V, the energy is sum V (psi(F) + phi), the forces -sum V P grad N_a, and
P = U diag(psi_i) V^T. In a solid grad N_a are gradients of shape functions; other vectors make a sheet, a rod, or the curvature of either
of them (`parts.py`). Terms with mu and with lam each count with a volume of their own at a point (`quadrature.py`): laws scale with both
moduli together. phi is the increment of a viscous potential over a step of length tau (Kelvin-Voigt):

    phi = beta / tau (mu |e|^2 + lam / 2 v^2),   e = sym(G^T (F - F0)),   v = C : (F - F0),   P_v = beta / tau (2 mu G e + lam v C)

F0 is the gradient at the beginning of the step and G = F0 + tau dF0/dt the one predicted for its stage, so phi is convex and quadratic
in F, blind to translations, and to rotations up to the square of the step. In a solid C = cof G and v is the change of volume, not tr(e):
a strained body that keeps its volume has tr(e) of the size of strain times strain rate, which a large lam would turn into damping of its
own. A membrane has C = G and v = tr(e); a norm mu / 2 instead of mu, and C = 0.

Loops that scatter into nodes run in one thread, with plain stores: sums do not depend on how many threads there are. Annotations are
evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.fem.laws import Law, Slender, principal
from video2phys.simulate.materials.svd import decomposition


@cache
def kernels(law: Law | Slender) -> SimpleNamespace:
    """`slope`, `blocks`, `product` and `pullback` for one law; element types differ only in array shapes."""
    ti = taichi()
    real = ti.f64
    vec3, mat3 = ti.types.vector(3, real), ti.types.matrix(3, 3, real)
    vectors, points = ti.types.ndarray(dtype=vec3, ndim=1), ti.types.ndarray(dtype=vec3, ndim=3)
    scalars, table = ti.types.ndarray(dtype=real, ndim=1), ti.types.ndarray(dtype=real, ndim=2)
    matrices, index = ti.types.ndarray(dtype=mat3, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=2)
    tensors = ti.types.ndarray(dtype=real, ndim=4)
    density, signed_svd = principal(law), decomposition("f64").signed_svd
    twice = 1 if law == "norm" else 2

    @ti.func
    def gradient(x: ti.template(), element: ti.template(), grad: ti.template(), e: int, q: int):
        F = mat3(0)
        for a in range(element.shape[1]):
            F += x[element[e, a]].outer_product(grad[e, q, a])
        return F

    @ti.func
    def scatter(f: ti.template(), P: mat3, element: ti.template(), grad: ti.template(), e: int, q: int):
        for a in range(element.shape[1]):
            f[element[e, a]] += P @ grad[e, q, a]

    @ti.func
    def sym(M: mat3):
        return 0.5 * (M + M.transpose())

    @ti.func
    def viscous(G: mat3, D: mat3, mu: real, lam: real):
        """2 mu G sym(G^T D) + lam (C : D) C"""
        C = density.growth(G)
        return twice * mu * (G @ sym(G.transpose() @ D)) + lam * (C * D).sum() * C

    @ti.func
    def stretch(U: mat3, s: vec3, V: mat3):
        return U @ mat3([[s[0], 0, 0], [0, s[1], 0], [0, 0, s[2]]]) @ V.transpose()

    @ti.kernel
    def slope(
        x: vectors, element: index, grad: points, volume: table, bulk: table, mu: scalars, lam: scalars, beta: real, F0: matrices,
        G: matrices, psi: table, stress: matrices, force: vectors,
    ):  # fmt: skip
        """The energy V psi of every point and its derivative V P, which is added to `force`."""
        for e in range(element.shape[0]):
            for q in range(volume.shape[1]):
                F = gradient(x, element, grad, e, q)
                U, s, V = signed_svd(F)
                vmu, vlam = volume[e, q] * mu[e], bulk[e, q] * lam[e]
                value, g = density.slope(s, vmu, vlam)
                P = stretch(U, g, V)
                if beta != 0:
                    D = F - F0[e, q]
                    damped = beta * viscous(G[e, q], D, vmu, vlam)
                    value += 0.5 * (damped * D).sum()
                    P += damped
                psi[e, q] = value
                stress[e, q] = P
        ti.loop_config(serialize=True)
        for e in range(element.shape[0]):
            for q in range(volume.shape[1]):
                scatter(force, stress[e, q], element, grad, e, q)

    @ti.func
    def clamp(H: mat3):
        """The nearest positive semidefinite symmetric matrix."""
        U, s, V = signed_svd(H)  # eigenvalues have the signs of u_i . v_i
        for k in ti.static(range(3)):
            if s[k] * (U[0, k] * V[0, k] + U[1, k] * V[1, k] + U[2, k] * V[2, k]) < 0:
                s[k] = 0
        return stretch(V, ti.abs(s), V)

    @ti.kernel
    def blocks(
        x: vectors, element: index, grad: points, volume: table, bulk: table, mu: scalars, lam: scalars, beta: real, G: matrices,
        project: int, out: tensors,
    ):  # fmt: skip
        """V dP/dF of every point, (E, Q, 9, 9); with `project` each without its negative eigenvalues."""
        for e in range(element.shape[0]):
            for q in range(volume.shape[1]):
                F = gradient(x, element, grad, e, q)
                U, s, V = signed_svd(F)
                vmu, vlam = volume[e, q] * mu[e], bulk[e, q] * lam[e]
                H, minus, plus = density.curvature(s, vmu, vlam)
                if project == 1:
                    H = clamp(H)
                    minus, plus = ti.max(minus, 0.0), ti.max(plus, 0.0)
                same, cross = 0.5 * (minus + plus), 0.5 * (minus - plus)
                for column in range(9):
                    i, j = column // 3, column % 3
                    D = mat3(0)
                    for a in ti.static(range(3)):
                        for b in ti.static(range(3)):
                            D[a, b] = U[i, a] * V[j, b]
                    d = H @ vec3(D[0, 0], D[1, 1], D[2, 2])
                    dP = mat3([
                        [d[0], same[2] * D[0, 1] + cross[2] * D[1, 0], same[1] * D[0, 2] + cross[1] * D[2, 0]],
                        [same[2] * D[1, 0] + cross[2] * D[0, 1], d[1], same[0] * D[1, 2] + cross[0] * D[2, 1]],
                        [same[1] * D[2, 0] + cross[1] * D[0, 2], same[0] * D[2, 1] + cross[0] * D[1, 2], d[2]],
                    ])  # fmt: skip
                    dP = U @ dP @ V.transpose()
                    if beta != 0:
                        dF = mat3(0)
                        for a in ti.static(range(3)):
                            for b in ti.static(range(3)):
                                dF[a, b] = ti.select(a == i and b == j, 1.0, 0.0)
                        dP += beta * viscous(G[e, q], dF, vmu, vlam)
                    for a in ti.static(range(3)):
                        for b in ti.static(range(3)):
                            out[e, q, 3 * a + b, column] = dP[a, b]

    @ti.kernel
    def product(dx: vectors, element: index, grad: points, block: tensors, force: vectors):
        """The second derivative times `dx`, added to `force`."""
        ti.loop_config(serialize=True)
        for e in range(element.shape[0]):
            for q in range(grad.shape[1]):
                dF = gradient(dx, element, grad, e, q)
                dP = mat3(0)
                for a in ti.static(range(3)):
                    for b in ti.static(range(3)):
                        row = real(0.0)
                        for c in ti.static(range(9)):
                            row += block[e, q, 3 * a + b, c] * dF[c // 3, c % 3]
                        dP[a, b] = row
                scatter(force, dP, element, grad, e, q)

    @ti.kernel
    def pullback(
        x: vectors, z: vectors, element: index, grad: points, volume: table, bulk: table, mu: scalars, lam: scalars, beta: real,
        moving: int, F0: matrices, G: matrices, by_F0: matrices, by_G: matrices, d_mu: scalars, d_lam: scalars, d_beta: scalars,
        d_F0: vectors, d_G: vectors,
    ):  # fmt: skip
        """Derivatives of z . (derivative of the energy by x), added up: by mu, lam and beta of each element, the nodes that give F0 and G.

        With `moving` 0 there is no step: F0, G and what belongs to them are not touched. by_F0, by_G are room for each point's share."""
        for e in range(element.shape[0]):
            for q in range(volume.shape[1]):
                F, Z = gradient(x, element, grad, e, q), gradient(z, element, grad, e, q)
                U, s, V = signed_svd(F)
                _, a = density.slope(s, 1.0, 0.0)
                _, b = density.slope(s, 0.0, 1.0)
                vmu, vlam = volume[e, q] * mu[e], bulk[e, q] * lam[e]
                d_mu[e] += volume[e, q] * (stretch(U, a, V) * Z).sum()
                d_lam[e] += bulk[e, q] * (stretch(U, b, V) * Z).sum()
                if moving == 1:
                    D = F - F0[e, q]
                    strain, along, C = sym(G[e, q].transpose() @ D), sym(G[e, q].transpose() @ Z), density.growth(G[e, q])
                    grown, growing = (C * D).sum(), (C * Z).sum()
                    d_beta[e] += (viscous(G[e, q], D, vmu, vlam) * Z).sum()
                    d_mu[e] += volume[e, q] * beta * twice * (strain * along).sum()
                    d_lam[e] += bulk[e, q] * beta * grown * growing
                    by_F0[e, q] = -beta * viscous(G[e, q], Z, vmu, vlam)
                    turned = twice * vmu * (D @ along + Z @ strain)
                    by_G[e, q] = beta * (turned + vlam * (growing * density.mixed(G[e, q], D) + grown * density.mixed(G[e, q], Z)))
        if moving == 1:
            ti.loop_config(serialize=True)
            for e in range(element.shape[0]):
                for q in range(volume.shape[1]):
                    scatter(d_F0, by_F0[e, q], element, grad, e, q)
                    scatter(d_G, by_G[e, q], element, grad, e, q)

    return SimpleNamespace(slope=slope, blocks=blocks, product=product, pullback=pullback)
