"""Tracks from blobs whose identity is known."""

from __future__ import annotations

import numpy as np

from video2phys.frames.follow import Blob, find_blobs, link, rank

SIZE = (320, 240)


def blob(x: float, y: float, *, width: int = 10, contrast: float = 40.0, shade: float = 0.0, border: bool = False) -> Blob:
    mask = np.ones((width, width), bool)
    corner = (round(y - width / 2), round(x - width / 2))
    return Blob(np.array([x, y]), float(width**2), np.array([50.0, 120.0, 60.0]), contrast, shade, border, corner, mask)


def test_the_ballistic_track_wins_over_hand_shadow_and_jitter() -> None:
    rng = np.random.default_rng(0)
    frames = []
    for i in range(60):
        ball = blob(20 + 4 * i, 120 - 5 * i + 0.09 * i * i)
        shadow = blob(40 + 4 * i, 130 - 5 * i + 0.09 * i * i, contrast=12, shade=1.0)
        hand = blob(10 + i, 200, width=30, border=True)
        jitter = blob(*(rng.normal(0, 2, 2) + np.array([250, 60])), width=6)
        frames.append([ball, shadow, hand, jitter])
    best = rank(link(frames), SIZE)[0][1]
    assert len(best.frames) == 60
    assert np.allclose(best.blobs[30].center, (140, 51))


def test_a_bounce_and_a_short_gap_do_not_end_a_track() -> None:
    frames: list[list[Blob]] = []
    for i in range(50):
        height = abs(100 - 8 * i) if i < 25 else 100 - 0.0 * i
        frames.append([] if i in (8, 9) else [blob(30 + 3 * i, 200 - height)])
    tracks = rank(link(frames[:25]), SIZE)
    assert len(tracks) == 1 and len(tracks[0][1].frames) == 23


def test_what_stays_in_place_is_not_ranked() -> None:
    rng = np.random.default_rng(0)
    still = link([[blob(*(rng.normal(0, 0.3, 2) + 100))] for _ in range(40)])
    assert rank(still, SIZE) == []
    assert len(rank(still, SIZE, placed=True)) == 1  # in front of the picture of the empty scene it is the object


def test_two_that_merge_keep_their_identity() -> None:
    frames = []
    for i in range(40):
        a, b = 40 + 3 * i, 160 - 3 * i
        if abs(a - b) < 11:
            both = np.ones((10, round(10 + abs(a - b))), bool)
            middle = np.array([(a + b) / 2, 100.0])
            frames.append([Blob(middle, float(both.sum()), np.full(3, 90.0), 40.0, 0.0, False, (95, round(min(a, b) - 5)), both)])
        else:
            frames.append([blob(a, 100), blob(b, 100)])
    tracks = [t for _, t in rank(link(frames), SIZE)][:2]
    assert len(tracks) == 2
    assert all(t.merged for t in tracks)


def test_a_shadow_is_cut_from_its_object_and_kept_when_alone() -> None:
    deviation, shaded = np.zeros((60, 80)), np.zeros((60, 80), bool)
    deviation[20:30, 20:30] = 50
    deviation[20:30, 30:45] = 15
    shaded[20:30, 30:45] = True
    deviation[45:52, 60:70] = 15
    shaded[45:52, 60:70] = True
    found = find_blobs(np.zeros((60, 80, 3), np.uint8), deviation, shaded)
    assert [b.area for b in found] == [110.0, 70.0]  # one pixel of the shaded rim is given back
    assert found[0].shade < 0.2 and found[1].shade == 1.0
