"""One Taichi kernel that moves a batch of scenes of rigid bodies, in float64, one thread a scene; geometry in several_contact.py.

Free motion is that of spatial_kernel.py: parabolas, constant angular momentum, Runge-Kutta of order 4 for the quaternion. A
step of length h goes from event to event:
1. Impacts. Pairs with a point that touches and approaches collide: Newton's v_n' = -e v_n and Coulomb's |p_t| <= mu p_n at all
   points of those pairs, by projected Gauss-Seidel (Jean and Moreau 1992). Elastic pairs that only touch wait for the next
   round, so that a row of balls hands a blow on; those without restitution join at once, so that a stack takes it. Newton's law with friction can create energy (Kane 1984): impulses are then blended
   with those of e = 0, which cannot, up to the largest share that keeps the energy.
2. Contact. Forces, constant until the next event, keep the points that touch from approaching at its end, within Coulomb's cone.
3. The bodies advance to the first impact of a pair, a root of its gap (regula falsi, Illinois), or of a further point of bodies
   that touch already, where the gap is taken as linear; what that misses is cut at twice the gap that counts as touch. Overlap of third order in h is taken out by moving bodies apart.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid.several_contact import (
    ARM1, ARM2, BALL, CENTRE, CLOSED, CORNER_OF_F, CORNER_OF_G, CROSSING, DRAG, E, EDGES, FACE2, FAR, FIRST, FLAT, FORCE, GAP, GOAL, HOLD,
    INVERSE, J, K_ACROSS, K_NORMAL, L, LEVER1, LIGHT, M, M_REST, MIDDLE, MU, NORMAL, NORMAL_THEN, ON_FIRST, ON_SECOND, OPEN, ORIGIN,
    P, P_REST, PAIR, POINT, POINTS, PULSE, Q, Q_THEN, REACH, SECOND, STRUCK, TORQUE, TOUCHES, U, V, W, X, X_THEN, functions,
)  # fmt: skip
from video2phys.simulate.rigid.spatial_geometry import functions as one_body

EVENTS = 500  # impacts in one step; what is left of it then goes on without looking for more
ROUNDS = 12  # of impacts at one moment; then all points that touch are solved together
SWEEPS = 300  # of Gauss-Seidel at most
EXACT = 1e-9  # of the largest impulse: change in a sweep that ends the solve
STILL = 1e-6  # [length unit/s] a scene whose bodies are all slower than this at both ends of a step stays as it is


@cache
def kernels() -> SimpleNamespace:
    """`roll` and `measure`: see several.rollout and several.gaps for shapes and units."""
    ti = taichi()
    real = ti.f64
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    flags, flags3 = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=3)
    d1, d2, d3, d4 = (ti.types.ndarray(dtype=real, ndim=n) for n in (1, 2, 3, 4))

    g = functions()
    get, put, get9, place, between, incident, clip, follow, add = (
        g.get, g.put, g.get9, g.place, g.between, g.incident, g.clip, g.follow, g.add
    )  # fmt: skip
    matrix, turned = one_body().matrix, one_body().turned

    @ti.real_func
    def start(b: ti.i32, dt: real, body: d3):
        """Velocities dt from now under FORCE, without impulses; J as then."""
        for i in range(body.shape[1] - 1):
            q = vec4([body[b, i, Q + k] for k in ti.static(range(4))])
            if dt > 0:
                q = turned(q, get(body, b, i, L), vec3(0.0), dt, get9(body, b, i, INVERSE))
            R = matrix(q)
            world = R @ get9(body, b, i, INVERSE) @ R.transpose()
            for r, c in ti.static(ti.ndrange(3, 3)):
                body[b, i, J + 3 * r + c] = world[r, c]
            put(body, b, i, U, get(body, b, i, V) + dt * get(body, b, i, FORCE))
            put(body, b, i, W, world @ get(body, b, i, L))
            put(body, b, i, P, vec3(0.0))
            put(body, b, i, M, vec3(0.0))

    @ti.real_func
    def gather(b: ti.i32, normal: vec3, offset: real, touch_share: real, settle: real, body: d3, balls: d2, table: flags,
               faces: flags, edges: flags, pairs: flags, corner: d3, side: d3, ring: d3, free: flags, contact: d3, who: flags3,
               mark: flags, depth: d2) -> ti.i32:  # fmt: skip
        """Fill the contacts, `mark` of the pairs, and `free` of the corners: those that the plane does not touch. Their number."""
        count, plane, none = 0, body.shape[1] - 1, vec3(0.0)
        for pair in range(pairs.shape[0]):
            i, j = pairs[pair, 0], pairs[pair, 1]
            mark[b, pair] = OPEN
            if j == plane:
                touch = touch_share * balls[i, 3]
                if balls[i, 4] > 0:
                    p = get(body, b, i, ORIGIN) - balls[i, 4] * normal
                    if p.dot(normal) - offset <= touch:
                        count = add(b, count, i, j, pair, FLAT, ON_FIRST, 0, p, normal, none, none, p.dot(normal) - offset, 0, touch, settle, body,
                                    contact, who, mark)  # fmt: skip
                else:
                    x, v, w, all_, k = get(body, b, i, X), get(body, b, i, V), get(body, b, i, W), 0, 0
                    for p in range(table[i, 0], table[i, 1]):
                        at = get(corner, b, p, 0)
                        gap, approach = at.dot(normal) - offset, -(v + w.cross(at - x)).dot(normal)
                        free[b, p] = ti.cast(not (gap <= 1e-4 * touch or (gap <= touch and approach <= settle)), ti.i32)
                        all_ += 1 - free[b, p]
                    for p in range(table[i, 0], table[i, 1]):
                        if free[b, p] == 0:
                            if all_ <= POINTS or (k * POINTS) % all_ < POINTS:  # POINTS of them, evenly
                                at = get(corner, b, p, 0)
                                count = add(b, count, i, j, pair, FACE2, ON_FIRST, p, at, normal, none, none, at.dot(normal) - offset, 1,
                                            touch, settle, body, contact, who, mark)  # fmt: skip
                            k += 1
            else:
                touch = touch_share * ti.min(balls[i, 3], balls[j, 3])
                hit = between(b, i, j, touch, body, balls, table, faces, edges, corner, side)
                depth[b, pair] = ti.min(hit.gap, 0.0) - 2 * touch
                if hit.gap <= touch and (hit.kind == BALL or hit.kind == FLAT):
                    p = get(body, b, i, ORIGIN) - balls[i, 4] * hit.normal
                    count = add(b, count, i, j, pair, hit.kind, ON_FIRST, 0, p, hit.normal, none, hit.along, hit.gap, 0, touch, settle, body, contact, who,
                                mark)  # fmt: skip
                elif hit.gap <= touch and hit.kind == EDGES:
                    p, q = get(corner, b, edges[hit.one, 0], 0), get(corner, b, edges[hit.two, 0], 0)
                    d, e = get(corner, b, edges[hit.one, 1], 0) - p, get(corner, b, edges[hit.two, 1], 0) - q
                    across = d.cross(e)
                    p += d * (q - p).cross(e).dot(across) / across.norm_sqr()
                    q += e * (q - p).cross(d).dot(across) / across.norm_sqr()
                    count = add(b, count, i, j, pair, EDGES, CROSSING, 0, 0.5 * (p + q), hit.normal, d, e, hit.gap, 0, touch, settle,
                                body, contact, who, mark)  # fmt: skip
                elif hit.gap <= touch:
                    other, rides = j, ON_SECOND
                    if hit.kind == FACE2:
                        other, rides = i, ON_FIRST
                    n = get(side, b, hit.one, 0)
                    number = clip(b, hit.one, incident(b, other, hit.two, n, table, faces, side), faces, corner, side, ring)
                    all_, k, reach = 0, 0, ti.max(hit.gap, 0.0) + REACH * ti.min(balls[i, 3], balls[j, 3])
                    for c in range(number):
                        p = get(ring, b, c, 0)
                        all_ += ti.cast(n.dot(p) - side[b, hit.one, 3] <= reach, ti.i32)
                    for c in range(number):
                        p = get(ring, b, c, 0)
                        gap = n.dot(p) - side[b, hit.one, 3]
                        if gap <= reach:
                            if all_ <= POINTS or (k * POINTS) % all_ < POINTS:
                                ride, edge1, edge2 = rides, get(ring, b, c, 5), get(ring, b, c, 8)
                                if ring[b, c, 3] == CROSSING:
                                    ride = CROSSING
                                elif ring[b, c, 3] == CORNER_OF_F:
                                    ride = ON_FIRST + ON_SECOND - rides
                                if hit.kind == FACE2:
                                    edge1, edge2 = edge2, edge1
                                count = add(b, count, i, j, pair, hit.kind, ride, k, p - 0.5 * gap * n, hit.normal, edge1, edge2, gap, 0,
                                            touch, settle, body, contact, who, mark)  # fmt: skip
                            k += 1
                    if mark[b, pair] == OPEN and hit.gap <= 1e-4 * touch:  # the clipping left nothing of the lowest corner
                        count = add(b, count, i, j, pair, hit.kind, rides, POINTS, get(corner, b, hit.two, 0), hit.normal, none, none,
                                    hit.gap, 1, touch, settle, body, contact, who, mark)  # fmt: skip
        return count

    @ti.real_func
    def separate(b: ti.i32, count: ti.i32, touch_share: real, body: d3, balls: d2, contact: d3, who: flags3):
        """Move bodies that overlap apart, lighter ones farther: their common centre stays, and so do all velocities."""
        deep = 0
        for c in range(count):
            deep += ti.cast(contact[b, c, GAP] < -0.5 * touch_share * balls[who[b, c, FIRST], 3], ti.i32)
        if deep > 0:
            for i in range(body.shape[1]):
                put(body, b, i, P, vec3(0.0))
            for _ in range(30):
                for c in range(count):
                    i, j, n = who[b, c, FIRST], who[b, c, SECOND], get(contact, b, c, NORMAL)
                    gap = contact[b, c, GAP] + (get(body, b, i, P) - get(body, b, j, P)).dot(n)
                    if gap < 0:
                        share = -gap / (body[b, i, LIGHT] + body[b, j, LIGHT])
                        put(body, b, i, P, get(body, b, i, P) + share * body[b, i, LIGHT] * n)
                        put(body, b, j, P, get(body, b, j, P) - share * body[b, j, LIGHT] * n)
            for i in range(body.shape[1] - 1):
                put(body, b, i, X, get(body, b, i, X) + get(body, b, i, P))

    @ti.real_func
    def shared(b: ti.i32, c: ti.i32, k: ti.i32, body: d3, who: flags3) -> real:
        """A contact's friction or restitution: geometric mean of both bodies', and the body's own on the plane."""
        one, two = body[b, who[b, c, FIRST], k], body[b, who[b, c, SECOND], k]
        if who[b, c, SECOND] < body.shape[1] - 1:
            one = ti.sqrt(one * two)
        return one

    @ti.real_func
    def push(b: ti.i32, c: ti.i32, p: vec3, body: d3, contact: d3, who: flags3):
        """The impulse p on the first body, -p on the second."""
        for half in ti.static(range(2)):
            i, sign = who[b, c, FIRST + half], 1.0 - 2.0 * half
            m = get(contact, b, c, LEVER1 + 3 * half).cross(sign * p)
            put(body, b, i, U, get(body, b, i, U) + sign * body[b, i, LIGHT] * p)
            put(body, b, i, W, get(body, b, i, W) + get9(body, b, i, J) @ m)
            put(body, b, i, P, get(body, b, i, P) + sign * p)
            put(body, b, i, M, get(body, b, i, M) + m)

    @ti.real_func
    def slip(b: ti.i32, c: ti.i32, body: d3, contact: d3, who: flags3) -> vec3:
        """Velocity of the first body against the second at the contact."""
        i, j = who[b, c, FIRST], who[b, c, SECOND]
        ui = get(body, b, i, U) + get(body, b, i, W).cross(get(contact, b, c, ARM1))
        return ui - get(body, b, j, U) - get(body, b, j, W).cross(get(contact, b, c, ARM2))

    @ti.real_func
    def solve(b: ti.i32, count: ti.i32, least: ti.i32, body: d3, contact: d3, who: flags3, mark: flags):
        """Impulses that bring the velocities of contacts to GOAL (normal: at least), from PULSE on, for pairs marked `least` or more."""
        for c in range(count):
            if who[b, c, TOUCHES] == 1 and mark[b, who[b, c, PAIR]] >= least:
                n = get(contact, b, c, NORMAL_THEN)
                t1 = n.cross(vec3(1.0, 0.0, 0.0))
                if ti.abs(n[0]) > 0.7:
                    t1 = n.cross(vec3(0.0, 1.0, 0.0))
                t1 = t1.normalized()
                t2 = n.cross(t1)
                light = body[b, who[b, c, FIRST], LIGHT] + body[b, who[b, c, SECOND], LIGHT]
                k_nn, k11, k12, k22 = light, light, 0.0, light
                for half in ti.static(range(2)):
                    inverse, r = get9(body, b, who[b, c, FIRST + half], J), get(contact, b, c, ARM1 + 3 * half)
                    k_nn += r.cross(n).dot(inverse @ get(contact, b, c, LEVER1 + 3 * half).cross(n))
                    i1 = inverse @ r.cross(t1)
                    k11, k12 = k11 + r.cross(t1).dot(i1), k12 + r.cross(t2).dot(i1)
                    k22 += r.cross(t2).dot(inverse @ r.cross(t2))
                contact[b, c, K_NORMAL] = k_nn
                contact[b, c, K_ACROSS] = 0.5 * (k11 + k22) + ti.sqrt(0.25 * (k11 - k22) ** 2 + k12 * k12)
                push(b, c, get(contact, b, c, PULSE), body, contact, who)
        sweep, going = 0, count > 0
        while going:
            change, size = 0.0, 1e-300
            for c in range(count):
                if who[b, c, TOUCHES] == 1 and mark[b, who[b, c, PAIR]] >= least:
                    n, p, to = get(contact, b, c, NORMAL_THEN), get(contact, b, c, PULSE), get(contact, b, c, GOAL)
                    pn = ti.max(0.0, p.dot(n) - (slip(b, c, body, contact, who) - to).dot(n) / contact[b, c, K_NORMAL])
                    step = (pn - p.dot(n)) * n
                    push(b, c, step, body, contact, who)
                    p += step
                    change = ti.max(change, step.norm())
                    u = slip(b, c, body, contact, who)
                    t = p - pn * n
                    want = t - (u - u.dot(n) * n) / contact[b, c, K_ACROSS]
                    most = shared(b, c, MU, body, who) * pn
                    if want.norm() > most:
                        want *= most / want.norm()
                    push(b, c, want - t, body, contact, who)
                    change = ti.max(change, (want - t).norm())
                    size = ti.max(size, (pn * n + want).norm())
                    put(contact, b, c, PULSE, pn * n + want)
            sweep += 1
            going = sweep < SWEEPS and change > EXACT * size

    @ti.real_func
    def kinetic(b: ti.i32, share: real, body: d3) -> real:
        """Energy of motion with `share` of the way from the impulses P_REST, M_REST to P, M."""
        total = 0.0
        for i in range(body.shape[1] - 1):
            p = get(body, b, i, P_REST) + share * (get(body, b, i, P) - get(body, b, i, P_REST))
            m = get(body, b, i, M_REST) + share * (get(body, b, i, M) - get(body, b, i, M_REST))
            v, l = get(body, b, i, V) + body[b, i, LIGHT] * p, get(body, b, i, L) + m  # noqa: E741
            total += 0.5 * (v.norm_sqr() / body[b, i, LIGHT] + l.dot(get9(body, b, i, J) @ l))
        return total

    @ti.real_func
    def keep(b: ti.i32, body: d3):
        """P_REST and M_REST are the impulses just found."""
        for i in range(body.shape[1] - 1):
            put(body, b, i, P_REST, get(body, b, i, P))
            put(body, b, i, M_REST, get(body, b, i, M))

    @ti.real_func
    def impact(b: ti.i32, frame: ti.i32, count: ti.i32, settle: real, body: d3, balls: d2, contact: d3, who: flags3, mark: flags,
               hits: flags3):  # fmt: skip
        """Rounds of impacts until no touching pair approaches."""
        going, turn = count > 0, 0
        while going:
            start(b, 0.0, body)
            going, fastest = False, 0.0
            for c in range(count):
                if who[b, c, TOUCHES] == 1:
                    follow(b, c, 0.0, body, balls, contact, who)
                    n = get(contact, b, c, NORMAL)
                    approach = -slip(b, c, body, contact, who).dot(n)
                    fade = ti.min(ti.max(approach / settle - 1, 0.0), 1.0)
                    put(contact, b, c, GOAL, shared(b, c, E, body, who) * fade * ti.max(approach, 0.0) * n)
                    put(contact, b, c, PULSE, vec3(0.0))
                    if approach > 1e-7 * settle:
                        mark[b, who[b, c, PAIR]] = STRUCK
                        going = True
                        fastest = ti.max(fastest, approach)
                    if approach > settle:
                        for half in ti.static(range(2)):
                            if who[b, c, FIRST + half] < hits.shape[2]:
                                hits[b, frame, who[b, c, FIRST + half]] += 1
            if going:
                least = STRUCK
                if turn == ROUNDS:
                    least, going = CLOSED, False
                for c in range(count):
                    if who[b, c, TOUCHES] == 1 and (fastest <= settle or shared(b, c, E, body, who) == 0):
                        mark[b, who[b, c, PAIR]] = STRUCK
                keep(b, body)  # nothing yet
                before = kinetic(b, 0.0, body)
                solve(b, count, least, body, contact, who, mark)
                share = 1.0
                if kinetic(b, 1.0, body) > before:
                    keep(b, body)
                    start(b, 0.0, body)
                    for c in range(count):
                        put(contact, b, c, GOAL, vec3(0.0))
                        put(contact, b, c, PULSE, vec3(0.0))
                    solve(b, count, least, body, contact, who, mark)
                    # now P is without restitution and P_REST with it: share counts from the latter
                    full, half, none = kinetic(b, 0.0, body), kinetic(b, 0.5, body), kinetic(b, 1.0, body)
                    bend = 2 * (full + none - 2 * half)
                    slope = full - none - bend
                    inner = ti.max(slope * slope - 4 * bend * (none - before), 0.0)
                    share = 1.0
                    if bend > 1e-14 * before:
                        share = 1 - ti.min(ti.max((ti.sqrt(inner) - slope) / (2 * bend), 0.0), 1.0)
                else:
                    keep(b, body)
                for i in range(body.shape[1] - 1):
                    p = get(body, b, i, P_REST) + share * (get(body, b, i, P) - get(body, b, i, P_REST))
                    put(body, b, i, V, get(body, b, i, V) + body[b, i, LIGHT] * p)
                    put(body, b, i, L, get(body, b, i, L) + get(body, b, i, M_REST)
                        + share * (get(body, b, i, M) - get(body, b, i, M_REST)))  # fmt: skip
                for c in range(count):
                    if mark[b, who[b, c, PAIR]] == STRUCK:
                        mark[b, who[b, c, PAIR]] = CLOSED
            turn += 1

    @ti.real_func
    def hold(b: ti.i32, count: ti.i32, dt: real, dt_before: real, gravity: vec3, body: d3, balls: d2, contact: d3, who: flags3,
             mark: flags) -> ti.i32:  # fmt: skip
        """FORCE and TORQUE for the next dt; 1 where nothing moves before or after."""
        for i in range(body.shape[1] - 1):
            middle = get(body, b, i, V) + 0.5 * dt * gravity
            put(body, b, i, FORCE, gravity - body[b, i, DRAG] * middle.norm() * middle)
            put(body, b, i, TORQUE, vec3(0.0))
        for c in range(count):
            follow(b, c, dt, body, balls, contact, who)
            put(contact, b, c, GOAL, vec3(0.0))
            put(contact, b, c, PULSE, get(contact, b, c, HOLD) * (dt / dt_before))
        still = ti.cast(count > 0, ti.i32)
        for i in range(body.shape[1] - 1):
            turning = (get9(body, b, i, J) @ get(body, b, i, L)).norm_sqr() * balls[i, 3] ** 2
            if not get(body, b, i, V).norm_sqr() + turning < STILL**2:
                still = 0
        start(b, dt, body)
        solve(b, count, CLOSED, body, contact, who, mark)
        for c in range(count):
            put(contact, b, c, HOLD, get(contact, b, c, PULSE))
        for i in range(body.shape[1] - 1):
            if not get(body, b, i, U).norm_sqr() + get(body, b, i, W).norm_sqr() * balls[i, 3] ** 2 < STILL**2:
                still = 0
            put(body, b, i, FORCE, get(body, b, i, FORCE) + get(body, b, i, P) * (body[b, i, LIGHT] / dt))
            put(body, b, i, TORQUE, get(body, b, i, M) / dt)
        return still

    @ti.real_func
    def nearest(b: ti.i32, t: real, normal: vec3, offset: real, body: d3, points: d2, planes: d2, balls: d2, table: flags,
                faces: flags, edges: flags, pairs: flags, corner: d3, side: d3, free: flags, mark: flags, depth: d2) -> real:  # fmt: skip
        """Smallest gap, t from now, of all that does not touch now; for polyhedra that do, what is left until they overlap further."""
        place(b, t, body, points, planes, table, balls, corner, side)
        least = 1e300
        for pair in range(pairs.shape[0]):
            i, j = pairs[pair, 0], pairs[pair, 1]
            if j == body.shape[1] - 1:
                high = get(body, b, i, MIDDLE).dot(normal) - offset - balls[i, 3]
                if balls[i, 4] > 0:
                    if mark[b, pair] == OPEN:
                        least = ti.min(least, high)
                elif high > FAR * balls[i, 3]:
                    least = ti.min(least, high)
                else:
                    for p in range(table[i, 0], table[i, 1]):
                        if free[b, p] == 1:
                            least = ti.min(least, get(corner, b, p, 0).dot(normal) - offset)
            elif mark[b, pair] == OPEN or balls[i, 4] == 0:
                gap = between(b, i, j, 0.0, body, balls, table, faces, edges, corner, side).gap
                if mark[b, pair] == CLOSED:
                    gap -= depth[b, pair]
                least = ti.min(least, gap)
        return least

    @ti.real_func
    def until(b: ti.i32, count: ti.i32, left: real, small: real, settle: real, normal: vec3, offset: real, body: d3, points: d2,
              planes: d2, balls: d2, table: flags, faces: flags, edges: flags, pairs: flags, corner: d3, side: d3, free: flags,
              contact: d3, who: flags3, mark: flags, depth: d2) -> real:  # fmt: skip
        """Time to the next impact, or `left` if there is none before; the bodies are placed there."""
        take = left
        for c in range(count):
            i, j, gap = who[b, c, FIRST], who[b, c, SECOND], contact[b, c, GAP]
            if who[b, c, TOUCHES] == 0 and mark[b, who[b, c, PAIR]] == CLOSED:
                p, u = get(contact, b, c, POINT), vec3(0.0)
                for half in ti.static(range(2)):
                    k = who[b, c, FIRST + half]
                    w = 0.5 * (get(body, b, k, W) + get9(body, b, k, J) @ get(body, b, k, L))
                    u += (1.0 - 2.0 * half) * (0.5 * (get(body, b, k, U) + get(body, b, k, V)) + w.cross(p - get(body, b, k, X)))
                approach = -u.dot(get(contact, b, c, NORMAL))
                if approach > settle and gap > 0:
                    take = ti.min(take, gap / approach)
        low, high, side_, low_gap, high_gap, going, turn = 0.0, take, 0, 0.0, 1.0, 1, 0
        while going == 1:
            least = nearest(b, take, normal, offset, body, points, planes, balls, table, faces, edges, pairs, corner, side, free, mark,
                            depth)  # fmt: skip
            if turn == 0:
                high_gap = least
                if least >= 0:
                    going = 0
                else:
                    low_gap = nearest(b, 0.0, normal, offset, body, points, planes, balls, table, faces, edges, pairs, corner, side, free,
                                      mark, depth)  # fmt: skip
            elif ti.abs(least) < small or high - low < 1e-15 or turn > 60:
                going = 0
            elif least > 0:
                low, low_gap = take, least
                if side_ == 1:
                    high_gap *= 0.5
                side_ = 1
            else:
                high, high_gap = take, least
                if side_ == -1:
                    low_gap *= 0.5
                side_ = -1
            turn += 1
            if going == 1:
                take = low + (high - low) * ti.max(low_gap, 0.0) / (ti.max(low_gap, 0.0) - high_gap)
        return take

    @ti.kernel
    def roll(points: d2, planes: d2, faces: flags, edges: flags, table: flags, balls: d2, pairs: flags, times: d2, steps: flags,
             gravity_in: d2, normal_in: d2, offset_in: d1, touch: real, settle: real, body: d3, corner: d3, side: d3, ring: d3,
             free: flags, contact: d3, who: flags3, mark: flags, depth: d2, out: d4, hits: flags3):  # fmt: skip
        # the CPU back-end gives a thread 512 iterations at least, so only every 512th does work: one scene each
        ti.loop_config(block_dim=64)
        for slot in range(body.shape[0] * 512):
            if slot % 512 != 0:
                continue
            b = slot // 512
            gravity = vec3(gravity_in[b, 0], gravity_in[b, 1], gravity_in[b, 2])
            normal, offset = vec3(normal_in[b, 0], normal_in[b, 1], normal_in[b, 2]), offset_in[b]
            small = 1e300
            for i in range(balls.shape[0]):
                small = ti.min(small, 1e-8 * touch * balls[i, 3])
            still, before = 0, 1.0
            for frame in range(times.shape[1]):
                if frame > 0:
                    whole = times[b, frame] - times[b, frame - 1]
                    for _ in range(steps[b, frame - 1]):
                        left, events = whole / steps[b, frame - 1], 0
                        while left > 1e-13 and still == 0:
                            events += 1
                            place(b, 0.0, body, points, planes, table, balls, corner, side)
                            start(b, 0.0, body)
                            count = gather(b, normal, offset, touch, settle, body, balls, table, faces, edges, pairs, corner, side, ring,
                                           free, contact, who, mark, depth)  # fmt: skip
                            separate(b, count, touch, body, balls, contact, who)
                            impact(b, frame, count, settle, body, balls, contact, who, mark, hits)
                            start(b, 0.0, body)
                            still = hold(b, count, left, before, gravity, body, balls, contact, who, mark)
                            before, take = left, left
                            if events <= EVENTS:
                                take = until(b, count, left, small, settle, normal, offset, body, points, planes, balls, table, faces,
                                             edges, pairs, corner, side, free, contact, who, mark, depth)  # fmt: skip
                            else:
                                place(b, left, body, points, planes, table, balls, corner, side)
                            for i in range(balls.shape[0]):
                                put(body, b, i, X, get(body, b, i, X_THEN))
                                put(body, b, i, V, get(body, b, i, V) + take * get(body, b, i, FORCE))
                                put(body, b, i, L, get(body, b, i, L) + take * get(body, b, i, TORQUE))
                                for k in ti.static(range(4)):
                                    body[b, i, Q + k] = body[b, i, Q_THEN + k]
                            left -= take
                for i in range(balls.shape[0]):
                    for k in ti.static(range(13)):  # position, quaternion, velocity, momentum
                        out[b, frame, i, k] = body[b, i, k]

    @ti.kernel
    def measure(points: d2, planes: d2, faces: flags, edges: flags, table: flags, balls: d2, pairs: flags, normal_in: d2,
                offset_in: d1, body: d3, corner: d3, side: d3, gaps: d2):  # fmt: skip
        ti.loop_config(block_dim=64)
        for slot in range(body.shape[0] * 512):
            if slot % 512 != 0:
                continue
            b = slot // 512
            normal = vec3(normal_in[b, 0], normal_in[b, 1], normal_in[b, 2])
            place(b, 0.0, body, points, planes, table, balls, corner, side)
            for pair in range(pairs.shape[0]):
                i, j = pairs[pair, 0], pairs[pair, 1]
                if j == balls.shape[0]:
                    least = get(body, b, i, ORIGIN).dot(normal) - balls[i, 4]
                    if balls[i, 4] == 0:
                        least = 1e300
                        for p in range(table[i, 0], table[i, 1]):
                            least = ti.min(least, get(corner, b, p, 0).dot(normal))
                    gaps[b, pair] = least - offset_in[b]
                else:
                    gaps[b, pair] = between(b, i, j, 0.0, body, balls, table, faces, edges, corner, side).gap

    return SimpleNamespace(roll=roll, measure=measure)
