"""What the laws say of one piece of matter, against closed forms."""

# Taichi evaluates the annotations of kernels: no `from __future__ import annotations` here.
from functools import cache
from typing import get_args

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from video2phys.backend import taichi
from video2phys.simulate.materials.elastic import Law, lame, sand_strength
from video2phys.simulate.materials.response import response

LAWS = get_args(Law)
E, NU = 1e6, 0.3
MU, LAM = (float(c) for c in lame(np.array(E), np.array(NU)))
TURN = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()


@cache
def kernel(law):
    ti = taichi()
    settle = response("f64", law).settle
    matrix, vec4 = ti.types.ndarray(dtype=ti.types.matrix(3, 3, ti.f64), ndim=1), ti.types.ndarray(dtype=ti.types.vector(4, ti.f64), ndim=1)

    @ti.kernel
    def run(F: matrix, C: matrix, m: vec4, dt: ti.f64, kept: matrix, tau: matrix):
        for p in F:
            kept[p], tau[p] = settle(F[p], C[p], m[p], dt)

    return run


def settle(law, F, strength=0.0, viscosity=0.0, dt=1e-4, C=None):
    """(E, tau) of one particle."""
    kept, tau = np.zeros((1, 3, 3)), np.zeros((1, 3, 3))
    C = np.zeros((3, 3)) if C is None else C
    kernel(law)(np.array([F], float), np.array([C], float), np.array([[MU, LAM, strength, viscosity]]), dt, kept, tau)
    return kept[0], tau[0]


def stretched(*strain):
    """F of logarithmic strains along directions that are not those of the axes."""
    return TURN @ np.diag(np.exp(strain)) @ TURN.T


def deviator(tau):
    return tau - np.trace(tau) / 3 * np.eye(3)


@pytest.mark.parametrize("law", LAWS)
def test_turning_the_matter_turns_the_stress(law):
    """Objectivity: settle(Q F, Q C Q^T) = (Q E, Q tau Q^T), and isotropy: turning the matter before it deforms changes nothing."""
    F, C = np.array([[1.1, 0.2, 0.0], [-0.1, 0.85, 0.1], [0.05, 0.0, 0.9]]), np.array([[0.0, 2, 1], [0, 1, 0], [3, 0, -1.0]])
    strength = {"von Mises": 1e5, "Drucker-Prager": 0.3}.get(law, 0)
    kept, tau = settle(law, F, strength, 30.0, C=C)
    turned, turned_tau = settle(law, TURN @ F, strength, 30.0, C=TURN @ C @ TURN.T)
    assert np.abs(turned_tau - TURN @ tau @ TURN.T).max() < 1e-7 * E
    assert np.abs(settle(law, F @ TURN, strength, 30.0, C=C)[1] - tau).max() < 1e-7 * E
    if law != "Newtonian":  # whose E has no orientation
        assert np.abs(turned - TURN @ kept).max() < 1e-7


@pytest.mark.parametrize("stretch", [1e-9, 0.3, 1 - 1e-9, 1.0, 1 + 1e-6, 1.41, 1.42, 2.0, 1e6])
def test_neo_hookean_pressure_is_the_logarithm_to_round_off(stretch):
    tau = settle("neo-Hookean", np.diag([stretch, 1, 1]))[1]
    assert tau[1, 1] == pytest.approx(LAM * np.log(stretch), rel=2e-15, abs=1e-15 * MU)


@pytest.mark.parametrize("law", LAWS[:3])
def test_small_strains_are_those_of_hooke(law):
    strain = 1e-5 * np.array([[1.0, 2, 0], [2, -3, 1], [0, 1, 0.5]])
    want = 2 * MU * strain + LAM * np.trace(strain) * np.eye(3)
    assert np.abs(settle(law, np.eye(3) + strain)[1] - want).max() < 2e-4 * np.abs(want).max()


def test_uniaxial_yield():
    """Under a uniaxial stress E a matter flows where it exceeds the yield stress, and keeps its volume."""
    yields = 2e4
    for share, flows in ((0.99, False), (1.01, True), (3.0, True)):
        a = share * yields / E
        F = stretched(a, -NU * a, -NU * a)
        kept, tau = settle("von Mises", F, yields)
        size = np.linalg.norm(deviator(tau))
        assert size == pytest.approx(np.sqrt(2 / 3) * (yields if flows else E * a), rel=1e-9)
        assert np.linalg.det(kept) == pytest.approx(np.linalg.det(F), rel=1e-12)
        assert (kept == F).all() != flows


def test_overstress_decays_exponentially():
    """Held at a strain, Perzyna's overstress falls as exp(-2 mu t / viscosity)."""
    yields, viscosity, dt = 1e3, 500.0, 1e-6
    kept = stretched(0.01, -0.01, 0)
    start = 2 * MU * np.sqrt(2) * 0.01 - np.sqrt(2 / 3) * yields
    for _ in range(600):
        kept, _ = settle("von Mises", kept, yields, viscosity, dt)
    _, tau = settle("Hencky", kept)
    over = np.linalg.norm(deviator(tau)) - np.sqrt(2 / 3) * yields
    assert over == pytest.approx(start * np.exp(-2 * MU * 600 * dt / viscosity), rel=0.01)


@pytest.mark.parametrize("degrees", [15, 30, 45])
def test_sand_yields_on_the_cone_of_mohr_and_coulomb(degrees):
    """In triaxial compression s1 / s3 = (1 + sin phi) / (1 - sin phi); volume is kept; tension leaves no stress and no shape."""
    strength, sin = float(sand_strength(np.radians(degrees))[0]), np.sin(np.radians(degrees))
    F = stretched(-0.03, 0.008, 0.008)
    kept, tau = settle("Drucker-Prager", F, strength)
    s = np.linalg.eigvalsh(tau)
    assert s[0] / s[2] == pytest.approx((1 + sin) / (1 - sin), rel=1e-9)
    assert np.linalg.det(kept) == pytest.approx(np.linalg.det(F), rel=1e-12)
    kept, tau = settle("Drucker-Prager", stretched(0.01, -0.002, 0.0), strength)
    assert np.abs(tau).max() < 1e-9 * E and np.abs(kept @ kept.T - np.exp(2 / 3 * 0.008) * np.eye(3)).max() < 1e-12


def test_sand_that_came_apart_bears_nothing_until_it_is_as_dense_as_before():
    kept, _ = settle("Drucker-Prager", stretched(0.03, 0.02, 0.01), 0.3)
    for squeeze, borne in ((-0.059, False), (-0.061, True)):
        tau = settle("Drucker-Prager", stretched(squeeze, 0, 0) @ kept, 0.3)[1]
        assert np.trace(tau) / 3 == pytest.approx((LAM + 2 / 3 * MU) * (0.06 + squeeze) if borne else 0, rel=1e-6, abs=1e-6)


def test_a_fluid_bears_pressure_and_rates_only():
    C = np.array([[0.0, 4, 0], [0, 0, 0], [0, 0, 0]])
    kept, tau = settle("Newtonian", stretched(0.2, -0.2, 0), viscosity=3.0, C=C)
    assert np.abs(tau - 3.0 * (C + C.T)).max() < 1e-6  # shear stress = viscosity times shear rate
    assert np.abs(kept - np.eye(3)).max() < 1e-9
    squeezed = settle("Newtonian", 0.999 * np.eye(3))[1]
    assert squeezed[0, 0] == pytest.approx(-LAM * (1 - 0.999**3), rel=0.01)  # mu = 0 in the solver; here lam is the bulk modulus
