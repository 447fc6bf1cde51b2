"""Gaussians as files hold them, and which rows of a foreign file can be drawn."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from video2phys.render.harmonics import turned

NEEDLE = 1e4  # longest over shortest standard deviation; a shorter one is raised to this share
GIANT = 1e3  # times the scene's size, from which a standard deviation is a mistake
FAINT = 1 / 256  # opacity under which nothing is drawn; a byte of 1 stays


@dataclass(frozen=True)
class Splats:
    """Gaussians as the renderer takes them."""

    mean: np.ndarray  # (G, 3)
    quaternion: np.ndarray  # (G, 4) w, x, y, z, unit
    scale: np.ndarray  # (G, 3) standard deviations
    opacity: np.ndarray  # (G,) 0..1
    harmonics: np.ndarray  # (G, K, 3) K = 1, 4, 9, 16

    def moved(self, turn: np.ndarray, origin: np.ndarray, size: float) -> Splats:
        """The same in another world, y = size turn (x - origin), turn (3, 3) a rotation."""
        from scipy.spatial.transform import Rotation

        own = Rotation.from_quat(np.roll(self.quaternion, -1, axis=1))
        quaternion = np.roll((Rotation.from_matrix(turn) * own).as_quat(), 1, axis=1)
        return Splats(size * (self.mean - origin) @ turn.T, quaternion, size * self.scale, self.opacity, turned(self.harmonics, turn))

    def __getitem__(self, rows: np.ndarray) -> Splats:
        return Splats(*(getattr(self, f.name)[rows] for f in fields(self)))


def sound(splats: Splats) -> tuple[Splats, tuple[str, ...]]:
    """The Gaussians that can be drawn, their shapes held within bounds, and warnings that count what was changed.

    Rows with numbers that are not finite, without rotation, larger than GIANT scenes, or too faint to be drawn are dropped; needles are
    made as thick as 1 / NEEDLE of their length.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = np.column_stack([getattr(splats, f.name).reshape(len(splats.mean), -1) for f in fields(Splats)])
        finite = np.asarray(np.isfinite(numbers).all(1))
        turned = np.linalg.norm(splats.quaternion, axis=1) > 1e-8
        faint = finite & (splats.opacity < FAINT)
        where = splats.mean[finite]
        size = float(np.linalg.norm(np.quantile(where, 0.95, axis=0) - np.quantile(where, 0.05, axis=0))) if len(where) else 0.0
        giant = finite & (splats.scale.max(1) > GIANT * max(size, 1e-12)) if size else np.zeros(len(finite), bool)
    kept = splats[finite & turned & ~faint & ~giant]
    longest = kept.scale.max(1, keepdims=True, initial=0.0)
    needles = int((kept.scale < longest / NEEDLE).any(1).sum())
    quaternion = kept.quaternion / np.linalg.norm(kept.quaternion, axis=1, keepdims=True)
    kept = Splats(kept.mean, quaternion, np.maximum(kept.scale, longest / NEEDLE), kept.opacity.clip(0, 1), kept.harmonics)
    counts = (("hold numbers that are not finite", int((~finite).sum())), ("have no rotation", int((finite & ~turned).sum())),
              ("are larger than any scene", int(giant.sum())), ("are too faint to be drawn", int(faint.sum())))  # fmt: skip
    warnings = [f"{n} of {len(finite)} Gaussians {what} and were dropped." for what, n in counts if n]
    if needles:
        warnings.append(f"{needles} of {len(finite)} Gaussians are needles and were made thicker.")
    return kept, tuple(warnings)
