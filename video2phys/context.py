"""What every stage is given beside its inputs and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from video2phys.progress import Progress, silent


@dataclass(frozen=True)
class Context:
    folder: Path  # write files here; it is renamed into place when the stage is done
    device: Literal["cpu", "cuda"] = "cpu"
    seed: int = 0
    progress: Progress = silent
    record: Mapping[str, Any] = field(default_factory=dict)  # the run so far: timings_s, versions, device, capture
