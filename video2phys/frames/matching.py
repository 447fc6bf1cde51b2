"""Features of photographs and which of them match, in COLMAP's database: what structure from motion and triangulation start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from video2phys import store
from video2phys.errors import BadInput
from video2phys.frames.capture import CameraKeys
from video2phys.frames.layouts.source import Source
from video2phys.frames.model import params_of
from video2phys.frames.picture import read_picture
from video2phys.frames.settings import Settings
from video2phys.progress import Progress

LARGE = 2_000_000  # [px] photographs are made no larger than this for finding features
EXHAUSTIVE = 150  # photographs up to which every pair is matched
NEIGHBOURS = 12  # photographs after each one that it is matched with; farther ones at 16, 32, 64, ...
NEAR, WIDE = 16, 60.0  # where the cameras are known: the nearest photographs, and [deg] the largest angle between two that can match
AT_ONCE = 12  # photographs whose features are found in one call: each costs half a second
BATCHES = 20  # of matching, between which progress is told
FOCAL_TAGS = (".jpg", ".jpeg", ".tif", ".tiff")  # files that may carry EXIF


@dataclass(frozen=True)
class Photograph:
    """A picture written for COLMAP, upright, under a name in which the order of names is the order of photographs."""

    name: str  # of the source
    file: str  # in images/
    size: tuple[int, int]  # [px] (width, height)
    camera: tuple[str, str]  # COLMAP's model and its parameters; no parameters = not known
    known: bool  # whether the lens is given


def database(
    folder: Path,
    sources: Sequence[Source],
    settings: Settings,
    seed: int,
    progress: Progress,
    *,
    camera: CameraKeys | None = None,
    given: bool = False,
    masked: bool = False,
) -> tuple[Path, list[Photograph]]:
    """Detect SIFT features in the photographs and match them; `folder` gets images/ and the database, which is returned.

    camera: its focal length, where known, goes before what EXIF says. given: take lenses and poses of the sources, and match only
    photographs that look the same way. masked: features of what the masks show only. Nothing here depends on the number of threads.
    """
    import pycolmap

    photographs = [p for k, s in enumerate(sources) if (p := _write(folder, k, s, settings, camera, given, masked)) is not None]
    place = folder / "database.db"
    pycolmap.Database.open(str(place)).close()
    _register(place, folder / "images", photographs, settings)
    reader = pycolmap.ImageReaderOptions(mask_path=folder / "masks") if masked else pycolmap.ImageReaderOptions()
    for k in range(0, len(photographs), AT_ONCE):
        progress(0.35 * k / len(photographs), f"features of photograph {k + 1} of {len(photographs)}")
        files = [p.file for p in photographs[k : k + AT_ONCE]]
        pycolmap.extract_features(place, folder / "images", image_names=files, reader_options=reader, device=pycolmap.Device.cpu)
    if given:
        there = {s.name: s for s in sources}
        chosen = _looking_alike([there[p.name] for p in photographs])
    else:
        chosen = pairs(len(photographs), settings.matching)
    _match(place, folder / "pairs.txt", photographs, chosen, seed, progress)
    return place, photographs


def pairs(count: int, how: str) -> list[tuple[int, int]]:
    """Which of `count` photographs in order are compared: every pair, or neighbours and some farther ones."""
    if how == "exhaustive" or (how == "auto" and count <= EXHAUSTIVE):
        return [(i, j) for i in range(count) for j in range(i + 1, count)]
    steps = [*range(1, NEIGHBOURS + 1), *(2**k for k in range(4, 20))]
    return [(i, i + step) for i in range(count) for step in steps if i + step < count]


def _looking_alike(sources: Sequence[Source]) -> list[tuple[int, int]]:
    matrices = np.array([s.lens.world_to_camera for s in sources if s.lens is not None])
    axis, centre = matrices[:, 2, :3], -np.einsum("nji,nj->ni", matrices[:, :3, :3], matrices[:, :3, 3])
    apart = np.linalg.norm(centre[:, None] - centre[None], axis=-1)
    apart[axis @ axis.T < np.cos(np.radians(WIDE))] = np.inf
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :NEAR]
    return sorted({(min(i, j), max(i, j)) for i, row in enumerate(order.tolist()) for j in row if np.isfinite(apart[i, j])})


def _write(
    folder: Path, index: int, source: Source, settings: Settings, camera: CameraKeys | None, given: bool, masked: bool
) -> Photograph | None:
    import cv2

    file = source.stills[0].file
    picture = read_picture(file)
    if picture is None:
        return None
    rgb = picture.rgb
    shrink = min(1.0, (LARGE / (rgb.shape[0] * rgb.shape[1])) ** 0.5)
    if shrink < 1:
        rgb = cv2.resize(rgb, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    size = (rgb.shape[1], rgb.shape[0])
    name = f"{index:05d}.png"
    store.write_image(folder / "images" / name, rgb)
    mask = source.stills[0].mask
    if masked and mask is not None and (shown := read_picture(mask)) is not None:
        flat = shown.rgb.max(-1) if shown.alpha is None else shown.alpha
        store.write_image(folder / "masks" / f"{name}.png", cv2.resize(flat, size, interpolation=cv2.INTER_NEAREST))
    if given and source.lens is not None:
        try:
            model, params = params_of(source.lens.fit(*size))
        except BadInput:
            return None  # a lens for pictures of another shape: reading the stills reports it
        return Photograph(source.name, name, size, (model, ",".join(map(repr, params))), True)
    focal = shrink * f if (f := _exif_focal(file)) is not None else None
    if camera is not None and camera.fx is not None:
        focal = camera.fx * (max(size) / max(camera.w, camera.h) if camera.w and camera.h else shrink)
    params = "" if focal is None else _params(settings.lens, focal, size)
    return Photograph(source.name, name, size, (settings.lens, params), False)


def _exif_focal(file: Path) -> float | None:
    """[px of the stored picture] focal length that the camera wrote into the file."""
    import pycolmap

    if file.suffix.lower() not in FOCAL_TAGS:
        return None
    try:
        camera = pycolmap.infer_camera_from_image(file)
    except (RuntimeError, ValueError):
        return None  # a file that OpenCV reads and COLMAP does not: its tags are not known
    return float(camera.focal_length) if camera.has_prior_focal_length else None


def _params(model: str, focal: float, size: tuple[int, int]) -> str:
    import pycolmap

    return pycolmap.Camera.create_from_model_name(1, model, focal, *size).params_to_string()


def _register(place: Path, images: Path, photographs: list[Photograph], settings: Settings) -> None:
    """Enter the photographs in order; those of one size share a camera where intrinsics are shared, or those of one given lens."""
    import pycolmap

    ids: dict[tuple[object, ...], int] = {}
    for photograph in photographs:
        shared = photograph.known or settings.shared_intrinsics
        key = (photograph.size, *photograph.camera) if photograph.known else (photograph.size,) if shared else (photograph.file,)
        options = pycolmap.ImageReaderOptions(camera_model=photograph.camera[0], camera_params=photograph.camera[1])
        if key in ids:
            options.existing_camera_id = ids[key]
        pycolmap.import_images(place, images, camera_mode=pycolmap.CameraMode.SINGLE, image_names=[photograph.file], options=options)
        if key not in ids:
            with pycolmap.Database.open(str(place)) as opened:
                image = opened.read_image_with_name(photograph.file)
            if image is None:
                raise RuntimeError(f"{photograph.name} cannot be entered into COLMAP's database")
            ids[key] = image.camera_id


def _match(
    place: Path, list_file: Path, photographs: list[Photograph], chosen: list[tuple[int, int]], seed: int, progress: Progress
) -> None:
    import pycolmap

    checks = pycolmap.TwoViewGeometryOptions()
    checks.ransac.random_seed = seed  # otherwise each thread draws from a sequence of its own
    for k in range(0, len(chosen), size := max(1, -(-len(chosen) // BATCHES))):
        progress(0.35 + 0.45 * k / len(chosen), f"matching pair {k} of {len(chosen)}")
        lines = [f"{photographs[i].file} {photographs[j].file}" for i, j in chosen[k : k + size]]
        list_file.write_text("\n".join(lines) + "\n")
        pycolmap.match_image_pairs(
            place,
            pairing_options=pycolmap.ImportedPairingOptions(match_list_path=str(list_file)),
            verification_options=checks,
            device=pycolmap.Device.cpu,
        )
