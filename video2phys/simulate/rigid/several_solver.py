"""Impulses and forces between bodies, as Taichi functions of the kernel of several bodies (several_kernel.py)."""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its functions as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid import several_layout as at
from video2phys.simulate.rigid.several_contact import functions as geometry
from video2phys.simulate.rigid.several_gather import functions as contacts
from video2phys.simulate.rigid.spatial_geometry import functions as one_body

ROUNDS = 12  # of impacts at one moment; then all points that touch are solved together
SWEEPS = 300  # of Gauss-Seidel at most
EXACT = 1e-9  # of the largest impulse: change in a sweep that ends the solve
STILL = 1e-6  # [length unit/s] a scene whose bodies are all slower than this at both ends of a step stays as it is


@cache
def functions() -> SimpleNamespace:
    """The functions, made once."""
    ti = taichi()
    real = ti.f64
    vec3, vec4 = ti.types.vector(3, real), ti.types.vector(4, real)
    flags, flags3 = ti.types.ndarray(dtype=ti.i32, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=3)
    d2, d3 = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=real, ndim=3)
    g = geometry()
    get, put, get9, follow = g.get, g.put, g.get9, contacts().follow
    matrix, turned = one_body().matrix, one_body().turned

    @ti.real_func
    def start(b: ti.i32, dt: real, body: d3):
        """Velocities dt from now under FORCE, without impulses; J as then."""
        for i in range(body.shape[1] - 1):
            q = vec4([body[b, i, at.Q + k] for k in ti.static(range(4))])
            if dt > 0:
                q = turned(q, get(body, b, i, at.L), vec3(0.0), dt, get9(body, b, i, at.INVERSE))
            R = matrix(q)
            world = R @ get9(body, b, i, at.INVERSE) @ R.transpose()
            for r, c in ti.static(ti.ndrange(3, 3)):
                body[b, i, at.J + 3 * r + c] = world[r, c]
            put(body, b, i, at.U, get(body, b, i, at.V) + dt * get(body, b, i, at.FORCE))
            put(body, b, i, at.W, world @ get(body, b, i, at.L))
            put(body, b, i, at.P, vec3(0.0))
            put(body, b, i, at.M, vec3(0.0))

    @ti.real_func
    def separate(b: ti.i32, count: ti.i32, touch_share: real, body: d3, balls: d2, contact: d3, who: flags3):
        """Move bodies that overlap apart, lighter ones farther: their common centre stays, and so do all velocities."""
        deep = 0
        for c in range(count):
            deep += ti.cast(contact[b, c, at.GAP] < -0.5 * touch_share * balls[who[b, c, at.FIRST], 3], ti.i32)
        if deep > 0:
            for i in range(body.shape[1]):
                put(body, b, i, at.P, vec3(0.0))
            for _ in range(30):
                for c in range(count):
                    i, j, n = who[b, c, at.FIRST], who[b, c, at.SECOND], get(contact, b, c, at.NORMAL)
                    gap = contact[b, c, at.GAP] + (get(body, b, i, at.P) - get(body, b, j, at.P)).dot(n)
                    if gap < 0:
                        share = -gap / (body[b, i, at.LIGHT] + body[b, j, at.LIGHT])
                        put(body, b, i, at.P, get(body, b, i, at.P) + share * body[b, i, at.LIGHT] * n)
                        put(body, b, j, at.P, get(body, b, j, at.P) - share * body[b, j, at.LIGHT] * n)
            for i in range(body.shape[1] - 1):
                put(body, b, i, at.X, get(body, b, i, at.X) + get(body, b, i, at.P))

    @ti.real_func
    def shared(b: ti.i32, c: ti.i32, k: ti.i32, body: d3, who: flags3) -> real:
        """A contact's friction or restitution: geometric mean of both bodies', and the body's own on the plane."""
        one, two = body[b, who[b, c, at.FIRST], k], body[b, who[b, c, at.SECOND], k]
        if who[b, c, at.SECOND] < body.shape[1] - 1:
            one = ti.sqrt(one * two)
        return one

    @ti.real_func
    def push(b: ti.i32, c: ti.i32, p: vec3, body: d3, contact: d3, who: flags3):
        """The impulse p on the first body, -p on the second."""
        for half in ti.static(range(2)):
            i, sign = who[b, c, at.FIRST + half], 1.0 - 2.0 * half
            m = get(contact, b, c, at.LEVER1 + 3 * half).cross(sign * p)
            put(body, b, i, at.U, get(body, b, i, at.U) + sign * body[b, i, at.LIGHT] * p)
            put(body, b, i, at.W, get(body, b, i, at.W) + get9(body, b, i, at.J) @ m)
            put(body, b, i, at.P, get(body, b, i, at.P) + sign * p)
            put(body, b, i, at.M, get(body, b, i, at.M) + m)

    @ti.real_func
    def slip(b: ti.i32, c: ti.i32, body: d3, contact: d3, who: flags3) -> vec3:
        """Velocity of the first body against the second at the contact."""
        i, j = who[b, c, at.FIRST], who[b, c, at.SECOND]
        ui = get(body, b, i, at.U) + get(body, b, i, at.W).cross(get(contact, b, c, at.ARM1))
        return ui - get(body, b, j, at.U) - get(body, b, j, at.W).cross(get(contact, b, c, at.ARM2))

    @ti.real_func
    def solve(b: ti.i32, count: ti.i32, least: ti.i32, body: d3, contact: d3, who: flags3, mark: flags):
        """Impulses that bring the velocities of contacts to GOAL (normal: at least), from PULSE on, for pairs marked `least` or more."""
        for c in range(count):
            if who[b, c, at.TOUCHES] == 1 and mark[b, who[b, c, at.PAIR]] >= least:
                n = get(contact, b, c, at.NORMAL_THEN)
                t1 = n.cross(vec3(1.0, 0.0, 0.0))
                if ti.abs(n[0]) > 0.7:
                    t1 = n.cross(vec3(0.0, 1.0, 0.0))
                t1 = t1.normalized()
                t2 = n.cross(t1)
                light = body[b, who[b, c, at.FIRST], at.LIGHT] + body[b, who[b, c, at.SECOND], at.LIGHT]
                k_nn, k11, k12, k22 = light, light, real(0.0), light
                for half in ti.static(range(2)):
                    inverse, r = get9(body, b, who[b, c, at.FIRST + half], at.J), get(contact, b, c, at.ARM1 + 3 * half)
                    k_nn += r.cross(n).dot(inverse @ get(contact, b, c, at.LEVER1 + 3 * half).cross(n))
                    i1 = inverse @ r.cross(t1)
                    k11, k12 = k11 + r.cross(t1).dot(i1), k12 + r.cross(t2).dot(i1)
                    k22 += r.cross(t2).dot(inverse @ r.cross(t2))
                contact[b, c, at.K_NORMAL] = k_nn
                contact[b, c, at.K_ACROSS] = 0.5 * (k11 + k22) + ti.sqrt(0.25 * (k11 - k22) ** 2 + k12 * k12)
                push(b, c, get(contact, b, c, at.PULSE), body, contact, who)
        sweep, going = 0, count > 0
        while going:
            change, size = real(0.0), real(1e-300)
            for c in range(count):
                if who[b, c, at.TOUCHES] == 1 and mark[b, who[b, c, at.PAIR]] >= least:
                    n, p, to = get(contact, b, c, at.NORMAL_THEN), get(contact, b, c, at.PULSE), get(contact, b, c, at.GOAL)
                    pn = ti.max(0.0, p.dot(n) - (slip(b, c, body, contact, who) - to).dot(n) / contact[b, c, at.K_NORMAL])
                    step = (pn - p.dot(n)) * n
                    push(b, c, step, body, contact, who)
                    p += step
                    change = ti.max(change, step.norm())
                    u = slip(b, c, body, contact, who)
                    t = p - pn * n
                    want = t - (u - u.dot(n) * n) / contact[b, c, at.K_ACROSS]
                    most = shared(b, c, at.MU, body, who) * pn
                    if want.norm() > most:
                        want *= most / want.norm()
                    push(b, c, want - t, body, contact, who)
                    change = ti.max(change, (want - t).norm())
                    size = ti.max(size, (pn * n + want).norm())
                    put(contact, b, c, at.PULSE, pn * n + want)
            sweep += 1
            going = sweep < SWEEPS and change > EXACT * size

    @ti.real_func
    def kinetic(b: ti.i32, share: real, body: d3) -> real:
        """Energy of motion with `share` of the way from the impulses P, M to P_FULL, M_FULL."""
        total = real(0.0)
        for i in range(body.shape[1] - 1):
            p = get(body, b, i, at.P) + share * (get(body, b, i, at.P_FULL) - get(body, b, i, at.P))
            m = get(body, b, i, at.M) + share * (get(body, b, i, at.M_FULL) - get(body, b, i, at.M))
            v, turn = get(body, b, i, at.V) + body[b, i, at.LIGHT] * p, get(body, b, i, at.L) + m
            total += 0.5 * (v.norm_sqr() / body[b, i, at.LIGHT] + turn.dot(get9(body, b, i, at.J) @ turn))
        return total

    @ti.real_func
    def impact(b: ti.i32, frame: ti.i32, count: ti.i32, settle: real, body: d3, balls: d2, contact: d3, who: flags3, mark: flags,
               hits: flags3):  # fmt: skip
        """Rounds of impacts until no touching pair approaches."""
        going, turn = count > 0, 0
        while going:
            start(b, 0.0, body)
            going, fastest = False, real(0.0)
            for c in range(count):
                if who[b, c, at.TOUCHES] == 1:
                    follow(b, c, 0.0, body, balls, contact, who)
                    n = get(contact, b, c, at.NORMAL)
                    approach = -slip(b, c, body, contact, who).dot(n)
                    fade = ti.min(ti.max(approach / settle - 1, 0.0), 1.0)
                    put(contact, b, c, at.GOAL, shared(b, c, at.E, body, who) * fade * ti.max(approach, 0.0) * n)
                    put(contact, b, c, at.PULSE, vec3(0.0))
                    if approach > 1e-7 * settle:
                        mark[b, who[b, c, at.PAIR]] = at.STRUCK
                        going = True
                        fastest = ti.max(fastest, approach)
                    if approach > settle:
                        for half in ti.static(range(2)):
                            if who[b, c, at.FIRST + half] < hits.shape[2]:
                                hits[b, frame, who[b, c, at.FIRST + half]] += 1
            if going:
                least = at.STRUCK
                if turn == ROUNDS:
                    least, going = at.CLOSED, False
                for c in range(count):
                    if who[b, c, at.TOUCHES] == 1 and (fastest <= settle or shared(b, c, at.E, body, who) == 0):
                        mark[b, who[b, c, at.PAIR]] = at.STRUCK
                before, share = kinetic(b, 0.0, body), real(0.0)
                solve(b, count, least, body, contact, who, mark)
                if kinetic(b, 0.0, body) > before:
                    for i in range(body.shape[1] - 1):
                        put(body, b, i, at.P_FULL, get(body, b, i, at.P))
                        put(body, b, i, at.M_FULL, get(body, b, i, at.M))
                    start(b, 0.0, body)
                    for c in range(count):
                        put(contact, b, c, at.GOAL, vec3(0.0))
                        put(contact, b, c, at.PULSE, vec3(0.0))
                    solve(b, count, least, body, contact, who, mark)
                    none, half, full = kinetic(b, 0.0, body), kinetic(b, 0.5, body), kinetic(b, 1.0, body)
                    bend = 2 * (full + none - 2 * half)  # the energy is none + slope share + bend share^2
                    slope = full - none - bend
                    if bend > 1e-14 * before:
                        inner = ti.max(slope * slope - 4 * bend * (none - before), 0.0)
                        share = ti.min(ti.max((ti.sqrt(inner) - slope) / (2 * bend), 0.0), 1.0)
                for i in range(body.shape[1] - 1):
                    p = get(body, b, i, at.P) + share * (get(body, b, i, at.P_FULL) - get(body, b, i, at.P))
                    m = get(body, b, i, at.M) + share * (get(body, b, i, at.M_FULL) - get(body, b, i, at.M))
                    put(body, b, i, at.V, get(body, b, i, at.V) + body[b, i, at.LIGHT] * p)
                    put(body, b, i, at.L, get(body, b, i, at.L) + m)
                for c in range(count):
                    if mark[b, who[b, c, at.PAIR]] == at.STRUCK:
                        mark[b, who[b, c, at.PAIR]] = at.CLOSED
            turn += 1

    @ti.real_func
    def hold(b: ti.i32, count: ti.i32, dt: real, dt_before: real, gravity: vec3, body: d3, balls: d2, contact: d3, who: flags3,
             mark: flags) -> ti.i32:  # fmt: skip
        """FORCE and TORQUE for the next dt; 1 where nothing moves before or after."""
        for i in range(body.shape[1] - 1):
            middle = get(body, b, i, at.V) + 0.5 * dt * gravity
            put(body, b, i, at.FORCE, gravity - body[b, i, at.DRAG] * middle.norm() * middle)
            put(body, b, i, at.TORQUE, vec3(0.0))
        for c in range(count):
            follow(b, c, dt, body, balls, contact, who)
            put(contact, b, c, at.GOAL, vec3(0.0))
            put(contact, b, c, at.PULSE, get(contact, b, c, at.HOLD) * (dt / dt_before))
        still = ti.cast(count > 0, ti.i32)
        for i in range(body.shape[1] - 1):
            turning = (get9(body, b, i, at.J) @ get(body, b, i, at.L)).norm_sqr() * balls[i, 3] ** 2
            if not get(body, b, i, at.V).norm_sqr() + turning < STILL**2:
                still = 0
        start(b, dt, body)
        solve(b, count, at.CLOSED, body, contact, who, mark)
        for c in range(count):
            put(contact, b, c, at.HOLD, get(contact, b, c, at.PULSE))
        for i in range(body.shape[1] - 1):
            if not get(body, b, i, at.U).norm_sqr() + get(body, b, i, at.W).norm_sqr() * balls[i, 3] ** 2 < STILL**2:
                still = 0
            put(body, b, i, at.FORCE, get(body, b, i, at.FORCE) + get(body, b, i, at.P) * (body[b, i, at.LIGHT] / dt))
            put(body, b, i, at.TORQUE, get(body, b, i, at.M) / dt)
        return still

    return SimpleNamespace(start=start, separate=separate, impact=impact, hold=hold)
