"""The three simulators of soft matter against one another, where no closed form says who is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from video2phys.simulate.fem import rollout as fem
from video2phys.simulate.fem import scene as elements
from video2phys.simulate.fem.mesh import hexahedra
from video2phys.simulate.lagrangian.lattice import Nodes, begin, embed
from video2phys.simulate.lagrangian.rollout import rollout as lagrangian
from video2phys.simulate.lagrangian.surface import patches
from video2phys.simulate.mpm.rollout import rollout as mpm
from video2phys.simulate.mpm.scene import Params, build, start

E, NU, RHO, SIDE, SPEED = 1e5, 0.3, 1000.0, 0.16, 0.05
TIME = np.linspace(0, 0.03, 61)  # a little more than half a period


def thrown(x: np.ndarray) -> np.ndarray:
    """Velocities of the ends of a cube towards each other."""
    v = np.zeros_like(x)
    v[..., 0] = -SPEED * np.sin(np.pi * x[..., 0] / SIDE)
    return v


def half_period(x: np.ndarray) -> tuple[float, float]:
    """When the stretch along x (T, N, 3) returns to rest, and its largest amount on the way."""
    shape = np.sin(np.pi * x[0, :, 0] / SIDE)
    mode = (x[..., 0] - x[0, :, 0]) @ shape / (shape @ shape)
    k = np.flatnonzero((mode[1:-1] < 0) & (mode[2:] >= 0))[0] + 1
    return TIME[k] - mode[k] * (TIME[k + 1] - TIME[k]) / (mode[k + 1] - mode[k]), np.abs(mode[:k]).max()


@pytest.fixture(scope="module")
def reference() -> tuple[float, float]:
    """Finite elements, ten along an edge."""
    node, element = hexahedra((10, 10, 10), (SIDE,) * 3)
    scene = elements.build(node - SIDE / 2, element)
    params = elements.Params.of(scene, youngs_modulus=E, poisson_ratio=NU, density=RHO, gravity=(0, 0, 0))
    state = elements.start(scene, velocity=thrown(scene.node))
    track = fem.rollout(params, scene, state, TIME)
    found = half_period(track.position)
    print("fem", found)
    return found


def particles():
    h = SIDE / 10
    x = (np.stack(np.meshgrid(*[np.arange(10)] * 3, indexing="ij"), -1).reshape(-1, 3) - 4.5) * h
    return build(x, np.full(len(x), h**3), law="fixed corotated", precision="f64"), h


@pytest.mark.parametrize("simulator", ["mpm", "lagrangian"])
def test_a_soft_cube_vibrates_alike(simulator, reference):
    """A cube is no bar: the modes along and across mix. Five cells along an edge; the kernels of particles reach beyond the body's
    faces, where matter without stress adds no stiffness but some of its mass, so periods are longer by some per cent."""
    scene, h = particles()
    params = Params.of(scene, youngs_modulus=E, poisson_ratio=NU, density=RHO, gravity=(0, 0, 0))
    if simulator == "mpm":
        state = start(scene, params)
        x = mpm(params, scene, replace(state, velocity=thrown(state.position)), TIME).position[:, 0]
    else:
        box = trimesh.creation.box((SIDE,) * 3)
        lattice = embed(scene, patches(box.vertices, box.faces, h))
        nodes = begin(lattice, params)
        x = lagrangian(params, lattice, Nodes(nodes.position, thrown(nodes.position)), TIME).particles()[0][:, 0]
    period, reach = half_period(x)
    print(simulator, period, reach)
    assert period == pytest.approx(reference[0], rel=0.05)
    assert reach == pytest.approx(reference[1], rel=0.08)
