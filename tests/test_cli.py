"""The command line in process: exit codes, two-line errors, results on stdout only."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from video2phys import cli
from video2phys.run import Run
from video2phys.types import Parameters, Status

SAMPLES = Path(__file__).resolve().parents[1] / "sample_videos"


def call(*args: object) -> Result:
    return CliRunner().invoke(cli.app, [str(a) for a in args])


def refused(result: Result, code: int, what: str) -> None:
    """Exit code, and exactly two lines: what is wrong, and what to do."""
    lines = result.stderr.strip().splitlines()
    assert result.exit_code == code, result.output
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("  fix: "), result.stderr
    assert what in lines[0]
    assert result.stdout == ""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run of the sliding block."""
    out = tmp_path_factory.mktemp("run") / "sliding_block"
    result = call("run", SAMPLES / "sliding_block", "-o", out, "-q", "--json")
    assert result.exit_code == 0, result.output
    tree = json.loads(result.stdout)  # nothing but the result reaches stdout
    assert result.stderr == ""
    assert tree["model"] == "rigid" and tree["status"] == "converged"
    return out


def test_the_sample_is_recovered(run: Path) -> None:
    found = json.loads(call("show", run, "--json").stdout)["parameters"]
    truth = json.loads((SAMPLES / "sliding_block/truth.json").read_text())
    for name, value in truth.items():
        low, high = found[name]["interval"]
        assert low <= value <= high, name
    assert abs(found["friction"]["value"] / truth["friction"] - 1) < 0.05


def test_the_table_fits_a_narrow_terminal(run: Path) -> None:
    shown = CliRunner().invoke(cli.app, ["show", str(run)], env={"COLUMNS": "80"}).stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert any(line.split()[:1] == ["initial_velocity.x"] and line.split()[-1] == "identified" for line in shown)


def test_a_second_run_keeps_everything(run: Path) -> None:
    result = call("run", SAMPLES / "sliding_block", "-o", run, "--dry-run")
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["keep"] * 6


def test_a_changed_parameters_setting_reruns_from_there(run: Path) -> None:
    result = call("run", SAMPLES / "sliding_block", "-o", run, "--dry-run", "--set", "parameters.max_steps=17")
    assert [line.split()[1][:3] for line in result.stdout.splitlines()] == ["kee", "kee", "kee", "run", "run", "run"]


def test_a_single_stage_from_a_run_folder(run: Path) -> None:
    before = (run / "frames/stage.json").stat().st_mtime_ns
    result = call("topology", run, "--force", "--json", "-q")
    assert result.exit_code == 0 and json.loads(result.stdout)["model"] == "rigid"
    assert (run / "frames/stage.json").stat().st_mtime_ns == before


def test_export_and_simulate(run: Path, tmp_path: Path) -> None:
    assert call("twin", run, "-q").exit_code == 0
    assert call("export", run, "-o", tmp_path, "--format", "mjcf").exit_code == 0
    assert list(tmp_path.glob("*.xml"))
    refused(call("export", run, "-o", tmp_path, "--format", "dwg"), 3, "has no 'dwg'")
    (tmp_path / "file").write_text("kept")
    refused(call("export", run, "-o", tmp_path / "file", "--format", "JSON"), 3, "cannot write to")
    refused(call("simulate", run, "-o", tmp_path / "none/path.csv"), 3, "cannot write to")
    assert (tmp_path / "file").read_text() == "kept"
    rows = call("simulate", run, "--seconds", "0.2").stdout.strip().splitlines()
    assert rows[0].startswith("time") and len(rows) > 10


def test_not_converged_writes_the_result_and_exits_5(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Run.load

    def unfinished(self: Run, name: str, kind: type) -> object:
        artefact = real(self, name, kind)
        return replace(artefact, status=Status.MAX_STEPS) if isinstance(artefact, Parameters) else artefact

    monkeypatch.setattr(Run, "load", unfinished)
    result = call("run", SAMPLES / "sliding_block", "-o", run, "-q", "--until", "parameters")
    assert result.exit_code == 5 and "friction" in result.stdout


def test_usage() -> None:
    assert call("run").exit_code == 2
    assert call("fly").exit_code == 2
    assert call("--version").stdout.strip().count(".") == 2


def test_an_interrupt_within_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise ImportError("initialization failed") from cause

    monkeypatch.setattr(Run, "open", broken)
    result = call("show", tmp_path)
    assert result.exit_code == cli.INTERRUPTED and result.stderr.startswith("interrupted")


def test_mistakes_are_two_lines(tmp_path: Path) -> None:
    refused(call("run", tmp_path / "none"), 3, "there is no capture")
    refused(call("run", tmp_path, "-o", tmp_path / "out", "-q"), 3, "holds no video")
    refused(call("run", tmp_path, "--until", "paint", "--dry-run"), 3, "'paint' is no stage")
    refused(call("run", tmp_path, "--device", "abacus"), 3, "'abacus' is no device")
    refused(call("run", tmp_path, "--set", "states.kindd=pose"), 3, "states.kindd is not a setting")
    refused(call("run", tmp_path, "--set", "parameters.max_steps=["), 3, "'[' is no value")
    refused(call("run", tmp_path, "--set", "=3"), 3, "no name before '='")
    refused(call("run", tmp_path, "-o", "/proc/none", "-q"), 3, "cannot be made")
    refused(call("show", tmp_path), 3, "is no run folder")
    refused(call("init", tmp_path / "none"), 3, "is no folder")


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    refused(call("run", SAMPLES / "sliding_block", "-o", tmp_path / "r", "--device", "cuda"), 4, "device cuda was asked for")


@pytest.mark.parametrize(("number", "what"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "no permission")])
def test_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, what: str) -> None:
    def full(file: Path, image: object) -> None:
        raise OSError(number, os.strerror(number), str(file))

    from video2phys import store

    monkeypatch.setattr(store, "write_image", full)
    monkeypatch.setattr("video2phys.frames.decode.write_image", full, raising=False)
    refused(call("run", SAMPLES / "sliding_block", "-o", tmp_path / "r", "-q"), 3, what)
    assert not (tmp_path / "r/frames").exists() and not list((tmp_path / "r").glob(".*.part"))


def test_init_writes_a_capture_yaml_that_is_accepted(tmp_path: Path) -> None:
    assert call("init", tmp_path).exit_code == 0
    refused(call("init", tmp_path), 3, "already there")
    from video2phys.frames.capture import read

    read(tmp_path)


def test_doctor() -> None:
    findings = json.loads(call("doctor", "--json").stdout)
    assert all(f["ok"] for f in findings if f["required"])
