"""Quaternions w, x, y, z on arrays (..., 4)."""

from __future__ import annotations

import numpy as np


def matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3), body to world."""
    w, x, y, z = np.moveaxis(np.asarray(q, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product a b: first b, then a."""
    a, b = np.broadcast_arrays(a, b)
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdims=True)
    return np.concatenate([w, a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])], -1)


def exp(v: np.ndarray) -> np.ndarray:
    """Rotation vectors [rad] (..., 3) to quaternions."""
    v = np.asarray(v, float)
    half = np.linalg.norm(v, axis=-1, keepdims=True) / 2
    return np.concatenate([np.cos(half), v / 2 * np.sinc(half / np.pi)], -1)


def log(q: np.ndarray) -> np.ndarray:
    """Quaternions to rotation vectors [rad] (..., 3), the shorter way round."""
    q = np.asarray(q, float) * np.where(np.asarray(q)[..., :1] < 0, -1.0, 1.0)
    s = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(s, q[..., :1])
    return q[..., 1:] * np.where(s > 1e-12, angle / np.maximum(s, 1e-300), 2.0)


def conjugate(q: np.ndarray) -> np.ndarray:
    return np.asarray(q, float) * np.array([1.0, -1, -1, -1])


def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rotation vector [rad] (..., 3) in world axes that turns b into a."""
    return log(times(a, conjugate(b)))


def of_matrix(R: np.ndarray) -> np.ndarray:
    """Quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(np.asarray(R, float).reshape(-1, 3, 3)).as_quat()
    return np.roll(flat, 1, -1).reshape(*np.shape(R)[:-2], 4)
