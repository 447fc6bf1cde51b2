"""The stage graph: a stage is data, its fingerprint decides whether it runs, the plan is what run executes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from video2phys import types
from video2phys.config import STAGE_NAMES
from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.frames.capture import keys_file
from video2phys.progress import Progress, silent
from video2phys.run import CHANGED, Run, digest


@dataclass(frozen=True)
class Stage:
    """What a stage needs and makes. Raise `version` when its results change for the same settings."""

    name: str
    needs: tuple[str, ...]
    makes: type
    version: int = 1

    def run(self, *inputs: Any, settings: Any, context: Context) -> Any:
        """Call video2phys.<name>.stage.run(*inputs, settings, context)."""
        return import_module(f"video2phys.{self.name}.stage").run(*inputs, settings, context)


STAGES = {
    stage.name: stage
    for stage in (
        Stage("frames", (), types.Frames, version=2),
        Stage("gaussians", ("frames",), types.Gaussians, version=2),
        Stage("states", ("frames", "gaussians"), types.StateTrack, version=2),
        Stage("parameters", ("frames", "gaussians", "states"), types.Parameters, version=8),
        Stage("topology", ("frames", "gaussians", "states", "parameters"), types.Topology),
        Stage("twin", ("frames", "gaussians", "states", "parameters", "topology"), types.Twin, version=4),
    )
}


@dataclass(frozen=True)
class Step:
    """One line of a plan: run the stage because of `why`, or keep what is there (`why` is empty)."""

    stage: Stage
    fingerprint: str
    why: str


def plan(run: Run, config: Any, device: str, *, start: str = "", until: str = "twin", force: str = "") -> list[Step]:
    """Which stages run and why. `start` reruns from that stage and wants everything before it in place;
    `force` reruns that stage and what follows. Raises BadInput for an unknown stage or a missing earlier result.
    """
    for name in filter(None, (start, until, force)):
        if name not in STAGES:
            raise BadInput(f"'{name}' is no stage.", fix=f"Stages: {', '.join(STAGES)}.")
    told = config.frames.capture_yaml or (keys_file(run.capture) if run.capture.is_file() else None)
    prints: dict[str, str] = {}
    steps: list[Step] = []
    stale = ""
    for name, stage in STAGES.items():
        section = getattr(config, name).model_dump(mode="json")
        source = [run.capture_digest(told)] if not stage.needs else [prints[need] for need in stage.needs]
        prints[name] = digest(name, stage.version, section, config.seed, device, source)
        why = run.why_stale(name, prints[name])
        if why and start and STAGE_NAMES.index(name) < STAGE_NAMES.index(start):
            raise BadInput(f"--from {start} needs the result of '{name}', but: {why}.", fix="Run without --from.")
        if name in (start, force):
            why = why or "asked for"
        if stale and why in ("", CHANGED):
            why = f"follows '{stale}'"
        stale = stale or (name if why else "")
        steps.append(Step(stage, prints[name], why))
        if name == until:
            return steps
    return steps


def execute(
    run: Run, steps: list[Step], config: Any, device: Any, *, progress: Callable[[str], Progress] = lambda stage: silent
) -> dict[str, Any]:
    """Carry out a plan; returns the artefacts by stage name, loaded or made. A stage's result appears only when whole."""
    made: dict[str, Any] = {}
    for step in steps:
        name = step.stage.name
        if not step.why:
            continue
        inputs = [made.setdefault(need, run.load(need, STAGES[need].makes)) for need in step.stage.needs]
        began = time.perf_counter()
        with run.writing(name) as part:
            context = Context(part, device, config.seed, progress(name), run.record())
            first = [run.capture] if not step.stage.needs else []
            artefact = step.stage.run(*first, *inputs, settings=getattr(config, name), context=context)
            run.finish(part, name, artefact, step.fingerprint, time.perf_counter() - began, step.stage.version)
        made[name] = run.load(name, step.stage.makes)
    for step in steps:
        if step.stage.name not in made:
            made[step.stage.name] = run.load(step.stage.name, step.stage.makes)
    return made


def run_capture(capture: Path | str, out: Path | str, config: Any = None, device: str = "auto", **which: str) -> dict[str, Any]:
    """The whole way in one call: capture folder to artefacts by stage name. `which`: start, until, force as in plan()."""
    from video2phys.backend import resolve_device
    from video2phys.config import resolve

    chosen, settings = resolve_device(device), config if config is not None else resolve()
    with Run.open(Path(out), Path(capture)) as run:
        run.describe(settings, device, chosen)
        return execute(run, plan(run, settings, chosen, **which), settings, chosen)
