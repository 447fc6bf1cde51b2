"""Which material: every candidate is fitted on a coarse body, and the one that explains and predicts the frames at the least expense wins.

The measure is Schwarz's criterion n ln(e^2) + k ln(n), with n frames of which each counts as one measurement, e the RMS over those fitted
and those only predicted, and k constants of the material (Schwarz 1978, "Estimating the dimension of a model").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from video2phys.parameters.flow.fit import SIGMA, Make, residuals, resume, scan, search
from video2phys.parameters.flow.laws import CANDIDATES, MATERIALS
from video2phys.parameters.flow.outline import Outlines
from video2phys.parameters.flow.settings import FlowSettings
from video2phys.progress import Progress, part

STRONG = 6.0  # of the criterion: less does not tell two candidates apart (Kass & Raftery 1995, "Bayes factors")
HOPELESS = 3.0  # times the least error: who is beyond it after the scan, or after FEW steps, is not refined further
KEPT = 2  # starts of each candidate that are refined: enough to rank it
FEW = 3  # steps of the fits that a candidate must not lose by far


@dataclass(frozen=True)
class Candidate:
    """A material fitted coarsely."""

    material: str
    fitted: float  # [px] RMS over the training frames
    predicted: float  # [px] RMS over the held-out frames; inf where the simulation failed
    criterion: float  # Schwarz's; inf where the simulation failed


def candidates(
    make: Mapping[str, Make], seen: Outlines, time: np.ndarray, train: int, settings: FlowSettings, progress: Progress
) -> list[Candidate]:
    """The materials of `make` that are not hopeless, best first. The first `train` of the frames at `time` (T,) are fitted."""
    scans = {name: scan(made(settings.coarse_particles), seen, time[:train]) for name, made in make.items()}
    promising = _near({name: float(np.sqrt(np.nan_to_num(s.cost, nan=np.inf).min())) for name, s in scans.items()})
    begun = {
        name: search(scans[name], seen, time[:train], part(part(progress, 0, 2), k, len(promising)), keep=KEPT, steps=FEW)
        for k, name in enumerate(promising)
    }
    promising = _near({name: float(found.best.cost) ** 0.5 for name, (_, _, found) in begun.items()})
    out = []
    for k, name in enumerate(promising):
        motion, space, found = resume(begun[name], seen, time[:train], part(part(progress, 1, 2), k, len(promising)))
        squares = SIGMA**2 * (residuals(motion, seen, space, time)(found.values[:1]).reshape(len(time), -1) ** 2).sum(-1)
        n, unknowns = len(time), len(MATERIALS[name].unknowns)
        criterion = n * np.log(squares.mean()) + unknowns * np.log(n)
        fitted, predicted, criterion = (
            float(e) if np.isfinite(e) else np.inf for e in (np.sqrt(squares[:train].mean()), np.sqrt(squares[train:].mean()), criterion)
        )
        out.append(Candidate(name, fitted, predicted, criterion))
    return chosen_first(out)


def _near(error: Mapping[str, float]) -> list[str]:
    """The candidates whose error is not HOPELESS."""
    return [name for name, e in error.items() if e <= HOPELESS * min(error.values())]


def chosen_first(found: list[Candidate]) -> list[Candidate]:
    """Ranked by the criterion; before them all the one with the fewest constants of those that are not told apart from the best."""
    ranked = sorted(found, key=lambda c: c.criterion)
    alike = [c for c in ranked if c.criterion < ranked[0].criterion + STRONG] or ranked[:1]
    chosen = min(alike, key=lambda c: len(MATERIALS[c.material].unknowns))
    return [chosen, *(c for c in ranked if c is not chosen)]


def told(ranking: list[Candidate]) -> tuple[str, ...]:
    """The ranking in words, and whom the chosen one is not told apart from."""
    best, *others = ranking
    table = ", ".join(
        f"{c.material} {c.fitted:.2f} px fitted and {c.predicted:.2f} px predicted" if np.isfinite(c.criterion) else f"{c.material} failed"
        for c in ranking
    )
    dropped = [name for name in CANDIDATES if name not in {c.material for c in ranking}]
    also = f"; far off: {', '.join(dropped)}" if dropped else ""
    notes = [f"model: {best.material} was chosen by the outlines on a coarse body ({table}{also})"]
    alike = [c.material for c in others if c.criterion - best.criterion < STRONG]
    if alike:
        notes.append(
            f"the outlines do not tell {best.material} from {', '.join(alike)} beyond doubt; of such the one with the fewest constants is "
            "taken, and `model:` in capture.yaml decides"
        )
    return tuple(notes)
