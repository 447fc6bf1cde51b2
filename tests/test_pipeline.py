"""The stage graph on stages that only count: what runs, why, and what a kill leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from video2phys import pipeline
from video2phys.config import STAGE_NAMES
from video2phys.errors import BadInput
from video2phys.run import CHANGED, Run
from video2phys.types import Plane


class Section:
    capture_yaml: Path | None = None

    def __init__(self, **values: Any) -> None:
        self.values = values

    def model_dump(self, mode: str = "json") -> dict[str, Any]:
        return self.values


class Config:
    """A stand-in for the resolved settings: every stage has one section with one setting."""

    def __init__(self, **changed: int) -> None:
        self.seed = 0
        for name in STAGE_NAMES:
            setattr(self, name, Section(x=changed.get(name, 0)))

    def model_dump(self, mode: str = "json") -> dict[str, Any]:
        return {name: getattr(self, name).values for name in STAGE_NAMES}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace every stage by one that notes its name and returns a small artefact made from its inputs."""
    ran: list[str] = []

    def run(self: pipeline.Stage, *inputs: Any, settings: Any, context: Any) -> Plane:
        ran.append(self.name)
        (context.folder / "data.txt").write_text(self.name)
        total = sum(i.offset for i in inputs if isinstance(i, Plane))
        return Plane(np.array([0.0, 0, 1]), total + settings.values["x"] + 1)

    stages = {name: pipeline.Stage(name, stage.needs, Plane) for name, stage in pipeline.STAGES.items()}
    monkeypatch.setattr(pipeline, "STAGES", stages)
    monkeypatch.setattr(pipeline.Stage, "run", run)
    return ran


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    folder = tmp_path / "capture"
    folder.mkdir()
    (folder / "video.mp4").write_bytes(b"not really")
    return folder


def go(tmp_path: Path, capture: Path, config: Config, **which: str) -> dict[str, Any]:
    return pipeline.run_capture(capture, tmp_path / "run", config, "cpu", **which)


def test_a_capture_yaml_elsewhere_counts_by_its_content(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    config, told = Config(), tmp_path / "told.yaml"
    config.frames.capture_yaml = told  # type: ignore[attr-defined]
    told.write_text("fps: 240")
    go(tmp_path, capture, config)
    go(tmp_path, capture, config)
    assert counted == list(STAGE_NAMES)
    told.write_text("fps: 120")
    go(tmp_path, capture, config)
    assert counted == 2 * list(STAGE_NAMES)


def test_second_run_keeps_everything(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    first = go(tmp_path, capture, Config())
    assert counted == list(STAGE_NAMES)
    second = go(tmp_path, capture, Config())
    assert counted == list(STAGE_NAMES)
    assert second["twin"].offset == first["twin"].offset


def test_a_changed_setting_reruns_that_stage_and_what_follows(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    go(tmp_path, capture, Config())
    counted.clear()
    go(tmp_path, capture, Config(parameters=5))
    assert counted == ["parameters", "topology", "twin"]


def test_a_changed_capture_reruns_all(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    go(tmp_path, capture, Config())
    counted.clear()
    (capture / "video.mp4").write_bytes(b"other bytes")
    go(tmp_path, capture, Config())
    assert counted == list(STAGE_NAMES)


def test_a_damaged_or_missing_file_reruns(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    go(tmp_path, capture, Config())
    counted.clear()
    (tmp_path / "run/states/data.txt").write_text("")
    go(tmp_path, capture, Config())
    assert counted == ["states", "parameters", "topology", "twin"]


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_killed_in_a_stage_a_run_resumes_there(
    tmp_path: Path, capture: Path, counted: list[str], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = go(tmp_path / "undisturbed", capture, Config())
    counted.clear()
    calm = pipeline.Stage.run

    def killed(self: pipeline.Stage, *inputs: Any, **rest: Any) -> Any:
        result = calm(self, *inputs, **rest)
        if self.name == stage:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.Stage, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path, capture, Config())
    assert not (tmp_path / "run" / stage).exists()
    counted.clear()
    resumed = go(tmp_path, capture, Config())
    assert counted == list(STAGE_NAMES[STAGE_NAMES.index(stage) :])
    assert resumed["twin"].offset == whole["twin"].offset


def test_plan_says_why(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    go(tmp_path, capture, Config())
    with Run.open(tmp_path / "run", capture) as run:
        steps = pipeline.plan(run, Config(states=1), "cpu")
        assert [s.why for s in steps] == ["", "", CHANGED, *["follows 'states'"] * 3]
        assert [s.why for s in pipeline.plan(run, Config(), "cpu", force="topology")] == ["", "", "", "", "asked for", "follows 'topology'"]
        assert len(pipeline.plan(run, Config(), "cpu", until="states")) == 3


def test_from_wants_what_comes_before(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    with Run.open(tmp_path / "run", capture) as run, pytest.raises(BadInput, match="--from states needs the result of 'frames'"):
        pipeline.plan(run, Config(), "cpu", start="states")


def test_a_run_folder_belongs_to_one_capture(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    go(tmp_path, capture, Config())
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(BadInput, match="another capture"):
        Run.open(tmp_path / "run", other)
    with pytest.raises(BadInput, match="is not empty and is no run folder"):
        Run.open(capture, other)


def test_two_runs_do_not_share_a_folder(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    with (
        Run.open(tmp_path / "run", capture),
        pytest.raises(BadInput, match="another run is at work"),
        Run.open(tmp_path / "run", capture),
    ):
        pass
    (tmp_path / "run/.lock").write_text("1")  # what a killed run leaves: its number may be another process's by now
    go(tmp_path, capture, Config())
    assert counted == list(STAGE_NAMES)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_can_be_no_folder(tmp_path: Path, capture: Path, place: str) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(BadInput, match=r"is a file|cannot be made"), Run.open(tmp_path / place, capture):
        pass
    assert (tmp_path / "file").read_text() == "kept"


def test_the_record_tells_device_and_times(tmp_path: Path, capture: Path, counted: list[str]) -> None:
    go(tmp_path, capture, Config())
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record["device"] == "cpu" and record["versions"]["numpy"]
    assert set(Run.open(tmp_path / "run").record()["timings_s"]) == set(STAGE_NAMES)
