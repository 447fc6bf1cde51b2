"""Where bodies touch: gaps, normals and contact points, as Taichi functions of the kernel of several bodies (several_kernel.py).

Balls are exact. Two polyhedra are apart by the largest separation over the normals of their faces and the cross products of
their edges, of which only pairs whose arcs cross on the Gauss map are tried: they alone are faces of the Minkowski
difference (Gregorius 2013). That separation has the sign of the distance and vanishes with it. Where a face separates, the
incident face is clipped by the sides of the reference face; where two edges do, they touch in one point.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its functions as objects. A local that begins as a
# number has single precision in Taichi, whatever is assigned to it later, unless it begins as real(number).
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid import several_layout as at
from video2phys.simulate.rigid.spatial_geometry import functions as one_body


@cache
def functions() -> SimpleNamespace:
    """The functions, made once."""
    ti = taichi()
    real = ti.f64
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    flags, d2, d3 = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=real, ndim=3)
    apart = ti.types.struct(gap=real, normal=vec3, along=vec3, kind=ti.i32, one=ti.i32, two=ti.i32)
    matrix, turned = one_body().matrix, one_body().turned

    @ti.real_func
    def get(a: d3, b: ti.i32, i: ti.i32, k: ti.i32) -> vec3:
        return vec3(a[b, i, k], a[b, i, k + 1], a[b, i, k + 2])

    @ti.real_func
    def put(a: d3, b: ti.i32, i: ti.i32, k: ti.i32, v: vec3):
        a[b, i, k], a[b, i, k + 1], a[b, i, k + 2] = v[0], v[1], v[2]

    @ti.real_func
    def get9(a: d3, b: ti.i32, i: ti.i32, k: ti.i32) -> mat3:
        return mat3([[a[b, i, k + 3 * r + c] for c in ti.static(range(3))] for r in ti.static(range(3))])

    @ti.real_func
    def place(b: ti.i32, t: real, body: d3, points: d2, planes: d2, table: flags, balls: d2, corner: d3, side: d3):
        """Fill `corner` and `side`, the points and planes in world axes, for the moment t from now."""
        for i in range(body.shape[1] - 1):
            q = turned(vec4([body[b, i, at.Q + k] for k in ti.static(range(4))]), get(body, b, i, at.L), get(body, b, i, at.TORQUE), t,
                       get9(body, b, i, at.INVERSE))  # fmt: skip
            x = get(body, b, i, at.X) + t * get(body, b, i, at.V) + 0.5 * t * t * get(body, b, i, at.FORCE)
            R = matrix(q)
            o = x - R @ get(body, b, i, at.CENTRE)
            put(body, b, i, at.ORIGIN, o)
            put(body, b, i, at.MIDDLE, o + R @ vec3(balls[i, 0], balls[i, 1], balls[i, 2]))
            put(body, b, i, at.X_THEN, x)
            for k in ti.static(range(4)):
                body[b, i, at.Q_THEN + k] = q[k]
            for p in range(table[i, 0], table[i, 1]):
                put(corner, b, p, 0, o + R @ vec3(points[p, 0], points[p, 1], points[p, 2]))
            for f in range(table[i, 2], table[i, 3]):
                n = R @ vec3(planes[f, 0], planes[f, 1], planes[f, 2])
                put(side, b, f, 0, n)
                side[b, f, 3] = planes[f, 3] + n.dot(o)

    @ti.real_func
    def ball_on_ball(b: ti.i32, i: ti.i32, j: ti.i32, body: d3, balls: d2) -> apart:
        d = get(body, b, i, at.ORIGIN) - get(body, b, j, at.ORIGIN)
        far = ti.max(d.norm(), real(1e-300))
        return apart(gap=far - balls[i, 4] - balls[j, 4], normal=d / far, along=vec3(0.0), kind=at.BALL, one=0, two=0)

    @ti.real_func
    def ball_on_hull(b: ti.i32, i: ti.i32, j: ti.i32, body: d3, balls: d2, table: flags, faces: flags, edges: flags,
                     corner: d3, side: d3) -> apart:  # fmt: skip
        """From the centre of ball i to the nearest point of polyhedron j; inside, to the nearest face."""
        o = get(body, b, i, at.ORIGIN)
        best = apart(gap=real(-1e300), normal=vec3(0.0), along=vec3(0.0), kind=at.FLAT, one=0, two=0)
        for f in range(table[j, 2], table[j, 3]):
            high = get(side, b, f, 0).dot(o) - side[b, f, 3]
            if high > best.gap:
                best.gap, best.normal = high, get(side, b, f, 0)
        if best.gap > 0:
            best.gap = 1e300
            for e in range(table[j, 4], table[j, 5]):
                a = get(corner, b, edges[e, 0], 0)
                d = get(corner, b, edges[e, 1], 0) - a
                share = (o - a).dot(d) / d.dot(d)
                off = o - a - ti.min(ti.max(share, 0.0), 1.0) * d
                if off.norm() < best.gap:
                    best.gap, best.normal, best.along, best.kind = off.norm(), off / ti.max(off.norm(), real(1e-300)), vec3(0.0), at.BALL
                    if share > 0 and share < 1:
                        best.along = d.normalized()
            for f in range(table[j, 2], table[j, 3]):
                n = get(side, b, f, 0)
                high = n.dot(o) - side[b, f, 3]
                over = high > 0 and high <= best.gap
                for k in range(faces[f, 0]):
                    a, c = get(corner, b, faces[f, 1 + k], 0), get(corner, b, faces[f, 1 + (k + 1) % faces[f, 0]], 0)
                    over = over and n.dot((c - a).cross(o - a)) >= 0
                if over:
                    best.gap, best.normal, best.along, best.kind = high, n, vec3(0.0), at.FLAT
        best.gap -= balls[i, 4]
        return best

    @ti.real_func
    def over_faces(b: ti.i32, i: ti.i32, j: ti.i32, table: flags, corner: d3, side: d3) -> apart:
        """Largest separation along the faces of i: `one` the face, `two` the lowest corner of j."""
        best = apart(gap=real(-1e300), normal=vec3(0.0), along=vec3(0.0), kind=at.FACE1, one=0, two=0)
        for f in range(table[i, 2], table[i, 3]):
            n = get(side, b, f, 0)
            least, low = real(1e300), 0
            for p in range(table[j, 0], table[j, 1]):
                high = n.dot(get(corner, b, p, 0)) - side[b, f, 3]
                if high < least:
                    least, low = high, p
            if least > best.gap:
                best.gap, best.normal, best.one, best.two = least, -n, f, low
        return best

    @ti.real_func
    def over_edges(b: ti.i32, i: ti.i32, j: ti.i32, least: real, body: d3, table: flags, edges: flags, corner: d3, side: d3) -> apart:
        """Largest separation along products of edges where it is over `least`: `one` the edge of i, `two` that of j."""
        best = apart(gap=least, normal=vec3(0.0), along=vec3(0.0), kind=at.EDGES, one=0, two=0)
        for e in range(table[i, 4], table[i, 5]):
            a = get(corner, b, edges[e, 0], 0)
            d, n1, n2 = get(corner, b, edges[e, 1], 0) - a, get(side, b, edges[e, 2], 0), get(side, b, edges[e, 3], 0)
            n2_n1 = n2.cross(n1)
            for g in range(table[j, 4], table[j, 5]):
                m1, m2 = -get(side, b, edges[g, 2], 0), -get(side, b, edges[g, 3], 0)
                c1, c2 = m1.dot(n2_n1), m2.dot(n2_n1)
                if c1 * c2 < 0:
                    m2_m1 = m2.cross(m1)
                    a1, a2 = n1.dot(m2_m1), n2.dot(m2_m1)
                    p = get(corner, b, edges[g, 0], 0)
                    h = get(corner, b, edges[g, 1], 0) - p
                    n = d.cross(h)
                    # the arcs cross, on the same half of the sphere; for parallel edges a face says as much
                    if a1 * a2 < 0 and c1 * a2 > 0 and n.norm_sqr() > 1e-12 * d.norm_sqr() * h.norm_sqr():
                        n = n.normalized()
                        if n.dot(a - get(body, b, i, at.MIDDLE)) < 0:
                            n = -n
                        if n.dot(p - a) > best.gap:  # arcs on nearly the same circle may only seem to cross: measure
                            low, high = real(1e300), real(-1e300)
                            for k in range(table[i, 0], table[i, 1]):
                                high = ti.max(high, n.dot(get(corner, b, k, 0)))
                            for k in range(table[j, 0], table[j, 1]):
                                low = ti.min(low, n.dot(get(corner, b, k, 0)))
                            if low - high > best.gap:
                                best.gap, best.normal, best.one, best.two = low - high, -n, e, g
        return best

    @ti.real_func
    def between(b: ti.i32, i: ti.i32, j: ti.i32, slack: real, body: d3, balls: d2, table: flags, faces: flags, edges: flags,
                corner: d3, side: d3) -> apart:  # fmt: skip
        """Gap of bodies i and j and what it lies between; far bodies: a bound below the gap. Faces are preferred within `slack`."""
        far = (get(body, b, i, at.MIDDLE) - get(body, b, j, at.MIDDLE)).norm() - balls[i, 3] - balls[j, 3]
        best = apart(gap=far, normal=vec3(0.0), along=vec3(0.0), kind=at.BALL, one=0, two=0)
        if balls[j, 4] > 0:
            best = ball_on_ball(b, i, j, body, balls)
        elif balls[i, 4] > 0 and far <= at.FAR * (balls[i, 3] + balls[j, 3]):
            best = ball_on_hull(b, i, j, body, balls, table, faces, edges, corner, side)
        elif far <= at.FAR * (balls[i, 3] + balls[j, 3]):
            best = over_faces(b, i, j, table, corner, side)
            other = over_faces(b, j, i, table, corner, side)
            if other.gap > best.gap + slack:
                best = other
                best.kind, best.normal = at.FACE2, -other.normal
            other = over_edges(b, i, j, best.gap + slack, body, table, edges, corner, side)
            if other.gap > best.gap + slack:
                best = other
        return best

    @ti.real_func
    def incident(b: ti.i32, body: ti.i32, low: ti.i32, n: vec3, table: flags, faces: flags, side: d3) -> ti.i32:
        """The face of the body that faces n most, of those at its corner `low`."""
        least, found = real(1e300), 0
        for f in range(table[body, 2], table[body, 3]):
            here = 0
            for k in range(faces[f, 0]):
                here += ti.cast(faces[f, 1 + k] == low, ti.i32)
            if here > 0 and get(side, b, f, 0).dot(n) < least:
                least, found = get(side, b, f, 0).dot(n), f
        return found

    @ti.real_func
    def clip(b: ti.i32, f: ti.i32, g: ti.i32, faces: flags, corner: d3, side: d3, ring: d3) -> ti.i32:
        """Face g cut by the sides of face f (Sutherland and Hodgman 1974), into the first half of ring[b]; the number of corners.

        Columns of ring: point (3), what it is (a corner of g, a CROSSING, a corner of f), whether the side that follows is of
        f, and for a crossing the directions of the sides of f and of g (3 + 3).
        """
        count, n = faces[g, 0], get(side, b, f, 0)
        for k in range(count):
            put(ring, b, k, 0, get(corner, b, faces[g, 1 + k], 0))
            ring[b, k, 3], ring[b, k, 4] = at.CORNER_OF_G, 0.0
        for s in range(faces[f, 0]):
            a = get(corner, b, faces[f, 1 + s], 0)
            along = get(corner, b, faces[f, 1 + (s + 1) % faces[f, 0]], 0) - a
            out, kept = along.cross(n).normalized(), at.CORNERS
            for k in range(count):
                p, q = get(ring, b, k, 0), get(ring, b, (k + 1) % count, 0)
                dp, dq = out.dot(p - a), out.dot(q - a)
                if dp <= 0 and kept < 2 * at.CORNERS:
                    for c in ti.static(range(at.RING)):
                        ring[b, kept, c] = ring[b, k, c]
                    kept += 1
                if dp * dq < 0 and kept < 2 * at.CORNERS:
                    put(ring, b, kept, 0, p + dp / (dp - dq) * (q - p))
                    ring[b, kept, 3], ring[b, kept, 4] = at.CROSSING, ring[b, k, 4]
                    if ring[b, k, 4] == 1:
                        ring[b, kept, 3] = at.CORNER_OF_F
                    if dp < 0:
                        ring[b, kept, 4] = 1.0
                    put(ring, b, kept, 5, along)
                    put(ring, b, kept, 8, q - p)
                    kept += 1
            count = kept - at.CORNERS
            for k in range(count):
                for c in ti.static(range(at.RING)):
                    ring[b, k, c] = ring[b, at.CORNERS + k, c]
        return count

    return SimpleNamespace(
        get=get, put=put, get9=get9, place=place, between=between, incident=incident, clip=clip
    )  # fmt: skip
