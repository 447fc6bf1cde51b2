"""Taichi functions shared by the forward and the reverse step.

One step of MLS-MPM (Hu et al. 2018) with APIC (Jiang et al. 2015) and quadratic B-splines. With r = x_i - x_p,
D = 4 / dx^2 and weights w_ip of the positions at the start of the step:

    particles          E_p, tau_p from F_p and C_p by the law (materials/response.py)
    particle to grid   m_i += w m_p,   P_i += w (m_p v_p + J_p + A_p r),   A_p = m_p C_p - dt V_p D tau_p,   N_i += w J_p
    grid               u_i = P_i / m_i + dt g, then Coulomb friction with the normal impulses N_i
    grid to particle   v = sum w u_i,  C = D sum w u_i r^T,  x += dt v,  F <- (I + dt C) E

Every transfer takes from the motion what varies within a cell, so that shear flow is damped as by a viscosity of some hundredths
rho dx^2 / dt: sand, which has none, would stand or creep where it should flow, the more so the smaller the step. Grains therefore keep
the rest, as in FLIP, for a time: v = sum w u_i + exp(-dt / T) (v_p - sum w b_i), b_i the grid's velocities before forces, and
T = sqrt(dx / FALL) / fading (Fei et al. 2021, "Revisiting integration in the material point method", AFLIP; positions move with the grid
alone). What fades is what collisions between grains take: a large `fading` leaves the transfers' own viscosity.

Contact with boundaries, and the friction that nodes feel, are in contact.py.

Grid nodes are at whole multiples of dx. Each batch member has its own box of nodes around its particles, so there is
no simulation domain to leave; a box that outgrows its memory, or a position that is not a number, ends the rollout.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.materials.response import response
from video2phys.simulate.mpm.contact import CONTACT, contacts
from video2phys.simulate.mpm.spline import splines, types

KEEPS: tuple[Law, ...] = ("Drucker-Prager",)  # laws whose particles keep what the grid cannot carry of their velocity
FALL = 9.81  # [m/s^2] it fades within the time of a fall through a cell, sqrt(cell / FALL)


@cache
def functions(real_name: str, law: Law) -> SimpleNamespace:
    """The pieces of a step."""
    ti = taichi()
    t = types(real_name)
    real, vec3, vec4 = t.real, t.vec3, t.vec4
    settle, flows = response(real_name, law).settle, response(real_name, law).flows
    touch, spread, rub, weights = contacts(real_name).touch, contacts(real_name).spread, contacts(real_name).rub, splines(real_name).weights
    keeps = law in KEEPS

    @ti.func
    def box(x: t.path, b: ti.i32, s: ti.i32, inv: real):
        """First node and node counts of the box around the particles."""
        lo = ti.floor(x[b, s, 0] * inv - 0.5, ti.i32)
        hi = lo
        for p in range(x.shape[2]):
            base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
            lo, hi = ti.min(lo, base), ti.max(hi, base)
        return lo, hi - lo + 3

    @ti.func
    def usable(lo, size, capacity: ti.i32):
        """False for boxes that do not fit: integers, since comparisons with NaN are optimised away."""
        small = True
        for a in ti.static(range(3)):
            if lo[a] < -(1 << 24) or lo[a] > (1 << 24) or size[a] < 3 or size[a] > 1024:
                small = False
        if small and size[0] * size[1] * size[2] > capacity:
            small = False
        return small

    @ti.func
    def to_grid(
        b: ti.i32, s: ti.i32, lo, size, x: t.path, v: t.path, C: t.path_matrix, F: t.path_matrix, mass: t.per_particle,
        volume: t.per_particle, width: t.per_particle, matter: vec4, dt: real, dx: real, time: real, samples: t.per_member,
        frame: t.constants, extent: t.extents, normal: t.gravity, speed: t.gravity, offset: t.per_particle, elastic: t.matrices,
        grid: t.grid, push: t.path, before: t.grid,
    ):  # fmt: skip
        """Particles to grid, in slot s: momentum and mass in `grid`, normal impulses of contact in `push`, where grains keep a rest the
        momentum without forces in `before`; E where it is not F."""
        inv, walls = 1 / dx, normal.shape[0]
        for c in range(size[0] * size[1] * size[2]):
            grid[b, s, c] = vec4(0)
            for k in range(walls):
                push[b, s * walls + k, c] = vec3(0)
            if ti.static(keeps):
                before[b, s, c] = vec4(0)
        for p in range(x.shape[2]):
            base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
            fx = x[b, s, p] * inv - ti.cast(base, real)
            wx, wy, wz = weights(fx[0]), weights(fx[1]), weights(fx[2])
            own = mass[b, p]
            E, tau = settle(F[b, s, p], C[b, s, p], matter, dt)
            if ti.static(flows):
                elastic[b, p] = E
            A = own * C[b, s, p] - dt * volume[b, p] * 4 * inv * inv * tau
            q = own * v[b, s, p]
            o = base - lo
            first = (o[0] * size[1] + o[1]) * size[2] + o[2]
            for k in range(walls):
                at, reach = x[b, s, p] - time * speed[k], offset[b, k] + 0.5 * width[b, p]
                deep, g, _ = touch(k, at, reach, samples, frame, extent, normal, False)
                if deep > 0:
                    J = dt * CONTACT * (matter[1] + 2 * matter[0]) * volume[b, p] / width[b, p] ** 2 * deep * g
                    q += J
                    spread(J, fx, first, size[1] * size[2], size[2], push, b, s * walls + k)
            q -= dx * (A @ fx)
            A = dx * A
            turn = own * dx * C[b, s, p]
            carried = own * v[b, s, p] - turn @ fx
            ax, ay, az = vec3(A[0, 0], A[1, 0], A[2, 0]), vec3(A[0, 1], A[1, 1], A[2, 1]), vec3(A[0, 2], A[1, 2], A[2, 2])
            for i, k in ti.static(ti.ndrange(3, 3)):
                wt = wx[i] * wy[k]
                at = q + i * ax + k * ay
                c = first + (i * size[1] + k) * size[2]
                for m in ti.static(range(3)):
                    mom = wt * wz[m] * (at + m * az)
                    grid[b, s, c + m] = grid[b, s, c + m] + vec4(mom[0], mom[1], mom[2], wt * wz[m] * own)
                    if ti.static(keeps):
                        mom = wt * wz[m] * (carried + turn @ vec3(i, k, m))
                        before[b, s, c + m] = before[b, s, c + m] + vec4(mom[0], mom[1], mom[2], 0)

    @ti.func
    def kept(dt: real, dx: real, fading: real):
        """Share of the rest of a particle's velocity that is there after a step."""
        return ti.exp(-dt * fading * ti.sqrt(ti.cast(FALL, real) / dx))

    @ti.func
    def velocity(
        g: vec4, b: ti.i32, s: ti.i32, c: ti.i32, count: ti.i32, push: t.path, dt: real, gravity: vec3, friction: t.per_particle,
        speed: t.gravity,
    ):  # fmt: skip
        """A node's velocity: gravity, then friction with the first `count` boundaries."""
        u = vec3(g[0], g[1], g[2]) / g[3] + dt * gravity
        for k in range(count):
            u = rub(u, push[b, s * speed.shape[0] + k, c], g[3], friction[b, k], speed[k])
        return u

    return SimpleNamespace(
        **vars(splines(real_name)), box=box, usable=usable, to_grid=to_grid, velocity=velocity, settle=settle, flows=flows, keeps=keeps,
        kept=kept, types=t,
    )  # fmt: skip
