"""Settings: defaults in code, overrides checked, unknown keys refused with a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from video2phys.config import STAGE_NAMES, resolve, schema
from video2phys.errors import BadInput


def test_defaults_have_one_section_per_stage() -> None:
    assert set(schema().model_fields) == {"seed", *STAGE_NAMES}
    assert resolve().seed == 0


def test_every_setting_is_described() -> None:
    for name in STAGE_NAMES:
        kind = schema().model_fields[name].annotation
        assert kind is not None
        for setting, field in kind.model_fields.items():
            assert field.description, f"{name}.{setting}"


def test_a_file_and_overrides_win_in_that_order(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("seed: 3\nframes: {max_frames: 90}\n")
    config = resolve(file, ["frames.max_frames=70", "frames.start=0.5"])
    assert (config.seed, config.frames.max_frames, config.frames.start) == (3, 70, 0.5)


def test_a_recorded_configuration_is_the_start() -> None:
    recorded = resolve(overrides=["frames.max_frames=70"]).model_dump(mode="json")
    assert resolve(overrides=["seed=5"], start=recorded).frames.max_frames == 70


@pytest.mark.parametrize(
    ("override", "what", "fix"),
    [
        ("frames.max_frame=3", "frames.max_frame is not a setting", "Did you mean 'max_frames'?"),
        ("frame.max_frames=3", "frame is not a setting", "Did you mean 'frames'?"),
        ("frames.max_frames=many", "setting frames.max_frames", "Change frames.max_frames"),
        ("frames.max_frames", "has no '='", "--set section.setting=value"),
    ],
)
def test_mistakes_are_named(override: str, what: str, fix: str) -> None:
    with pytest.raises(BadInput, match=what) as caught:
        resolve(overrides=[override])
    assert fix in caught.value.fix


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "just words"])
def test_a_file_that_is_no_settings(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(BadInput):
        resolve(file)


def test_the_shipped_configurations_are_valid() -> None:
    folder = Path(__file__).resolve().parents[1] / "configs"
    files = sorted(folder.glob("*.yaml"))
    assert files
    for file in files:
        resolve(file)
