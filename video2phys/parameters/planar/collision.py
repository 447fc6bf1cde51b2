"""Two bodies that slide on a table seen from above and collide: restitution, mass ratio, momentum.

Before and after, each body slows at its own constant rate. At the impact an impulse J along a direction n changes both:
m1 dv1 = J n = -m2 dv2,  e = -(v1' - v2').n / (v1 - v2).n. The time of impact and n are unknowns: outlines touch and merge just then,
so the impact itself is not measured, and centres of outlines are not good enough to give n from where they stand. The two velocity
changes are four numbers for three unknowns (e, m2 / m1, n); what is left over tests the balance of momentum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from video2phys.parameters.planar.fit import Fit, Law, Window, verdict
from video2phys.parameters.planar.motion import SHORTEST, Phase
from video2phys.parameters.planar.scale import Scale
from video2phys.parameters.planar.track import Track
from video2phys.solve.space import Free, Space
from video2phys.types import Parameter, Verdict

BESIDE = 0.15  # [s] frames at an impact whose outlines merge; a longer gap could hide another event
ALIKE = 0.2  # relative sigma between the decelerations of two bodies on one table
IMPACT = 3.0  # times its uncertainty that each velocity must jump


@dataclass(frozen=True)
class Impact:
    """The phases on both sides of the collision, per body."""

    before: tuple[Phase, Phase]
    after: tuple[Phase, Phase]
    time: float  # [s]

    def jump(self, body: int) -> np.ndarray:
        """Change of velocity [px/s] (2,)."""
        return self.after[body].velocity_at(self.time) - self.before[body].velocity_at(self.time)


def find(tracks: list[Track]) -> Impact | None:
    """The moment at which both bodies change velocity most, in opposite directions; None where there is none."""
    sides = [_sides(t) for t in tracks]
    found = []
    for (a0, a1), (b0, b1) in product(*sides):
        low, high = max(a0.span[1], b0.span[1]), min(a1.span[0], b1.span[0])
        low, high = min(low, high), max(low, high)
        if high - low > BESIDE or min(a1.span[1], b1.span[1]) < high or max(a0.span[0], b0.span[0]) > low:
            continue
        times = np.linspace(low, high, 50)
        miss = sum(np.linalg.norm(p.position_at(times) - q.position_at(times), axis=-1) for p, q in ((a0, a1), (b0, b1)))
        impact = Impact((a0, b0), (a1, b1), float(times[np.argmin(miss)]))
        jumps = [impact.jump(k) for k in (0, 1)]
        if jumps[0] @ jumps[1] < 0 and all(_sure(impact, k) for k in (0, 1)):
            found.append((min(float(np.hypot(*j)) for j in jumps), impact))
    return max(found, key=lambda f: f[0])[1] if found else None


def _sides(track: Track) -> list[tuple[Phase, Phase]]:
    """Pairs of phases with no more than the few frames of an impact between them."""
    long = [p for p in track.phases if len(p.frames) > SHORTEST + 1 and p.noise < max(1.0, 0.03 * p.path)]
    return [(p, q) for p, q in pairwise(long) if q.span[0] - p.span[1] < BESIDE]


def _sure(impact: Impact, body: int) -> bool:
    loose = [p.velocity_sigma_at(impact.time) for p in (impact.before[body], impact.after[body])]
    return float(np.hypot(*impact.jump(body))) > max(IMPACT * math.hypot(*loose), 1e-9)


def window(tracks: list[Track], impact: Impact) -> Window:
    """The frames of the four phases, from the moment at which both bodies are followed."""
    start = max(p.span[0] for p in impact.before)
    moving = [p.span[1] for p in impact.after if not p.rests] or [p.span[1] for p in impact.after]
    end = max(moving)  # a body that has come to rest says nothing more by resting on
    chosen = []
    for track, phases in zip(tracks, zip(impact.before, impact.after, strict=True), strict=True):
        part = np.concatenate([p.frames[1:-1] for p in phases])
        chosen.append(part[(track.time[part] >= start) & (track.time[part] <= end)])
    index = np.unique(np.concatenate([t.frames[c] for t, c in zip(tracks, chosen, strict=True)]))
    time = np.full(len(index), np.nan)
    measured = np.full((len(index), 2, 2), np.nan)
    for body, (track, part) in enumerate(zip(tracks, chosen, strict=True)):
        at = np.searchsorted(index, track.frames[part])
        time[at], measured[at, body] = track.time[part], track.position[part]
    return Window(index, time, measured)


def training(whole: Window, impact: Impact) -> int:
    """Frames of the first two thirds, or as many more as hold half of what follows the impact."""
    after = int((whole.time > impact.time).sum())
    return max(-(-2 * len(whole.time) // 3), len(whole.time) - after // 2)


def law(part: Window, impact: Impact) -> Law:
    """Unknowns of a collision: start and deceleration of both bodies, time and direction of the impact, restitution, mass ratio."""
    start = float(part.time[0])
    free: list[Free] = []
    resting = []
    for body, p in enumerate(impact.before, 1):
        at, v = p.position_at(start), p.velocity_at(start)
        resting.append(p.rests)
        free += [Free(f"x{body}", "px", float(at[0])), Free(f"z{body}", "px", float(at[1]))]
        if not p.rests:
            free += [Free(f"vx{body}", "px/s", float(v[0])), Free(f"vz{body}", "px/s", float(v[1]))]
    jumps = [impact.jump(k) for k in (0, 1)]
    n = jumps[0] / np.hypot(*jumps[0])
    closing = (impact.before[0].velocity_at(impact.time) - impact.before[1].velocity_at(impact.time)) @ n
    leaving = (impact.after[0].velocity_at(impact.time) - impact.after[1].velocity_at(impact.time)) @ n
    ratio = float(np.hypot(*jumps[0]) / np.hypot(*jumps[1]))
    moving = max((*impact.before, *impact.after), key=lambda p: p.path * np.ptp(p.span))
    slows = -float(moving.acceleration @ moving.velocity) / max(float(np.hypot(*moving.velocity)), 1e-9)
    free += [
        Free("table", "px/s^2", max(slows, 1.0), 0.0),
        Free("table_ratio", "1", 1.0, 0.1, 10.0, prior=ALIKE),
        Free("time", "s", impact.time, impact.time - BESIDE, impact.time + BESIDE, step=1e-6),
        Free("direction", "rad", float(np.arctan2(n[1], n[0])), step=1e-5),
        Free("restitution", "1", float(np.clip(-leaving / closing if closing else 0.5, 0.01, 0.99)), 0.0, 1.0, step=1e-5),
        Free("mass_ratio", "1", float(np.clip(ratio, 0.02, 50)), 0.01, 100.0, step=1e-5),
    ]
    space = Space(tuple(free))
    names = space.names

    def predict(values: np.ndarray, time: np.ndarray) -> np.ndarray:
        return _collide(start, {n: values[:, k] for k, n in enumerate(names)}, time)[0]

    return Law(space, predict)


def _collide(start: float, v: dict[str, np.ndarray], time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (B, T, 2, 2) px and the four velocities at the impact (B, 4, 2) px/s: both before, both after."""
    import torch

    from video2phys.simulate.rigid import planar
    from video2phys.simulate.rigid.planar_events import strike

    zero = np.zeros_like(v["time"])
    place = torch.as_tensor(np.stack([np.stack([v[f"x{b}"], v[f"z{b}"]], -1) for b in (1, 2)], 1))
    speed = torch.as_tensor(np.stack([np.stack([v.get(f"vx{b}", zero), v.get(f"vz{b}", zero)], -1) for b in (1, 2)], 1))
    scene = planar.build((0.0, 0.0), table=True)
    table = v["table"][:, None] * np.stack([np.ones_like(zero), v["table_ratio"]], -1)
    mass = np.stack([np.ones_like(zero), v["mass_ratio"]], -1)
    made = planar.params(scene, len(zero), table=table, mass=mass, collision=v["restitution"].copy())
    first = planar.start(scene, place, speed, time=start)
    meet = torch.as_tensor(v["time"].copy())
    before = planar.rollout(made, scene, first, torch.as_tensor(time))
    at_impact = planar.step(made, scene, first, meet - start)
    normal = torch.as_tensor(np.stack([np.cos(v["direction"]), np.sin(v["direction"])], -1))
    struck = strike(made, at_impact, normal, 0, 1)
    after = planar.rollout(made, scene, struck, torch.as_tensor(time))
    later = torch.as_tensor(time)[None] > meet[:, None]
    path = torch.where(later[..., None, None], after.position, before.position)
    return path.numpy(), torch.cat([at_impact.velocity, struck.velocity], 1).numpy()


def report(found: Fit, part: Window, impact: Impact, scale: Scale) -> tuple[tuple[Parameter, ...], tuple[str, ...], tuple[str, ...]]:
    """Parameters, notes and warnings."""
    unit, size = ("m", scale.px_per_m) if scale.known else ("px", 1.0)
    start = float(part.time[0])

    def velocities(v: np.ndarray) -> np.ndarray:
        return _collide(start, {n: v[:, k] for k, n in enumerate(found.law.space.names)}, part.time[-1:])[1] / size

    def component(k: int, axis: int) -> tuple[float, list[float]]:
        return found.derived(lambda v: velocities(v)[:, k, axis])

    e, e_band = found.of("restitution")
    e_band = [max(e_band[0], 0.0), min(e_band[1], 1.0)]
    ratio, ratio_band = found.of("mass_ratio")
    when = f"at the impact, {found.value('time'):.4f} s"
    result = [
        Parameter(
            "restitution", e, "1", e_band, verdict(e, e_band, bounds=(0.0, 1.0)), "Newton: separation over approach speed along the impulse"
        ),
        Parameter(
            "mass_ratio", ratio, "1", ratio_band, verdict(ratio, ratio_band), "mass of object 1 over mass of object 0, from momentum"
        ),
    ]
    for k, name in enumerate(("velocity_before", "velocity_before", "velocity_after", "velocity_after")):
        x, z = component(k, 0), component(k, 1)
        still = k < 2 and impact.before[k].rests
        told = Verdict.IDENTIFIED if not still else Verdict.GIVEN
        result.append(
            Parameter(name, [x[0], 0.0, z[0]], f"{unit}/s", [x[1], [0.0, 0.0], z[1]], told, when, "at rest" if still else "", obj=k % 2)
        )
    names = found.law.space.names
    for body in (0, 1):
        share = (lambda v: v[:, names.index("table_ratio")]) if body else (lambda v: 1.0)
        a, band = found.derived(lambda v, share=share: -v[:, names.index("table")] * share(v) / size)
        result.append(Parameter("acceleration", a, f"{unit}/s^2", band, verdict(a, band), "against the velocity, constant", obj=body))
    kept = _balance(velocities)
    share, share_band = found.derived(kept)
    result.append(Parameter("momentum_balance", share, "1", share_band, verdict(share, share_band), "after over before, for equal masses"))
    notes = [f"collision {when}; frames around it are left out, because outlines merge there"]
    notes.append(f"both objects are taken to slow alike on the table, to {100 * ALIKE:g} % (one sigma)")
    equal = ratio_band[0] <= 1 <= ratio_band[1]
    notes.append(f"masses are known as a ratio only; equal masses are {'inside' if equal else 'outside'} its interval")
    if not scale.known:
        notes.append("no scale is known: lengths stay in pixels, nothing here is metric")
    warnings = () if equal else ("momentum is balanced by unequal masses only: the masses differ, or the picture is distorted.",)
    return tuple(result), tuple(notes), warnings


def _balance(velocities):
    """Momentum after over momentum before along the latter, for equal masses."""

    def share(v: np.ndarray) -> np.ndarray:
        w = velocities(v)
        before, after = w[:, 0] + w[:, 1], w[:, 2] + w[:, 3]
        return (before * after).sum(-1) / np.maximum((before * before).sum(-1), 1e-12)

    return share
