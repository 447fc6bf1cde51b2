"""How a camera that should stand still moves all the same: one affine map per frame, from what does not move in the scene."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

STILL = 0.5  # [px] features that move less stand still
SHARE = 0.4  # of the features must follow a motion before it is called the scene's


def drift(read: Callable[[int], np.ndarray], count: int, plate: np.ndarray | None = None) -> np.ndarray | None:
    """Maps (T, 2, 3) from the pixels of `plate`, the empty scene, or else of the middle frame to each frame's, or None where the camera
    stands still or shows no features. A plate is without the object, whose features could pass for the scene's.

    A sample of frames is looked at first; only where the scene moved in one of them is every frame measured.
    """
    reference = _grey(read(count // 2) if plate is None else plate)
    points = _features(reference)
    if len(points) < 20:
        return None
    probes = np.unique(np.linspace(0, count - 1, 9).round().astype(int))
    if not any(_moved(reference, points, _grey(read(int(i)))) for i in probes):
        return None
    identity = np.eye(2, 3)
    maps: list[np.ndarray] = []
    for i in range(count):
        found = _map(reference, points, _grey(read(i)))
        maps.append(found if found is not None else maps[-1] if maps else identity)
    return np.stack(maps)


def _grey(image: np.ndarray) -> np.ndarray:
    return image.mean(-1).round().astype(np.uint8)


def _features(image: np.ndarray) -> np.ndarray:
    """Corners (N, 2), spread over the picture: the best of every cell, so that a textured object does not take them all."""
    import cv2

    rows, columns = (max(4, round(n / 40)) for n in image.shape)
    found = []
    for r in range(rows):
        for c in range(columns):
            y, x = r * image.shape[0] // rows, c * image.shape[1] // columns
            cell = image[y : (r + 1) * image.shape[0] // rows, x : (c + 1) * image.shape[1] // columns]
            corners = cv2.goodFeaturesToTrack(cell, 4, 0.1, 5)
            contrast = float(cell.std())
            if corners is not None and contrast > 6:  # flat cells only hold noise
                found.append(corners.reshape(-1, 2) + np.array([x, y]))
    return np.concatenate(found).astype(np.float32) if found else np.zeros((0, 2), np.float32)


def _flow(reference: np.ndarray, points: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points found again in `image`, and which of them survive the way back."""
    import cv2

    options = {"winSize": (15, 15), "maxLevel": 3}
    there, ok, _ = cv2.calcOpticalFlowPyrLK(reference, image, points, np.zeros_like(points), **options)
    back, ok2, _ = cv2.calcOpticalFlowPyrLK(image, reference, there, np.zeros_like(points), **options)
    good = (ok.ravel() > 0) & (ok2.ravel() > 0) & (np.linalg.norm(back - points, axis=-1) < STILL)
    return there, good


def _moved(reference: np.ndarray, points: np.ndarray, image: np.ndarray) -> bool:
    there, good = _flow(reference, points, image)
    far = np.linalg.norm(there - points, axis=-1)[good]
    if good.sum() < 10 or (far < STILL).mean() >= SHARE:
        return False
    found = _map(reference, points, image)
    if found is None:
        return False
    return bool(np.median(far) > 1.0 and _mismatch(reference, image, found) < 0.6 * _mismatch(reference, image, np.eye(2, 3)))


def _mismatch(reference: np.ndarray, image: np.ndarray, move: np.ndarray) -> float:
    """Median brightness step between the moved reference and the image where the reference has its edges (its steepest 5 %)."""
    import cv2

    size = (image.shape[1], image.shape[0])
    moved = cv2.warpAffine(reference, move, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE).astype(np.float32)
    gy, gx = np.gradient(moved)
    steep = np.hypot(gx, gy)
    edges = steep >= np.quantile(steep, 0.95)
    step = image[edges] - moved[edges]
    return float(np.median(np.abs(step - np.median(step))))


def _map(reference: np.ndarray, points: np.ndarray, image: np.ndarray) -> np.ndarray | None:
    import cv2

    there, good = _flow(reference, points, image)
    if good.sum() < 10:
        return None
    found, inliers = cv2.estimateAffine2D(points[good], there[good], method=cv2.RANSAC, ransacReprojThreshold=1.0)
    return found if found is not None and inliers.mean() >= SHARE else None
