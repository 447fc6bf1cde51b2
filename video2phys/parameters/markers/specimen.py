"""What is known of the body, and its pose, found from the markers while it is held straight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.parameters.markers.release import Release

INTO = 0.25  # of the length that markers on the clamp may seem to lie on the free part: brackets reach over it
REACH = 0.03  # of the length: how well the place of the outermost marker is known where nobody says
LEVEL = 0.1  # sine of the angle between axis and gravity from which on gravity tells which side is up


@dataclass(frozen=True)
class Specimen:
    """A body clamped at x = 0 of its own frame: x to the free end, z up, the axis amid the section at y = z = 0."""

    size: tuple[float, float, float]  # [m] length from clamp to free end, width, height
    density: float  # [kg/m^3]
    gravity: tuple[float, float, float]  # [m/s^2] in the world of the markers
    poisson_ratio: float | None = None  # None = estimated
    axis: tuple[float, float, float] | None = None  # world direction from clamp to free end; None = from the still to the moving markers
    reach: float | None = None  # [m] from the clamp to the outermost moving marker; None = the length: it sits at the free end
    reach_sigma: float | None = None  # [m] one standard deviation; None = 3 % of the length
    mesh: tuple[np.ndarray, np.ndarray] | None = None  # nodes (V, 3) [m] in the frame above, hexahedra (E, 8); None = a box

    def __post_init__(self) -> None:
        if not (np.isfinite(self.size).all() and min(self.size) > 0 and self.density > 0 and np.any(self.gravity)):
            raise BadInput("a body needs a positive size and density, and gravity.", fix="Give metres, kg/m^3 and m/s^2.")
        if self.poisson_ratio is not None and not 0 <= self.poisson_ratio < 0.5:
            raise BadInput(f"Poisson's ratio is {self.poisson_ratio:g}.", fix="Give one from 0 to 0.4999, or leave it to the fit.")

    @property
    def outermost(self) -> tuple[float, float]:
        """Reach and its standard deviation [m], given or assumed."""
        reach = self.size[0] if self.reach is None else self.reach
        return reach, REACH * self.size[0] if self.reach_sigma is None else self.reach_sigma


@dataclass(frozen=True)
class Pose:
    """World = origin + rotation X."""

    origin: np.ndarray  # [m] (3,) middle of the clamped face
    rotation: np.ndarray  # (3, 3) columns: the body's axes in the world

    def to_body(self, points: np.ndarray) -> np.ndarray:
        """World points (..., 3) in the body's frame."""
        return (points - self.origin) @ self.rotation

    def turn(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors (..., 3) of the body's frame in the world."""
        return vectors @ self.rotation.T


def find_pose(specimen: Specimen, release: Release) -> Pose:
    """The body's axis leads from the still to the moving markers, the outermost of which is `reach` from the clamp; across, the body is
    amid the moving ones. What that leaves open is a nuisance of the fit.

    Raises BadInput where nothing tells the axis, or the clamp's markers would sit far out on the body.
    """
    moving, g = release.held[release.moving], np.asarray(specimen.gravity, float)
    if specimen.axis is None and not len(release.still):
        raise BadInput("all markers move, so nothing tells where the clamp is.", fix="Give the axis from clamp to free end.")
    along = np.asarray(specimen.axis, float) if specimen.axis else moving.mean(0) - release.held[release.still].mean(0)
    along = along / np.linalg.norm(along)
    up = -(g - (g @ along) * along)
    if np.linalg.norm(up) <= LEVEL * np.linalg.norm(g) or not g.any():  # hangs or stands: any side may be up
        up = np.eye(3)[np.argmin(np.abs(along))]
        up = up - (up @ along) * along
    up = up / np.linalg.norm(up)
    R = np.stack([along, np.cross(up, along), up], 1)
    q = moving @ R
    middle = (q.min(0) + q.max(0)) / 2
    origin = np.array([q[:, 0].max() - specimen.outermost[0], middle[1], middle[2]])
    pose = Pose(R @ origin, R)
    if len(release.still):
        out = float(np.median(pose.to_body(release.held[release.still])[:, 0]))
        if out > INTO * specimen.size[0]:
            raise BadInput(
                f"the markers of the clamp would lie {out * 1e3:.0f} mm out on the body.",
                fix="Give reach, the distance from the clamp to the outermost moving marker, or the axis.",
            )
    return pose
