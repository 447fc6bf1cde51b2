"""Masks that come with a capture as files: a video beside the video, or a picture beside each picture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.layouts.source import Source
from video2phys.frames.picture import read_picture
from video2phys.frames.probe import Reel, pictures, probe, quarter_turns
from video2phys.frames.sync import nearest


def masks(source: Source, index: np.ndarray, reel: Reel | None, stored: tuple[int, ...]) -> Iterator[tuple[int, np.ndarray]]:
    """(instant, mask (H, W) uint8 as the pictures are stored) for the frames `index` (T,) of the source (-1 = none).

    A mask video is matched by time stamps, mask pictures beside a video by their order. `stored` is the shape of the
    stored pictures. Raises BadInput for a mask of another shape and for another number of masks than frames.
    """
    if source.mask_video is not None and reel is not None:
        yield from _film(source, index, reel, stored)
        return
    files = [s.mask for s in source.stills] or list(source.mask_files)
    if source.mask_files and reel is not None and len(files) not in (len(reel.seconds), reel.listed):
        raise BadInput(
            f"{files[0].parent if files[0] else ''} holds {len(files)} masks and {reel.file.name} {len(reel.seconds)} frames.",
            fix="Give one mask per frame, or a mask video.",
        )
    for instant in np.flatnonzero(index >= 0) if files else ():
        file = files[index[instant]]
        if file is not None and (picture := read_picture(file)) is not None:
            mask = picture.rgb.max(-1) if picture.alpha is None else picture.alpha
            yield int(instant), _fitted(mask, stored, str(file))


def _film(source: Source, index: np.ndarray, reel: Reel, stored: tuple[int, ...]) -> Iterator[tuple[int, np.ndarray]]:
    assert source.mask_video is not None
    film = probe(source.mask_video)
    instants = np.flatnonzero(index >= 0)
    match = nearest(film.seconds, reel.seconds[index[instants]])
    wanted: dict[int, list[int]] = {}
    for instant, frame in zip(instants, match, strict=True):
        wanted.setdefault(int(frame), []).append(int(instant))
    turns = None
    for frame, picture in pictures(film):
        if frame not in wanted:
            continue
        if turns is None:
            turns = quarter_turns(picture) - _turns(reel)  # from the mask's own tag to that of the pictures
        mask = np.rot90(picture.to_ndarray(format="rgb24").max(-1), turns)
        for instant in wanted[frame]:
            yield instant, _fitted(mask, stored, str(source.mask_video))


def _turns(reel: Reel) -> int:
    return next((quarter_turns(frame) for _, frame in pictures(reel)), 0)


def _fitted(mask: np.ndarray, stored: tuple[int, ...], where: str) -> np.ndarray:
    height, width = stored[:2]
    if abs(mask.shape[1] / mask.shape[0] - width / height) > 0.02 * width / height:
        raise BadInput(
            f"{where}: the masks are {mask.shape[1]}x{mask.shape[0]} and the pictures {width}x{height}.",
            fix="Give masks of the same aspect as the pictures.",
        )
    if mask.shape == (height, width):
        return mask
    import cv2

    return cv2.resize(np.ascontiguousarray(mask), (width, height), interpolation=cv2.INTER_LINEAR)
