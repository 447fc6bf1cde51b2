"""transforms.json of nerfstudio and instant-ngp, one video or many pictures per camera; also Blender's transforms_train.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from video2phys.errors import BadInput
from video2phys.frames.cameras import Lens, from_keys
from video2phys.frames.capture import Capture
from video2phys.frames.layouts.source import Layout, Source, Still, is_video, natural

METRES = "lengths rest on the camera positions of the capture, taken as metres."


def read(capture: Path, keys: Capture, up: np.ndarray | None) -> Layout:
    """Raises BadInput when no file named there exists, or when the pictures show no motion from a fixed camera."""
    files = [capture / "transforms.json"] if (capture / "transforms.json").is_file() else sorted(capture.glob("transforms_*.json"))
    trees = [load_json(f) for f in files]
    warnings: list[str] = []
    videos: list[Source] = []
    groups: dict[tuple[Any, ...], tuple[Lens, list[Still]]] = {}
    missing = 0
    for tree, entry, where in _entries(trees, files):
        path = _resolve(capture, entry.get("file_path"), where)
        if path is None:
            missing += 1
            continue
        lens = from_keys(_with_size({**tree, **entry}, path), where, up)
        mask = _resolve(capture, entry["mask_path"], where) if entry.get("mask_path") else None
        if is_video(path):
            videos.append(Source(path.stem, video=path, lens=lens, mask_video=mask if mask and is_video(mask) else None))
            if entry.get("mask_path") and (mask is None or not is_video(mask)):
                warnings.append(f"{where}: no mask video at {entry['mask_path']}; the object is found in the pictures.")
            continue
        key = (*np.round(lens.K.ravel(), 4), *np.round(lens.world_to_camera.ravel(), 6))
        groups.setdefault(key, (lens, []))[1].append(Still(path, time_of(entry, where), mask))
    if missing:
        warnings.append(f"{missing} file(s) named in {files[0].name} are missing and were left out.")
    if not videos and not groups:
        raise BadInput(f"none of the files named in {files[0]} exists.", fix="Put the pictures where file_path says, or correct it.")
    notes = [METRES]
    if not videos and _at_rest(groups, files[0]):
        photographs = [Source(still.file.stem, stills=(still,), lens=lens) for lens, stills in groups.values() for still in stills]
        points, colour = _points(capture, trees[0].get("ply_file_path"), up, warnings)
        return Layout("transforms of photographs", (), unique(photographs), notes=tuple(notes), warnings=tuple(warnings),
                      points=points, points_colour=colour)  # fmt: skip
    sources = unique(videos) if videos else _cameras(groups)
    if keys.videos is not None:
        stems = {Path(v).stem for v in keys.videos.values()}
        sources = tuple(s for s in sources if s.name in keys.videos or s.name in stems)
        if not sources:
            raise BadInput(
                "none of the videos in capture.yaml is in transforms.json.", fix="Correct `videos:`, or leave it out to use all."
            )
    elif keys.video is not None and len(sources) > 1:
        notes.append(f"capture.yaml names {keys.video}; all {len(sources)} cameras of {files[0].name} are used.")
    if not videos and keys.fps is None and _fps(trees[0]) is None:
        times = [s.time for source in sources for s in source.stills]
        if all(t is not None for t in times) and min(times) == 0.0 and max(times) == 1.0:  # type: ignore[type-var]
            raise BadInput(
                f"the times in {files[0]} run from 0 to 1, which are not seconds.", fix="Give the true rate, `fps:`, in capture.yaml."
            )
    scans, more = scan(capture, up)
    name = "nerfstudio" if files[0].name == "transforms.json" else "Blender"
    return Layout(f"{name} transforms", sources, scans, _fps(trees[0]), tuple(notes), (*warnings, *more))


def scan(capture: Path, up: np.ndarray | None) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Photographs of the object at rest in scan/transforms.json, one source each, and warnings."""
    folder = capture / "scan"
    if not folder.is_dir():
        return (), ()
    if not (folder / "transforms.json").is_file():
        return (), ("scan/ has no transforms.json and is not used.",)
    tree, sources, left = load_json(folder / "transforms.json"), [], 0
    for whole, entry, where in _entries([tree], [folder / "transforms.json"]):
        path = _resolve(folder, entry.get("file_path"), where)
        mask = _resolve(folder, entry["mask_path"], where) if entry.get("mask_path") else None
        if path is None or is_video(path):
            left += 1
            continue
        lens = from_keys(_with_size({**whole, **entry}, path), where, up)
        sources.append(Source(path.stem, stills=(Still(path, None, mask),), lens=lens))
    return unique(sources), (f"{left} of the pictures named in scan/transforms.json are missing.",) if left else ()


def load_json(file: Path) -> Any:
    """A JSON file. Raises BadInput."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}.", fix="Make the file readable.") from error
    except ValueError as error:
        raise BadInput(f"{file} is not JSON: {error}.", fix="Mend or export the file again.") from error


def _entries(trees: list[Any], files: list[Path]) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    for tree, file in zip(trees, files, strict=True):
        frames = tree.get("frames") if isinstance(tree, dict) else None
        if not isinstance(frames, list) or not all(isinstance(f, dict) for f in frames):
            raise BadInput(f"{file} has no list 'frames'.", fix="Export it again; docs/formats.md shows the layout.")
        shared = {k: v for k, v in tree.items() if k != "frames"}
        for i, entry in enumerate(frames):
            yield shared, entry, f"{file.name}: frames[{i}]"


def _resolve(folder: Path, name: Any, where: str) -> Path | None:
    if not isinstance(name, str) or not name:
        raise BadInput(f"{where}: file_path is not a file name.", fix="Give file_path relative to the folder.")
    path = folder / name
    if path.is_file():
        return path
    tries = [path.with_name(path.name + suffix) for suffix in (".png", ".jpg", ".jpeg", ".mp4")]
    return next((p for p in tries if p.is_file()), None)


def _with_size(keys: dict[str, Any], path: Path) -> dict[str, Any]:
    """Blender states an angle of view only: take the size from the picture."""
    if "w" in keys or "camera_angle_x" not in keys or is_video(path):
        return keys
    from video2phys.store import read_image

    height, width = read_image(path).shape[:2]
    return keys | {"w": width, "h": height}


def time_of(entry: dict[str, Any], where: str) -> float | None:
    """[s] of an entry, None where it states none. Raises BadInput."""
    time = entry.get("time")
    if time is None:
        return None
    if isinstance(time, bool) or not isinstance(time, int | float) or not np.isfinite(time):
        raise BadInput(f"{where}: time is not a number (given: {time!r}).", fix="Give the time in seconds.")
    return float(time)


def _fps(tree: Any) -> float | None:
    fps = tree.get("fps")
    return float(fps) if isinstance(fps, int | float) and not isinstance(fps, bool) and fps > 0 else None


def _at_rest(groups: dict[tuple[Any, ...], tuple[Lens, list[Still]]], file: Path) -> bool:
    """Whether most pictures have a camera of their own and none a time of its own. Raises BadInput for a camera that moves in time."""
    if sum(len(stills) > 1 for _, stills in groups.values()) > 0.1 * len(groups):  # some photographs were taken twice from one place
        return False
    if len({still.time for _, stills in groups.values() for still in stills}) > 1:
        raise BadInput(f"every picture in {file} has its own pose: the camera moves.", fix="Film with cameras that stand still.")
    return True


def _points(capture: Path, name: Any, up: np.ndarray | None, warnings: list[str]) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Sparse points (N, 3) and colours (N, 3) uint8 of the PLY file that `ply_file_path` names."""
    if not isinstance(name, str):
        return None, None
    if not (capture / name).is_file():
        warnings.append(f"{name}, the sparse points named in transforms.json, is missing.")
        return None, None
    import trimesh

    try:
        cloud = trimesh.load(capture / name, file_type="ply", process=False)
        points = np.asarray(cloud.vertices, float).reshape(-1, 3)  # type: ignore[union-attr]
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        raise BadInput(
            f"{capture / name} is not a PLY file of points: {error}.", fix="Export it again, or remove ply_file_path."
        ) from error
    colour = getattr(cloud, "colors", None) if hasattr(cloud, "colors") else None
    if colour is None or len(colour) != len(points):
        colour = np.full((len(points), 3), 128)
    return points if up is None else points @ up.T, np.asarray(colour)[:, :3].astype(np.uint8)


def _cameras(groups: dict[tuple[Any, ...], tuple[Lens, list[Still]]]) -> tuple[Source, ...]:
    sources = []
    for i, (lens, stills) in enumerate(groups.values()):
        timed = all(s.time is not None for s in stills)
        stills.sort(key=lambda s: (s.time or 0.0) if timed else 0.0) if timed else stills.sort(key=lambda s: natural(s.file))
        sources.append(Source(f"cam{i:02d}", stills=tuple(stills), lens=lens))
    return tuple(sources)


def unique(sources: list[Source]) -> tuple[Source, ...]:
    from dataclasses import replace

    names = [s.name for s in sources]
    return tuple(s if names.count(s.name) == 1 else replace(s, name=f"cam{i:02d}") for i, s in enumerate(sources))
