"""Right frames at the right times, or one clear error, for whatever a camera or a disk does to a file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from clips import HEIGHT, WIDTH, clips_of, film, middle, square

from video2phys.errors import BadInput
from video2phys.frames.probe import probe
from video2phys.frames.sync import clock, correct, nearest, numbered


def centres(clip) -> np.ndarray:
    return np.array([middle(clip.image(i)) for i in range(len(clip.time))])


EXPECTED = np.array([middle(square(i)) for i in range(20)])


@pytest.mark.parametrize(
    ("name", "codec", "pixels"),
    [
        ("a.mp4", "libx264", "yuv420p"),
        ("a.mp4", "libx265", "yuv420p10le"),
        ("a.avi", "mjpeg", "yuvj420p"),
        ("a.gif", "gif", "rgb8"),
        ("a.mp4", "libsvtav1", "yuv420p"),
        ("a.webm", "libvpx-vp9", "yuv420p"),
        ("a.mp4", "libvpx-vp9", "yuv420p"),
        ("a.mov", "mpeg4", "yuv420p"),
    ],
)
def test_codec_gives_every_frame_at_its_time(tmp_path: Path, name: str, codec: str, pixels: str) -> None:
    import av

    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV cannot encode {codec}")
    rate = Fraction(10) if codec == "gif" else Fraction(30)
    (clip,), _, warnings = clips_of(film(tmp_path / name, codec=codec, pixels=pixels, rate=rate), tmp_path / "out")
    assert not warnings
    np.testing.assert_allclose(clip.time, np.arange(20) / float(rate), atol=6e-4)  # webm counts whole milliseconds
    np.testing.assert_allclose(centres(clip), EXPECTED, atol=0.6)


def test_variable_rate_keeps_its_stamps(tmp_path: Path) -> None:
    stamps = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.08, 20))
    (clip,), _, _ = clips_of(film(tmp_path / "a.mp4", stamps=stamps), tmp_path / "out")
    np.testing.assert_allclose(clip.time, stamps - stamps[0], atol=2e-4)
    np.testing.assert_allclose(centres(clip), EXPECTED, atol=0.6)


@pytest.mark.parametrize("turn", [90, 180, -90])
def test_rotation_tag_is_applied_once(tmp_path: Path, turn: int) -> None:
    """The tag counts counter-clockwise: what is shown is the stored picture turned by it."""
    (clip,), _, _ = clips_of(film(tmp_path / "a.mp4", turn=turn), tmp_path / "out")
    shown = np.array([middle(np.rot90(square(i), turn // 90)) for i in range(20)])
    np.testing.assert_allclose(centres(clip), shown, atol=0.6)
    assert (clip.camera.width, clip.camera.height) == ((WIDTH, HEIGHT) if turn == 180 else (HEIGHT, WIDTH))


def test_truncated_file_gives_what_decodes_and_both_counts(tmp_path: Path) -> None:
    whole = film(tmp_path / "whole.avi", codec="mjpeg", pixels="yuvj420p", count=20)
    data = whole.read_bytes()
    (tmp_path / "cut.avi").write_bytes(data[: 7 * len(data) // 10])
    (clip,), _, warnings = clips_of(tmp_path / "cut.avi", tmp_path / "out")
    n = len(clip.time)
    assert 5 < n < 20
    np.testing.assert_allclose(clip.time, np.arange(n) / 30, atol=1e-3)
    np.testing.assert_allclose(centres(clip), EXPECTED[:n], atol=0.6)
    assert any(f"{n} of 20 frames" in w for w in warnings)


def test_damage_in_the_middle_leaves_gaps_not_shifts(tmp_path: Path) -> None:
    file = film(tmp_path / "a.avi", codec="mjpeg", pixels="yuvj420p", count=20)
    data = bytearray(file.read_bytes())
    third = len(data) // 3
    data[third : third + 600] = bytes(600)
    (tmp_path / "b.avi").write_bytes(bytes(data))
    (clip,), _, _ = clips_of(tmp_path / "b.avi", tmp_path / "out")
    whole = [i for i in range(len(clip.time)) if abs(centres(clip)[i, 1] - EXPECTED[0, 1]) < 0.6]
    frames = np.round(clip.time[whole] * 30).astype(int)
    np.testing.assert_allclose(centres(clip)[whole], EXPECTED[frames], atol=0.6)


@pytest.mark.parametrize(("content", "word"), [(b"", "empty"), (b"no video at all\n" * 50, "not a video")])
def test_no_video_is_refused(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "a.mp4").write_bytes(content)
    with pytest.raises(BadInput, match=word):
        clips_of(tmp_path / "a.mp4", tmp_path / "out")


def test_unknown_codec_is_refused(tmp_path: Path) -> None:
    data = film(tmp_path / "a.mp4").read_bytes()
    (tmp_path / "b.mp4").write_bytes(data.replace(b"avc1", b"zzzz"))
    with pytest.raises(BadInput) as caught:
        clips_of(tmp_path / "b.mp4", tmp_path / "out")
    assert "codec" in str(caught.value) and caught.value.fix


def test_single_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="single frame"):
        clips_of(film(tmp_path / "a.mp4", count=1), tmp_path / "out")


def test_limits(tmp_path: Path) -> None:
    file = film(tmp_path / "a.mp4")
    (clip,), _, _ = clips_of(file, tmp_path / "o1", start=0.2, stop=0.4)
    np.testing.assert_allclose(centres(clip), EXPECTED[6:13], atol=0.6)
    np.testing.assert_allclose(clip.time, np.arange(7) / 30, atol=1e-6)
    (clip,), _, warnings = clips_of(file, tmp_path / "o2", max_frames=5)
    assert len(clip.time) == 5 and "first 5 frames" in warnings[0]
    (clip,), _, _ = clips_of(file, tmp_path / "o3", max_pixels=1536)  # a quarter of the pixels
    assert (clip.camera.width, clip.camera.height, clip.zoom) == (48, 32, 0.5)
    with pytest.raises(BadInput, match="can be used"):
        clips_of(file, tmp_path / "o4", start=100.0)


def test_white_key_only_when_asked(tmp_path: Path) -> None:
    file = film(tmp_path / "a.mp4", draw=lambda i: np.where(square(i) > 150, 20, 255).astype(np.uint8))
    (clip,), _, warnings = clips_of(file, tmp_path / "o1")
    assert clip.masks == () and not warnings
    (clip,), _, warnings = clips_of(file, tmp_path / "o2", white_key=True)
    mask = clip.given(4)
    assert mask is not None and abs(mask.sum() - 144) < 20
    assert any("white" in w for w in warnings)


def test_true_rate_wins_over_the_container() -> None:
    file = np.arange(50) / (30000 / 1001)
    time, note = correct(file, 240)
    np.testing.assert_allclose(time, np.arange(50) / 240, atol=1e-12)
    assert "240" in note and "29.97" in note
    dropped = np.delete(file, [10, 11, 30])  # a slow-motion file with lost frames
    np.testing.assert_allclose(correct(dropped, 240)[0], np.delete(np.arange(50), [10, 11, 30]) / 240, atol=1e-12)
    jitter = file + np.random.default_rng(1).uniform(-0.002, 0.002, 50)
    same, note = correct(jitter, 30)
    assert note == ""
    np.testing.assert_allclose(np.diff(same), np.diff(jitter), rtol=2e-3)  # the stamps stay, the rate is exact


def test_numbers_in_file_names_show_gaps() -> None:
    assert numbered(["f_0001", "f_0002", "f_0005"]).tolist() == [0, 1, 4]
    assert numbered(["10", "20", "40", "50"]).tolist() == [0, 1, 3, 4]
    assert numbered(["1633", "1670", "1699"]).tolist() == [0, 1, 2]  # these count something else
    assert numbered(["a", "b"]).tolist() == [0, 1]


def test_views_meet_on_one_clock() -> None:
    a, b = np.arange(10) / 60, np.arange(5) / 30 + 0.001
    time, (ia, ib) = clock([a, b], 0.0, None, 100)
    np.testing.assert_allclose(time, a)
    assert ia.tolist() == list(range(10))
    assert ib.tolist() == [0, -1, 1, -1, 2, -1, 3, -1, 4, -1]
    assert nearest(np.array([0.5]), np.array([0.0, 0.1, 0.49])).tolist() == [-1, -1, 0]


ODD = {  # the ordinary clip has 60 frames at 179/6 per second
    "hevc_10bit.mp4": 60,
    "mjpeg.avi": 60,
    "odd_321x177.mp4": 60,
    "rot90.mp4": 60,
    "rot180.mp4": 60,
    "vfr.mp4": 60,
    "truncated.mp4": 24,
}


@pytest.mark.parametrize("name", sorted(ODD))
def test_damaged_clips_show_the_ordinary_one(shared_data: Path, tmp_path: Path, name: str) -> None:
    """Every variant shows frame k of the ball toss as its frame k; only the variable rate has a gap in its times."""
    import cv2

    (clip,), _, warnings = clips_of(shared_data / "odd" / name, tmp_path / "a")
    (whole,), _, _ = clips_of(shared_data / "real/ball_toss/video.mp4", tmp_path / "b", max_pixels=320 * 180)
    steps = np.diff(clip.time) * 179 / 6
    assert len(clip.time) == ODD[name]
    assert sorted(np.round(steps, 3))[-2:] == ([1, 2] if name == "vfr.mp4" else [1, 1])
    assert bool(warnings) == (name == "truncated.mp4")
    turn = {"rot90.mp4": 1, "rot180.mp4": 2}.get(name, 0)

    def small(image: np.ndarray) -> np.ndarray:
        image = cv2.resize(np.ascontiguousarray(image), (160, 90), interpolation=cv2.INTER_AREA).astype(float)
        return image - image.mean((0, 1))

    known = np.array([small(whole.image(k)) for k in range(60)])
    for i in range(15, min(36, len(clip.time)), 4):  # the ball flies
        error = ((known - small(np.rot90(clip.image(i), -turn))) ** 2).mean((1, 2, 3))
        assert int(error.argmin()) == i


@pytest.mark.parametrize("name", ["audio_only.mp4", "empty.mp4", "single_frame.mp4", "text.mp4"])
def test_odd_files_without_a_clip_are_refused(shared_data: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        clips_of(shared_data / "odd" / name, tmp_path / "out")
    assert caught.value.exit_code == 3 and caught.value.fix and "\n" not in str(caught.value)


def test_gif_and_black_clip_decode(shared_data: Path, tmp_path: Path) -> None:
    (clip,), _, _ = clips_of(shared_data / "odd/clip.gif", tmp_path / "a")
    np.testing.assert_allclose(clip.time, np.arange(20) / 10, atol=1e-9)
    (clip,), _, _ = clips_of(shared_data / "odd/all_black.mp4", tmp_path / "b")
    assert len(clip.time) == 25 and clip.image(12).max() < 8


def test_ball_drop_is_upright(shared_data: Path, tmp_path: Path) -> None:
    (clip,), notes, _ = clips_of(shared_data / "real/ball_drop", tmp_path / "out")
    assert (clip.camera.width, clip.camera.height) == (172, 1716)
    assert any("120" in n for n in notes)
    assert abs(np.diff(clip.time) - 1 / 120).max() < 1e-9


def test_probe_lists_without_decoding(tmp_path: Path) -> None:
    reel = probe(film(tmp_path / "a.mp4"))
    assert reel.codec == "h264" and reel.listed == 20
    np.testing.assert_allclose(reel.seconds, np.arange(20) / 30, atol=1e-9)
