"""Where bodies touch: gaps, normals and contact points, as Taichi functions of the kernel of several bodies (several_kernel.py).

Balls are exact. Two polyhedra are apart by the largest separation over the normals of their faces and the cross products of
their edges, of which only pairs whose arcs cross on the Gauss map are tried: they alone are faces of the Minkowski
difference (Gregorius 2013). That separation has the sign of the distance and vanishes with it. Where a face separates, the
incident face is clipped by the sides of the reference face; where two edges do, they touch in one point.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its functions as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid.spatial_geometry import functions as one_body

# What a row of `body` (B, O + 1, BODY) holds, from which column on; the last row is the plane, which nothing moves.
X, Q, V, L = 0, 3, 7, 10  # position of the centre of mass, quaternion, velocity, angular momentum
FORCE, TORQUE = 13, 16  # acceleration of the centre, torque: constant until the next event
U, W, P, M = 19, 22, 25, 28  # while impulses are solved: velocity, angular velocity, sums of the impulses and of their moments
P_REST, M_REST = 31, 34  # those without restitution
J, INVERSE = 37, 46  # inverse inertia about world axes, and about body axes
LIGHT, CENTRE, MU, E, DRAG = 55, 56, 59, 60, 61  # 1 / mass, centre of mass in body axes, friction, restitution, drag
ORIGIN, MIDDLE = 62, 65  # where `place` has put the body: its origin, the centre of the sphere about it
X_THEN, Q_THEN = 68, 71  # and its centre of mass and quaternion
BODY = 75

# What a row of `contact` (B, C, CONTACT) holds
POINT, NORMAL, GAP = 0, 3, 6  # the normal points from the second body to the first
EDGE1, EDGE2 = 7, 10  # directions of the edges that meet there; EDGE2 is that which a ball touches, or zero
NORMAL_THEN, ARM1, ARM2, LEVER1, LEVER2 = 13, 16, 19, 22, 25  # arms carry velocities, levers impulses
GOAL, PULSE, HOLD = 28, 31, 34  # velocity wanted; impulse; the impulse that held the bodies apart in the last step
K_NORMAL, K_ACROSS = 37, 38
CONTACT = 39

# and of `who` (B, C, 7): first body, second body, key of the contact, its pair, kind, what its point rides on, whether it touches
FIRST, SECOND, KEY, PAIR, KIND, RIDE, TOUCHES = range(7)
BALL, FLAT, FACE1, FACE2, EDGES = range(5)  # who gives the normal: a ball's centre, a face under a ball, a face of either body, edges
ON_FIRST, ON_SECOND, CROSSING = range(3)  # a corner of either body, or where two edges cross

OPEN, CLOSED, STRUCK = 0, 1, 2  # what `mark` (B, N) says of a pair
POINTS = 8  # contact points of a pair at most
CORNERS, RING = 128, 11  # of a clipped face at most; columns that describe one
CORNER_OF_G, CORNER_OF_F = 0, 1  # beside CROSSING
FAR = 0.1  # of the radii of spheres about the bodies: farther apart, the gap of the spheres stands for theirs
REACH = 0.01  # of a body's extent: corners of touching bodies this close count as points that may touch next


@cache
def functions() -> SimpleNamespace:
    """The functions, made once."""
    ti = taichi()
    real = ti.f64
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    flags, flags3 = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=3)
    d2, d3 = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=real, ndim=3)
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
            q = turned(vec4([body[b, i, Q + k] for k in ti.static(range(4))]), get(body, b, i, L), get(body, b, i, TORQUE), t,
                       get9(body, b, i, INVERSE))  # fmt: skip
            x = get(body, b, i, X) + t * get(body, b, i, V) + 0.5 * t * t * get(body, b, i, FORCE)
            R = matrix(q)
            o = x - R @ get(body, b, i, CENTRE)
            put(body, b, i, ORIGIN, o)
            put(body, b, i, MIDDLE, o + R @ vec3(balls[i, 0], balls[i, 1], balls[i, 2]))
            put(body, b, i, X_THEN, x)
            for k in ti.static(range(4)):
                body[b, i, Q_THEN + k] = q[k]
            for p in range(table[i, 0], table[i, 1]):
                put(corner, b, p, 0, o + R @ vec3(points[p, 0], points[p, 1], points[p, 2]))
            for f in range(table[i, 2], table[i, 3]):
                n = R @ vec3(planes[f, 0], planes[f, 1], planes[f, 2])
                put(side, b, f, 0, n)
                side[b, f, 3] = planes[f, 3] + n.dot(o)

    @ti.real_func
    def ball_on_ball(b: ti.i32, i: ti.i32, j: ti.i32, body: d3, balls: d2) -> apart:
        d = get(body, b, i, ORIGIN) - get(body, b, j, ORIGIN)
        far = ti.max(d.norm(), 1e-300)
        return apart(gap=far - balls[i, 4] - balls[j, 4], normal=d / far, along=vec3(0.0), kind=BALL, one=0, two=0)

    @ti.real_func
    def ball_on_hull(b: ti.i32, i: ti.i32, j: ti.i32, body: d3, balls: d2, table: flags, faces: flags, edges: flags,
                     corner: d3, side: d3) -> apart:  # fmt: skip
        """From the centre of ball i to the nearest point of polyhedron j; inside, to the nearest face."""
        o = get(body, b, i, ORIGIN)
        best = apart(gap=-1e300, normal=vec3(0.0), along=vec3(0.0), kind=FLAT, one=0, two=0)
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
                    best.gap, best.normal, best.along, best.kind = off.norm(), off / ti.max(off.norm(), 1e-300), vec3(0.0), BALL
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
                    best.gap, best.normal, best.along, best.kind = high, n, vec3(0.0), FLAT
        best.gap -= balls[i, 4]
        return best

    @ti.real_func
    def over_faces(b: ti.i32, i: ti.i32, j: ti.i32, table: flags, corner: d3, side: d3) -> apart:
        """Largest separation along the faces of i: `one` the face, `two` the lowest corner of j."""
        best = apart(gap=-1e300, normal=vec3(0.0), along=vec3(0.0), kind=FACE1, one=0, two=0)
        for f in range(table[i, 2], table[i, 3]):
            n = get(side, b, f, 0)
            least, low = 1e300, 0
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
        best = apart(gap=least, normal=vec3(0.0), along=vec3(0.0), kind=EDGES, one=0, two=0)
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
                        if n.dot(a - get(body, b, i, MIDDLE)) < 0:
                            n = -n
                        if n.dot(p - a) > best.gap:  # arcs on nearly the same circle may only seem to cross: measure
                            low, high = 1e300, -1e300
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
        far = (get(body, b, i, MIDDLE) - get(body, b, j, MIDDLE)).norm() - balls[i, 3] - balls[j, 3]
        best = apart(gap=far, normal=vec3(0.0), along=vec3(0.0), kind=BALL, one=0, two=0)
        if balls[j, 4] > 0:
            best = ball_on_ball(b, i, j, body, balls)
        elif balls[i, 4] > 0 and far <= FAR * (balls[i, 3] + balls[j, 3]):
            best = ball_on_hull(b, i, j, body, balls, table, faces, edges, corner, side)
        elif far <= FAR * (balls[i, 3] + balls[j, 3]):
            best = over_faces(b, i, j, table, corner, side)
            other = over_faces(b, j, i, table, corner, side)
            if other.gap > best.gap + slack:
                best = other
                best.kind, best.normal = FACE2, -other.normal
            other = over_edges(b, i, j, best.gap + slack, body, table, edges, corner, side)
            if other.gap > best.gap + slack:
                best = other
        return best

    @ti.real_func
    def incident(b: ti.i32, body: ti.i32, low: ti.i32, n: vec3, table: flags, faces: flags, side: d3) -> ti.i32:
        """The face of the body that faces n most, of those at its corner `low`."""
        least, found = 1e300, 0
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
            ring[b, k, 3], ring[b, k, 4] = CORNER_OF_G, 0.0
        for s in range(faces[f, 0]):
            a = get(corner, b, faces[f, 1 + s], 0)
            along = get(corner, b, faces[f, 1 + (s + 1) % faces[f, 0]], 0) - a
            out, kept = along.cross(n).normalized(), CORNERS
            for k in range(count):
                p, q = get(ring, b, k, 0), get(ring, b, (k + 1) % count, 0)
                dp, dq = out.dot(p - a), out.dot(q - a)
                if dp <= 0 and kept < 2 * CORNERS:
                    for c in ti.static(range(RING)):
                        ring[b, kept, c] = ring[b, k, c]
                    kept += 1
                if dp * dq < 0 and kept < 2 * CORNERS:
                    put(ring, b, kept, 0, p + dp / (dp - dq) * (q - p))
                    ring[b, kept, 3], ring[b, kept, 4] = CROSSING, ring[b, k, 4]
                    if ring[b, k, 4] == 1:
                        ring[b, kept, 3] = CORNER_OF_F
                    if dp < 0:
                        ring[b, kept, 4] = 1.0
                    put(ring, b, kept, 5, along)
                    put(ring, b, kept, 8, q - p)
                    kept += 1
            count = kept - CORNERS
            for k in range(count):
                for c in ti.static(range(RING)):
                    ring[b, k, c] = ring[b, CORNERS + k, c]
        return count

    @ti.real_func
    def follow(b: ti.i32, c: ti.i32, dt: real, body: d3, balls: d2, contact: d3, who: flags3):
        """Fill the contact's normal and arms dt from now, and the levers halfway, from the velocities of this moment.

        A corner stays with its body, a crossing on both edges, the point of a ball under its centre; the normal stays with the
        face, or normal to both edges. Both bodies have their levers from the same point, so that their angular momentum is kept to round-off.
        """
        i, j, kind = who[b, c, FIRST], who[b, c, SECOND], who[b, c, KIND]
        p, n = get(contact, b, c, POINT), get(contact, b, c, NORMAL)
        d, e = get(contact, b, c, EDGE1), get(contact, b, c, EDGE2)
        xi, xj, vi, vj = get(body, b, i, X), get(body, b, j, X), get(body, b, i, V), get(body, b, j, V)
        wi, wj = get9(body, b, i, J) @ get(body, b, i, L), get9(body, b, j, J) @ get(body, b, j, L)
        ui, uj = vi + wi.cross(p - xi), vj + wj.cross(p - xj)
        moves, turns = ui, wj.cross(n)
        if who[b, c, RIDE] == ON_SECOND:
            moves = uj
        elif who[b, c, RIDE] == CROSSING:
            moves = ui - d * ((ui - uj).cross(e).dot(n) / d.cross(e).dot(n))
        if kind == FACE1:
            turns = wi.cross(n)
        elif kind == EDGES:
            turns = ((wi.cross(d)).cross(e) + d.cross(wj.cross(e))) / d.cross(e).dot(n)
            turns -= n * n.dot(turns)
        elif kind == BALL or kind == FLAT:
            centre = vi + wi.cross(p + balls[i, 4] * n - xi)
            if kind == BALL:
                rj = 0.0
                if j < balls.shape[0]:
                    rj = balls[j, 4]
                rel = centre - vj - wj.cross(p - rj * n - xj)
                rel -= n * n.dot(rel)
                turns = (rel - e * e.dot(rel)) / (balls[i, 4] + rj) + e * e.dot(turns)
            moves = centre - balls[i, 4] * turns
        put(contact, b, c, NORMAL_THEN, (n + dt * turns).normalized())
        put(contact, b, c, ARM1, p + dt * moves - xi - dt * vi)
        put(contact, b, c, ARM2, p + dt * moves - xj - dt * vj)
        put(contact, b, c, LEVER1, p + 0.5 * dt * moves - xi - 0.5 * dt * vi)
        put(contact, b, c, LEVER2, p + 0.5 * dt * moves - xj - 0.5 * dt * vj)

    @ti.real_func
    def add(b: ti.i32, c: ti.i32, i: ti.i32, j: ti.i32, pair: ti.i32, kind: ti.i32, ride: ti.i32, key: ti.i32, p: vec3, n: vec3,
            edge1: vec3, edge2: vec3, gap: real, sure: ti.i32, touch: real, settle: real, body: d3, contact: d3, who: flags3, mark: flags) -> ti.i32:  # fmt: skip
        """Write contact c; the number of contacts then. One that approaches fast touches when it does, not a little before."""
        if c < contact.shape[1]:
            ui = get(body, b, i, V) + get(body, b, i, W).cross(p - get(body, b, i, X))
            uj = get(body, b, j, V) + get(body, b, j, W).cross(p - get(body, b, j, X))
            touches = ti.cast(sure == 1 or gap <= 1e-4 * touch or (gap <= touch and (uj - ui).dot(n) <= settle), ti.i32)
            put(contact, b, c, POINT, p)
            put(contact, b, c, NORMAL, n)
            put(contact, b, c, EDGE1, edge1)
            put(contact, b, c, EDGE2, edge2)
            contact[b, c, GAP] = gap
            code = pair * 4096 + kind * 512 + key % 512
            if who[b, c, KEY] != code:  # the last impulse was another contact's and is no start for this one
                put(contact, b, c, HOLD, vec3(0.0))
            who[b, c, FIRST], who[b, c, SECOND], who[b, c, KEY] = i, j, code
            who[b, c, PAIR], who[b, c, KIND], who[b, c, RIDE], who[b, c, TOUCHES] = pair, kind, ride, touches
            if touches == 1:
                mark[b, pair] = CLOSED
        return ti.min(c + 1, contact.shape[1])

    return SimpleNamespace(
        get=get, put=put, get9=get9, place=place, between=between, incident=incident, clip=clip, follow=follow, add=add
    )  # fmt: skip
