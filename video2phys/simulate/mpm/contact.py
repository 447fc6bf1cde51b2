"""Taichi functions of contact with boundaries (boundary.py), and their transposes.

A particle is a ball that touches when its surface, half its width from its centre, passes that of a boundary. A stiff layer pushes it back:
with depth = offset + width / 2 - d(x) > 0 and g = grad d,

    J = dt CONTACT (lam + 2 mu) V_p / width^2 * depth * g

the impulse of a potential, so that contact takes no energy. V_p is the volume that bears stress: of matter that is half as stiff, or half
present, half as much. The height of contact is so a continuous quantity, independent of where grid nodes lie, and nothing is ever pulled.

Friction acts on the nodes, boundary by boundary, after stress and gravity, on the velocity relative to the boundary across
N_i = sum_p w_ip J_p; it takes friction |N_i| of momentum and at most all: a body at rest on a slope stays at rest. What sticks is so
all that a touching particle reaches: of a fluid a layer of one cell and some, in which it does not shear.

Annotations are evaluated by Taichi: no `from __future__ import annotations` here.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.mpm.spline import splines, types

CONTACT = 4.0  # stiffness of the contact layer in units of (lam + 2 mu) / width: a wave's pressure presses it in by a few per cent of width


@cache
def contacts(real_name: str) -> SimpleNamespace:
    """`touch`, `spread` and `rub` with their pullbacks; boundaries come as scene.surfaces has them."""
    ti = taichi()
    t, f = types(real_name), splines(real_name)
    real, vec3, mat3 = t.real, t.vec3, t.mat3

    @ti.func
    def touch(
        k: ti.i32, at: vec3, reach: real, samples: t.per_member, frame: t.constants, extent: t.extents, normal: t.gravity,
        bent: ti.template(),
    ):  # fmt: skip
        """How far the surface of a ball of radius `reach` is below a boundary's, negative above; gradient of the distance, and its
        derivative where `bent` asks for it."""
        deep, g, bend = reach - normal[k].dot(at), normal[k], mat3(0)
        size = extent[k]
        if size[2] > 0:
            deep = ti.cast(-1, real)
            inv = frame[k][3]
            x = inv * (at - frame[k].xyz)
            base = ti.floor(x - 0.5, ti.i32)
            if base.min() >= 0 and base[0] < size[0] - 2 and base[1] < size[1] - 2 and base[2] < size[2] - 2:
                first = size[3] + (base[0] * size[1] + base[1]) * size[2] + base[2]
                middle = samples[first + (size[1] + 1) * size[2] + 1]
                if inv * (middle - reach) < 2:  # a mean of neighbours, sqrt(3) cells away, cannot be deep else
                    deep, g = reach, vec3(0)
                    for i, j, m in ti.ndrange(3, 3, 3):
                        d = vec3(i, j, m) - (x - base)
                        w = vec3(f.weight(d[0]), f.weight(d[1]), f.weight(d[2]))
                        s = inv * vec3(f.slope(d[0]), f.slope(d[1]), f.slope(d[2]))
                        value = samples[first + (i * size[1] + j) * size[2] + m]
                        deep -= w[0] * w[1] * w[2] * value
                        g += value * vec3(s[0] * w[1] * w[2], w[0] * s[1] * w[2], w[0] * w[1] * s[2])
                        if ti.static(bent):
                            c = inv * inv * vec3(f.curve(d[0]), f.curve(d[1]), f.curve(d[2]))
                            xy, yz, zx = s[0] * s[1] * w[2], w[0] * s[1] * s[2], s[0] * w[1] * s[2]
                            bend += value * mat3([[c[0] * w[1] * w[2], xy, zx], [xy, w[0] * c[1] * w[2], yz], [zx, yz, w[0] * w[1] * c[2]]])
        return deep, g, bend

    @ti.func
    def spread(J: vec3, fx: vec3, first: ti.i32, along_x: ti.i32, along_y: ti.i32, push: t.path, b: ti.i32, k: ti.i32):
        """An impulse on a particle, on its 27 nodes."""
        for i, j, m in ti.ndrange(3, 3, 3):
            c = first + i * along_x + j * along_y + m
            push[b, k, c] = push[b, k, c] + f.weight(i - fx[0]) * f.weight(j - fx[1]) * f.weight(m - fx[2]) * J

    @ti.func
    def spread_pullback(J: vec3, fx: vec3, first: ti.i32, along_x: ti.i32, along_y: ti.i32, d_push: t.path, b: ti.i32, k: ti.i32):
        """Derivatives by J and by the particle's position in cells."""
        d_J, d_x = vec3(0), vec3(0)
        for i, j, m in ti.ndrange(3, 3, 3):
            d = vec3(i, j, m) - fx
            w = vec3(f.weight(d[0]), f.weight(d[1]), f.weight(d[2]))
            s = vec3(f.slope(d[0]), f.slope(d[1]), f.slope(d[2]))
            d_N = d_push[b, k, first + i * along_x + j * along_y + m]
            d_J += w[0] * w[1] * w[2] * d_N
            d_x += d_N.dot(J) * vec3(s[0] * w[1] * w[2], w[0] * s[1] * w[2], w[0] * w[1] * s[2])
        return d_J, d_x

    @ti.func
    def rub(u: vec3, N: vec3, mass: real, friction: real, wall: vec3):
        """A node's velocity after friction with a boundary that moves as `wall`."""
        pressed = N.norm()
        if pressed > 0:
            n, off = N / pressed, u - wall
            slip = off - off.dot(n) * n
            speed, cut = slip.norm(), friction * pressed / mass
            if speed <= cut:
                u -= slip
            else:
                u -= cut / speed * slip
        return u

    @ti.func
    def rub_pullback(u: vec3, N: vec3, mass: real, friction: real, wall: vec3, d: vec3):
        """Derivatives by u, N, mass and friction."""
        d_N, d_mass, d_friction = vec3(0), ti.cast(0, real), ti.cast(0, real)
        pressed = N.norm()
        if pressed > 0:
            n, off = N / pressed, u - wall
            slip = off - off.dot(n) * n
            speed, cut = slip.norm(), friction * pressed / mass
            d_slip = -d
            if speed > cut:
                way = slip / speed
                d_cut = -d.dot(way)
                d_slip = -cut / speed * (d + d_cut * way)
                d_N = d_cut * friction / mass * n
                d_mass = -d_cut * cut / mass
                d_friction = d_cut * pressed / mass
            d += d_slip - d_slip.dot(n) * n
            d_n = -d_slip.dot(n) * off - off.dot(n) * d_slip
            d_N += (d_n - d_n.dot(n) * n) / pressed
        return d, d_N, d_mass, d_friction

    return SimpleNamespace(touch=touch, spread=spread, spread_pullback=spread_pullback, rub=rub, rub_pullback=rub_pullback)
