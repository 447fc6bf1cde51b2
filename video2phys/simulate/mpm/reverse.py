"""The reverse kernel: the adjoint of every step of a frame, last step first.

Each statement of the forward step (transfer.py) is transposed by hand. With a bar for the derivative of the loss by a
quantity, a prime for values after the step, r = x_i - x_p and D = 4 / dx^2:

    grid to particle    Cbar' += dt Fbar' E^T,  vbar' += dt xbar',  Ebar = (I + dt C')^T Fbar'
                        ubar_i = sum_p w (vbar' + D Cbar' r)
                        xbar += sum_i grad w (u_i . vbar' + D u_i . Cbar' r) - D Cbar'^T v'
    grid                Pbar_i = ubar_i / m_i,  mbar_i = -ubar_i . P_i / m_i^2, and friction's part
    particle to grid    qbar = sum_i w Pbar,  Abar = sum_i w Pbar r^T,  vbar = m qbar,  Cbar = m Abar,  taubar = -dt V D Abar
                        xbar += sum_i grad w (Pbar . (q + A r) + mbar m + Nbar . J) - A^T qbar
    particles           Fbar, Cbar and those of the constants from Ebar and taubar by the law

Grains keep k (v_p - sum w b_i): vbar += k vbar', bbar_i = -k sum w vbar', xbar -= k sum grad w b_i . vbar', and b's momentum is that above
without forces.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from collections.abc import Callable
from functools import cache

from video2phys.backend import CHUNKS, MIN_CHUNK, taichi
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.materials.response import response
from video2phys.simulate.mpm.contact import CONTACT, contacts
from video2phys.simulate.mpm.transfer import FALL, functions


@cache
def retreat(real_name: str, law: Law) -> Callable[..., None]:
    """Kernel that carries derivatives from slot steps[b] of a tape back to slot 0.

    `d_x`, `d_v`, `d_C`, `d_F` hold the derivatives by the state at the end and are replaced by those at the start; the
    derivatives by parameters are added to `d_mass` ... `d_friction`, those by the law's constants to `d_matter`. Members that
    failed keep their derivatives.
    """
    ti = taichi()
    f = functions(real_name, law)
    matter_pullback = response(real_name, law).pullback
    t = f.types
    contact = contacts(real_name)
    real, vec3, vec4, mat3 = t.real, t.vec3, t.vec4, t.mat3

    @ti.kernel
    def kernel(
        x: t.path, v: t.path, C: t.path_matrix, F: t.path_matrix, mass: t.per_particle, volume: t.per_particle,
        width: t.per_particle, matter: t.constants, gravity: t.gravity, fading: t.per_member, samples: t.per_member, frame: t.constants,
        extent: t.extents, normal: t.gravity, speed: t.gravity, offset: t.per_particle, friction: t.per_particle, begin: real,
        dt: t.per_member, steps: t.ints, dx: real, elastic: t.matrices, grid: t.grid, push: t.path, before: t.grid, moved: t.vectors,
        failed: t.ints, stress: t.matrices, d_grid: t.grid, d_push: t.path, d_before: t.vectors, d_x: t.vectors, d_v: t.vectors,
        d_C: t.matrices, d_F: t.matrices, d_mass: t.per_particle, d_volume: t.per_particle, d_matter: t.constants, d_gravity: t.gravity,
        d_fading: t.per_member, d_offset: t.per_particle, d_friction: t.per_particle,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNKS)
        for q in range(x.shape[0] * MIN_CHUNK):
            if q % MIN_CHUNK == 0:
                b = q // MIN_CHUNK
                inv, walls = 1 / dx, speed.shape[0]
                D = 4 * inv * inv
                kept = f.kept(dt[b], dx, fading[b])
                for back in range(steps[b] * (1 - failed[b])):
                    s = steps[b] - 1 - back
                    lo, size = f.box(x, b, s, inv)
                    for c in range(size[0] * size[1] * size[2]):
                        d_grid[b, 0, c] = vec4(0)
                        g = grid[b, s, c]
                        if g[3] > 0:
                            moved[b, c] = f.velocity(g, b, s, c, walls, push, dt[b], gravity[b], friction, speed)
                            if ti.static(f.keeps):
                                d_before[b, c] = vec3(0)

                    # grid to particle, transposed
                    sum_kept = ti.cast(0, real)
                    for p in range(x.shape[2]):
                        base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
                        fx = x[b, s, p] * inv - ti.cast(base, real)
                        wz, sz = f.weights(fx[2]), f.slopes(fx[2])
                        o = base - lo
                        E, tau = f.settle(F[b, s, p], C[b, s, p], matter[b], dt[b])
                        stress[b, p] = tau
                        new_C = d_C[b, p] + dt[b] * (d_F[b, p] @ E.transpose())
                        d_F[b, p] = d_F[b, p] + dt[b] * (C[b, s + 1, p].transpose() @ d_F[b, p])
                        new_v = d_v[b, p] + dt[b] * d_x[b, p]
                        tilt, rest = 4 * inv * new_C, kept * d_v[b, p]
                        level, up = new_v - tilt @ fx, vec3(tilt[0, 2], tilt[1, 2], tilt[2, 2])
                        along, was, carried = vec3(0), vec3(0), v[b, s + 1, p]
                        for i, k in ti.ndrange(3, 3):
                            c = ((o[0] + i) * size[1] + o[1] + k) * size[2] + o[2]
                            wx, wy = f.weight(i - fx[0]), f.weight(k - fx[1])
                            at, wt = level + tilt @ vec3(i, k, 0), wx * wy
                            line, slope = ti.cast(0, real), ti.cast(0, real)
                            for m in ti.static(range(3)):
                                value = at + m * up
                                d_u = wt * wz[m] * value
                                d_grid[b, 0, c + m] = d_grid[b, 0, c + m] + vec4(d_u[0], d_u[1], d_u[2], 0)
                                a = moved[b, c + m].dot(value)
                                if ti.static(f.keeps):
                                    old = before[b, s, c + m].xyz
                                    was += wt * wz[m] * old
                                    a -= old.dot(rest)
                                    d_before[b, c + m] = d_before[b, c + m] - wt * wz[m] * rest
                                line += wz[m] * a
                                slope += sz[m] * a
                            along += vec3(f.slope(i - fx[0]) * wy * line, wx * f.slope(k - fx[1]) * line, wt * slope)
                        if ti.static(f.keeps):
                            carried -= kept * (v[b, s, p] - was)
                            sum_kept += d_v[b, p].dot(v[b, s, p] - was)
                        d_x[b, p] = d_x[b, p] + inv * along - D * (new_C.transpose() @ carried)

                    d_fading[b] = d_fading[b] - sum_kept * kept * dt[b] * ti.sqrt(ti.cast(FALL, real) / dx)

                    # grid, transposed
                    sum_gravity = vec3(0)
                    for c in range(size[0] * size[1] * size[2]):
                        g = grid[b, s, c]
                        if g[3] > 0:
                            d_u, by_mass = d_grid[b, 0, c].xyz, ti.cast(0, real)
                            for j in range(walls):
                                k = walls - 1 - j
                                u = f.velocity(g, b, s, c, k, push, dt[b], gravity[b], friction, speed)
                                d_u, d_N, more, by_friction = contact.rub_pullback(
                                    u, push[b, s * walls + k, c], g[3], friction[b, k], speed[k], d_u
                                )
                                by_mass += more
                                d_push[b, k, c] = d_N
                                d_friction[b, k] = d_friction[b, k] + by_friction
                            sum_gravity += dt[b] * d_u
                            d_P = d_u / g[3]
                            by_mass -= d_P.dot(g.xyz) / g[3]
                            if ti.static(f.keeps):
                                d_before[b, c] = d_before[b, c] / g[3]
                                by_mass -= d_before[b, c].dot(before[b, s, c].xyz)
                            d_grid[b, 0, c] = vec4(d_P[0], d_P[1], d_P[2], by_mass)
                    d_gravity[b] = d_gravity[b] + sum_gravity

                    # particle to grid, transposed
                    own_matter, sum_matter = matter[b], vec4(0)
                    modulus = own_matter[1] + 2 * own_matter[0]
                    for p in range(x.shape[2]):
                        base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
                        fx = x[b, s, p] * inv - ti.cast(base, real)
                        wz, sz = f.weights(fx[2]), f.slopes(fx[2])
                        o = base - lo
                        first = (o[0] * size[1] + o[1]) * size[2] + o[2]
                        own = mass[b, p]
                        A = own * C[b, s, p] - dt[b] * volume[b, p] * D * stress[b, p]
                        momentum = own * v[b, s, p]
                        layer = dt[b] * CONTACT / width[b, p] ** 2
                        stiff = layer * modulus * volume[b, p]
                        for k in range(walls):
                            at, reach = x[b, s, p] - (begin + s * dt[b]) * speed[k], offset[b, k] + 0.5 * width[b, p]
                            deep, n, _ = contact.touch(k, at, reach, samples, frame, extent, normal, False)
                            if deep > 0:
                                momentum += stiff * deep * n
                        tilt, turn = dx * A, own * dx * C[b, s, p]
                        level, steady = momentum - tilt @ fx, own * v[b, s, p] - turn @ fx
                        up, rise = vec3(tilt[0, 2], tilt[1, 2], tilt[2, 2]), vec3(turn[0, 2], turn[1, 2], turn[2, 2])
                        by_q, by_r, by_mass, along = vec3(0), mat3(0), ti.cast(0, real), vec3(0)
                        by_v, by_turn = vec3(0), mat3(0)  # of the momentum without forces
                        for i, k in ti.ndrange(3, 3):
                            c = first + (i * size[1] + k) * size[2]
                            wx, wy = f.weight(i - fx[0]), f.weight(k - fx[1])
                            at, old, wt = level + tilt @ vec3(i, k, 0), steady + turn @ vec3(i, k, 0), wx * wy
                            line, slope = ti.cast(0, real), ti.cast(0, real)
                            sum_P, end_P, sum_v, end_v = vec4(0), vec3(0), vec3(0), vec3(0)
                            for m in ti.static(range(3)):
                                g = d_grid[b, 0, c + m]
                                a = g.xyz.dot(at + m * up) + g[3] * own
                                sum_P += wz[m] * g
                                end_P += m * wz[m] * g.xyz
                                if ti.static(f.keeps):
                                    d_P = d_before[b, c + m]
                                    a += d_P.dot(old + m * rise)
                                    sum_v += wz[m] * d_P
                                    end_v += m * wz[m] * d_P
                                line += wz[m] * a
                                slope += sz[m] * a
                            along += vec3(f.slope(i - fx[0]) * wy * line, wx * f.slope(k - fx[1]) * line, wt * slope)
                            by_mass += wt * sum_P[3]
                            by_q += wt * sum_P.xyz
                            by_r += wt * (sum_P.xyz.outer_product(vec3(i, k, 0)) + end_P.outer_product(vec3(0, 0, 1)))
                            if ti.static(f.keeps):
                                by_v += wt * sum_v
                                by_turn += wt * (sum_v.outer_product(vec3(i, k, 0)) + end_v.outer_product(vec3(0, 0, 1)))
                        by_A = dx * (by_r - by_q.outer_product(fx))
                        by_turn = by_A + dx * (by_turn - by_v.outer_product(fx))
                        d_x[b, p] = d_x[b, p] + inv * along - A.transpose() @ by_q - own * (C[b, s, p].transpose() @ by_v)
                        by_v += by_q
                        d_v[b, p] = own * by_v + ti.static(1 if f.keeps else 0) * kept * d_v[b, p]
                        d_mass[b, p] = d_mass[b, p] + by_mass + v[b, s, p].dot(by_v) + (C[b, s, p] * by_turn).sum()
                        by_tau = -0.5 * dt[b] * D * (by_A + by_A.transpose())
                        by_F, by_C, by_constants = matter_pullback(
                            F[b, s, p], C[b, s, p], own_matter, dt[b], d_F[b, p], volume[b, p] * by_tau
                        )
                        d_F[b, p] = by_F
                        d_C[b, p] = own * by_turn + by_C
                        sum_matter += by_constants
                        by_volume = (by_tau * stress[b, p]).sum()
                        for k in range(walls):
                            at, reach = x[b, s, p] - (begin + s * dt[b]) * speed[k], offset[b, k] + 0.5 * width[b, p]
                            deep, n, bend = contact.touch(k, at, reach, samples, frame, extent, normal, True)
                            if deep > 0:
                                by_J, by_fx = contact.spread_pullback(stiff * deep * n, fx, first, size[1] * size[2], size[2], d_push, b, k)
                                by_J += by_q
                                by_deep = stiff * by_J.dot(n)
                                d_x[b, p] = d_x[b, p] + inv * by_fx + stiff * deep * (bend @ by_J) - by_deep * n
                                d_offset[b, k] = d_offset[b, k] + by_deep
                                by_volume += layer * modulus * deep * by_J.dot(n)
                                sum_matter += layer * volume[b, p] * deep * by_J.dot(n) * vec4(2, 1, 0, 0)
                        d_volume[b, p] = d_volume[b, p] + by_volume
                    d_matter[b] = d_matter[b] + sum_matter

    return kernel
