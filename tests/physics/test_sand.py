"""Sand: it stands below its angle, flows above it however small the step, and comes to rest at an angle that grows with its friction."""

from __future__ import annotations

import numpy as np
import pytest

from video2phys.simulate.mpm.rollout import Track, rollout
from video2phys.simulate.mpm.scene import Params, Scene, build, start

G, H = 9.81, 0.01  # particles are 10 mm, cells 20 mm


def sand(lattice: np.ndarray) -> Scene:
    return build(lattice * H, np.full(len(lattice), H**3), normal=np.array([0, 0, 1.0]), law="Drucker-Prager")


def lattice(*counts: int) -> np.ndarray:
    """Centres of a block of particles, in particles: centred sideways, standing on z = 0."""
    x, y, z = (np.arange(n) + 0.5 for n in counts)
    return np.stack(np.meshgrid(x - counts[0] / 2, y - counts[1] / 2, z, indexing="ij"), -1).reshape(-1, 3)


def slope(degrees: float, counts: tuple[int, int, int], finer: int = 1) -> np.ndarray:
    """Displacement down the slope [m] (T,), five times 0.08 s, of the middle of a slab on a sticky plane."""
    scene, angle = sand(lattice(*counts)), np.radians(degrees)
    params = Params.of(
        scene,
        youngs_modulus=1e5,
        poisson_ratio=0.25,
        density=1500,
        gravity=(G * np.sin(angle), 0, -G * np.cos(angle)),
        friction=np.inf,
        friction_angle=np.radians(30),
    )
    track = rollout(params, scene, start(scene, params), np.linspace(0, 0.4, 6), steps=80 * finer)
    middle = (np.abs(scene.particle[:, :2]) < 0.04).all(1) & (scene.particle[:, 2] > counts[2] / 2 * H)
    return track.position[:, 0, middle, 0].mean(1) - track.position[0, 0, middle, 0].mean()


def test_a_slab_stands_below_its_angle():
    """It leans by its elastic strain, and no more. The slab is wide: what looks like creep in one as thick as half its width is its sides
    that slump."""
    moved = slope(25, (32, 20, 4))
    assert 0 < moved[-1] < 0.001 and abs(moved[-1] - moved[-2]) < 1e-4


def test_a_slab_above_its_angle_flows_as_fast_with_small_steps():
    """On a slope the law (a cone that meets Mohr and Coulomb's in triaxial compression) yields where tan(slope) = t = 2 sqrt(3) sin(phi) /
    (3 - sin(phi)); above, matter accelerates by g (sin - t cos), less where it holds on to the plane. A transfer's own friction would slow
    it the more the more steps there are."""
    angle, sin = np.radians(50), 0.5
    free = G * (np.sin(angle) - 2 * np.sqrt(3) * sin / (3 - sin) * np.cos(angle))
    few, many = slope(50, (28, 14, 6)), slope(50, (28, 14, 6), 4)
    assert many[-1] == pytest.approx(few[-1], rel=0.1)
    assert 0.3 < few[-1] / (0.5 * free * 0.4**2) < 1


def column(ratio: float, degrees: tuple[float, ...]) -> tuple[Scene, Track]:
    """The collapse of cylinders, eight particles of radius and `ratio` times as high, on a plane with friction 0.5."""
    points = lattice(16, 16, round(8 * ratio))
    scene = sand(points[np.hypot(points[:, 0], points[:, 1]) < 8])
    params = Params.of(
        scene, youngs_modulus=2e5, poisson_ratio=0.25, density=1500, friction=0.5, friction_angle=np.radians(np.array(degrees))
    )
    fall = np.sqrt(2 * ratio * 8 * H / G)
    return scene, rollout(params, scene, start(scene, params, position=(0.003, 0.004, 0)), fall * np.array([0, 5, 5.5]))


def radii(x: np.ndarray) -> np.ndarray:
    return np.hypot(*(x[:, :2] - x[:, :2].mean(0)).T)


def repose(x: np.ndarray) -> float:
    """Degrees of the flank: the highest particles in rings a particle wide, from 20 % to 75 % of the height of the heap."""
    ring = (radii(x) / H).astype(int)
    full = np.flatnonzero(np.bincount(ring) > 8)
    top = np.array([np.sort(x[ring == k, 2])[-max(1, (ring == k).sum() // 12) :].mean() for k in full]) + H / 2
    flank = (top > 0.2 * top.max()) & (top < 0.75 * top.max()) & (full > 2)
    return float(np.degrees(np.arctan(-np.polyfit((full[flank] + 0.5) * H, top[flank], 1)[0])))


def test_the_angle_of_repose_is_that_of_friction():
    """Within some degrees at this resolution, heaps of eight cells across, and they have come to rest."""
    degrees = (20, 30, 40)
    _, track = column(1.0, degrees)
    found = [repose(x) for x in track.position[-1]]
    assert np.abs(np.array(found) - degrees).max() < 5
    assert np.diff(found).min() > 3
    assert np.abs(track.position[-1] - track.position[-2]).mean() < 1e-4


@pytest.mark.slow
def test_run_out_grows_linearly_with_the_aspect_ratio():
    """Of columns up to three times as high as wide, r / r0 - 1 ~ a (Lajeunesse et al. 2004; Lube et al. 2004). The front is where all but
    3 % of the matter is; experiments look at the last grain."""
    ratios = np.array([1.0, 2.0, 3.0])
    run_out = []
    for a in ratios:
        _, track = column(a, (30,))
        run_out.append(np.quantile(radii(track.position[-1, 0]), 0.97) / (8 * H) - 1)
    assert np.polyfit(np.log(ratios), np.log(run_out), 1)[0] == pytest.approx(1, abs=0.15)
