"""The command line: stdout carries results, stderr carries progress, heavy packages load on use."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from video2phys import __version__
from video2phys.errors import BadInput, Usage, V2PError
from video2phys.terminal import print_result, progress_bars

NOT_CONVERGED = 5
INTERRUPTED = 130


class Group(typer.core.TyperGroup):
    """Turns errors a user can mend into two lines and an exit code; bugs keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except V2PError as error:
            failure = error
        except OSError as error:
            failure = _system(error)
            if failure is None:
                raise
        except (KeyboardInterrupt, ImportError) as error:
            if not _interrupts(error):
                raise
            typer.echo("interrupted: what was finished is kept, run the same command to go on.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        typer.secho(f"error: {failure}\n  fix: {failure.fix}", err=True)
        raise typer.Exit(failure.exit_code)


def _interrupts(error: BaseException | None) -> bool:
    """Whether it comes from Ctrl-C, which a compiled module on its way in reports as a failed import."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _interrupts(error.__cause__ or error.__context__))


def _system(error: OSError) -> BadInput | None:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BadInput(f"the disk is full{where}.", fix="Free space or choose another folder with -o, then run the same command again.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return BadInput(f"no permission to read or write{where}.", fix="Choose another folder with -o, or change its permissions.")
    if error.errno in (errno.EIO, errno.ENODEV, errno.ESTALE):
        return BadInput(f"the disk does not answer{where}: {error.strerror}.", fix="Check the disk, then run the same command again.")
    return None


app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

CaptureArg = Annotated[Path, typer.Argument(help="Folder of video or of a CSV of measured tracks, or one such file.")]
RunArg = Annotated[Path, typer.Argument(help="Folder that `video2phys run` wrote.")]
OutOption = Annotated[Path | None, typer.Option("-o", "--out", help="Run folder. Default: runs/NAME.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="YAML file of settings that differ from the defaults.")]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="One setting, a.b=value. May be repeated.")]
TracksOption = Annotated[Path | None, typer.Option("--tracks", help="CSV of measured tracks, in place of a capture.")]
KeysOption = Annotated[Path | None, typer.Option("--capture", help="capture.yaml to read instead of the one in the capture.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Say every step of every stage.")]


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """From a folder of video to physical parameters with error bars, a hidden interior and a digital twin."""
    if show:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def run(
    capture: CaptureArg,
    out: OutOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    from_: Annotated[str, typer.Option("--from", help="Rerun from this stage on.")] = "",
    until: Annotated[str, typer.Option(help="Stop after this stage.")] = "twin",
    force: Annotated[str, typer.Option(help="Rerun this stage and what follows.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print which stages would run, and why.")] = False,
    keys: KeysOption = None,
    device: DeviceOption = "auto",
    json_: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Capture folder in, parameters, report and twin out."""
    if device not in ("auto", "cpu", "cuda"):
        raise BadInput(f"'{device}' is no device.", fix="Use auto, cpu or cuda.")
    from video2phys.config import resolve

    settings = resolve(config, _telling(keys, set_))
    _go(capture, out or _default_out(capture), settings, device, from_, until, force, dry_run, json_, quiet, verbose)


def _telling(keys: Path | None, set_: list[str] | None) -> list[str]:
    """--capture is a setting of the frames stage."""
    return [*(set_ or []), *([f"frames.capture_yaml={json.dumps(str(keys.expanduser().resolve()))}"] if keys is not None else [])]


def _default_out(capture: Path) -> Path:
    return Path("runs") / capture.expanduser().resolve().stem


def _go(
    capture: Path | None, out: Path, settings: Any, device: str, start: str, until: str, force: str,
    dry_run: bool, json_: bool, quiet: bool, verbose: bool,
) -> None:  # fmt: skip
    from video2phys.backend import resolve_device
    from video2phys.pipeline import execute, plan
    from video2phys.run import Run
    from video2phys.types import Status

    chosen = resolve_device(device)
    opened = Run.open(out, capture)
    if dry_run:
        for step in plan(opened, settings, chosen, start=start, until=until, force=force):
            typer.echo(f"{step.stage.name:11s} {'run:  ' + step.why if step.why else 'keep'}")
        return
    with opened as run_, progress_bars(quiet, verbose) as progress:
        steps = plan(run_, settings, chosen, start=start, until=until, force=force)
        run_.describe(settings, device, chosen)
        made = execute(run_, steps, settings, chosen, progress=progress)
    if "parameters" in made:
        print_result(made, run_, json_)
        if made["parameters"].status is not Status.CONVERGED:
            raise typer.Exit(NOT_CONVERGED)
    elif json_:
        typer.echo(json.dumps({"run": str(run_.folder), "stages": list(made)}))
    else:
        typer.echo(str(run_.folder))


@contextmanager
def _placing(place: Path) -> Iterator[None]:
    """A place that cannot take what a command writes is the user's to mend: a file on the way to it, a folder that is not there."""
    try:
        yield
    except (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise BadInput(f"cannot write to {place}: {str(error.strerror).lower()}.", fix="Choose another place.") from error


def _stage_command(name: str, summary: str) -> None:
    def command(
        target: Annotated[Path | None, typer.Argument(help="A run folder, or a capture.")] = None,
        tracks: TracksOption = None,
        keys: KeysOption = None,
        out: OutOption = None,
        config: ConfigOption = None,
        set_: SetOption = None,
        force: Annotated[bool, typer.Option("--force", help="Run even when nothing changed.")] = False,
        device: DeviceOption = "auto",
        json_: JsonOption = False,
        quiet: QuietOption = False,
        verbose: VerboseOption = False,
    ) -> None:
        from video2phys.config import resolve
        from video2phys.run import Run

        if (target is None) == (tracks is None):
            raise Usage(f"`video2phys {name}` needs a run folder or a capture, or --tracks.", fix="Give one of them.")
        target = tracks if target is None else target
        assert target is not None  # one of the two
        known = (target / "run.json").is_file()
        place = target if known else out or _default_out(target)
        recorded = Run.open(place, None).record().get("config") if (place / "run.json").is_file() else None
        settings = resolve(config, _telling(keys, set_), start=recorded)
        _go(None if known else target, place, settings, device, "", name, name if force else "", False, json_, quiet, verbose)

    command.__doc__ = summary
    app.command(name)(command)


_stage_command("frames", "Decode, undistort, put on one clock, find the moving object.")
_stage_command("gaussians", "Reconstruct the object: Gaussians, surface, particles.")
_stage_command("states", "Where the object is in each frame, with a sigma.")
_stage_command("parameters", "Fit the simulation: values, intervals, verdicts.")
_stage_command("topology", "What the motion says about the interior.")
_stage_command("twin", "Files for simulators, checked in them, and the report.")


@app.command()
def init(folder: Annotated[Path, typer.Argument(help="Capture folder.")]) -> None:
    """Write a commented capture.yaml into a capture folder."""
    from video2phys.frames.template import TEMPLATE

    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder.", fix="Give the folder that holds your video.")
    file = folder / "capture.yaml"
    if file.exists():
        raise BadInput(f"{file} is already there.", fix="Edit it, or remove it first.")
    with _placing(file):
        file.write_text(TEMPLATE)
    typer.echo(str(file))


@app.command()
def doctor(json_: JsonOption = False) -> None:
    """Versions, devices and back-ends that are really there."""
    from video2phys.doctor import examine

    findings = examine()
    if json_:
        typer.echo(json.dumps([vars(f) for f in findings], indent=1))
    else:
        for f in findings:
            typer.echo(f"{'ok  ' if f.ok else 'MISS' if f.required else 'none'} {f.name:15s} {f.detail}")
    if any(f.required and not f.ok for f in findings):
        raise typer.Exit(4)


@app.command()
def show(run_folder: RunArg, json_: JsonOption = False) -> None:
    """The result of a run."""
    from video2phys.pipeline import STAGES
    from video2phys.run import Run

    run_ = Run.open(run_folder)
    made = {name: run_.load(name, stage.makes) for name, stage in STAGES.items() if (run_.folder / name).is_dir()}
    made.setdefault("parameters", None)
    if made["parameters"] is None:
        run_.load("parameters", STAGES["parameters"].makes)  # says what to run
    print_result(made, run_, json_)


@app.command()
def export(
    run_folder: RunArg,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write to.")],
    format_: Annotated[str, typer.Option("--format", help="mjcf, json, ply, obj or all; ply or splat for a splat file.")] = "all",
) -> None:
    """Copy the twin's files of one format (and what they refer to) into a folder; or turn one splat file into .ply or .splat."""
    import shutil

    if run_folder.is_file():
        from video2phys.render.files.convert import convert

        with _placing(out):
            target, warnings = convert(run_folder, out, format_)
        for warning in warnings:
            typer.echo(f"warning: {warning}", err=True)
        typer.echo(str(target))
        return
    from video2phys.run import Run
    from video2phys.types import Twin

    twin = Run.open(run_folder).load("twin", Twin)
    formats: dict[str, list[Path]] = {}
    for file in twin.files:  # a format that was refused has no file: its check in the report says why
        if (twin.folder / file.path).is_file():
            formats.setdefault(file.format.lower().split()[-1], []).append(Path(file.path))
    format_ = format_.lower()
    wanted = {"all": list(formats), "mjcf": ["mjcf", *({"obj"} & set(formats))]}.get(format_, [format_])  # an MJCF refers to its meshes
    if not set(wanted) <= set(formats):
        raise BadInput(f"this twin has no '{format_}'.", fix=f"It has: {', '.join(formats)}.")
    for path in (p for name in wanted for p in formats[name]):
        target = out / path
        with _placing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(twin.folder / path, target)
        typer.echo(str(target))


@app.command()
def simulate(
    run_folder: RunArg,
    seconds: Annotated[float, typer.Option(min=0.001, help="How long.")] = 2.0,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV file; default: stdout.")] = None,
) -> None:
    """Run the twin in MuJoCo from the video's initial state: time, position, quaternion as CSV."""
    from video2phys.run import Run
    from video2phys.twin.replay import simulate_csv
    from video2phys.types import Twin

    twin = Run.open(run_folder).load("twin", Twin)
    text = simulate_csv(twin, seconds)
    if out is None:
        typer.echo(text, nl=False)
        return
    with _placing(out):
        out.write_text(text)


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
