"""A run folder: one folder per stage, written beside and renamed into place, each with its own fingerprint."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from video2phys import store
from video2phys.config import STAGE_NAMES
from video2phys.errors import BadInput

PACKAGES = ("video2phys", "numpy", "scipy", "torch", "taichi", "opencv-python", "av", "mujoco")
CHANGED = "its settings or inputs changed"


def digest(*parts: Any) -> str:
    """Fingerprint of anything JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:20]


class Run:
    """Use as a context manager: it holds the folder's lock, so that two runs never write into one another."""

    def __init__(self, folder: Path, capture: Path) -> None:
        self.folder, self.capture = folder, capture
        self._digest = ""
        self._lock: FileLock | None = None

    @staticmethod
    def open(folder: Path, capture: Path | None = None) -> Run:
        """A new or existing run. `capture` may be left out for an existing one.

        Raises BadInput when the capture is missing or the folder belongs to another capture.
        """
        recorded = _read_json(folder / "run.json").get("capture")
        if capture is None:
            if recorded is None:
                raise BadInput(f"{folder} is no run folder.", fix="Give the folder that `video2phys run` wrote.")
            capture = Path(recorded)
        capture = capture.expanduser().resolve()
        if not capture.exists():
            raise BadInput(f"there is no capture at {capture}.", fix="Give a folder of video, or a video file.")
        if recorded is not None and Path(recorded) != capture:
            raise BadInput(f"{folder} holds the run of another capture, {recorded}.", fix="Choose another folder with -o.")
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder} is a file, and a run needs a folder.", fix="Choose another folder with -o.")
        if folder.exists() and recorded is None and any(p.name != ".lock" for p in folder.iterdir()):
            raise BadInput(f"{folder} is not empty and is no run folder.", fix="Choose another folder with -o.")
        return Run(folder.resolve(), capture)

    def __enter__(self) -> Run:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:  # a file on the way, or a place like /proc
            raise BadInput(f"the folder {self.folder} cannot be made.", fix="Choose another folder with -o.") from error
        self._lock = FileLock(self.folder / ".lock")
        try:
            self._lock.acquire(timeout=0)  # the system drops it when the process dies, however it dies
        except Timeout:
            raise BadInput(f"another run is at work in {self.folder}.", fix="Wait for it, or choose another folder with -o.") from None
        for name in STAGE_NAMES:  # what a killed run left half-written
            shutil.rmtree(self._part(name), ignore_errors=True)
            shutil.rmtree(self._old(name), ignore_errors=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.release()

    def _part(self, name: str) -> Path:
        return self.folder / f".{name}.part"

    def _old(self, name: str) -> Path:
        return self.folder / f".{name}.old"

    def capture_digest(self, told: Path | None = None) -> str:
        """Fingerprint of every file of the capture, by content, and of a capture.yaml outside it that counts for it."""
        if not self._digest:
            files = sorted(p for p in self.capture.rglob("*") if p.is_file()) if self.capture.is_dir() else [self.capture]
            files = [p for p in files if self.folder not in p.parents]
            named = [(str(p.relative_to(self.capture.parent)), _hash(p)) for p in files]
            self._digest = digest([*named, ("capture.yaml", _hash(told))] if told is not None and told.is_file() else named)
        return self._digest

    def describe(self, config: Any, asked: str, device: str) -> None:
        """Record the resolved settings, seed, versions and the device really used in run.json."""
        versions = {}
        for package in PACKAGES:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                versions[package] = None
        record = {"capture": str(self.capture), "config": config.model_dump(mode="json"), "device_asked": asked, "device": device}
        _write_json(self.folder / "run.json", record | {"versions": versions})

    def record(self) -> dict[str, Any]:
        """run.json plus `timings_s` of the stages done."""
        timings = {n: _read_json(self.folder / n / "stage.json").get("seconds") for n in STAGE_NAMES if (self.folder / n).is_dir()}
        return _read_json(self.folder / "run.json") | {"timings_s": timings}

    def why_stale(self, name: str, fingerprint: str) -> str:
        """Why a stage has to run, or '' when what it would write is there and whole."""
        folder = self.folder / name
        if not folder.is_dir():
            return "never run"
        entry = _read_json(folder / "stage.json")
        if not entry:
            return "its record is damaged"
        if entry["fingerprint"] != fingerprint:
            return CHANGED
        for file, size in entry["files"].items():
            if not (folder / file).is_file() or (folder / file).stat().st_size != size:
                return f"{file} is missing or damaged"
        return ""

    def load(self, name: str, kind: type) -> Any:
        """The artefact of a stage. Raises BadInput when it is not there."""
        if not (self.folder / name).is_dir():
            raise BadInput(f"{self.folder} has no result of '{name}' yet.", fix=f"Run `video2phys {name} {self.folder}` first.")
        return store.load(kind, self.folder / name)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A fresh folder to write a stage's result into; it is put in place by finish(), dropped on any failure."""
        part = self._part(name)
        part.mkdir(parents=True)
        try:
            yield part
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def finish(self, part: Path, name: str, artefact: Any, fingerprint: str, seconds: float, version: int) -> None:
        """Save the artefact, list the files, and rename the whole folder into place."""
        store.save(artefact, part)
        files = {str(p.relative_to(part)): p.stat().st_size for p in sorted(part.rglob("*")) if p.is_file()}
        entry = {"fingerprint": fingerprint, "version": version, "seconds": round(seconds, 3), "files": files}
        _write_json(part / "stage.json", entry)
        place, old = self.folder / name, self._old(name)
        if place.exists():
            place.rename(old)
        part.rename(place)
        shutil.rmtree(old, ignore_errors=True)


def _hash(file: Path) -> str:
    state = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _read_json(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}


def _write_json(file: Path, tree: dict[str, Any]) -> None:
    beside = file.with_name(file.name + ".part")
    beside.write_text(json.dumps(tree, indent=1))
    os.replace(beside, file)
