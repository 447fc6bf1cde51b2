"""One step of Dormand and Prince's Runge-Kutta method of order 5 on torch tensors, with the error of its embedded order 4.

J. R. Dormand and P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6 (1980). The last slope of a
step is the first of the next, so that the error estimate is free.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),  # of order 5
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)  # order 5 minus order 4


def step(slope: Callable[[Tensor], Tensor], y: Tensor, first: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """y' = slope(y) from y (B, N) over h [s] (B, 1), with first = slope(y): the new y, its slope, and the error estimate (B, N)."""
    slopes, new = [first], y
    for row in STAGES:
        new = y + h * _sum(row, slopes)
        slopes.append(slope(new))
    return new, slopes[-1], h.detach() * _sum(ERROR, [k.detach() for k in slopes])


def _sum(weights: tuple[float, ...], slopes: list[Tensor]) -> Tensor:
    total = weights[0] * slopes[0]
    for w, k in zip(weights[1:], slopes[1:], strict=True):
        if w:
            total = total + w * k
    return total
