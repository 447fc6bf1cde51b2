"""A run that is killed at any moment and run again ends where an undisturbed one does; Ctrl-C ends in one line."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "sample_videos/sliding_block"


def start(out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "video2phys.cli", "run", str(SAMPLE), "-q", "-o", str(out)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, text=True, stdout=pipe, stderr=pipe, start_new_session=True)


def kept(out: Path) -> dict[str, str]:
    """Every file of a run by content; seconds spent and sizes of files that tell them do not count."""
    found = {}
    for file in sorted(p for p in out.rglob("*") if p.is_file() and p.name not in ("run.json", ".lock")):
        data = file.read_bytes()
        if file.name in ("stage.json", "twin.json"):
            tree = json.loads(data)
            for passing in ("seconds", "files", "timings_s"):
                tree.pop(passing, None)
            data = json.dumps(tree, sort_keys=True).encode()
        elif file.suffix == ".html":
            data = b"made"
        found[str(file.relative_to(out))] = hashlib.sha256(data).hexdigest()
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], float]:
    """The files of a run that nothing disturbs, and its seconds."""
    out = tmp_path_factory.mktemp("calm") / "run"
    began = time.monotonic()
    run = start(out)
    _, errors = run.communicate()
    assert run.returncode == 0, errors
    return kept(out), time.monotonic() - began


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_killed_and_run_again_it_ends_the_same(tmp_path: Path, undisturbed: tuple[dict[str, str], float], seed: int) -> None:
    files, seconds = undisturbed
    run = start(tmp_path / "run")
    time.sleep(random.Random(seed).uniform(0.1, 1.0) * seconds)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    again = start(tmp_path / "run")
    _, errors = again.communicate()
    assert again.returncode == 0 and errors == ""
    assert kept(tmp_path / "run") == files
    assert not list((tmp_path / "run").glob(".*.part")) and not list((tmp_path / "run").glob(".*.old"))


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["run.json", "frames", "parameters"])  # a stage after each of them is at work for some time
def test_interrupted_it_says_one_line_and_goes_on(tmp_path: Path, undisturbed: tuple[dict[str, str], float], sign: str) -> None:
    files, _ = undisturbed
    run = start(tmp_path / "run")
    while not (tmp_path / "run" / sign).exists():
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    out, errors = run.communicate()
    assert run.returncode in (130, -signal.SIGINT) and out == ""  # a shell calls both 130; Python picks by what Ctrl-C fell into
    assert errors.startswith("interrupted") and len(errors.strip().splitlines()) == 1
    again = start(tmp_path / "run")
    _, errors = again.communicate()
    assert again.returncode == 0 and errors == ""
    assert kept(tmp_path / "run") == files
