"""The normal matrix J^T J + prior: its inverse and its flat directions."""

from __future__ import annotations

import numpy as np

NULL = 1e-10  # eigenvalue of the unit-diagonal normal matrix: finite differences of 1e-5 relative error cannot tell it from 0


def null_directions(A: np.ndarray) -> np.ndarray:
    """Unit vectors (K, P), in coordinates scaled to unit diagonal, along which the normal matrix A (P, P) is flat."""
    s = 1 / np.sqrt(np.maximum(np.diag(A), 1e-300))
    value, vector = np.linalg.eigh(s[:, None] * A * s)
    return vector.T[value < NULL]


def covariance(A: np.ndarray) -> np.ndarray:
    """Inverse of the normal matrix A (P, P); inf on the diagonal for zero columns and for those inside a null direction."""
    out = np.diag(np.full(len(A), np.inf))
    k = np.flatnonzero(np.diag(A) > 0)
    if not len(k):
        return out
    B = A[np.ix_(k, k)]
    s = 1 / np.sqrt(np.diag(B))
    out[np.ix_(k, k)] = s[:, None] * np.linalg.pinv(s[:, None] * B * s, rcond=NULL, hermitian=True) * s
    for direction in null_directions(B):
        unknown = k[np.abs(direction) > 0.1]
        out[unknown, unknown] = np.inf
    return out
