"""Turning, contact points and gaps of a rigid body, as Taichi functions of its kernel (spatial_kernel.py)."""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its functions as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi


@cache
def functions() -> SimpleNamespace:
    """The functions, made once."""
    ti = taichi()
    real = ti.f64
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    d2 = ti.types.ndarray(dtype=real, ndim=2)

    @ti.real_func
    def matrix(q: vec4) -> mat3:
        w, x, y, z = q[0], q[1], q[2], q[3]
        return mat3(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )

    @ti.real_func
    def turned_inverse(q: vec4, inverse: mat3) -> mat3:
        """Inverse inertia in world axes."""
        R = matrix(q)
        return R @ inverse @ R.transpose()

    @ti.real_func
    def rate(q: vec4, L: vec3, inverse: mat3) -> vec4:
        """dq/dt."""
        R = matrix(q)
        w = R @ (inverse @ (R.transpose() @ L))
        return 0.5 * vec4(
            -w[0] * q[1] - w[1] * q[2] - w[2] * q[3],
            w[0] * q[0] + w[1] * q[3] - w[2] * q[2],
            w[1] * q[0] + w[2] * q[1] - w[0] * q[3],
            w[2] * q[0] + w[0] * q[2] - w[1] * q[1],
        )

    @ti.real_func
    def turned(q: vec4, L: vec3, T: vec3, h: real, inverse: mat3) -> vec4:
        """Quaternion after h under the torque T."""
        a = rate(q, L, inverse)
        b = rate((q + 0.5 * h * a).normalized(), L + 0.5 * h * T, inverse)
        c = rate((q + 0.5 * h * b).normalized(), L + 0.5 * h * T, inverse)
        d = rate((q + h * c).normalized(), L + h * T, inverse)
        return (q + h / 6 * (a + 2 * b + 2 * c + d)).normalized()

    @ti.real_func
    def arm(points: d2, radii: vec3, R: mat3, centre: vec3, normal: vec3, i: ti.i32) -> vec3:
        """Contact point i from the centre of mass, in world axes."""
        p = vec3(0.0)
        if points.shape[0] > 0:
            p = vec3(points[i, 0], points[i, 1], points[i, 2])
        else:
            down = radii * (R.transpose() @ normal)
            p = -radii * down / ti.max(down.norm(), 1e-300)
        return R @ (p - centre)

    @ti.real_func
    def nearest(b: ti.i32, points: d2, radii: vec3, q: vec4, centre: vec3, normal: vec3, height: real, gap: d2, touch: real) -> real:
        """Smallest gap among the points whose gap at the start of the step, gap[b], was over `touch`; `height` of the centre of mass."""
        R, least = matrix(q), 1e300
        down = R.transpose() @ normal
        if points.shape[0] > 0:
            for i in range(points.shape[0]):
                if gap[b, i] > touch:
                    p = vec3(points[i, 0], points[i, 1], points[i, 2]) - centre
                    least = ti.min(least, height + p.dot(down))
        elif gap[b, 0] > touch:
            least = height + arm(points, radii, R, centre, normal, 0).dot(normal)
        return least

    return SimpleNamespace(matrix=matrix, turned_inverse=turned_inverse, turned=turned, arm=arm, nearest=nearest)
