"""The evaluation's own arithmetic: rows of known parameters, rows that are kept, tables in a document."""

from __future__ import annotations

import json
from pathlib import Path

import evaluate
import pytest
import results
import truths

from video2phys.types import Parameter, Verdict


def row(capture: str, parameter: str, value: float, **more: object) -> dict:
    return {"capture": capture, "parameter": parameter, "value": value, "unit": "1", "seconds": 1.0, "status": "converged"} | more


def test_a_row_tells_error_coverage_and_whether_it_is_as_wanted() -> None:
    found = evaluate.compare(Parameter("slope", 29.5, "deg", [28.0, 31.0], Verdict.IDENTIFIED, ""), truths.close("slope", 29.0, 1.0))
    assert found["error"] == pytest.approx(0.5) and found["covered"] is True and found["met"] is True
    found = evaluate.compare(Parameter("speed", 2.0, "m/s", [1.9, 2.1], Verdict.IDENTIFIED, ""), truths.near("speed", 2.5, 0.05))
    assert found["error"] == pytest.approx(-0.2) and found["covered"] is False and found["met"] is False
    assert evaluate.compare(None, truths.FRICTION)["status"] == "no such parameter"


def test_a_run_of_one_capture_replaces_its_rows_only(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([row("a", "friction", 1.0), row("b", "friction", 2.0), row("a", "slope", 3.0)]))
    table = evaluate.merged(file, {"a": [row("a", "friction", 9.0)]})
    assert [(r["capture"], r["value"]) for r in table] == [("a", 9.0), ("b", 2.0)]
    assert evaluate.merged(None, {"c": []}) == []


@pytest.mark.parametrize(("other", "met"), [([0.33, 0.35], True), ([0.36, 0.40], False)])
def test_two_captures_of_one_object_are_held_against_each_other(other: list[float], met: bool) -> None:
    one, two = truths.SAME[0][1:]
    table = [row(one, "friction", 0.32, interval=[0.31, 0.34]), row(two, "friction", 0.34, interval=other)]
    agreed = evaluate.agreement(table)
    assert len(agreed) == 1 and agreed[0]["met"] is met
    assert evaluate.agreement(table[:1]) == []


def test_tables_go_between_the_marks_and_can_be_made_again() -> None:
    rows = [row("a", "friction", 0.3, truth=0.31, error=-0.03, unit_of_error="relative", interval=[0.2, 0.4], covered=True)]
    rows += [row("a", "time of frames", 3.0), row("a", "warning", 0.0, text="a warning")]
    page = f"before\n{results.BEGIN}\nold\n{results.END}\nafter\n"
    made = results.into(page, rows)
    assert made.startswith("before") and made.endswith("after\n") and "old" not in made
    assert "| a | friction | 0.3 | 1 | [0.2, 0.4] | 0.31 | -3.0 % | yes |" in made and "- a: a warning" in made
    assert results.into(made, rows) == made
    with pytest.raises(ValueError, match="no marks"):
        results.into("nothing here", rows)


def test_a_refusal_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = evaluate.rows(tmp_path / "empty", tmp_path / "runs")
    assert len(found) == 1 and found[0]["status"].startswith("refused: ") and "holds no video" in found[0]["status"]


def test_a_capture_without_its_facts_is_copied_with_them(tmp_path: Path) -> None:
    from video2phys.frames.capture import read

    for name in truths.FACTS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "video.mp4").write_bytes(b"frames")
        copy = evaluate.told(tmp_path / name, tmp_path / "runs")
        assert copy != tmp_path / name and (copy / "video.mp4").is_file() and not (tmp_path / name / "capture.yaml").exists()
        read(copy)
