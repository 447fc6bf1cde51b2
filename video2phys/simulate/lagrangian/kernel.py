"""The step of the total Lagrangian material point method, as a Taichi kernel.

With weights N_i(X_p) of the rest position (de Vaucorbeil et al. 2020, "A total-Lagrangian material point method"), nodes x_i, v_i
and lumped masses m_i = sum_p N_i m_p:

    deformation    F_p = sum_i x_i grad N_i^T
    momentum       m_i dv_i = dt (m_i g - sum_p V_p P(F_p) grad N_i) + sum_q N_i j_q n,   P = tau F^-T
    contact        see contact.py
    damping        v_i <- rigid + exp(-damping dt) (v_i - rigid), the rigid motion with the momentum and spin of the nodes
    motion         x_i += dt v_i

The integrator is symplectic and nothing is transferred between grids: energy neither grows nor fades by itself, however small
the step is, and momentum is conserved. A body touches with points q of its surface, each of which a stiff layer pushes back; matter a
cell wide is so as far from the plane as its surface says.

Members go side by side (lanes.py); particles of one cell share their nodes, whose positions and impulses stay in local arrays meanwhile.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from collections.abc import Callable
from functools import cache

from video2phys.backend import CHUNKS, MIN_CHUNK, taichi
from video2phys.simulate.lagrangian.contact import contact
from video2phys.simulate.lagrangian.lanes import NODES, lanes
from video2phys.simulate.materials.elastic import Elastic
from video2phys.simulate.materials.kernels import stress

SWEEPS = 3  # of Gauss-Seidel a step; what is left is taken up by the next steps


@cache
def advance(real_name: str, law: Elastic, count: int) -> Callable[..., None]:
    """Kernel that moves (blocks, G) nodes of `count` members each through steps[b, i] steps of dt[b][i]."""
    ti = taichi()
    t, touch = lanes(real_name, count), contact(real_name, count)
    real, L, D = t.real, count, 3 * count
    mat3, tau = ti.types.matrix(3, 3, real), stress(real_name, law).tau

    @ti.func
    def particle(W: mat3, S: mat3, volume: real, mu: ti.template(), lam: ti.template(), shrink: ti.template(), dt: ti.template(),
                 place: ti.template(), pushed: ti.template()):  # fmt: skip
        """Add the impulses of a particle's stress to those of its nodes (27 D,), from their places (27 D,); rows of F are x, y, z."""
        F0, F1, F2 = t.zero_triple(), t.zero_triple(), t.zero_triple()
        for j in range(D):
            f0, f1, f2 = real(0.0), real(0.0), real(0.0)
            for i, k in ti.static(ti.ndrange(3, 3)):
                x = [place[((i * 3 + k) * 3 + m) * D + j] for m in ti.static(range(3))]
                line = W[2, 0] * x[0] + W[2, 1] * x[1] + W[2, 2] * x[2]
                f0 += line * (S[0, i] * W[1, k])
                f1 += line * (W[0, i] * S[1, k])
                f2 += (S[2, 0] * x[0] + S[2, 1] * x[1] + S[2, 2] * x[2]) * (W[0, i] * W[1, k])
            F0[j], F1[j], F2[j] = f0, f1, f2
        for i in range(L):
            F = shrink[i] * mat3([[F0[i], F1[i], F2[i]], [F0[L + i], F1[L + i], F2[L + i]], [F0[2 * L + i], F1[2 * L + i], F2[2 * L + i]]])
            P = -dt[i] * volume * shrink[i] ** -2 * (tau(F, mu[i], lam[i]) @ F.inverse().transpose())  # volume / shrink^3, slope shrink
            F0[i], F1[i], F2[i] = P[0, 0], P[0, 1], P[0, 2]
            F0[L + i], F1[L + i], F2[L + i] = P[1, 0], P[1, 1], P[1, 2]
            F0[2 * L + i], F1[2 * L + i], F2[2 * L + i] = P[2, 0], P[2, 1], P[2, 2]
        for j in range(D):
            for i, k in ti.static(ti.ndrange(3, 3)):
                flat = (S[0, i] * W[1, k]) * F0[j] + (W[0, i] * S[1, k]) * F1[j]
                up = (W[0, i] * W[1, k]) * F2[j]
                for m in ti.static(range(3)):
                    n = ti.static(((i * 3 + k) * 3 + m) * D)
                    pushed[n + j] = pushed[n + j] + W[2, m] * flat + S[2, m] * up

    @ti.func
    def matter(b: ti.i32, x: t.triples, impulse: t.triples, cell: t.ints, held: t.ints, offset: t.ints, weight: t.weights,
               slope: t.weights, volume: t.scalars, mu: ti.template(), lam: ti.template(), shrink: ti.template(), dt: ti.template(),
               place: ti.template(), pushed: ti.template()):  # fmt: skip
        """Impulses of the stress of all particles, cell by cell."""
        for c in range(cell.shape[0]):
            t.gather(place, x, b, cell[c], offset)
            for j in range(NODES * D):
                pushed[j] = 0
            for p in range(held[c], held[c + 1]):
                particle(weight[p], slope[p], volume[p], mu, lam, shrink, dt, place, pushed)
            for n in range(NODES):
                g = cell[c] + offset[n]
                impulse[b, g] = impulse[b, g] + ti.Vector([pushed[n * D + j] for j in range(D)])

    @ti.func
    def clearance(b: ti.i32, n: ti.template(), offset: ti.template(), x: t.triples, height: t.rows):
        """Heights of all nodes above the plane; returns the least of any member."""
        least = ti.cast(ti.math.inf, real)
        for g in range(x.shape[1]):
            node, h = x[b, g], t.zeros()
            for i in range(L):
                h[i] = node[i] * n[i] + node[L + i] * n[L + i] + node[2 * L + i] * n[2 * L + i] - offset[i]
            height[b, g] = h
            for i in range(L):
                least = ti.min(least, h[i])
        return least

    @ti.func
    def damp(b: ti.i32, keep: ti.template(), x: t.triples, v: t.triples, node_mass: t.rows):
        """Keep a share of the velocities relative to the rigid motion that has the momentum and spin of the nodes."""
        M, centre, u, spin = t.zeros(), t.zero_triple(), t.zero_triple(), t.zero_triple()
        for g in range(x.shape[1]):
            m, at, moving = node_mass[b, g], x[b, g], v[b, g]
            for i in range(L):
                M[i] += m[i]
            for j in range(D):
                centre[j] += m[j % L] * at[j]
                u[j] += m[j % L] * moving[j]
        for j in range(D):
            centre[j], u[j] = centre[j] / M[j % L], u[j] / M[j % L]
        xx, yy, zz, xy, yz, zx = t.zeros(), t.zeros(), t.zeros(), t.zeros(), t.zeros(), t.zeros()
        for g in range(x.shape[1]):
            m, r, w = node_mass[b, g], x[b, g] - centre, v[b, g]
            for i in range(L):
                rx, ry, rz = r[i], r[L + i], r[2 * L + i]
                spin[i] += m[i] * (ry * w[2 * L + i] - rz * w[L + i])
                spin[L + i] += m[i] * (rz * w[i] - rx * w[2 * L + i])
                spin[2 * L + i] += m[i] * (rx * w[L + i] - ry * w[i])
                xx[i] += m[i] * rx * rx
                yy[i] += m[i] * ry * ry
                zz[i] += m[i] * rz * rz
                xy[i] += m[i] * rx * ry
                yz[i] += m[i] * ry * rz
                zx[i] += m[i] * rz * rx
        for i in range(L):
            inertia = mat3([[yy[i] + zz[i], -xy[i], -zx[i]], [-xy[i], zz[i] + xx[i], -yz[i]], [-zx[i], -yz[i], xx[i] + yy[i]]])
            omega = inertia.inverse() @ ti.Vector([spin[i], spin[L + i], spin[2 * L + i]])
            spin[i], spin[L + i], spin[2 * L + i] = omega[0], omega[1], omega[2]
        for g in range(x.shape[1]):
            r, w, kept = x[b, g] - centre, v[b, g], t.zero_triple()
            for i in range(L):
                rx, ry, rz = r[i], r[L + i], r[2 * L + i]
                a0 = u[i] + spin[L + i] * rz - spin[2 * L + i] * ry
                a1 = u[L + i] + spin[2 * L + i] * rx - spin[i] * rz
                a2 = u[2 * L + i] + spin[i] * ry - spin[L + i] * rx
                kept[i] = a0 + keep[i] * (w[i] - a0)
                kept[L + i] = a1 + keep[i] * (w[L + i] - a1)
                kept[2 * L + i] = a2 + keep[i] * (w[2 * L + i] - a2)
            v[b, g] = kept

    @ti.func
    def largest(row: ti.template()):
        value = row[0]
        for i in range(L):
            value = ti.max(value, row[i])
        return value

    @ti.kernel
    def kernel(
        x: t.triples, v: t.triples, impulse: t.triples, height: t.rows, node_mass: t.rows, light: t.rows, cell: t.ints, held: t.ints,
        offset: t.ints, weight: t.weights, slope: t.weights, volume: t.scalars, touch_first: t.ints, touch_weight: t.weights,
        mobility: t.rows, spring: t.rows, push: t.rows, goal: t.rows, lost: t.rows, slip: t.triples, touched: t.counts,
        material: t.rows, gravity: t.vectors_per_member, normal: t.vectors_per_member, gap: ti.f64, steps: t.counts,
    ):  # fmt: skip
        """`material` (blocks, 7): mu, lam, 1 / size, the plane's offset, friction, damping, loss. A member whose steps are done stays."""
        ti.loop_config(block_dim=CHUNKS)
        for q in range(x.shape[0] * MIN_CHUNK):
            if q % MIN_CHUNK == 0:
                b = q // MIN_CHUNK
                mu, lam, shrink, level = t.zeros(), t.zeros(), t.zeros(), t.zeros()
                friction, damping, loss, dt, keep = t.zeros(), t.zeros(), t.zeros(), t.zeros(), t.zeros()
                mu += material[b, 0]
                lam += material[b, 1]
                shrink += material[b, 2]
                level += material[b, 3]
                friction += material[b, 4]
                damping += material[b, 5]
                loss += material[b, 6]
                fall, n = t.zero_triple(), t.zero_triple()
                fall += gravity[b]
                n += normal[b]
                place, pushed = ti.Vector([0.0] * (NODES * D), dt=real), ti.Vector([0.0] * (NODES * D), dt=real)
                heights = ti.Vector([0.0] * (NODES * L), dt=real)
                most = 0
                for i in range(L):
                    most = ti.max(most, steps[b, i])
                for step in range(most):
                    for i in range(L):
                        dt[i] = 0
                        if step < steps[b, i]:
                            dt[i] = ti.cast(gap / steps[b, i], real)
                        keep[i] = ti.exp(-damping[i] * dt[i])
                    for g in range(x.shape[1]):
                        m, weighs = node_mass[b, g], t.zero_triple()
                        for j in range(D):
                            weighs[j] = dt[j % L] * m[j % L] * fall[j]
                        impulse[b, g] = weighs
                    matter(b, x, impulse, cell, held, offset, weight, slope, volume, mu, lam, shrink, dt, place, pushed)
                    touching = 0
                    if clearance(b, n, level, x, height) < 0:  # the nodes lie around the surface
                        touching = touch.layer(
                            b, dt, n, heights, height, impulse, offset, touch_first, touch_weight, spring, push, touched,
                        )  # fmt: skip
                    for g in range(x.shape[1]):
                        gain, driven, change = light[b, g], impulse[b, g], t.zero_triple()
                        for j in range(D):
                            change[j] = gain[j % L] * driven[j]
                        v[b, g] = v[b, g] + change
                    if touching > 0 and (largest(friction) > 0 or largest(loss) > 0):
                        for sweep, k in ti.ndrange(SWEEPS, touching):
                            touch.visit(
                                b, touched[b, k], ti.cast(sweep == 0, ti.i32), n, place, v, light, offset, touch_first, touch_weight,
                                mobility, push, goal, lost, slip, friction, loss,
                            )  # fmt: skip
                    if largest(damping) > 0:
                        damp(b, keep, x, v, node_mass)
                    for g in range(x.shape[1]):
                        gain, moving, change = light[b, g], v[b, g], t.zero_triple()
                        for j in range(D):
                            change[j] = ti.select(gain[j % L] > 0, dt[j % L] * moving[j], real(0.0))
                        x[b, g] = x[b, g] + change

    return kernel
