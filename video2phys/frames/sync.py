"""All views on one clock, by time stamps."""

from __future__ import annotations

import re

import numpy as np


def correct(seconds: np.ndarray, fps: float | None) -> tuple[np.ndarray, str]:
    """File time to true time [s] (N,), and a note where they differ.

    A true rate near the file's keeps the stamps, gaps and all, and only rescales them. A rate far from it means
    that the file plays in slow motion: then the stamps tell how many frames were dropped, and nothing else.
    """
    steps = np.diff(seconds)
    if fps is None or len(steps) == 0:
        return seconds, ""
    usual = np.median(steps)
    step = float(np.mean(steps[np.abs(steps - usual) < 0.2 * usual]))
    if abs(step * fps - 1) < 0.01:
        return seconds / (step * fps), ""
    frames = steps / step
    whole = np.maximum(np.round(frames), 1)
    if np.all(np.abs(frames - whole) < 0.25):
        frames = whole
    first = seconds[0] / (step * fps)
    note = f"true frame rate {fps:g}/s as given; the file says {1 / step:.4g}/s."
    return first + np.concatenate([[0.0], np.cumsum(frames)]) / fps, note


def numbered(names: list[str]) -> np.ndarray:
    """Frame number (N,) of each file name from the number that it ends with, counted in the smallest step.

    A missing number is a missing frame. Names without such numbers are counted one by one.
    """
    ends = [re.search(r"(\d+)$", name) for name in names]
    if len(names) > 1 and all(ends):
        steps = np.diff([int(e[1]) for e in ends if e])
        step = int(steps.min())
        if step > 0 and not np.any(steps % step):
            return np.concatenate([[0], np.cumsum(steps // step)])
    return np.arange(len(names))


def clock(times: list[np.ndarray], start: float, stop: float | None, limit: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """One clock (T,) [s], zero at its first frame, and per view the frame (T,) shown at each instant (-1 = none).

    The view with most frames sets the clock; another view's frame belongs to an instant when it is the nearest
    and less than half a frame away. start and stop count from the earliest frame of all views.
    """
    zero = min(t[0] for t in times)
    kept = [np.flatnonzero((t - zero >= start - 1e-9) & (t - zero <= (np.inf if stop is None else stop) + 1e-9)) for t in times]
    lead = int(np.argmax([len(k) for k in kept]))
    time = times[lead][kept[lead]][:limit]
    if len(time) == 0:
        return time, [np.zeros(0, int) for _ in times]
    return time - time[0], [nearest(t, time) for t in times]


def nearest(seconds: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """For each instant (T,) the index of the frame of `seconds` (N,) less than half a frame away, or -1."""
    half = 0.5 * float(np.median(np.diff(instants))) if len(instants) > 1 else np.inf
    after = np.clip(np.searchsorted(seconds, instants), 1, max(len(seconds) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(seconds) - 1)
    index = np.where(np.abs(seconds[after] - instants) < np.abs(seconds[before] - instants), after, before)
    return np.where(np.abs(seconds[index] - instants) < half * (1 - 1e-6), index, -1)
