"""The step of the total Lagrangian material point method, as a Taichi kernel.

With weights N_i(X_p) of the rest position (de Vaucorbeil et al. 2020, "A total-Lagrangian material point method"), nodes x_i, v_i
and lumped masses m_i = sum_p N_i m_p:

    deformation    F_p = sum_i x_i grad N_i^T
    momentum       m_i dv_i = dt (m_i g - sum_p V_p P(F_p) grad N_i) + sum_q N_i j_q n,   P = tau F^-T
    contact        v_i += N_i (f_q + l_q n) / m_i, where l_q takes the share `loss` of the speed away at which q approaches the plane
                   and f_q its slip, with |f_q| <= friction * (j_q + l_q)
    damping        v_i <- rigid + exp(-damping dt) (v_i - rigid), the rigid motion with the momentum and spin of the nodes
    motion         x_i += dt v_i

The integrator is symplectic and nothing is transferred between grids: energy neither grows nor fades by itself, however small
the step is, and momentum is conserved. A body touches with points q of its surface, each of which a stiff layer pushes back,
j_q = dt spring_q * depth; matter a cell wide is so as far from the plane as its surface says. Slip and loss are solved by Gauss-Seidel
over the touching points (as in rigid-body solvers, Moreau 1988; Jourdan et al. 1998) with the velocities at the end of the step, so a
body at rest on a slope stays at rest and no node is held that does not touch. A loss of 1 is a skin that does not bounce.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from collections.abc import Callable
from functools import cache

from video2phys.backend import CHUNKS, MIN_CHUNK, taichi
from video2phys.simulate.materials.elastic import Elastic
from video2phys.simulate.materials.kernels import stress
from video2phys.simulate.mpm.spline import types

LIGHTEST = 1e-30  # [kg] a node without mass carries nothing
SWEEPS = 3  # of Gauss-Seidel a step; what is left is taken up by the next steps


@cache
def advance(real_name: str, law: Elastic) -> Callable[..., None]:
    """Kernel that moves (B, G) nodes through `steps[b]` steps of dt[b]."""
    ti = taichi()
    t = types(real_name)
    real, vec3, mat3 = t.real, t.vec3, t.mat3
    tau = stress(real_name, law).tau
    rows = ti.types.ndarray(dtype=mat3, ndim=1)  # (N,) row a: three nodes along axis a

    @ti.func
    def interpolate(b: ti.i32, p: ti.i32, x: t.vectors, first: t.ints, stride: t.ints, weight: rows, slope: rows, shrink: real):
        """Deformation gradient of a particle."""
        W, S = weight[p], shrink * slope[p]
        F = mat3(0)
        for i, k in ti.static(ti.ndrange(3, 3)):
            c = first[p] + i * stride[0] + k * stride[1]
            line, along = vec3(0), vec3(0)
            for m in ti.static(range(3)):
                node = x[b, c + m]
                line += W[2, m] * node
                along += S[2, m] * node
            both = W[0, i] * W[1, k]
            F += line.outer_product(vec3(S[0, i] * W[1, k], W[0, i] * S[1, k], 0)) + along.outer_product(vec3(0, 0, both))
        return F

    @ti.func
    def scatter(b: ti.i32, p: ti.i32, P: mat3, impulse: t.vectors, first: t.ints, stride: t.ints, weight: rows, slope: rows, shrink: real):
        """Impulses P grad N of a particle's stress on its nodes; plain sums, since `+=` would be atomic."""
        W, S = weight[p], shrink * slope[p]
        ax, ay, az = vec3(P[0, 0], P[1, 0], P[2, 0]), vec3(P[0, 1], P[1, 1], P[2, 1]), vec3(P[0, 2], P[1, 2], P[2, 2])
        for i, k in ti.static(ti.ndrange(3, 3)):
            c = first[p] + i * stride[0] + k * stride[1]
            both = W[0, i] * W[1, k]
            flat = S[0, i] * W[1, k] * ax + W[0, i] * S[1, k] * ay
            up = both * az
            for m in ti.static(range(3)):
                impulse[b, c + m] = impulse[b, c + m] + W[2, m] * flat + S[2, m] * up

    @ti.func
    def point(b: ti.i32, p: ti.i32, x: t.vectors, first: t.ints, stride: t.ints, weight: rows):
        """Position of a point of the surface."""
        W, at = weight[p], vec3(0)
        for i, k in ti.static(ti.ndrange(3, 3)):
            c = first[p] + i * stride[0] + k * stride[1]
            at += W[0, i] * W[1, k] * (W[2, 0] * x[b, c] + W[2, 1] * x[b, c + 1] + W[2, 2] * x[b, c + 2])
        return at

    @ti.func
    def spread(b: ti.i32, p: ti.i32, pushed: vec3, impulse: t.vectors, first: t.ints, stride: t.ints, weight: rows):
        """An impulse on a point of the surface, on its nodes."""
        W = weight[p]
        for i, k, m in ti.static(ti.ndrange(3, 3, 3)):
            c = first[p] + i * stride[0] + k * stride[1] + m
            impulse[b, c] = impulse[b, c] + W[0, i] * W[1, k] * W[2, m] * pushed

    @ti.func
    def touch(
        b: ti.i32, p: ti.i32, fresh: ti.i32, v: t.vectors, node_mass: t.per_particle, first: t.ints, stride: t.ints, weight: rows,
        push: t.per_particle, goal: t.per_particle, lost: t.per_particle, slip: t.vectors, normal: vec3, friction: real, loss: real,
    ):  # fmt: skip
        """One visit of Gauss-Seidel: the impulses of one contact that take its slip and its share of the approach away."""
        W = weight[p]
        u, mobility = vec3(0), ti.cast(0, real)
        for i, k, m in ti.static(ti.ndrange(3, 3, 3)):
            c = first[p] + i * stride[0] + k * stride[1] + m
            w = W[0, i] * W[1, k] * W[2, m]
            u += w * v[b, c]
            mobility += w * w / ti.max(node_mass[b, c], LIGHTEST)
        approach = u.dot(normal)
        if fresh == 1:
            slip[b, p], lost[b, p], goal[b, p] = vec3(0), 0, (1 - loss) * ti.min(approach, 0)
        upward = ti.max(lost[b, p] + loss * (goal[b, p] - approach) / mobility, 0)
        held = slip[b, p] - (u - approach * normal) / mobility
        most = friction * (push[b, p] + upward)
        if held.norm() > most:
            held *= most / held.norm()
        more = held - slip[b, p] + (upward - lost[b, p]) * normal
        slip[b, p], lost[b, p] = held, upward
        for i, k, m in ti.static(ti.ndrange(3, 3, 3)):
            c = first[p] + i * stride[0] + k * stride[1] + m
            v[b, c] = v[b, c] + W[0, i] * W[1, k] * W[2, m] / ti.max(node_mass[b, c], LIGHTEST) * more

    @ti.func
    def damp(b: ti.i32, keep: real, x: t.vectors, v: t.vectors, node_mass: t.per_particle):
        """Keep a share of the velocities relative to the rigid motion that has the momentum and spin of the nodes."""
        M, c, u = ti.cast(0, real), vec3(0), vec3(0)
        for g in range(x.shape[1]):
            m = node_mass[b, g]
            M += m
            c += m * x[b, g]
            u += m * v[b, g]
        c, u = c / M, u / M
        L, inertia = vec3(0), mat3(0)
        for g in range(x.shape[1]):
            m, r = node_mass[b, g], x[b, g] - c
            L += m * r.cross(v[b, g])
            inertia += m * (r.dot(r) * ti.Matrix.identity(real, 3) - r.outer_product(r))
        spin = inertia.inverse() @ L
        for g in range(x.shape[1]):
            whole = u + spin.cross(x[b, g] - c)
            v[b, g] = whole + keep * (v[b, g] - whole)

    @ti.kernel
    def kernel(
        x: t.vectors, v: t.vectors, impulse: t.vectors, node_mass: t.per_particle, first: t.ints, stride: t.ints, weight: rows, slope: rows,
        volume: t.per_particle, touch_first: t.ints, touch_weight: rows, spring: t.per_particle, push: t.per_particle,
        goal: t.per_particle, lost: t.per_particle, slip: t.vectors, mu: t.per_member, lam: t.per_member, gravity: t.gravity,
        normal: t.gravity, offset: t.per_member, friction: t.per_member, damping: t.per_member, loss: t.per_member, shrink: t.per_member,
        dt: t.per_member, steps: t.ints, failed: t.ints,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNKS)
        for q in range(x.shape[0] * MIN_CHUNK):
            if q % MIN_CHUNK == 0:
                b = q // MIN_CHUNK
                n, keep = normal[0], ti.exp(-damping[b] * dt[b])
                for _step in range(steps[b] * (1 - failed[b])):
                    touching = 0
                    for g in range(x.shape[1]):
                        impulse[b, g] = dt[b] * node_mass[b, g] * gravity[b]
                    for p in range(volume.shape[1]):
                        F = interpolate(b, p, x, first, stride, weight, slope, shrink[b])
                        P = -dt[b] * volume[b, p] * (tau(F, mu[b], lam[b]) @ F.inverse().transpose())
                        scatter(b, p, P, impulse, first, stride, weight, slope, shrink[b])
                    lowest = n.dot(x[b, 0])
                    for g in range(x.shape[1]):
                        lowest = ti.min(lowest, n.dot(x[b, g]))
                    if lowest < offset[b]:  # the nodes lie around the surface
                        for p in range(spring.shape[1]):
                            deep = ti.max(offset[b] - n.dot(point(b, p, x, touch_first, stride, touch_weight)), 0)
                            push[b, p] = dt[b] * spring[b, p] * deep
                            if deep > 0:
                                touching += 1
                                spread(b, p, push[b, p] * n, impulse, touch_first, stride, touch_weight)
                    for g in range(x.shape[1]):
                        if node_mass[b, g] > 0:
                            v[b, g] = v[b, g] + impulse[b, g] / node_mass[b, g]
                    if touching > 0 and (friction[b] > 0 or loss[b] > 0):
                        for sweep in range(SWEEPS):
                            for p in range(spring.shape[1]):
                                if push[b, p] > 0:
                                    touch(
                                        b, p, ti.cast(sweep == 0, ti.i32), v, node_mass, touch_first, stride, touch_weight, push, goal,
                                        lost, slip, n, friction[b], loss[b],
                                    )  # fmt: skip
                    if damping[b] > 0:
                        damp(b, keep, x, v, node_mass)
                    for g in range(x.shape[1]):
                        if node_mass[b, g] > 0:
                            x[b, g] = x[b, g] + dt[b] * v[b, g]

    return kernel
