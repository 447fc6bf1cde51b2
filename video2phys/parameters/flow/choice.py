"""Which material: candidates fitted on a coarse body; of those that explain and predict about as well as the best, the simplest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.flow.fit import SIGMA, Make, Searched, residuals, search
from video2phys.parameters.flow.laws import MATERIALS
from video2phys.parameters.flow.outline import Outlines
from video2phys.parameters.flow.settings import FlowSettings
from video2phys.progress import Progress, part

ALIKE = 1.1  # times the least error of prediction: candidates within it are not told apart


@dataclass(frozen=True)
class Candidate:
    """A material fitted coarsely."""

    material: str
    searched: Searched
    fitted: float  # [px] RMS over the training frames
    predicted: float  # [px] RMS over the held-out frames; inf where the simulation failed

    @property
    def score(self) -> float:
        """Error in all frames [px]: what was fitted counts as what was predicted, so that neither a lucky end nor a bent start decides."""
        return float(np.hypot(self.fitted, self.predicted))


def candidates(
    make: dict[str, Make], seen: Outlines, time: np.ndarray, train: int, settings: FlowSettings, progress: Progress
) -> list[Candidate]:
    """All materials of `make`, the best first. The first `train` of the frames at `time` (T,) are fitted, the others predicted."""
    out = []
    for k, (name, made) in enumerate(make.items()):
        searched = search(made, name, seen, time[:train], settings, part(progress, k, len(make)))
        motion, space, found = searched
        squares = (residuals(motion, seen, space, time)(found.values[:1])[0] ** 2).reshape(len(time), -1).sum(1)
        fitted, predicted = (SIGMA * float(np.sqrt(s.mean())) for s in (squares[:train], squares[train:]))
        out.append(Candidate(name, searched, fitted, predicted if np.isfinite(predicted) else np.inf))
    return sorted(out, key=lambda c: c.score)


def best(ranking: list[Candidate]) -> tuple[Candidate, tuple[str, ...]]:
    """The fewest unknowns among those ALIKE the best, and what to say of it."""
    alike = [c for c in ranking if c.score <= ALIKE * ranking[0].score]
    chosen = min(alike, key=lambda c: len(MATERIALS[c.material].unknowns))
    told = ", ".join(f"{c.material} {c.fitted:.2f} px fitted and {c.predicted:.2f} px predicted" for c in ranking)
    notes = [f"model: {chosen.material} was chosen by its outlines on a coarse body ({told})"]
    others = [c.material for c in alike if c is not chosen]
    if others:
        notes.append(f"the outlines do not tell {chosen.material} from {', '.join(others)}; {chosen.material} has the fewest unknowns")
    return chosen, tuple(notes)
