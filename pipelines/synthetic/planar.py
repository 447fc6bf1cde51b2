"""Planar motions with known truth, integrated in small steps by code that shares nothing with the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from video2phys.context import Context
from video2phys.types import About, Camera, Frames, StateTrack, View

G = 9.81
CONTEXT = Context(Path("."))


def integrate(position, velocity, acceleration, times, *, step=2e-4, event=None):
    """Positions (T, 2) by velocity Verlet; acceleration(p, v) -> (2,), event(p, v) -> (p, v) after every step."""
    p, v, t = np.array(position, float), np.array(velocity, float), 0.0
    out = []
    for goal in times:
        count = max(int(np.ceil((goal - t) / step - 1e-9)), 0)
        for _ in range(count):
            h = (goal - t) / count if count else 0.0
            a = acceleration(p, v)
            p = p + v * h + 0.5 * a * h * h
            v = v + 0.5 * (a + acceleration(p, v + a * h)) * h
            if event:
                p, v = event(p, v)
        t = goal
        out.append(p)
    return np.array(out)


def capture(times, pixels, about, *, size=(640, 480), valid=None):
    """Frames and StateTrack of centroids: pixels (T, O, 2), x right and z up from the image centre."""
    T, bodies = pixels.shape[:2]
    per_unit = about.px_per_m if about.unit == "m" else 1.0
    position = np.stack([pixels[..., 0], 0 * pixels[..., 0], pixels[..., 1]], -1) / per_unit
    valid = np.isfinite(pixels).all(-1) if valid is None else valid
    rotation = np.zeros((T, bodies, 4))
    rotation[..., 0] = 1
    sigma = np.full((T, bodies, 3), 0.2 / per_unit)
    never = np.full((T, bodies, 3), np.inf)
    states = StateTrack(times, "centroid", position, sigma, rotation, never, None, None, valid, about.unit)
    view = View("cam", Camera.planar(size[0], size[1], per_unit), ("",) * T)
    return Frames(Path("."), times, (view,), (), bodies, about, "bare"), states


def slide(seed, *, mu=0.3, slope=25.0, ppm=400.0, fps=120, held=0.2, noise=0.2, frames=110, right=True):
    """A block held for `held` s, then released on a slope: (T, 1, 2) px and times."""
    rng = np.random.default_rng(seed)
    times = np.arange(frames) / fps
    th = np.radians(slope)
    a = G * (np.sin(th) - mu * np.cos(th)) * ppm
    d = np.array([np.cos(th) * (1 if right else -1), -np.sin(th)])
    # release between two frames, by the fine integrator
    moved = integrate([0, 0], [0, 0], lambda p, v: a * d, np.maximum(times - held, 0))
    return times, (np.array([-200.0, 100.0]) + moved + noise * rng.normal(size=(frames, 2)))[:, None]


def pucks(seed, *, e=0.8, ratio=1.0, slows=(900.0, 1000.0), fps=240, noise=0.12, frames=150, reach=40.0, aim=6.0, hidden=4):
    """Puck 0 is pushed at 0.1 s and strikes puck 1 at rest: (T, 2, 2) px, frames with merged outlines are NaN.

    The true positions are those of the centres; discs of summed radius `reach` meet with the impulse along the line of centres.
    """
    rng = np.random.default_rng(seed)
    times = np.arange(frames) / fps
    h = 1e-4
    p = np.array([[-140.0, 20.0], [10.0, 20.0 - aim]])
    v = np.zeros((2, 2))
    m = np.array([1.0, ratio])
    out, struck, met = [], False, None
    for goal in times:
        t = 0.0 if not out else times[len(out) - 1]
        while t < goal - 1e-12:
            if t >= 0.1 and not v.any() and not struck:
                v[0] = [750.0, 0.0]
            speed = np.hypot(*v.T)
            unit = np.divide(v, speed[:, None], out=np.zeros_like(v), where=speed[:, None] > 0)
            v = unit * np.maximum(speed - np.array(slows) * h, 0)[:, None]
            p = p + v * h
            gap = p[0] - p[1]
            if not struck and np.hypot(*gap) <= reach:
                n = gap / np.hypot(*gap)
                J = -(1 + e) * ((v[0] - v[1]) @ n) / (1 / m[0] + 1 / m[1])
                v = v + np.outer([J / m[0], -J / m[1]], n)
                struck, met = True, t
            t += h
        out.append(p.copy())
    pixels = np.array(out) + noise * rng.normal(size=(frames, 2, 2))
    if met is not None:
        pixels[np.abs(times - met) < (hidden + 0.5) / fps] = np.nan
    return times, pixels


def drawn_slide(seed):
    """A slide whose scale, incline and camera are off by what the fit expects of them: artefacts and truth."""
    rng = np.random.default_rng(1000 + seed)
    mu, slope = rng.uniform(0.15, 0.4), rng.uniform(24, 35)
    ppm = 400 * (1 + 0.01 * rng.normal())
    times, pixels = slide(seed, mu=mu, slope=slope, ppm=ppm, held=0.0, frames=60, fps=90)
    roll = np.radians(0.5 * rng.normal())
    R = np.array([[np.cos(roll), -np.sin(roll)], [np.sin(roll), np.cos(roll)]])
    about = About(gravity=np.array([0, 0, -G]), incline_deg=slope + 0.25 * rng.normal(), px_per_m=400.0)
    return capture(times, pixels @ R.T, about), {"friction": mu}


def drawn_collision(seed):
    """Two pucks that meet: artefacts and truth."""
    rng = np.random.default_rng(seed)
    e, ratio = rng.uniform(0.4, 0.9), rng.uniform(0.6, 1.6)
    times, pixels = pucks(seed, e=e, ratio=ratio, aim=rng.uniform(-10, 10), fps=120, frames=75, hidden=2)
    return capture(times, pixels, About(unit="px", scale="unknown")), {"restitution": e, "mass_ratio": ratio}
