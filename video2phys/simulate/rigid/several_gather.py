"""The contacts of a scene and where they go next, as Taichi functions of the kernel of several bodies (several_kernel.py)."""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its functions as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid import several_layout as at
from video2phys.simulate.rigid.several_contact import functions as geometry

STEEP = 0.1  # sine of the angle of two edges above which their crossing is followed
SURE = 1e-4  # of the gap that counts as touch: touches, however fast it approaches


@cache
def functions() -> SimpleNamespace:
    """The functions, made once."""
    ti = taichi()
    real = ti.f64
    vec3 = ti.types.vector(3, real)
    flags, flags3 = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=3)
    d2, d3 = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=real, ndim=3)
    spot = ti.types.struct(first=ti.i32, second=ti.i32, pair=ti.i32, kind=ti.i32, ride=ti.i32, key=ti.i32, point=vec3, normal=vec3,
                           edge1=vec3, edge2=vec3, gap=real)  # fmt: skip
    g = geometry()
    get, put, get9, between, incident, clip = g.get, g.put, g.get9, g.between, g.incident, g.clip

    @ti.real_func
    def follow(b: ti.i32, c: ti.i32, dt: real, body: d3, balls: d2, contact: d3, who: flags3):
        """Fill the contact's normal and arms dt from now, and the levers halfway, from the velocities of this moment.

        A corner stays with its body, a crossing on both edges, the point of a ball under its centre; the normal stays with the
        face, or normal to both edges. Both bodies have their levers from one point: that keeps angular momentum to round-off.
        """
        i, j, kind = who[b, c, at.FIRST], who[b, c, at.SECOND], who[b, c, at.KIND]
        p, n = get(contact, b, c, at.POINT), get(contact, b, c, at.NORMAL)
        d, e = get(contact, b, c, at.EDGE1), get(contact, b, c, at.EDGE2)
        xi, xj, vi, vj = get(body, b, i, at.X), get(body, b, j, at.X), get(body, b, i, at.V), get(body, b, j, at.V)
        wi, wj = get9(body, b, i, at.J) @ get(body, b, i, at.L), get9(body, b, j, at.J) @ get(body, b, j, at.L)
        ui, uj = vi + wi.cross(p - xi), vj + wj.cross(p - xj)
        moves, turns, across = ui, wj.cross(n), d.cross(e).dot(n)
        crosses = across * across > STEEP * STEEP * d.norm_sqr() * e.norm_sqr()
        if who[b, c, at.RIDE] == at.ON_SECOND:
            moves = uj
        elif who[b, c, at.RIDE] == at.CROSSING and crosses:
            moves = ui - d * ((ui - uj).cross(e).dot(n) / across)
        if kind == at.FACE1:
            turns = wi.cross(n)
        elif kind == at.EDGES and crosses:
            turns = (wi.cross(d).cross(e) + d.cross(wj.cross(e))) / across
            turns -= n * n.dot(turns)
        elif kind == at.BALL or kind == at.FLAT:
            centre = vi + wi.cross(p + balls[i, 4] * n - xi)
            if kind == at.BALL:
                radius = real(0.0)
                if j < balls.shape[0]:
                    radius = balls[j, 4]
                rel = centre - vj - wj.cross(p - radius * n - xj)
                rel -= n * n.dot(rel)
                turns = (rel - e * e.dot(rel)) / (balls[i, 4] + radius) + e * e.dot(turns)
            moves = centre - balls[i, 4] * turns
        put(contact, b, c, at.NORMAL_THEN, (n + dt * turns).normalized())
        put(contact, b, c, at.ARM1, p + dt * moves - xi - dt * vi)
        put(contact, b, c, at.ARM2, p + dt * moves - xj - dt * vj)
        put(contact, b, c, at.LEVER1, p + 0.5 * dt * moves - xi - 0.5 * dt * vi)
        put(contact, b, c, at.LEVER2, p + 0.5 * dt * moves - xj - 0.5 * dt * vj)

    @ti.real_func
    def add(b: ti.i32, c: ti.i32, sure: ti.i32, s: spot, touch: real, settle: real, body: d3, contact: d3, who: flags3,
            mark: flags) -> ti.i32:  # fmt: skip
        """Write contact c; the number of contacts then. One that approaches fast touches when it does, not a little before."""
        if c < contact.shape[1]:
            ui = get(body, b, s.first, at.V) + get(body, b, s.first, at.W).cross(s.point - get(body, b, s.first, at.X))
            uj = get(body, b, s.second, at.V) + get(body, b, s.second, at.W).cross(s.point - get(body, b, s.second, at.X))
            touches = ti.cast(sure == 1 or s.gap <= SURE * touch or (s.gap <= touch and (uj - ui).dot(s.normal) <= settle), ti.i32)
            put(contact, b, c, at.POINT, s.point)
            put(contact, b, c, at.NORMAL, s.normal)
            put(contact, b, c, at.EDGE1, s.edge1)
            put(contact, b, c, at.EDGE2, s.edge2)
            contact[b, c, at.GAP] = s.gap
            key = s.pair * 4096 + s.kind * 512 + s.key % 512
            if who[b, c, at.KEY] != key:  # the last impulse was another contact's and is no start for this one
                put(contact, b, c, at.HOLD, vec3(0.0))
            who[b, c, at.FIRST], who[b, c, at.SECOND], who[b, c, at.KEY] = s.first, s.second, key
            who[b, c, at.PAIR], who[b, c, at.KIND], who[b, c, at.RIDE], who[b, c, at.TOUCHES] = s.pair, s.kind, s.ride, touches
            if touches == 1:
                mark[b, s.pair] = at.CLOSED
        return ti.min(c + 1, contact.shape[1])

    @ti.real_func
    def gather(b: ti.i32, normal: vec3, offset: real, touch_share: real, settle: real, body: d3, balls: d2, table: flags,
               faces: flags, edges: flags, pairs: flags, corner: d3, side: d3, ring: d3, free: flags, contact: d3, who: flags3,
               mark: flags, depth: d2) -> ti.i32:  # fmt: skip
        """Fill the contacts, `mark` of the pairs, and `free` of the corners: those that the plane does not touch. Their number."""
        count, plane, none = 0, body.shape[1] - 1, vec3(0.0)
        for pair in range(pairs.shape[0]):
            i, j = pairs[pair, 0], pairs[pair, 1]
            mark[b, pair] = at.OPEN
            s = spot(first=i, second=j, pair=pair, kind=at.FLAT, ride=at.ON_FIRST, key=0, point=none, normal=normal, edge1=none,
                     edge2=none, gap=0.0)  # fmt: skip
            if j == plane:
                touch = touch_share * balls[i, 3]
                if balls[i, 4] > 0:
                    s.point = get(body, b, i, at.ORIGIN) - balls[i, 4] * normal
                    s.gap = s.point.dot(normal) - offset
                    if s.gap <= touch:
                        count = add(b, count, 0, s, touch, settle, body, contact, who, mark)
                else:
                    x, v, w, number, k = get(body, b, i, at.X), get(body, b, i, at.V), get(body, b, i, at.W), 0, 0
                    for p in range(table[i, 0], table[i, 1]):
                        r = get(corner, b, p, 0)
                        gap, approach = r.dot(normal) - offset, -(v + w.cross(r - x)).dot(normal)
                        free[b, p] = ti.cast(not (gap <= SURE * touch or (gap <= touch and approach <= settle)), ti.i32)
                        number += 1 - free[b, p]
                    s.kind = at.FACE2
                    for p in range(table[i, 0], table[i, 1]):
                        if free[b, p] == 0:
                            if number <= at.POINTS or (k * at.POINTS) % number < at.POINTS:  # of many, POINTS evenly
                                s.point, s.key = get(corner, b, p, 0), p
                                s.gap = s.point.dot(normal) - offset
                                count = add(b, count, 1, s, touch, settle, body, contact, who, mark)
                            k += 1
            else:
                touch = touch_share * ti.min(balls[i, 3], balls[j, 3])
                hit = between(b, i, j, touch, body, balls, table, faces, edges, corner, side)
                depth[b, pair] = ti.min(hit.gap, 0.0) - 2 * touch
                s.kind, s.normal, s.gap, s.edge2 = hit.kind, hit.normal, hit.gap, hit.along
                if hit.gap <= touch and (hit.kind == at.BALL or hit.kind == at.FLAT):
                    s.point = get(body, b, i, at.ORIGIN) - balls[i, 4] * hit.normal
                    count = add(b, count, 0, s, touch, settle, body, contact, who, mark)
                elif hit.gap <= touch and hit.kind == at.EDGES:
                    p, q = get(corner, b, edges[hit.one, 0], 0), get(corner, b, edges[hit.two, 0], 0)
                    s.edge1, s.edge2 = get(corner, b, edges[hit.one, 1], 0) - p, get(corner, b, edges[hit.two, 1], 0) - q
                    across = s.edge1.cross(s.edge2)
                    p += s.edge1 * ((q - p).cross(s.edge2).dot(across) / across.norm_sqr())
                    q += s.edge2 * ((q - p).cross(s.edge1).dot(across) / across.norm_sqr())
                    s.point, s.ride = 0.5 * (p + q), at.CROSSING
                    count = add(b, count, 0, s, touch, settle, body, contact, who, mark)
                elif hit.gap <= touch:
                    other, rides = j, at.ON_SECOND
                    if hit.kind == at.FACE2:
                        other, rides = i, at.ON_FIRST
                    n, k, reach = get(side, b, hit.one, 0), 0, ti.max(hit.gap, 0.0) + at.REACH * ti.min(balls[i, 3], balls[j, 3])
                    corners = clip(b, hit.one, incident(b, other, hit.two, n, table, faces, side), faces, corner, side, ring)
                    number = 0
                    for c in range(corners):
                        number += ti.cast(n.dot(get(ring, b, c, 0)) - side[b, hit.one, 3] <= reach, ti.i32)
                    for c in range(corners):
                        s.point = get(ring, b, c, 0)
                        s.gap = n.dot(s.point) - side[b, hit.one, 3]
                        if s.gap <= reach:
                            if number <= at.POINTS or (k * at.POINTS) % number < at.POINTS:
                                s.point -= 0.5 * s.gap * n
                                s.key, s.ride, s.edge1, s.edge2 = k, rides, get(ring, b, c, 5), get(ring, b, c, 8)
                                if ring[b, c, 3] == at.CROSSING:
                                    s.ride = at.CROSSING
                                elif ring[b, c, 3] == at.CORNER_OF_F:
                                    s.ride = at.ON_FIRST + at.ON_SECOND - rides
                                if hit.kind == at.FACE2:
                                    s.edge1, s.edge2 = get(ring, b, c, 8), get(ring, b, c, 5)
                                count = add(b, count, 0, s, touch, settle, body, contact, who, mark)
                            k += 1
                    if mark[b, pair] == at.OPEN and hit.gap <= SURE * touch:  # the clipping left nothing of the lowest corner
                        s.point, s.gap, s.ride, s.key = get(corner, b, hit.two, 0), hit.gap, rides, k
                        count = add(b, count, 1, s, touch, settle, body, contact, who, mark)
        return count

    return SimpleNamespace(follow=follow, gather=gather)
