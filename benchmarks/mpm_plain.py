"""MLS-MPM as one would first write it in Taichi (Hu et al. 2018): loops over particles in parallel, atomic adds, a dense grid.

What benchmarks/mpm.py compares with: fixed corotated elasticity and a frictionless plane, the same cells, step and precision.
"""
# Taichi evaluates the annotations of kernels: no `from __future__ import annotations` here.
# pyright: reportInvalidTypeForm=false

import time

import numpy as np

from video2phys.backend import taichi


def plain(particle: np.ndarray, volume: np.ndarray, cell: float, dt: float, mu: float, lam: float, steps: int, repeats: int) -> float:
    """Seconds of `steps` steps from particles (N, 3) that fall on the plane z = 0 at 1 m/s, the least of `repeats`, without compilation."""
    ti = taichi()
    vec3, mat3 = ti.types.vector(3, ti.f64), ti.types.matrix(3, 3, ti.f64)
    vectors, matrices = ti.types.ndarray(dtype=vec3, ndim=1), ti.types.ndarray(dtype=mat3, ndim=1)
    scalars, nodes = ti.types.ndarray(dtype=ti.f64, ndim=1), ti.types.ndarray(dtype=ti.types.vector(4, ti.f64), ndim=3)
    low = 3 * cell  # of the grid's corner below the plane and beside the body

    @ti.func
    def around(x: vec3):
        at = (x + low) / cell
        base = ti.floor(at - 0.5, ti.i32)
        f = at - ti.cast(base, ti.f64)
        return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

    @ti.kernel
    def step(x: vectors, v: vectors, C: matrices, F: matrices, vol: scalars, grid: nodes):
        for node in ti.grouped(grid):
            grid[node] = ti.Vector([0.0, 0.0, 0.0, 0.0], dt=ti.f64)
        for p in range(x.shape[0]):
            base, f, w = around(x[p])
            R, _ = ti.polar_decompose(F[p], ti.f64)
            J = F[p].determinant()
            tau = 2 * mu * (F[p] - R) @ F[p].transpose() + lam * J * (J - 1) * ti.Matrix.identity(ti.f64, 3)
            mass = 1000.0 * vol[p]
            A = mass * C[p] - dt * vol[p] * 4 / cell**2 * tau
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                weight = w[i][0] * w[j][1] * w[k][2]
                momentum = mass * v[p] + A @ ((ti.Vector([i, j, k]) - f) * cell)
                grid[base + ti.Vector([i, j, k])] += weight * ti.Vector([momentum[0], momentum[1], momentum[2], mass])
        for node in ti.grouped(grid):
            g = grid[node]
            if g[3] > 0:
                u = g.xyz / g[3] - dt * vec3(0, 0, 9.81)
                if node[2] * cell < low and u[2] < 0:
                    u[2] = 0
                grid[node] = ti.Vector([u[0], u[1], u[2], g[3]])
        for p in range(x.shape[0]):
            base, f, w = around(x[p])
            new_v, new_C = vec3(0), mat3(0)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                u = w[i][0] * w[j][1] * w[k][2] * grid[base + ti.Vector([i, j, k])].xyz
                new_v += u
                new_C += 4 / cell * u.outer_product(ti.Vector([i, j, k]) - f)
            v[p], C[p] = new_v, new_C
            x[p] += dt * new_v
            F[p] += dt * new_C @ F[p]

    def run(count: int) -> float:
        N = len(particle)
        x, v, C, F = particle.copy(), np.tile([0, 0, -1.0], (N, 1)), np.zeros((N, 3, 3)), np.tile(np.eye(3), (N, 1, 1))
        grid = np.zeros((*np.ceil((particle.max(0) + 2 * low) / cell).astype(int), 4))
        begin = time.perf_counter()
        for _ in range(count):
            step(x, v, C, F, volume, grid)
        assert np.isfinite(x).all()
        return time.perf_counter() - begin

    run(1)
    return min(run(steps) for _ in range(repeats))
