"""How every benchmark hands out what it measured: a table to read, or JSON to stdout or a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

STDOUT = "-"


def add_option(parser: argparse.ArgumentParser) -> None:
    """--json [FILE]: absent None, without FILE `STDOUT`."""
    parser.add_argument("--json", nargs="?", const=STDOUT, metavar="FILE", help="JSON to stdout, or to a file")


def write(found: Mapping[str, object], asked: str | None) -> None:
    """JSON where it was asked for."""
    text = json.dumps(found, indent=1) + "\n"
    if asked == STDOUT:
        print(text, end="")
    elif asked:
        Path(asked).write_text(text, encoding="utf-8")
