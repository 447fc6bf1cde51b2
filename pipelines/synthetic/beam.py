"""Markers on a clamped beam by another simulator: Timoshenko's beam, exact in time.

Sections stay plane and turn: u = deflection w along gravity and section angle psi, by 2-node elements with one-point shear. Its modes decay
each by its own damping ratio from the undeformed beam to the sag.
"""

from __future__ import annotations

import numpy as np

from video2phys.types import Markers

SIZE, DENSITY, E, NU, G = (0.15, 0.03, 0.03), 1000.0, 1.2e6, 0.3, 9.81
ALPHA, BETA = 0.8, 1e-3  # mass- and stiffness-proportional
RELEASE, RATE, SECONDS = 0.313, 120.0, 3.0
ELEMENTS = 60
# marker places in the beam's frame, axis at y = z = 0: three near the free end, off the surface, two on the clamp
PLACES = np.array([[0.15, 0.0, 0.019], [0.147, 0.019, 0.004], [0.142, -0.019, -0.008], [-0.004, 0.03, 0.01], [-0.006, -0.025, -0.01]])


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stiffness, mass (2 n, 2 n) and weight (2 n,) of the free nodes, w and psi in turn."""
    length, width, height = SIZE
    h, area, second = length / ELEMENTS, width * height, width * height**3 / 12
    shear = E / (2 * (1 + NU)) * area * 10 * (1 + NU) / (12 + 11 * NU)
    K, M, q = (np.zeros([2 * (ELEMENTS + 1)] * k) for k in (2, 2, 1))
    slide = np.array([-1 / h, -0.5, 1 / h, -0.5])  # w' - psi in the middle
    turn = np.array([0, -1 / h, 0, 1 / h])
    pair = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [1, 0, 2, 0], [0, 1, 0, 2]]) / 6
    for e in range(ELEMENTS):
        at = slice(2 * e, 2 * e + 4)
        K[at, at] += h * (shear * np.outer(slide, slide) + E * second * np.outer(turn, turn))
        M[at, at] += h * DENSITY * pair * np.tile([area, second], 2)
        q[at] += h * DENSITY * area * G * np.array([0.5, 0, 0.5, 0])
    return K[2:, 2:], M[2:, 2:], q[2:]


def vibrations() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """omega (K,) [rad/s], damping ratios (K,), shapes (2 n, K) of unit mass, and the place of rest (2 n,)."""
    from scipy.linalg import eigh

    K, M, q = matrices()
    square, shape = eigh(K, M, subset_by_index=[0, 9])
    omega = np.sqrt(square)
    return omega, ALPHA / (2 * omega) + BETA * omega / 2, shape, np.linalg.solve(K, q)


def truth() -> tuple[float, float]:
    """First natural frequency [Hz] and its damping ratio."""
    omega, ratio, _, _ = vibrations()
    return float(omega[0] / 2 / np.pi), float(ratio[0])


def markers(rotation: np.ndarray, noise: float = 2e-5, seed: int = 0, gaps: bool = True) -> tuple[Markers, tuple[float, float, float]]:
    """Markers in a world in which the beam's axes are the columns of `rotation`, and gravity there."""
    rng = np.random.default_rng(seed)
    omega, ratio, shape, rest = vibrations()
    _, M, _ = matrices()
    time = np.arange(round(RATE * SECONDS)) / RATE
    t = np.clip(time - RELEASE, 0, None)[:, None]
    bend = omega * np.sqrt(ratio**2 - 1 + 0j)  # the highest modes creep back without a swing
    a, b = -ratio * omega + bend, -ratio * omega - bend
    fade = ((b * np.exp(a * t) - a * np.exp(b * t)) / (b - a)).real
    state = rest - (fade * (shape.T @ M @ rest)) @ shape.T  # (T, 2 n)
    state[time <= RELEASE] = 0.0
    along = np.arange(1, ELEMENTS + 1) * SIZE[0] / ELEMENTS
    w, psi = (np.stack([np.interp(PLACES[:3, 0], along, s[k::2]) for s in state]) for k in (0, 1))
    body = np.repeat(PLACES[None], len(time), 0)
    x, z = PLACES[:3, 0], PLACES[:3, 2]
    body[:, :3, 0] = x + np.sin(psi) * z  # w and psi point down: what is above the axis goes forward
    body[:, :3, 2] = -w + np.cos(psi) * z
    position = body @ rotation.T + (0.3, -0.2, 1.0) + rng.normal(0, noise, body.shape)
    if gaps:
        position[100:112, 1] = np.nan
        position[60:70, 3] = np.nan
    gx, gy, gz = rotation @ (0, 0, -G)
    return Markers(("end", "left", "right", "clamp1", "clamp2"), time, position), (float(gx), float(gy), float(gz))
