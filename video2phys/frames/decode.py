"""Every view decoded once into upright, undistorted PNG files on the shared clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from video2phys import store
from video2phys.errors import BadInput
from video2phys.frames import given
from video2phys.frames.geometry import Geometry
from video2phys.frames.layouts.source import Source
from video2phys.frames.picture import Picture, read_picture
from video2phys.frames.probe import REENCODE, Reel, pictures, quarter_turns
from video2phys.frames.settings import Settings
from video2phys.types import Camera

WHITE = 247  # a channel below this is not white; leaves room for compression


@dataclass(frozen=True)
class Clip:
    """One view's pictures on the shared clock, before the object is found in them."""

    name: str
    camera: Camera  # of the final, undistorted pictures; planar cameras still count pixels
    time: np.ndarray  # [s] (T,) the shared clock
    folder: Path  # the files below are relative to it
    images: tuple[str, ...]  # per instant, "" = missing in this view
    masks: tuple[str, ...] = ()  # given masks per instant, "" = none for that instant; () = none at all
    background: str = ""  # given picture of the empty scene, or ""
    zoom: float = 1.0  # final pixels per pixel of the upright original

    def image(self, i: int) -> np.ndarray:
        """RGB (H, W, 3) uint8. Raises BadInput where the picture is missing."""
        return store.read_image(self.folder / self.images[i])

    def given(self, i: int) -> np.ndarray | None:
        """Given mask (H, W) float32 in 0..1, or None."""
        file = self.masks[i] if self.masks else ""
        return store.read_gray(self.folder / file).astype(np.float32) / 255 if file else None

    def plate(self) -> np.ndarray | None:
        """Given picture of the empty scene, RGB (H, W, 3) uint8, or None."""
        return store.read_image(self.folder / self.background) if self.background else None

    def keep(self, instants: np.ndarray) -> Clip:
        """The clip at the given instants only, its clock at zero again."""
        time = self.time[instants]
        images, masks = (tuple(files[i] for i in instants) if files else () for files in (self.images, self.masks))
        return replace(self, time=time - time[0], images=images, masks=masks)


def write(
    source: Source, reel: Reel | None, index: np.ndarray, time: np.ndarray, folder: Path, settings: Settings, tick: Callable[[], None]
) -> tuple[Clip, list[str]]:
    """Decode the frames `index` (T,) of a source (-1 = none) into folder/NAME/ and return the clip and warnings.

    `reel` is the source's video, None for stills. Raises BadInput when no frame decodes.
    """
    wanted: dict[int, list[int]] = {}
    for instant, frame in enumerate(index):
        if frame >= 0:
            wanted.setdefault(int(frame), []).append(instant)
    images, masks = [""] * len(time), [""] * len(time)
    geometry: Geometry | None = None
    stored = (0, 0, 0)
    for picture in _film(reel, wanted) if reel is not None else _pictures(source, wanted):
        if geometry is None:
            stored = _shape(picture)
            geometry = _plan(source, picture, settings)
        if _shape(picture) != stored:
            raise BadInput(
                f"the pictures of {_where(source)} have different sizes ({stored[1]}x{stored[0]} and "
                f"{picture.rgb.shape[1]}x{picture.rgb.shape[0]}): these are not frames of one fixed camera.",
                fix="Give a video, or frames of one camera that stands still.",
            )
        alpha = _key(picture.rgb) if settings.white_key and picture.alpha is None else picture.alpha
        files = [f"{source.name}/{instant:05d}.png" for instant in wanted[picture.index]]
        rgb, mask = geometry.apply(picture.rgb), None if alpha is None else geometry.apply(alpha)
        for instant, file in zip(wanted[picture.index], files, strict=True):
            store.write_image(folder / file, rgb)
            images[instant] = file
            if mask is not None:
                masks[instant] = f"{source.name}/given_{instant:05d}.png"
                store.write_image(folder / masks[instant], mask)
        tick()
    if geometry is None:
        codec = f" (codec {reel.codec})" if reel else ""
        raise BadInput(f"{_where(source)}: no frame decodes{codec}.", fix=REENCODE if reel else "Give readable pictures.")
    for instant, mask in given.masks(source, index, reel, stored):  # files beside the pictures win over alpha
        if images[instant]:
            masks[instant] = f"{source.name}/given_{instant:05d}.png"
            store.write_image(folder / masks[instant], geometry.apply(mask))
    background = ""
    if source.background is not None:
        background = f"{source.name}/plate.png"
        store.write_image(folder / background, geometry.apply(_plate(source.background, stored)))
    done, asked = sum(map(bool, images)), sum(map(len, wanted.values()))
    if reel is not None and max(wanted) == len(reel.seconds) - 1:
        asked += reel.listed - len(reel.seconds)  # claimed beyond the end of a truncated file
    warnings = [f"{_where(source)}: {done} of {asked} frames decode; the others are damaged or missing."] if done < asked else []
    if any(masks) and settings.white_key:
        warnings.append(f"{source.name}: what is not white was taken as the object (frames.white_key); its own white parts are lost.")
    return Clip(
        source.name, geometry.camera, time, folder, tuple(images), tuple(masks) if any(masks) else (), background, geometry.zoom
    ), warnings


def _plate(file: Path, stored: tuple[int, int, int]) -> np.ndarray:
    picture = read_picture(file)
    if picture is None or picture.rgb.shape != stored:
        what = "cannot be read" if picture is None else f"is not {stored[1]}x{stored[0]} as the pictures are"
        raise BadInput(f"the background {file} {what}.", fix="Give a picture of the empty scene by the same camera.")
    return picture.rgb


def _shape(picture: Picture) -> tuple[int, int, int]:
    height, width, channels = picture.rgb.shape
    return height, width, channels


def _where(source: Source) -> str:
    return str(source.video or source.stills[0].file.parent)


def _plan(source: Source, picture: Picture, settings: Settings) -> Geometry:
    height, width = picture.rgb.shape[:2]
    try:
        return Geometry.plan(width, height, turns=picture.turns, aspect=picture.aspect, lens=source.lens, max_pixels=settings.max_pixels)
    except BadInput as error:
        raise BadInput(f"{_where(source)}: {error}", fix=error.fix) from None


def _film(reel: Reel, wanted: dict[int, list[int]]) -> Iterator[Picture]:
    last = max(wanted, default=-1)
    for index, frame in pictures(reel):
        if index in wanted:
            aspect = float(frame.sample_aspect_ratio) if getattr(frame, "sample_aspect_ratio", None) else 1.0
            yield Picture(index, frame.to_ndarray(format="rgb24"), None, quarter_turns(frame), aspect)
        if index >= last:
            return


def _pictures(source: Source, wanted: dict[int, list[int]]) -> Iterator[Picture]:
    for index in sorted(wanted):
        picture = read_picture(source.stills[index].file)
        if picture is not None:
            yield replace(picture, index=index)


def _key(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb.min(-1) < WHITE, 255, 0).astype(np.uint8)
