"""Minimisation of a potential and linear solves with its second derivative.

`projective`: L-BFGS from the constant matrix of projective dynamics (Liu, Bouaziz & Kavan 2017), Newton's method where that does not
converge. `newton`: the Hessian, factorised in every iteration; far from the minimum, and where it does not descend, with each point's
negative eigenvalues set to zero. Both with a line search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np

from video2phys.simulate.fem.factor import Factor, Solve
from video2phys.simulate.fem.potential import Blocks, Potential

ARMIJO = 1e-4
SHIFT = 1e-12  # of the diagonal in Newton's method: slack threads resist in some directions only


class Status(str, Enum):
    """How a solve ended; each member is a sentence."""

    CONVERGED = "converged"
    NOT_CONVERGED = "the step did not reach its tolerance: use shorter steps, a weaker contact, or more iterations"
    UNSTABLE = "no state of finite energy was found: use shorter steps"


@dataclass(frozen=True)
class Solver:
    """How steps are solved. Converged: |residual force| <= absolute + relative * |forces that act at the beginning|."""

    method: Literal["projective", "newton"] = "projective"
    absolute: float = 1e-9  # [N]
    relative: float = 1e-4
    history: int = 10  # of L-BFGS
    iterations: int = 200  # of L-BFGS
    newton_iterations: int = 50


@dataclass(frozen=True)
class Solution:
    position: np.ndarray  # [m] (V, 3)
    status: Status
    iterations: int
    fell_back: bool  # Newton's method finished what L-BFGS began


def minimise(potential: Potential, x: np.ndarray, factor: Factor | None, solver: Solver, scale: float) -> Solution:
    """Find the minimum from x. `scale` [N] is the norm of the acting forces; `factor` may be None for Newton's method."""
    goal = solver.absolute + solver.relative * scale
    count = 0
    if solver.method == "projective" and factor is not None:
        x, status, count = _descend(potential, x, goal, solver.iterations, _lbfgs(factor.at(x), solver.history))
        if status is not Status.NOT_CONVERGED:
            return Solution(x, status, count, False)

    began: list[float] = []

    def newton(at: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Near the minimum the true second derivative: what is pressed together there keeps its negative eigenvalues."""
        began.append(float(np.linalg.norm(g)))
        if began[-1] < 0.1 * began[0]:
            p = -direct(potential, potential.blocks(at), g, shift=SHIFT)
            if float(np.vdot(p, g)) < 0:
                return p
        return -direct(potential, potential.blocks(at, project=True), g, shift=SHIFT)

    x, status, more = _descend(potential, x, goal, solver.newton_iterations, newton)
    return Solution(x, status, count + more, count > 0)


def direct(potential: Potential, blocks: Blocks, b: np.ndarray, *, shift: float = 0.0) -> np.ndarray:
    """Solve (second derivative) z = b (V, 3) over the free nodes by a sparse factorisation, which may be indefinite.

    `shift` times the largest diagonal is added to the diagonal.
    """
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    free, z = potential.body.scene.free, np.zeros_like(b)
    H = potential.matrix(blocks)
    if shift:
        H = (H + shift * H.diagonal().max() * identity(len(free) * 3)).tocsc()
    z[free] = splu(H).solve(np.ascontiguousarray(b[free]).ravel()).reshape(-1, 3)
    return z


def conjugate_gradients(potential: Potential, blocks: Blocks, b: np.ndarray, precondition: Solve, solver: Solver) -> np.ndarray | None:
    """Solve (second derivative) z = b, preconditioned by the constant matrix; None where that does not converge.

    The Krylov form of z <- A^-1 (b + (A - H) z): it gains as much in every iteration and contracts wherever H is positive definite.
    """
    held = potential.body.scene.clamped
    b = np.where(held[:, None], 0.0, b)
    z, r = np.zeros_like(b), b
    p = s = precondition(r)
    rs, goal = float((r * s).sum()), solver.relative * np.linalg.norm(b) + 1e-300
    for _ in range(solver.iterations):
        if np.linalg.norm(r) <= goal:
            return z
        Hp = potential.product(blocks, p)
        Hp[held] = 0.0
        curvature = float((p * Hp).sum())
        if not curvature > 0:
            return None
        z, r = z + rs / curvature * p, r - rs / curvature * Hp
        s = precondition(r)
        rs, last = float((r * s).sum()), rs
        p = s + rs / last * p
    return z if np.linalg.norm(r) <= goal else None


Direction = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _lbfgs(solve: Solve, history: int) -> Direction:
    """The two-loop recursion of L-BFGS (Nocedal & Wright 2006, algorithm 7.4) with `solve` as the inverse of the initial Hessian."""
    pairs: list[tuple[np.ndarray, np.ndarray, float]] = []
    last: list[np.ndarray] = []

    def direction(x: np.ndarray, g: np.ndarray) -> np.ndarray:
        if last:
            s, y = x - last[0], g - last[1]
            if (curvature := float(np.vdot(s, y))) > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
                pairs.append((s, y, 1 / curvature))
                del pairs[:-history]
        last[:] = x, g
        q, alphas = g.copy(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * float(np.vdot(s, q)))
            q -= alphas[-1] * y
        q = solve(q)
        for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
            q += (alpha - rho * float(np.vdot(y, q))) * s
        return -q

    return direction


def _descend(potential: Potential, x: np.ndarray, goal: float, iterations: int, direction: Direction) -> tuple[np.ndarray, Status, int]:
    """Steps along `direction` with backtracking: Armijo's rule, or the slope alone where the potential's round-off hides the fall."""
    f, noise, g = potential.slope(x)
    if not np.isfinite(f):
        return x, Status.UNSTABLE, 0
    for k in range(iterations):
        if np.linalg.norm(g) <= goal:
            return x, Status.CONVERGED, k
        p = direction(x, g)
        along = float(np.vdot(g, p))
        if not (np.isfinite(along) and along < 0):
            return x, Status.NOT_CONVERGED, k
        length = 1.0
        for _ in range(40):
            trial = x + length * p
            f_new, noise_new, g_new = potential.slope(trial)
            level = abs(f_new - f) <= 10 * max(noise, noise_new)
            if np.isfinite(f_new) and (f_new <= f + ARMIJO * length * along or (level and float(np.vdot(g_new, p)) <= -0.9 * along)):
                break
            length *= 0.5
        else:
            return x, Status.NOT_CONVERGED, k
        x, f, noise, g = trial, f_new, noise_new, g_new
    return x, Status.CONVERGED if np.linalg.norm(g) <= goal else Status.NOT_CONVERGED, iterations
