"""Contact of a body's surface with a plane, for members side by side, as Taichi functions.

    layer    j_q = dt spring_q * depth on every point q of the surface below the plane
    skin     v_i += N_i (f_q + l_q n) / m_i, where l_q takes the share `loss` of the speed at which q approaches the plane and f_q its
             slip, with |f_q| <= friction * (j_q + l_q)

A layer acts with the stresses. Slip and loss are solved by Gauss-Seidel over the touching points (as in rigid-body solvers, Moreau 1988;
Jourdan et al. 1998) with the velocities at the end of the step, so a body at rest on a slope stays at rest and no node is held that does
not touch. A loss of 1 is a skin that does not bounce.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.lagrangian.lanes import lanes


@cache
def contact(real_name: str, count: int) -> SimpleNamespace:
    """`layer` and `visit` for rows of `count` members."""
    ti = taichi()
    t = lanes(real_name, count)
    real, L, D = t.real, count, 3 * count

    @ti.func
    def layer(
        b: ti.i32, dt: ti.template(), n: ti.template(), heights: ti.template(), height: t.rows, impulse: t.triples,
        offset: t.ints, touch_first: t.ints, touch_weight: t.weights, spring: t.rows, push: t.rows, touched: t.counts,
    ):  # fmt: skip
        """Push back what is below the plane; returns how many points that are of any member, which `touched` then lists."""
        touching = 0
        for p in range(touch_first.shape[0]):
            W, base = touch_weight[p], touch_first[p]
            t.gather_rows(heights, height, b, base, offset)
            force, stiff, deepest = t.zeros(), spring[b, p], real(0.0)
            for i in range(L):
                h = real(0.0)
                for a, c, m in ti.static(ti.ndrange(3, 3, 3)):
                    h += W[0, a] * W[1, c] * W[2, m] * heights[((a * 3 + c) * 3 + m) * L + i]
                force[i] = ti.max(-h, real(0.0))
            for i in range(L):
                deepest = ti.max(deepest, force[i])
            if deepest > 0:
                touched[b, touching] = p
                touching += 1
                for i in range(L):
                    force[i] = dt[i] * stiff[i] * force[i]
                push[b, p] = force
                pushed = t.zero_triple()
                for j in range(D):
                    pushed[j] = n[j] * force[j % L]
                for a, c, m in ti.static(ti.ndrange(3, 3, 3)):
                    g = base + offset[(a * 3 + c) * 3 + m]
                    impulse[b, g] = impulse[b, g] + W[0, a] * W[1, c] * W[2, m] * pushed
        return touching

    @ti.func
    def visit(
        b: ti.i32, p: ti.i32, fresh: ti.i32, n: ti.template(), nodes: ti.template(), v: t.triples, light: t.rows, offset: t.ints,
        touch_first: t.ints, touch_weight: t.weights, mobility: t.rows, push: t.rows, goal: t.rows, lost: t.rows, slip: t.triples,
        friction: ti.template(), loss: ti.template(),
    ):  # fmt: skip
        """One visit of Gauss-Seidel: the impulses of one contact that take its slip and its share of the approach away.

        `light` holds what a node's velocity gains from an impulse, `mobility` what a point's does, both [1/mass].
        """
        W, base = touch_weight[p], touch_first[p]
        t.gather(nodes, v, b, base, offset)
        u = t.zero_triple()
        for j in range(D):
            s = real(0.0)
            for a, c, m in ti.static(ti.ndrange(3, 3, 3)):
                s += W[0, a] * W[1, c] * W[2, m] * nodes[((a * 3 + c) * 3 + m) * D + j]
            u[j] = s
        pressed, free, aim, up, held = push[b, p], mobility[b, p], goal[b, p], lost[b, p], slip[b, p]
        more, kept = t.zero_triple(), t.zero_triple()
        for i in range(L):
            approach = u[i] * n[i] + u[L + i] * n[L + i] + u[2 * L + i] * n[2 * L + i]
            target = ti.select(fresh == 1, (1 - loss[i]) * ti.min(approach, real(0.0)), aim[i])
            before = ti.select(fresh == 1, real(0.0), up[i])
            upward = ti.max(before + loss[i] * (target - approach) / free[i], real(0.0))
            sx, sy, sz = held[i], held[L + i], held[2 * L + i]
            if fresh == 1:
                sx, sy, sz = real(0.0), real(0.0), real(0.0)
            hx = sx - (u[i] - approach * n[i]) / free[i]
            hy = sy - (u[L + i] - approach * n[L + i]) / free[i]
            hz = sz - (u[2 * L + i] - approach * n[2 * L + i]) / free[i]
            most, size = friction[i] * (pressed[i] + upward), ti.sqrt(hx * hx + hy * hy + hz * hz)
            share = ti.select(size > most, most / size, real(1.0))
            hx, hy, hz = hx * share, hy * share, hz * share
            on = ti.select(pressed[i] > 0, real(1.0), real(0.0))  # the other members do not touch here
            more[i] = on * (hx - sx + (upward - before) * n[i])
            more[L + i] = on * (hy - sy + (upward - before) * n[L + i])
            more[2 * L + i] = on * (hz - sz + (upward - before) * n[2 * L + i])
            kept[i], kept[L + i], kept[2 * L + i] = hx, hy, hz
            aim[i], up[i] = target, upward
        goal[b, p], lost[b, p], slip[b, p] = aim, up, kept
        for a, c, m in ti.static(ti.ndrange(3, 3, 3)):
            g, w = base + offset[(a * 3 + c) * 3 + m], W[0, a] * W[1, c] * W[2, m]
            gain, change = light[b, g], t.zero_triple()
            for j in range(D):
                change[j] = w * more[j] * gain[j % L]
            v[b, g] = v[b, g] + change

    return SimpleNamespace(layer=layer, visit=visit)
