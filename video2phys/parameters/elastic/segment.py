"""One bounce after another: what each leaves unexplained of the measured states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from video2phys.parameters.elastic.motion import VECTORS, Motion, Prediction
from video2phys.parameters.elastic.residuals import Change, Measured
from video2phys.solve.space import Space


@dataclass(frozen=True)
class Segment:
    """From the start of one flight over a contact to the end of the next flight.

    Every flight is measured well and so gives a start of its own (multiple shooting; Bock and Plitt 1984): a tumbling body
    magnifies the small errors of one impact so much that the next would tell nothing otherwise.
    """

    key: str  # of the names of its start: "" for the first, ".1", ...
    motion: Motion
    measured: Measured
    changes: tuple[Change, ...] = ()

    def own(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Shared values, and those of this start, without the key."""
        return {n.partition(".")[0]: v for n, v in values.items() if self.uses(n)}

    def uses(self, name: str) -> bool:
        """Whether a parameter matters here."""
        base, dot, number = name.partition(".")
        return base[:-2] not in VECTORS or dot + number == self.key

    def predicted(self, values: dict[str, np.ndarray]) -> Prediction:
        """The motion in every frame from the start on, with the changes; `values` (1,) each."""
        mine = self.own(values)
        total = self.motion.prediction(mine, self.measured.time)
        for change in self.changes:
            total = total.plus(float(mine[change.name][0]), change.prediction)
        return total

    def residual(self, mine: dict[str, np.ndarray], frames: int) -> np.ndarray:
        """(B, frames * 12) over sigma, time first, at values (B,) of `own`."""
        state = self.motion.states(mine, self.measured.time[:frames])
        for change in self.changes:
            state = state + mine[change.name][:, None, None] * change.prediction.state[:frames]
        return self.measured.scaled(state).reshape(len(state), -1)


def residuals(segments: tuple[Segment, ...], space: Space, frames: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """Batched residual of all segments, or of the first `frames` frames of the only one: (B, P) physical values to (B, M).

    Members that differ only in another segment's start are simulated once.
    """

    def of(x: np.ndarray) -> np.ndarray:
        rows = []
        for segment in segments:
            columns = [k for k, n in enumerate(space.names) if segment.uses(n)]
            part, back = np.unique(x[:, columns], axis=0, return_inverse=True)
            mine = {space.names[k].partition(".")[0]: part[:, j] for j, k in enumerate(columns)}
            rows.append(segment.residual(mine, segment.measured.count if frames is None else frames)[back.ravel()])
        r = np.concatenate(rows, 1)
        r[np.isnan(r).any(1)] = np.nan
        return r

    return of
