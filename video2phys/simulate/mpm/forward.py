"""The forward kernel: every batch member advances through one frame, on its own grid and with its own step.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from collections.abc import Callable
from functools import cache

from video2phys.backend import CHUNKS, MIN_CHUNK, taichi
from video2phys.simulate.materials.elastic import Law
from video2phys.simulate.mpm.transfer import functions


@cache
def advance(real_name: str, law: Law) -> Callable[..., None]:
    """Kernel that moves (B, S, N) particle arrays through `steps[b]` steps.

    With stride 1, slot s holds the state before step s and what its grid gathers (a tape for the reverse pass); with stride 0 the state
    is overwritten in slot 0. Time is `begin` + step * dt. A member whose `failed` is set stays as it is.
    """
    ti = taichi()
    f = functions(real_name, law)
    t = f.types
    real, vec3, mat3 = t.real, t.vec3, t.mat3

    @ti.kernel
    def kernel(
        x: t.path, v: t.path, C: t.path_matrix, F: t.path_matrix, mass: t.per_particle, volume: t.per_particle,
        width: t.per_particle, matter: t.constants, gravity: t.gravity, fading: t.per_member, samples: t.per_member, frame: t.constants,
        extent: t.extents, normal: t.gravity, speed: t.gravity, offset: t.per_particle, friction: t.per_particle, begin: real,
        dt: t.per_member, steps: t.ints, dx: real, elastic: t.matrices, grid: t.grid, push: t.path, before: t.grid, moved: t.vectors,
        failed: t.ints, stride: ti.i32,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNKS)
        for q in range(x.shape[0] * MIN_CHUNK):
            if q % MIN_CHUNK == 0:
                b = q // MIN_CHUNK
                inv = 1 / dx
                for step in range(steps[b]):
                    s = step * stride
                    lo, size = f.box(x, b, s, inv)
                    if failed[b] == 0 and not f.usable(lo, size, grid.shape[2]):
                        failed[b] = 1
                    if failed[b] == 0:
                        f.to_grid(
                            b, s, lo, size, x, v, C, F, mass, volume, width, matter[b], dt[b], dx, begin + step * dt[b], samples, frame,
                            extent, normal, speed, offset, elastic, grid, push, before,
                        )  # fmt: skip
                        for c in range(size[0] * size[1] * size[2]):
                            g = grid[b, s, c]
                            if g[3] > 0:
                                moved[b, c] = f.velocity(g, b, s, c, speed.shape[0], push, dt[b], gravity[b], friction, speed)
                                if ti.static(f.keeps):
                                    before[b, s, c] = before[b, s, c] / g[3]
                        for p in range(x.shape[2]):
                            base = ti.floor(x[b, s, p] * inv - 0.5, ti.i32)
                            fx = x[b, s, p] * inv - ti.cast(base, real)
                            wx, wy, wz = f.weights(fx[0]), f.weights(fx[1]), f.weights(fx[2])
                            o = base - lo
                            new_v, new_C, old_v = vec3(0), mat3(0), vec3(0)
                            for i, k in ti.static(ti.ndrange(3, 3)):
                                c = ((o[0] + i) * size[1] + o[1] + k) * size[2] + o[2]
                                line, slope, was = vec3(0), vec3(0), vec3(0)
                                for m in ti.static(range(3)):
                                    u = wz[m] * moved[b, c + m]
                                    line += u
                                    slope += m * u
                                    if ti.static(f.keeps):
                                        was += wz[m] * before[b, s, c + m].xyz
                                wt = wx[i] * wy[k]
                                old_v += wt * was
                                line *= wt
                                new_v += line
                                new_C += line.outer_product(vec3(i, k, 0)) + wt * slope.outer_product(vec3(0, 0, 1))
                            new_C = 4 * inv * (new_C - new_v.outer_product(fx))
                            n = s + stride
                            x[b, n, p] = x[b, s, p] + dt[b] * new_v
                            if ti.static(f.keeps):
                                new_v += f.kept(dt[b], dx, fading[b]) * (v[b, s, p] - old_v)
                            v[b, n, p] = new_v
                            C[b, n, p] = new_C
                            E = F[b, s, p]
                            if ti.static(f.flows):
                                E = elastic[b, p]
                            F[b, n, p] = E + dt[b] * (new_C @ E)

    return kernel
