"""What every stage is given beside its inputs and settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from video2phys.progress import Progress, silent


@dataclass(frozen=True)
class Context:
    folder: Path  # write files here; it is renamed into place when the stage is done
    device: Literal["cpu", "cuda"] = "cpu"
    seed: int = 0
    progress: Progress = silent
