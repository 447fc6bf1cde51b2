"""Kernel types, and the quadratic B-spline that joins particles and nodes.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi


@cache
def types(real_name: str) -> SimpleNamespace:
    """Array and vector types of the kernels in one precision, 'f32' or 'f64'."""
    ti = taichi()
    real = getattr(ti, real_name)
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    array = ti.types.ndarray
    return SimpleNamespace(
        real=real, vec3=vec3, vec4=vec4, mat3=mat3,
        ints=array(dtype=ti.i32, ndim=1), extents=array(dtype=ti.types.vector(4, ti.i32), ndim=1),
        per_member=array(dtype=real, ndim=1), per_particle=array(dtype=real, ndim=2), constants=array(dtype=vec4, ndim=1),
        vectors=array(dtype=vec3, ndim=2), matrices=array(dtype=mat3, ndim=2), gravity=array(dtype=vec3, ndim=1),
        path=array(dtype=vec3, ndim=3), path_matrix=array(dtype=mat3, ndim=3), grid=array(dtype=vec4, ndim=3),
    )  # fmt: skip


@cache
def splines(real_name: str) -> SimpleNamespace:
    """The weight of a node d cells from a particle, |d| <= 1.5, its derivatives by the particle's position; three in a row."""
    ti = taichi()
    t = types(real_name)
    real, vec3 = t.real, t.vec3

    @ti.func
    def weight(d: real):
        far = 1.5 - ti.abs(d)
        return ti.select(ti.abs(d) < 0.5, 0.75 - d * d, 0.5 * far * far)

    @ti.func
    def slope(d: real):
        return ti.select(ti.abs(d) < 0.5, 2 * d, ti.select(d > 0, 1.5 - d, -1.5 - d))

    @ti.func
    def curve(d: real):
        return ti.select(ti.abs(d) < 0.5, ti.cast(-2, real), ti.cast(1, real))

    @ti.func
    def weights(f: real):
        """Of three nodes in a row, the particle f cells after the first, f in [0.5, 1.5)."""
        return vec3(0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2)

    @ti.func
    def slopes(f: real):
        return vec3(f - 1.5, 2 - 2 * f, f - 0.5)

    return SimpleNamespace(weight=weight, slope=slope, curve=curve, weights=weights, slopes=slopes)
