"""One Taichi kernel that moves a batch of scenes of rigid bodies, in float64, one thread a scene; geometry in several_contact.py.

Free motion is that of spatial_kernel.py: parabolas, constant angular momentum, Runge-Kutta of order 4 for the quaternion. A
step of length h goes from event to event:
1. Impacts. Pairs with a point that touches and approaches collide: Newton's v_n' = -e v_n and Coulomb's |p_t| <= mu p_n at all
   points of those pairs, by projected Gauss-Seidel (Jean and Moreau 1992). Elastic pairs that only touch wait for the next
   round, so that a row of balls hands a blow on; those without restitution join at once, so that a stack takes it.
   Newton's law with friction can create energy (Kane 1984): impulses are then blended with those of e = 0, which cannot, up
   to the largest share that keeps the energy.
2. Contact. Forces, constant until the next event, keep the points that touch from approaching at its end, within Coulomb's cone.
3. The bodies advance to the first impact of a pair, a root of its gap (regula falsi, Illinois), or of a further point of bodies
   that touch already, where the gap is taken as linear; what that misses is cut at twice the gap that counts as touch.
   Overlap of third order in h is taken out by moving bodies apart.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid import several_layout as at
from video2phys.simulate.rigid.several_contact import functions as geometry
from video2phys.simulate.rigid.several_gather import functions as contacts
from video2phys.simulate.rigid.several_solver import functions as solver

EVENTS = 500  # in one step: the last takes what is left of it without looking for more impacts


@cache
def kernels() -> SimpleNamespace:
    """`roll` and `measure`: see several.rollout and several.gaps for shapes and units."""
    ti = taichi()
    real = ti.f64
    vec3 = ti.types.vector(3, real)
    flags, flags3 = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=3)
    d1, d2, d3, d4 = (ti.types.ndarray(dtype=real, ndim=n) for n in (1, 2, 3, 4))

    g, s = geometry(), solver()
    get, put, get9, place, between, gather = g.get, g.put, g.get9, g.place, g.between, contacts().gather
    start, separate, impact, hold = s.start, s.separate, s.impact, s.hold

    @ti.real_func
    def nearest(b: ti.i32, t: real, normal: vec3, offset: real, body: d3, points: d2, planes: d2, balls: d2, table: flags,
                faces: flags, edges: flags, pairs: flags, corner: d3, side: d3, free: flags, mark: flags, depth: d2) -> real:  # fmt: skip
        """Smallest gap, t from now, of all that does not touch now; for polyhedra that do, what is left until they overlap further."""
        place(b, t, body, points, planes, table, balls, corner, side)
        least = real(1e300)
        for pair in range(pairs.shape[0]):
            i, j = pairs[pair, 0], pairs[pair, 1]
            if j == body.shape[1] - 1:
                high = get(body, b, i, at.MIDDLE).dot(normal) - offset - balls[i, 3]
                if balls[i, 4] > 0:
                    if mark[b, pair] == at.OPEN:
                        least = ti.min(least, high)
                elif high > at.FAR * balls[i, 3]:
                    least = ti.min(least, high)
                else:
                    for p in range(table[i, 0], table[i, 1]):
                        if free[b, p] == 1:
                            least = ti.min(least, get(corner, b, p, 0).dot(normal) - offset)
            elif mark[b, pair] == at.OPEN or balls[i, 4] == 0:
                gap = between(b, i, j, 0.0, body, balls, table, faces, edges, corner, side).gap
                if mark[b, pair] == at.CLOSED:
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
            gap = contact[b, c, at.GAP]
            if who[b, c, at.TOUCHES] == 0 and mark[b, who[b, c, at.PAIR]] == at.CLOSED:
                p, u = get(contact, b, c, at.POINT), vec3(0.0)
                for half in ti.static(range(2)):
                    k = who[b, c, at.FIRST + half]
                    w = 0.5 * (get(body, b, k, at.W) + get9(body, b, k, at.J) @ get(body, b, k, at.L))
                    u += (1.0 - 2.0 * half) * (0.5 * (get(body, b, k, at.U) + get(body, b, k, at.V)) + w.cross(p - get(body, b, k, at.X)))
                approach = -u.dot(get(contact, b, c, at.NORMAL))
                if approach > settle and gap > 0:
                    take = ti.min(take, gap / approach)
        low, high, side_, low_gap, high_gap, going, turn = real(0.0), take, 0, real(0.0), real(1.0), 1, 0
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
            small = real(1e300)
            for i in range(balls.shape[0]):
                small = ti.min(small, 1e-8 * touch * balls[i, 3])
            still, before = 0, real(1.0)
            for frame in range(times.shape[1]):
                if frame > 0:
                    whole = times[b, frame] - times[b, frame - 1]
                    for _ in range(steps[b, frame - 1]):
                        left, events = whole / steps[b, frame - 1], 0
                        while left > 1e-13 and still == 0 and events <= EVENTS:
                            events += 1
                            place(b, 0.0, body, points, planes, table, balls, corner, side)
                            start(b, 0.0, body)
                            count = gather(b, normal, offset, touch, settle, body, balls, table, faces, edges, pairs, corner, side, ring,
                                           free, contact, who, mark, depth)  # fmt: skip
                            separate(b, count, touch, body, balls, contact, who)
                            impact(b, frame, count, settle, body, balls, contact, who, mark, hits)
                            start(b, 0.0, body)
                            still = hold(b, count, left, before, gravity, body, balls, contact, who, mark)
                            if events > 1:
                                still = 0  # in what is left of a step, even a body that falls may be slow
                            before, take = left, left
                            if events < EVENTS:
                                take = until(b, count, left, small, settle, normal, offset, body, points, planes, balls, table, faces,
                                             edges, pairs, corner, side, free, contact, who, mark, depth)  # fmt: skip
                            else:
                                place(b, left, body, points, planes, table, balls, corner, side)
                            for i in range(balls.shape[0]):
                                put(body, b, i, at.X, get(body, b, i, at.X_THEN))
                                put(body, b, i, at.V, get(body, b, i, at.V) + take * get(body, b, i, at.FORCE))
                                put(body, b, i, at.L, get(body, b, i, at.L) + take * get(body, b, i, at.TORQUE))
                                for k in ti.static(range(4)):
                                    body[b, i, at.Q + k] = body[b, i, at.Q_THEN + k]
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
                    least = get(body, b, i, at.ORIGIN).dot(normal) - balls[i, 4]
                    if balls[i, 4] == 0:
                        least = real(1e300)
                        for p in range(table[i, 0], table[i, 1]):
                            least = ti.min(least, get(corner, b, p, 0).dot(normal))
                    gaps[b, pair] = least - offset_in[b]
                else:
                    gaps[b, pair] = between(b, i, j, 0.0, body, balls, table, faces, edges, corner, side).gap

    return SimpleNamespace(roll=roll, measure=measure)
