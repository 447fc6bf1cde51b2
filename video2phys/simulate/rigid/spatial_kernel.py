"""One Taichi kernel that moves a batch of rigid bodies above a plane, in float64, one thread a body.

Between contacts the centre follows a parabola and the angular momentum L about it is constant, so only the quaternion is
integrated: dq/dt = (0, w) q / 2 with w = R I^-1 R^T L, classical Runge-Kutta of order 4. In contact, forces constant over
a step add f t to the momentum and T t to L.

A step of length h goes from event to event:
1. Points that touch and approach collide. Impulses p at the contact points obey Newton's restitution v_n' = -e v_n,
   p_n >= 0 complementary to it, and Coulomb's cone |p_t| <= mu p_n against the slip; solved together by projected
   Gauss-Seidel (Jean and Moreau 1992). Under the speed `settle` the restitution fades to zero, which ends a chatter.
2. Points that touch get the forces which keep their normal velocity at the end of the step from being inward, by the same
   solver; sliding, sticking, rolling and torsion follow from several points.
   Where contact is compliant (omega > 0), 1 is left out and the normal velocity of a touching point follows a damped
   oscillator instead, gap'' = -2 zeta omega gap' - omega^2 gap + (g + w x (w x r)).n, without adhesion, in steps of a
   fraction of its period; slip decays by the same damper, u' = -2 zeta omega u, as far as Coulomb's cone lets it
   (regularised friction).
3. The body advances. If a point that did not touch would end below the plane, the moment of its impact is found as a
   root (regula falsi, Illinois) and the step is cut there.
"""
# pyright: reportInvalidTypeForm=false, reportIndexIssue=false, reportCallIssue=false, reportOperatorIssue=false

# No `from __future__ import annotations`: Taichi reads the annotations of its kernels as objects.
from functools import cache
from types import SimpleNamespace

from video2phys.backend import taichi
from video2phys.simulate.rigid.spatial_geometry import functions

CONTACTS = 16  # touching points considered at once
EVENTS = 500  # impacts and contact slices in one step; what is left of it then goes on without looking for more impacts
SWEEPS = 100  # of Gauss-Seidel at most
EXACT = 1e-9  # of the largest impulse: change in a sweep that ends the solve
SLICES = 25  # steps per half period of a compliant contact
STILL = 1e-6  # [length unit/s] a body in contact slower than this at both ends of a step stays where it is


@cache
def kernels() -> SimpleNamespace:
    """`roll`: see spatial.rollout for shapes and units. Real functions, not inlined ones: they compile 20 times faster here."""
    ti = taichi()
    real = ti.f64
    vec3, vec4, mat3 = ti.types.vector(3, real), ti.types.vector(4, real), ti.types.matrix(3, 3, real)
    flags, d1, d2, d3 = ti.types.ndarray(dtype=ti.i32, ndim=2), *(ti.types.ndarray(dtype=real, ndim=n) for n in (1, 2, 3))
    pair = ti.types.struct(P=vec3, Q=vec3)
    triple = ti.types.struct(count=ti.i32, hit=ti.i32, hard=ti.i32)

    geometry = functions()
    matrix, turned_inverse, turned, arm, nearest = (
        geometry.matrix, geometry.turned_inverse, geometry.turned, geometry.arm, geometry.nearest
    )  # fmt: skip

    @ti.real_func
    def gather(b: ti.i32, points: d2, radii: vec3, q: vec4, centre: vec3, normal: vec3, height: real, v: vec3, w: vec3, e: real,
               dt: real, omega: real, zeta: real, load: real, settle: real, touch: real, gap: d2, arms: d3, goal: d3, which: flags,
               pulse: d3) -> triple:  # fmt: skip
        """Fill gap, and for the touching points arms, goal and which; say whether any approaches.

        goal is the velocity of the point after an impact (rigid) or dt later (compliant), where friction is strong enough.
        """
        R, count, hit, hard, same = matrix(q), 0, 0, 0, 1
        square = 1 - zeta * zeta
        rate_d = omega * ti.sqrt(ti.abs(square))
        wave, swing = 1.0, dt  # cos and sin / rate of the damped oscillator
        if square > 1e-9:
            wave, swing = ti.cos(rate_d * dt), ti.sin(rate_d * dt) / ti.max(rate_d, 1e-300)
        elif square < -1e-9:
            grow = ti.exp(rate_d * dt)
            wave, swing = 0.5 * (grow + 1 / grow), 0.5 * (grow - 1 / grow) / rate_d
        decay = ti.exp(-zeta * omega * dt)
        for i in range(ti.max(points.shape[0], 1)):
            r = arm(points, radii, R, centre, normal, i)
            gap[b, i] = height + r.dot(normal)
            if gap[b, i] <= touch and count < CONTACTS:
                for k in ti.static(range(3)):
                    arms[b, count, k] = r[k]
                u = v + w.cross(r)
                approach = -u.dot(normal)
                to = vec3(0.0)
                fade = ti.min(ti.max(approach / settle - 1, 0.0), 1.0)
                if omega > 0:
                    bent = load + w.cross(w.cross(r)).dot(normal)
                    after = decay * (-approach * (wave - zeta * omega * swing) - (omega * omega * gap[b, i] - bent) * swing)
                    to = after * normal + decay * decay * (u + approach * normal)
                    if approach > settle and which[b, count] != i:
                        hard += 1
                else:
                    to = ti.max(e * fade * approach, 0.0) * normal
                    if approach > 0:
                        hit = 1
                    if approach > settle:
                        hard += 1
                for k in ti.static(range(3)):
                    goal[b, count, k] = to[k]
                if which[b, count] != i:
                    same = 0
                which[b, count] = i
                count += 1
        if count < CONTACTS:
            which[b, count] = -1
        if same == 0:  # another set of points: the last forces are no start for these
            for c in range(CONTACTS):
                for k in ti.static(range(3)):
                    pulse[b, c, k] = 0.0
        return triple(count=count, hit=hit, hard=hard)

    @ti.real_func
    def solve(b: ti.i32, count: ti.i32, v: vec3, w: vec3, inverse: mat3, mass: real, mu: real, normal: vec3,
              arms: d3, levers: d3, goal: d3, pulse: d3) -> pair:  # fmt: skip
        """Impulses at `levers` that bring the velocities at `arms` to `goal` (normal: at least), started from `pulse` and left there.

        Returns the sums of p and r x p. `inverse` is in world axes.
        """
        t1 = normal.cross(vec3(1.0, 0.0, 0.0))
        if ti.abs(normal[0]) > 0.7:
            t1 = normal.cross(vec3(0.0, 1.0, 0.0))
        t1 = t1.normalized()
        t2 = normal.cross(t1)
        P, Q = vec3(0.0), vec3(0.0)
        for c in range(count):
            p = vec3(pulse[b, c, 0], pulse[b, c, 1], pulse[b, c, 2])
            P += p
            Q += vec3(levers[b, c, 0], levers[b, c, 1], levers[b, c, 2]).cross(p)
        sweep, going = 0, count > 0
        while going:
            change, size = 0.0, 1e-300
            for c in range(count):
                r = vec3(arms[b, c, 0], arms[b, c, 1], arms[b, c, 2])
                lever = vec3(levers[b, c, 0], levers[b, c, 1], levers[b, c, 2])
                to = vec3(goal[b, c, 0], goal[b, c, 1], goal[b, c, 2])
                p = vec3(pulse[b, c, 0], pulse[b, c, 1], pulse[b, c, 2])
                rn, r1, r2 = r.cross(normal), r.cross(t1), r.cross(t2)
                knn = 1 / mass + rn.dot(inverse @ lever.cross(normal))
                i1 = inverse @ r1
                k11, k12, k22 = 1 / mass + r1.dot(i1), r2.dot(i1), 1 / mass + r2.dot(inverse @ r2)
                stiff = 0.5 * (k11 + k22) + ti.sqrt(0.25 * (k11 - k22) ** 2 + k12 * k12)
                u = v + P / mass + (w + inverse @ Q).cross(r) - to
                pn = ti.max(0.0, p.dot(normal) - u.dot(normal) / knn)
                step = (pn - p.dot(normal)) * normal
                P += step
                Q += lever.cross(step)
                p += step
                change = ti.max(change, step.norm())
                u = v + P / mass + (w + inverse @ Q).cross(r) - to
                t = p - pn * normal
                want = t - (u - u.dot(normal) * normal) / stiff
                most = mu * pn
                length = want.norm()
                if length > most:
                    want *= most / length
                step = want - t
                P += step
                Q += lever.cross(step)
                p += step
                change = ti.max(change, step.norm())
                size = ti.max(size, p.norm())
                for k in ti.static(range(3)):
                    pulse[b, c, k] = p[k]
            sweep += 1
            going = sweep < SWEEPS and change > EXACT * size
        return pair(P=P, Q=Q)

    @ti.real_func
    def until(b: ti.i32, points: d2, radii: vec3, x: vec3, q: vec4, v: vec3, L: vec3, f: vec3, T: vec3, left: real, inverse: mat3,
              centre: vec3, normal: vec3, offset: real, gap: d2, touch: real) -> real:  # fmt: skip
        """Time to the next impact of a point that does not touch, or `left` if there is none before."""
        take, low, high, side = left, 0.0, left, 0
        low_gap, high_gap, going, turn = 1e300, 1.0, 1, 0
        for i in range(ti.max(points.shape[0], 1)):
            if gap[b, i] > touch:
                low_gap = ti.min(low_gap, gap[b, i])
        while going == 1:
            height = (x + take * v + 0.5 * take * take * f).dot(normal) - offset
            least = nearest(b, points, radii, turned(q, L, T, take, inverse), centre, normal, height, gap, touch)
            if turn == 0:
                high_gap = least
                if least >= 0:
                    going = 0
            else:
                if ti.abs(least) < 1e-13 or high - low < 1e-15 or turn > 60:
                    going = 0
                elif least > 0:
                    low, low_gap = take, least
                    if side == 1:
                        high_gap *= 0.5
                    side = 1
                else:
                    high, high_gap = take, least
                    if side == -1:
                        low_gap *= 0.5
                    side = -1
            turn += 1
            if going == 1:
                take = low + (high - low) * low_gap / (low_gap - high_gap)
        return take

    @ti.kernel
    def roll(points: d2, radii_in: d1, times: d2, steps: flags, position: d3, quaternion: d3, velocity: d3, momentum: d3,
             hits: flags, gravity_in: d2, normal_in: d2, offset_in: d1, mass_in: d1, centre_in: d2, inverse_in: d3,
             friction: d1, restitution: d1, drag_in: d1, omega_in: d1, zeta_in: d1, settle: real, touch_in: d1,
             gap: d2, arms: d3, levers: d3, goal: d3, blow: d3, force: d3, which: flags):  # fmt: skip
        # the CPU back-end gives a thread 512 iterations at least, so only every 512th does work: one body each
        ti.loop_config(block_dim=64)
        for slot in range(position.shape[0] * 512):
            if slot % 512 != 0:
                continue
            b = slot // 512
            radii = vec3(radii_in[0], radii_in[1], radii_in[2])
            g = vec3(gravity_in[b, 0], gravity_in[b, 1], gravity_in[b, 2])
            normal = vec3(normal_in[b, 0], normal_in[b, 1], normal_in[b, 2])
            centre = vec3(centre_in[b, 0], centre_in[b, 1], centre_in[b, 2])
            inverse = mat3([[inverse_in[b, i, j] for j in ti.static(range(3))] for i in ti.static(range(3))])
            omega, zeta, touch = omega_in[b], zeta_in[b], touch_in[b]
            offset, mass, mu, e, drag = offset_in[b], mass_in[b], friction[b], restitution[b], drag_in[b]
            x = vec3(position[b, 0, 0], position[b, 0, 1], position[b, 0, 2])
            v = vec3(velocity[b, 0, 0], velocity[b, 0, 1], velocity[b, 0, 2])
            L = vec3(momentum[b, 0, 0], momentum[b, 0, 1], momentum[b, 0, 2])
            q = vec4(quaternion[b, 0, 0], quaternion[b, 0, 1], quaternion[b, 0, 2], quaternion[b, 0, 3])
            still, step_before = 0, 1.0
            for frame in range(times.shape[1] - 1):
                whole = times[b, frame + 1] - times[b, frame]
                for _ in range(steps[b, frame]):
                    left, events = whole / steps[b, frame], 0
                    while left > 1e-13 and still == 0:
                        events += 1
                        world = turned_inverse(q, inverse)
                        w = world @ L
                        dt = left
                        if omega > 0:
                            dt = ti.min(left, 3.141592653589793 / (omega * SLICES))
                        state = gather(b, points, radii, q, centre, normal, x.dot(normal) - offset, v, w, e, dt, omega, zeta,
                                       g.dot(normal), settle, touch, gap, arms, goal, which, force)  # fmt: skip
                        if state.count == 0:
                            dt = left
                        hits[b, frame + 1] += state.hard
                        # 1. impact
                        if state.hit == 1:
                            for c in range(state.count):
                                for k in ti.static(range(3)):
                                    blow[b, c, k] = 0.0
                            struck = solve(b, state.count, v, w, world, mass, mu, normal, arms, arms, goal, blow)
                            v += struck.P / mass
                            L += struck.Q
                        # 2. forces of the points that stay
                        middle = v + 0.5 * dt * g
                        f = g - drag * middle.norm() * middle
                        T = vec3(0.0)
                        if state.count > 0:
                            ahead = turned(q, L, T, dt, inverse)
                            R = matrix(ahead)
                            world = turned_inverse(ahead, inverse)
                            for c in range(state.count):
                                r = arm(points, radii, R, centre, normal, which[b, c])
                                for k in ti.static(range(3)):
                                    levers[b, c, k] = 0.5 * (arms[b, c, k] + r[k])  # the contact point wanders: second order
                                    arms[b, c, k] = r[k]
                                    force[b, c, k] *= dt / step_before
                                    if omega == 0:
                                        goal[b, c, k] = 0.0
                            held = solve(b, state.count, v + dt * f, world @ L, world, mass, mu, normal, arms, levers, goal, force)
                            step_before = dt
                            f += held.P / (mass * dt)
                            T = held.Q / dt
                            reach = arms[b, 0, 0] ** 2 + arms[b, 0, 1] ** 2 + arms[b, 0, 2] ** 2
                            after = (world @ (L + held.Q)).norm_sqr() * reach + (v + dt * f).norm_sqr()
                            if after < STILL**2 and v.norm_sqr() + (world @ L).norm_sqr() * reach < STILL**2:
                                still = 1
                        # 3. as far as the next impact
                        take = dt
                        if events <= EVENTS:
                            take = until(b, points, radii, x, q, v, L, f, T, dt, inverse, centre, normal, offset, gap, touch)
                        q = turned(q, L, T, take, inverse)
                        x += take * v + 0.5 * take * take * f
                        v += take * f
                        L += take * T
                        left -= take
                        # rounding of arcs into the plane is taken out; it is of third order in the step
                        if omega == 0:
                            for i in range(ti.max(points.shape[0], 1)):
                                gap[b, i] = 1e300
                            deep = nearest(b, points, radii, q, centre, normal, x.dot(normal) - offset, gap, touch)
                            x -= ti.min(deep, 0.0) * normal
                for k in ti.static(range(3)):
                    position[b, frame + 1, k] = x[k]
                    velocity[b, frame + 1, k] = v[k]
                    momentum[b, frame + 1, k] = L[k]
                for k in ti.static(range(4)):
                    quaternion[b, frame + 1, k] = q[k]

    return SimpleNamespace(roll=roll)
