"""Errors for people: what is wrong, what to do, and the exit code that goes with it."""

from __future__ import annotations


class V2PError(Exception):
    """Base of every error a user can mend. `fix` is the remedy, one line."""

    exit_code = 1

    def __init__(self, what: str, *, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


class Usage(V2PError):
    """The command line makes no sense."""

    exit_code = 2


class BadInput(V2PError):
    """The capture, a setting or an artefact cannot be used."""

    exit_code = 3


class MissingBackend(V2PError):
    """A library or device that was asked for is not there."""

    exit_code = 4


def guess(word: str, known: list[str]) -> str:
    """' Did you mean ...?' for a misspelt word, or the list of known ones."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(sorted(known))}."
