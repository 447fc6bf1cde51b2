"""What the command line shows: progress on stderr, the result on stdout. Heavy packages load on use."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from video2phys.types import Parameters


@contextmanager
def progress_bars(quiet: bool, verbose: bool) -> Iterator[Any]:
    """Progress bars on stderr, one per stage; plain lines where stderr is no terminal or with -v."""
    from video2phys.progress import silent

    if quiet:
        yield lambda stage: silent
        return
    if verbose or not sys.stderr.isatty():
        yield _plain_progress(verbose)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.fields[stage]:11s}"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:

        def stage(name: str) -> Any:
            task = bars.add_task("", total=1.0, stage=name)
            return lambda share, text="": bars.update(task, completed=share, description=text)

        yield stage


def _plain_progress(verbose: bool) -> Any:
    def stage(name: str) -> Any:
        typer.echo(f"{name} ...", err=True)
        return lambda share, text="": typer.echo(f"{name} {share:4.0%} {text}", err=True) if verbose and text else None

    return stage


def print_result(made: dict[str, Any], run_: Any, json_: bool) -> None:
    """The result of a run on stdout: a table, warnings and where the report is, or all of it as JSON."""
    from video2phys.result import summary, table

    parameters: Parameters = made["parameters"]
    others = [made[name] for name in made if name != "parameters"]
    warnings = tuple(w for artefact in others for w in artefact.warnings)
    topology = made.get("topology")
    extra = tuple(p for p in (topology.mass, topology.center, topology.inertia) if p) if topology else ()
    tree = summary(parameters, run_.record(), warnings, extra)
    if json_:
        typer.echo(json.dumps(tree, indent=1))
        return
    from rich.console import Console

    console = Console(soft_wrap=False)
    console.print(table(tree, console.width))
    if tree["advice"]:
        console.print(f"status: {tree['advice']}")
    for warning in tree["warnings"]:
        console.print(f"warning: {warning}", markup=False)
    if topology:
        console.print(f"interior: {topology.statement}", markup=False)
    report = run_.folder / "twin" / "report.html"
    console.print(f"report: {report}" if report.exists() else f"run: {run_.folder}", markup=False)
