"""The reverse kernel: the adjoint of every step of a frame, last step first.

Each statement of the forward step (transfer.py) is transposed by hand. With a bar for the derivative of the loss by a
quantity, a prime for values after the step, r = x_i - x_p and D = 4 / dx^2:

    grid to particle    Cbar' += dt Fbar' E^T,  vbar' += dt xbar',  Ebar = (I + dt C')^T Fbar'
                        ubar_i = sum_p w (vbar' + D Cbar' r)
                        xbar += sum_i grad w (u_i . vbar' + D u_i . Cbar' r) - D Cbar'^T v'
    grid                Pbar_i = ubar_i / m_i,  mbar_i = -ubar_i . P_i / m_i^2, and friction's part
    particle to grid    qbar = sum_i w Pbar,  Abar = sum_i w Pbar r^T,  vbar = m qbar,  Cbar = m Abar,  taubar = -dt V D Abar
                        xbar += sum_i grad w (Pbar . (q + A r) + mbar m + Nbar j) - A^T qbar
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
from video2phys.simulate.mpm.transfer import CONTACT, FALL, functions


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
    real, vec3, vec4, mat3 = t.real, t.vec3, t.vec4, t.mat3

    @ti.func
    def velocity_pullback(g: vec4, N: real, dt: real, gravity: vec3, normal: vec3, friction: real, d_u: vec3):
        """Derivatives by momentum and mass (as vec4), by N, by gravity and by friction."""
        P = vec3(g[0], g[1], g[2])
        u = P / g[3] + dt * gravity
        d_N, d_mass, d_friction = ti.cast(0, real), ti.cast(0, real), ti.cast(0, real)
        if N > 0:
            tangent = u - u.dot(normal) * normal
            speed = tangent.norm()
            cut = friction * N / g[3]
            d_t = d_u - d_u.dot(normal) * normal
            if speed <= cut:
                d_u -= d_t
            else:
                along = tangent / speed
                d_cut = -along.dot(d_t)
                d_u -= cut / speed * (d_t + d_cut * along)
                d_N = d_cut * friction / g[3]
                d_friction = d_cut * N / g[3]
                d_mass = -d_cut * cut / g[3]
        d_P = d_u / g[3]
        d_mass -= d_P.dot(P) / g[3]
        return vec4(d_P[0], d_P[1], d_P[2], d_mass), d_N, dt * d_u, d_friction

    @ti.kernel
    def kernel(
        x: t.path, v: t.path, C: t.path_matrix, F: t.path_matrix, mass: t.per_particle, volume: t.per_particle,
        width: t.per_particle, matter: t.constants, gravity: t.gravity, normal: t.gravity, offset: t.per_member, friction: t.per_member,
        fading: t.per_member, dt: t.per_member, steps: t.ints, dx: real, elastic: t.matrices, stress: t.matrices, grid: t.grid,
        push: t.nodes, before: t.grid, failed: t.ints, moved: t.grid, d_grid: t.grid, d_push: t.nodes, d_before: t.grid, d_x: t.vectors,
        d_v: t.vectors, d_C: t.matrices, d_F: t.matrices, d_mass: t.per_particle, d_volume: t.per_particle, d_matter: t.constants,
        d_gravity: t.gravity, d_offset: t.per_member, d_friction: t.per_member, d_fading: t.per_member,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNKS)
        for q in range(x.shape[0] * MIN_CHUNK):
            if q % MIN_CHUNK == 0:
                b = q // MIN_CHUNK
                inv = 1 / dx
                D = 4 * inv * inv
                up, kept = normal[0], f.kept(dt[b], dx, fading[b])
                for back in range(steps[b]):
                    s = steps[b] - 1 - back
                    lo, size = f.box(x, b, s, inv)
                    if failed[b] == 0:
                        f.to_grid(
                            b, s, lo, size, x, v, C, F, mass, volume, width, matter[b], dt[b], dx, up, offset[b], elastic, stress, grid,
                            push, before, True,
                        )  # fmt: skip
                        for c in range(size[0] * size[1] * size[2]):
                            d_grid[b, c] = vec4(0)
                            g = grid[b, c]
                            if g[3] > 0:
                                u = f.velocity(g, push[b, c], dt[b], gravity[b], up, friction[b])
                                moved[b, c] = vec4(u[0], u[1], u[2], 0)
                                if ti.static(f.keeps):
                                    before[b, c] = before[b, c] / g[3]
                                    d_before[b, c] = vec4(0)

                        # grid to particle, transposed
                        sum_kept = ti.cast(0, real)
                        for p in range(x.shape[2]):
                            base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
                            fx = x[b, s, p] * inv - ti.cast(base, real)
                            o = base - lo
                            new_C = d_C[b, p] + dt[b] * (d_F[b, p] @ elastic[b, p].transpose())
                            d_F[b, p] = d_F[b, p] + dt[b] * (C[b, s + 1, p].transpose() @ d_F[b, p])
                            new_v = d_v[b, p] + dt[b] * d_x[b, p]
                            along, carried, was = vec3(0), vec3(0), vec3(0)
                            for i, k, m in ti.ndrange(3, 3, 3):
                                d = vec3(i, k, m) - fx
                                w, slope = (
                                    vec3(f.weight(d[0]), f.weight(d[1]), f.weight(d[2])),
                                    vec3(f.slope(d[0]), f.slope(d[1]), f.slope(d[2])),
                                )
                                c = ((o[0] + i) * size[1] + o[1] + k) * size[2] + o[2] + m
                                value = new_v + 4 * inv * (new_C @ d)
                                d_u = w[0] * w[1] * w[2] * value
                                d_grid[b, c] = d_grid[b, c] + vec4(d_u[0], d_u[1], d_u[2], 0)
                                g = moved[b, c]
                                u = vec3(g[0], g[1], g[2])
                                along_w = u.dot(value)
                                carried += w[0] * w[1] * w[2] * u
                                if ti.static(f.keeps):
                                    g, rest = before[b, c], kept * d_v[b, p]
                                    was += w[0] * w[1] * w[2] * vec3(g[0], g[1], g[2])
                                    along_w -= vec3(g[0], g[1], g[2]).dot(rest)
                                    d_u = w[0] * w[1] * w[2] * rest
                                    d_before[b, c] = d_before[b, c] - vec4(d_u[0], d_u[1], d_u[2], 0)
                                along += along_w * vec3(slope[0] * w[1] * w[2], w[0] * slope[1] * w[2], w[0] * w[1] * slope[2])
                            d_x[b, p] = d_x[b, p] + inv * along - D * (new_C.transpose() @ carried)
                            if ti.static(f.keeps):
                                sum_kept += d_v[b, p].dot(v[b, s, p] - was)

                        d_fading[b] = d_fading[b] - sum_kept * kept * dt[b] * ti.sqrt(ti.cast(FALL, real) / dx)

                        # grid, transposed
                        sum_gravity, sum_friction = vec3(0), ti.cast(0, real)
                        for c in range(size[0] * size[1] * size[2]):
                            g, d = grid[b, c], d_grid[b, c]
                            d_push[b, c] = 0
                            if g[3] > 0:
                                d, d_N, by_gravity, by_friction = velocity_pullback(
                                    g, push[b, c], dt[b], gravity[b], up, friction[b], vec3(d[0], d[1], d[2])
                                )
                                if ti.static(f.keeps):
                                    d_before[b, c] = d_before[b, c] / g[3]
                                    d[3] -= d_before[b, c].dot(before[b, c])
                                d_grid[b, c] = d
                                d_push[b, c] = d_N
                                sum_gravity += by_gravity
                                sum_friction += by_friction
                        d_gravity[b] = d_gravity[b] + sum_gravity
                        d_friction[b] = d_friction[b] + sum_friction

                        # particle to grid, transposed
                        own_matter, sum_matter, sum_offset = matter[b], vec4(0), ti.cast(0, real)
                        modulus = own_matter[1] + 2 * own_matter[0]
                        for p in range(x.shape[2]):
                            base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
                            fx = x[b, s, p] * inv - ti.cast(base, real)
                            o = base - lo
                            own = mass[b, p]
                            A = own * C[b, s, p] - dt[b] * volume[b, p] * D * stress[b, p]
                            momentum = own * v[b, s, p]
                            deep = f.depth(x[b, s, p], up, offset[b], width[b, p])
                            layer = dt[b] * CONTACT / width[b, p] ** 2
                            stiff = layer * modulus * volume[b, p]
                            j = ti.max(stiff * deep, 0)
                            momentum += j * up
                            by_q, by_A, by_mass, by_j, along = vec3(0), mat3(0), ti.cast(0, real), ti.cast(0, real), vec3(0)
                            by_v, by_turn = vec3(0), mat3(0)  # of the momentum without forces
                            for i, k, m in ti.ndrange(3, 3, 3):
                                d = vec3(i, k, m) - fx
                                w, slope = (
                                    vec3(f.weight(d[0]), f.weight(d[1]), f.weight(d[2])),
                                    vec3(f.slope(d[0]), f.slope(d[1]), f.slope(d[2])),
                                )
                                c = ((o[0] + i) * size[1] + o[1] + k) * size[2] + o[2] + m
                                r = dx * d
                                g = d_grid[b, c]
                                d_P, wt = vec3(g[0], g[1], g[2]), w[0] * w[1] * w[2]
                                by_q += wt * d_P
                                by_A += wt * d_P.outer_product(r)
                                by_mass += wt * g[3]
                                by_j += wt * d_push[b, c]
                                along_w = d_P.dot(momentum + A @ r) + g[3] * own + d_push[b, c] * j
                                if ti.static(f.keeps):
                                    g = d_before[b, c]
                                    d_P = vec3(g[0], g[1], g[2])
                                    by_v += wt * d_P
                                    by_turn += wt * d_P.outer_product(r)
                                    along_w += own * d_P.dot(v[b, s, p] + C[b, s, p] @ r)
                                along += along_w * vec3(slope[0] * w[1] * w[2], w[0] * slope[1] * w[2], w[0] * w[1] * slope[2])
                            d_x[b, p] = d_x[b, p] + inv * along - A.transpose() @ by_q - own * (C[b, s, p].transpose() @ by_v)
                            by_v, by_turn = by_q + by_v, by_A + by_turn
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
                            if deep > 0:
                                by_j += by_q.dot(up)
                                d_x[b, p] = d_x[b, p] - stiff * by_j * up
                                sum_offset += stiff * by_j
                                by_volume += layer * modulus * deep * by_j
                                by_modulus = layer * volume[b, p] * deep * by_j
                                sum_matter += by_modulus * vec4(2, 1, 0, 0)
                            d_volume[b, p] = d_volume[b, p] + by_volume
                        d_matter[b] = d_matter[b] + sum_matter
                        d_offset[b] = d_offset[b] + sum_offset

    return kernel
