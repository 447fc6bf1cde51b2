"""A bare folder: one video, several videos with cameras from capture.yaml, or folders of pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from video2phys.errors import BadInput, guess
from video2phys.frames.cameras import Lens, from_keys
from video2phys.frames.capture import CameraKeys, Capture
from video2phys.frames.layouts import nerfstudio
from video2phys.frames.layouts.source import Layout, Source, Still, is_picture, is_video, visible

RESERVED = ("masks", "scan", "background")
FEW = 3  # pictures from which cameras can be found
CAMERAS = "Name one with `video:` in capture.yaml, or give every camera under `cameras:` there or in transforms.json (docs/formats.md)."


def holds_video(capture: Path) -> bool:
    return bool(_videos(capture))


def holds_pictures(capture: Path) -> bool:
    return bool(_sequences(capture))


def single(file: Path, keys: Capture, up: np.ndarray | None) -> Layout:
    """A path to one video file instead of a folder."""
    source = Source(file.stem, video=file, lens=_lens(keys.camera, up))
    return Layout("one video file", (source,))


def read(capture: Path, keys: Capture, up: np.ndarray | None) -> Layout:
    """Recognise videos first, then pictures. Raises BadInput for an empty folder and for views without cameras."""
    sources = _named(capture, keys) or _videos(capture)
    notes: list[str] = []
    kind = "videos"
    if sources:
        stray = [p for p in visible(capture) if is_picture(p) and not p.stem.startswith("background")]
        if stray:
            notes.append(f"{len(stray)} loose picture(s) beside the video are not used.")
    else:
        sources, kind = _sequences(capture), "pictures"
    if not sources:
        raise BadInput(f"{capture} holds no video and no pictures.", fix="Put a video into the folder, or give the path of one.")
    if (
        kind == "pictures"
        and len(sources) == 1
        and keys.fps is None
        and len(sources[0].stills) >= FEW
        and (keys.camera is None or not (keys.camera.planar or keys.camera.transform_matrix))
    ):
        return _photographs(capture, sources[0])
    if len(sources) > 1 and keys.cameras is None:
        shown = ", ".join(s.name for s in sources[:4]) + (", ..." if len(sources) > 4 else "")
        raise BadInput(f"{capture} holds {len(sources)} views ({shown}) and no cameras.", fix=CAMERAS)
    dressed = tuple(_dress(capture, s, keys, up, alone=len(sources) == 1) for s in sources)
    scan, warnings = nerfstudio.scan(capture, up)
    warnings += _unmatched(capture, dressed)
    name = f"folder with one {kind.rstrip('s')}" if len(sources) == 1 and kind == "videos" else f"folder of {kind}"
    return Layout(name, dressed, scan, notes=tuple(notes), warnings=warnings)


def _unmatched(capture: Path, sources: tuple[Source, ...]) -> tuple[str, ...]:
    if not (capture / "masks").is_dir() or any(s.mask_video or s.mask_files or any(t.mask for t in s.stills) for s in sources):
        return ()
    return (f"no file in masks/ is named as a view ({sources[0].name}) or its pictures: they are not used.",)


def _photographs(capture: Path, source: Source) -> Layout:
    """Pictures without a rate: photographs of something at rest, whose cameras are to be found."""
    dressed = _masked(capture, source, alone=True)
    named = nerfstudio.unique([Source(still.file.stem, stills=(still,)) for still in dressed.stills])
    note = f"{len(named)} pictures without a frame rate: taken as photographs of something at rest; `fps:` in capture.yaml makes a video."
    return Layout("folder of photographs", (), named, notes=(note,), warnings=_unmatched(capture, (dressed,)), metric=False)


def _named(capture: Path, keys: Capture) -> list[Source]:
    named = keys.videos or ({Path(keys.video).stem: keys.video} if keys.video else {})
    sources = []
    for name, file in named.items():
        path = capture / file
        if not path.exists():
            there = [str(p.relative_to(capture)) for p in sorted(capture.rglob("*")) if is_video(p)]
            raise BadInput(f"capture.yaml names {file}, which is not there.", fix=guess(file, there) if there else "Correct `video:`.")
        sources.append(Source(name, stills=_stills(path)) if path.is_dir() else Source(name, video=path))
    return sources


def _videos(capture: Path) -> list[Source]:
    here = [p for p in visible(capture) if p.is_file() and is_video(p)]
    if not here:
        folders = [p for p in visible(capture) if p.is_dir() and p.name not in RESERVED]
        here = [p for f in folders for p in visible(f) if p.is_file() and is_video(p)]
    names = [p.stem for p in here]
    return [Source(p.stem if names.count(p.stem) == 1 else f"{p.parent.name}_{p.name}".replace(".", "_"), video=p) for p in here]


def _sequences(capture: Path) -> list[Source]:
    if stills := _stills(capture):
        return [Source("view", stills=stills)]
    folders = [p for p in visible(capture) if p.is_dir() and p.name not in RESERVED]
    nested = [q for p in folders if not _stills(p) for q in visible(p) if q.is_dir()]
    return [Source(p.name, stills=_stills(p)) for p in folders + nested if _stills(p)]


def _stills(folder: Path) -> tuple[Still, ...]:
    return tuple(Still(p) for p in visible(folder) if p.is_file() and is_picture(p) and p.stem != "background")


def _dress(capture: Path, source: Source, keys: Capture, up: np.ndarray | None, *, alone: bool) -> Source:
    """Add the camera, and the given masks."""
    camera = keys.camera
    if keys.cameras is not None:
        if source.name not in keys.cameras:
            raise BadInput(f"capture.yaml gives no camera for view '{source.name}'.", fix=guess(source.name, list(keys.cameras)))
        camera = keys.cameras[source.name]
    return _masked(capture, replace(source, lens=_lens(camera, up)), alone=alone)


def _masked(capture: Path, source: Source, *, alone: bool) -> Source:
    """Add the given masks: masks/NAME.mp4, masks/NAME/*.png or, for a view alone, masks/*.png."""
    masks = capture / "masks"
    if not masks.is_dir():
        return source
    video = next((p for p in visible(masks) if is_video(p) and p.stem == source.name), None)
    own = masks / source.name
    pictures = [p for p in visible(own if own.is_dir() else masks) if is_picture(p)] if own.is_dir() or alone else []
    if source.video is not None:
        return replace(source, mask_video=video, mask_files=() if video else tuple(pictures))
    named = {p.stem: p for p in pictures}
    return replace(source, stills=tuple(replace(s, mask=named.get(s.file.stem)) for s in source.stills))


def background(capture: Path, keys: Capture, name: str) -> Path | None:
    """The given picture of the empty scene: `background:` in capture.yaml, or a picture of that name."""
    given = keys.background.get(name) if isinstance(keys.background, dict) else keys.background
    if given is None:
        return next((p for p in visible(capture) if is_picture(p) and p.stem == "background"), None)
    if not (capture / given).is_file():
        raise BadInput(f"capture.yaml names the background {given}, which is not there.", fix="Correct `background:`.")
    return capture / given


def _lens(camera: CameraKeys | None, up: np.ndarray | None) -> Lens | None:
    if camera is None or camera.planar:
        return None
    if camera.transform_matrix is None:
        raise BadInput("capture.yaml: camera has fx and no transform_matrix, which only photographs of something at rest do without.",
                       fix="Give transform_matrix (camera to world), or mode: planar.")  # fmt: skip
    return from_keys(camera.model_dump(by_alias=True, exclude_none=True), "capture.yaml: camera", up)
