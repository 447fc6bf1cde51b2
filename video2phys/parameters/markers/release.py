"""Which markers move, when the body was let go, and where it was held before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.split import split
from video2phys.solve import robust
from video2phys.types import Markers

MOVES = 0.2  # of the farthest marker's way: less is the clamp giving way, or noise
LEVELS = (0.1, 0.5)  # of the sag, between which the first fall is read
HELD = 3  # frames before the release at least
SEEN = 0.5  # of the frames a marker has to be seen in


@dataclass(frozen=True)
class Release:
    """What a record tells before any model of the body."""

    moving: np.ndarray  # (M,) indices of the markers on the free part
    still: np.ndarray  # (S,) indices of those on the clamp
    time: float  # [s] when the body was let go
    held: np.ndarray  # [m] (N, 3) of all markers before
    way: np.ndarray  # [m] (M, 3) of the moving markers from there to their rest, the last fifth of the record
    late: int  # frames of that fifth
    gave: float  # [m] the largest way of a still marker; 0 without
    noise: float  # [m] of one coordinate in one frame
    train: np.ndarray  # (T,) bool frames after the release that a fit may see
    heldout: np.ndarray  # (T,) bool the last share of them

    @property
    def sag(self) -> float:
        """[m] Root mean square of the ways."""
        return float(np.sqrt((self.way**2).sum(-1).mean()))


def find(markers: Markers, share: float = 1 / 3) -> Release:
    """The release: the body is at rest first, held, and at some time let go.

    The first fall is nearly one of constant acceleration: the root of the way is linear in time and leads back to its beginning.
    Raises BadInput where no marker is seen throughout, none moves, or the motion does not begin from rest.
    """
    p, t = markers.position, markers.time
    seen = np.asarray(np.isfinite(p).all(-1))  # (T, N)
    usable = seen.mean(0) > SEEN
    if not usable.any():
        raise BadInput("no marker is seen in half of the frames.", fix="Label the markers over the whole record, or cut it.")
    reach = np.array([np.linalg.norm(np.ptp(p[seen[:, n], n], axis=0)) if usable[n] else 0.0 for n in range(p.shape[1])])
    moving = np.flatnonzero(reach > MOVES * reach.max())
    still = np.flatnonzero(usable & (reach <= MOVES * reach.max()))
    if not len(moving):
        raise BadInput("no marker moves.", fix="Begin the record with the body held, and let it go.")
    noise, late = _noise(p[:, moving]), max(len(t) // 5, 5)
    first, last = _middle(p[:5, moving]), _middle(p[-late:, moving])
    if not np.isfinite(first).all() or not np.isfinite(last).all():
        raise BadInput("a moving marker is missing at the beginning or at the end.", fix="Cut the record where all of them are seen.")
    way = last - first
    if np.sqrt((way**2).sum(-1).mean()) < 5 * noise:
        raise BadInput("the body ends where it began.", fix="Begin the record with the body held, end it at rest.")
    part = ((p[:, moving] - first) * way).sum(-1) / (way**2).sum(-1)  # (T, M) of the way
    along = _middle(part.T)  # (T,) 0 held, 1 at rest
    begin, time = _onset(t, along)
    if begin < HELD or np.nanmax(np.abs(along[:begin])) > LEVELS[0]:
        raise BadInput("the motion has begun before the first frame.", fix="Begin the record with the body held.")
    held = _middle(p[:begin])
    gave = np.nan_to_num(np.linalg.norm(_middle(p[-late:, still]) - held[still], axis=1))
    train, heldout = split(t > time, share)
    if train.sum() < 20:
        raise BadInput("fewer than twenty frames follow the release.", fix="Record longer, or at a higher rate.")
    return Release(moving, still, time, held, last - held[moving], late, float(gave.max(initial=0.0)), noise, train, heldout)


def _middle(p: np.ndarray) -> np.ndarray:
    """Median along the first axis of what is there; NaN where nothing is."""
    columns = p.reshape(len(p), -1).T
    return np.array([np.median(c[np.isfinite(c)]) if np.isfinite(c).any() else np.nan for c in columns]).reshape(p.shape[1:])


def _noise(p: np.ndarray) -> float:
    """[m] The quieter half of the record counts."""
    return robust.noise(np.diff(p[len(p) // 2 :], 3, axis=0)) + 1e-9


def _onset(t: np.ndarray, along: np.ndarray) -> tuple[int, float]:
    """Last frame before the way (T,) begins to grow, and the time [s] at which it does."""
    high = int(np.argmax(np.nan_to_num(along) > LEVELS[1]))
    below = np.flatnonzero(~(along[:high] > LEVELS[0]))
    if not high or not len(below):
        raise BadInput("the motion has begun before the first frame.", fix="Begin the record with the body held.")
    fall = slice(below[-1], high + 1)
    root, when = np.sqrt(np.clip(along[fall], 0, None)), t[fall]
    if len(when) > 2:  # the frame below the level may be one of the held ones
        root, when = root[1:], when[1:]
    slope = (root[-1] - root[0]) / (when[-1] - when[0]) if len(when) > 1 else np.inf
    time = float(np.clip(when[0] - root[0] / slope, t[max(below[-1] - 1, 0)], when[0]))
    return max(int(np.searchsorted(t, time)) - 1, 0), time
