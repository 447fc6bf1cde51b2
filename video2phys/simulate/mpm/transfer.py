"""Taichi functions shared by the forward and the reverse step.

One step of MLS-MPM (Hu et al. 2018) with APIC (Jiang et al. 2015) and quadratic B-splines. With r = x_i - x_p,
D = 4 / dx^2 and weights w_ip of the positions at the start of the step:

    particles          E_p, tau_p from F_p and C_p by the law (materials/response.py)
    particle to grid   m_i += w m_p,   P_i += w (m_p v_p + j_p n + A_p r),   A_p = m_p C_p - dt V_p D tau_p,   N_i += w j_p
    grid               u_i = P_i / m_i + dt g, then Coulomb friction with the normal impulse N_i
    grid to particle   v = sum w u_i,  C = D sum w u_i r^T,  x += dt v,  F <- (I + dt C) E

Every transfer takes from the motion what varies within a cell, so that shear flow is damped as by a viscosity of some hundredths
rho dx^2 / dt: sand, which has none, would stand or creep where it should flow, the more so the smaller the step. Grains therefore keep
the rest, as in FLIP, for a time: v = sum w u_i + exp(-dt / T) (v_p - sum w b_i), b_i the grid's velocities before forces, and
T = sqrt(dx / FALL) / fading (Fei et al. 2021, "Revisiting integration in the material point method", AFLIP; positions move with the grid
alone). What fades is what collisions between grains take: a large `fading` leaves the transfers' own viscosity.

Contact with a plane: a particle is a ball that touches when its surface, half its width from its centre, passes the
plane, and is pushed back by a stiff layer, j = dt CONTACT (lam + 2 mu) V_p / width^2 * depth. V_p is the volume that bears stress:
of matter that is half as stiff, or half present, half as much. The height of contact is so a
continuous quantity, independent of where grid nodes lie, and the plane never pulls. Friction acts on the nodes, after
stress and gravity, and takes at most all of the tangential velocity: a body at rest on a slope stays at rest.

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

CONTACT = 4.0  # stiffness of the contact layer in units of (lam + 2 mu) / width: a wave's pressure presses it in by a few per cent of width
KEEPS: tuple[Law, ...] = ("Drucker-Prager",)  # laws whose particles keep what the grid cannot carry of their velocity
FALL = 9.81  # [m/s^2] it fades within the time of a fall through a cell, sqrt(cell / FALL)


@cache
def types(real_name: str) -> SimpleNamespace:
    """Array and vector types of the kernels in one precision, 'f32' or 'f64'."""
    ti = taichi()
    real = getattr(ti, real_name)
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    array = ti.types.ndarray
    return SimpleNamespace(
        real=real, vec3=vec3, vec4=vec4, mat3=mat3,
        ints=array(dtype=ti.i32, ndim=1), per_member=array(dtype=real, ndim=1), per_particle=array(dtype=real, ndim=2),
        constants=array(dtype=vec4, ndim=1),
        vectors=array(dtype=vec3, ndim=2), matrices=array(dtype=mat3, ndim=2), gravity=array(dtype=vec3, ndim=1),
        path=array(dtype=vec3, ndim=3), path_matrix=array(dtype=mat3, ndim=3), grid=array(dtype=vec4, ndim=2),
        nodes=array(dtype=real, ndim=2),
    )  # fmt: skip


@cache
def functions(real_name: str, law: Law) -> SimpleNamespace:
    """The pieces of a step."""
    ti = taichi()
    t = types(real_name)
    real, vec3, vec4 = t.real, t.vec3, t.vec4
    settle, flows = response(real_name, law).settle, response(real_name, law).flows
    keeps = law in KEEPS

    @ti.func
    def weight(d: real):
        """Quadratic B-spline of a node d cells away, |d| <= 1.5."""
        far = 1.5 - ti.abs(d)
        return ti.select(ti.abs(d) < 0.5, 0.75 - d * d, 0.5 * far * far)

    @ti.func
    def slope(d: real):
        """Derivative of the weight by the particle's position in cells; d = node - particle."""
        return ti.select(ti.abs(d) < 0.5, 2 * d, ti.select(d > 0, 1.5 - d, -1.5 - d))

    @ti.func
    def line_weights(f: real):
        """Weights of three nodes in a row, the particle f cells after the first, f in [0.5, 1.5)."""
        return vec3(0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2)

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
    def depth(x: vec3, normal: vec3, offset: real, width: real):
        """How far a particle's surface is below the plane; negative above."""
        return offset + 0.5 * width - normal.dot(x)

    @ti.func
    def to_grid(
        b: ti.i32, s: ti.i32, lo, size, x: t.path, v: t.path, C: t.path_matrix, F: t.path_matrix, mass: t.per_particle,
        volume: t.per_particle, width: t.per_particle, matter: vec4, dt: real, dx: real, normal: vec3, offset: real,
        elastic: t.matrices, stress: t.matrices, grid: t.grid, push: t.nodes, before: t.grid, keep: ti.template(),
    ):  # fmt: skip
        """Particles to grid: momentum and mass in `grid`, normal contact impulse in `push`, where grains keep a rest the momentum without
        forces in `before`; E and tau where E is not F, or to `keep`."""
        inv = 1 / dx
        for c in range(size[0] * size[1] * size[2]):
            grid[b, c] = vec4(0)
            push[b, c] = 0
            if ti.static(keeps):
                before[b, c] = vec4(0)
        for p in range(x.shape[2]):
            base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
            fx = x[b, s, p] * inv - ti.cast(base, real)
            wz = line_weights(fx[2])
            own = mass[b, p]
            E, tau = settle(F[b, s, p], C[b, s, p], matter, dt)
            if ti.static(keep or flows):
                elastic[b, p], stress[b, p] = E, tau
            A = own * C[b, s, p] - dt * volume[b, p] * 4 * inv * inv * tau
            q = own * v[b, s, p]
            o = base - lo
            deep = depth(x[b, s, p], normal, offset, width[b, p])
            if deep > 0:
                j = dt * CONTACT * (matter[1] + 2 * matter[0]) * volume[b, p] / width[b, p] ** 2 * deep
                q += j * normal
                for i, k in ti.ndrange(3, 3):
                    c = ((o[0] + i) * size[1] + o[1] + k) * size[2] + o[2]
                    for m in ti.static(range(3)):
                        push[b, c + m] = push[b, c + m] + weight(i - fx[0]) * weight(k - fx[1]) * wz[m] * j
            q -= dx * (A @ fx)
            A = dx * A
            turn = own * dx * C[b, s, p]
            carried = own * v[b, s, p] - turn @ fx
            ax, ay, az = vec3(A[0, 0], A[1, 0], A[2, 0]), vec3(A[0, 1], A[1, 1], A[2, 1]), vec3(A[0, 2], A[1, 2], A[2, 2])
            for i, k in ti.static(ti.ndrange(3, 3)):
                wt = weight(i - fx[0]) * weight(k - fx[1])
                at = q + i * ax + k * ay
                c = ((o[0] + i) * size[1] + o[1] + k) * size[2] + o[2]
                for m in ti.static(range(3)):
                    mom = wt * wz[m] * (at + m * az)
                    grid[b, c + m] = grid[b, c + m] + vec4(mom[0], mom[1], mom[2], wt * wz[m] * own)
                    if ti.static(keeps):
                        mom = wt * wz[m] * (carried + turn @ vec3(i, k, m))
                        before[b, c + m] = before[b, c + m] + vec4(mom[0], mom[1], mom[2], 0)

    @ti.func
    def kept(dt: real, dx: real, fading: real):
        """Share of the rest of a particle's velocity that is there after a step."""
        return ti.exp(-dt * fading * ti.sqrt(ti.cast(FALL, real) / dx))

    @ti.func
    def velocity(g: vec4, N: real, dt: real, gravity: vec3, normal: vec3, friction: real):
        """A node's velocity: gravity, then friction of at most friction * N."""
        u = vec3(g[0], g[1], g[2]) / g[3] + dt * gravity
        if N > 0:
            tangent = u - u.dot(normal) * normal
            speed = tangent.norm()
            cut = friction * N / g[3]
            if speed <= cut:
                u -= tangent
            else:
                u -= cut / speed * tangent
        return u

    return SimpleNamespace(
        weight=weight,
        slope=slope,
        line_weights=line_weights,
        box=box,
        usable=usable,
        depth=depth,
        to_grid=to_grid,
        velocity=velocity,
        flows=flows,
        keeps=keeps,
        kept=kept,
        types=t,
    )
