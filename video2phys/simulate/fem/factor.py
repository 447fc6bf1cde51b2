"""The constant matrix of projective dynamics, factorised once, and sparse matrices made of those of elements.

For the energy of solids that matrix is their linear elasticity at rest. A body that bends far turns almost as a rigid one in every
place, and its second derivative K turns with it: K(x) ~ R K R^T with a rotation for each node (stiffness warping: Mueller et al. 2002,
"Stable real-time deformations"). R K^-1 R^T, made where a step is expected to end, therefore leaves to iterations only what strain
changes. Sheets and rods have no stiffness across at rest, and a body that meets a plane is pressed by a stiffness that is not in the
factor: an upper bound serves them better, one scalar matrix for all three axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from video2phys.simulate.fem.potential import Body

Solve = Callable[[np.ndarray], np.ndarray]


def assemble(pieces: Iterable[tuple[np.ndarray, np.ndarray]], free: np.ndarray, axes: int) -> csc_matrix:
    """Sum of matrices (E, axes n, axes n) of elements with nodes (E, n), over the nodes free (V,) bool; axes of a node side by side."""
    from scipy.sparse import csc_matrix

    rows, columns, values = [], [], []
    for index, local in pieces:
        dof = (axes * index[:, :, None] + np.arange(axes)).reshape(len(index), -1)
        rows.append(np.broadcast_to(dof[:, :, None], local.shape).ravel())
        columns.append(np.broadcast_to(dof[:, None], local.shape).ravel())
        values.append(local.ravel())
    moves = np.repeat(free, axes)
    number = np.where(moves, np.cumsum(moves) - 1, -1).astype(np.int32)
    i, j, v = number[np.concatenate(rows)], number[np.concatenate(columns)], np.concatenate(values)
    inside = (i >= 0) & (j >= 0)
    return csc_matrix((v[inside], (i[inside], j[inside])), shape=(int(moves.sum()),) * 2)


class Factor:
    """Cholesky factor of M (inertia + drag) + the constant matrix of each energy, over the free nodes."""

    def __init__(self, body: Body, *, inertia: float, drag: float, viscous: float) -> None:
        from cholespy import CholeskySolverD, MatrixType

        every = np.arange(len(body.mass))[:, None]
        rest = body.scene.normal is None
        constant = [(e.index, e.constant(m, viscous, rest)) for e, m in zip(body.energies, body.moduli, strict=True)]
        turning = [index for index, local in constant if local.shape[1] > index.shape[1]]
        self._axes = 3 if turning else 1
        pieces = [(every, (body.mass * (inertia + drag))[:, None, None]), *constant]
        over = [(index, _over(local, index.shape[1], self._axes)) for index, local in pieces]
        A = assemble(over, ~body.scene.clamped, self._axes).tocoo()
        self._free = body.scene.free
        self._spread = _spread(body.scene.node, turning) if turning else None
        self._solver = CholeskySolverD(self._axes * len(self._free), A.row.astype(np.int32), A.col.astype(np.int32), A.data, MatrixType.COO)

    def at(self, x: np.ndarray) -> Solve:
        """b (V, 3) -> A^-1 b, with A turned to nodes that are at x (V, 3); rows of clamped nodes count as zero."""
        turn = np.eye(3)[None] if self._spread is None else _rotations(self._spread, x)[self._free]
        back = np.swapaxes(turn, -1, -2)

        def solve(b: np.ndarray) -> np.ndarray:
            right = (back @ b[self._free, :, None]).reshape((-1,) if self._axes == 3 else (-1, 3))
            left, out = np.empty_like(right), np.zeros_like(b)
            self._solver.solve(right, left)
            out[self._free] = (turn @ left.reshape(-1, 3, 1))[..., 0]
            return out

        return solve


def _over(local: np.ndarray, nodes: int, axes: int) -> np.ndarray:
    """A scalar matrix for each axis (E, n, n) over `axes` of them; others stay."""
    return local if local.shape[1] == axes * nodes else np.kron(local, np.eye(axes))


def _spread(node: np.ndarray, turning: list[np.ndarray]) -> csc_matrix:
    """(3 V, V): takes positions x to sum_j w (X_j - X_i)_b (x_j - x_i), w = |X_j - X_i|^-2, over the j of every element that i is in."""
    from scipy.sparse import csc_matrix

    i = np.concatenate([np.repeat(e, e.shape[1], 1).ravel() for e in turning])
    j = np.concatenate([np.tile(e, (1, e.shape[1])).ravel() for e in turning])
    i, j = i[i != j], j[i != j]
    arm = node[j] - node[i]
    weight = (arm / (arm**2).sum(1, keepdims=True)).T.ravel()
    row = (3 * i + np.arange(3)[:, None]).ravel()
    return csc_matrix((np.r_[weight, -weight], (np.r_[row, row], np.r_[np.tile(j, 3), np.tile(i, 3)])), shape=(3 * len(node), len(node)))


def _rotations(spread: csc_matrix, x: np.ndarray) -> np.ndarray:
    """(V, 3, 3) that take the arms at rest to those at x best (Kabsch 1976)."""
    U, _, Vt = np.linalg.svd(np.swapaxes((spread @ x).reshape(-1, 3, 3), 1, 2))
    U[..., 2] *= np.linalg.det(U @ Vt)[:, None]
    return U @ Vt
