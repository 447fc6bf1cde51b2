"""Progress is a callable passed in; library code never prints."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as progress(share, text): share of the stage done in 0..1, and what is being done."""

    def __call__(self, share: float, text: str = "") -> None: ...


def silent(share: float, text: str = "") -> None:
    """The default: say nothing."""


def part(progress: Progress, index: int, count: int) -> Progress:
    """Progress of one of `count` equal parts."""

    def report(share: float, text: str = "") -> None:
        progress((index + share) / count, text)

    return report
