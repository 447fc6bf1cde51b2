"""The arrow of data is tested: stages meet only in types.py, the three libraries know nothing of stages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from video2phys.config import STAGE_NAMES

PACKAGE = Path(__file__).resolve().parents[1] / "video2phys"
LIBRARIES = {"render", "simulate", "solve", "solids"}
STAGES = set(STAGE_NAMES)
RUNNERS = {"pipeline", "run", "cli", "config", "doctor", "result"}  # what stands above the stages


def imported_parts(file: Path) -> set[str]:
    """First name below video2phys of everything a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("video2phys.")}


FILES = [(file, file.relative_to(PACKAGE).parts[0]) for file in sorted(PACKAGE.rglob("*.py"))]


@pytest.mark.parametrize(("file", "owner"), [f for f in FILES if f[1] in STAGES], ids=str)
def test_stages_do_not_import_each_other(file: Path, owner: str) -> None:
    assert not imported_parts(file) & (STAGES - {owner} | {"pipeline", "run", "cli", "config", "doctor"})


@pytest.mark.parametrize(("file", "owner"), [f for f in FILES if f[1] in LIBRARIES], ids=str)
def test_libraries_know_nothing_of_stages(file: Path, owner: str) -> None:
    assert not imported_parts(file) & (STAGES | RUNNERS | LIBRARIES - {owner})


def test_the_command_line_loads_nothing_heavy() -> None:
    heavy = ("torch", "taichi", "cv2", "mujoco", "av", "scipy", "matplotlib")
    code = f"import sys, video2phys.cli; print(*[m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_no_bare_except_no_pickle_no_print() -> None:
    for file, _ in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            assert not (isinstance(node, ast.ExceptHandler) and node.type is None), f"{file}: bare except"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "eval", "exec", "input"), f"{file}: {node.func.id}()"
            if isinstance(node, ast.Import):
                assert all(alias.name != "pickle" for alias in node.names), f"{file}: pickle"
