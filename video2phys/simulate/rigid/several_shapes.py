"""Faces and edges of the bodies of a scene, laid out for the kernel (several_kernel.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.errors import BadInput
from video2phys.simulate.rigid.shapes import Shape


@dataclass(frozen=True)
class Solids:
    """All bodies, one after the other. Rows of `points`, `planes` and `edges` count through all of them."""

    points: np.ndarray  # [length unit] (P, 3) corners, body axes
    planes: np.ndarray  # (F, 4) outward normal n and offset d of each face, n.x = d, body axes
    faces: np.ndarray  # (F, 1 + most) number of corners, and these counter-clockwise seen from outside
    edges: np.ndarray  # (E, 4) two corners and the two faces that meet there
    table: np.ndarray  # (O, 6) first and last + 1 point, plane and edge of each body
    balls: np.ndarray  # [length unit] (O, 5) a sphere about the body: centre, radius; and the radius of a ball, 0 for a polyhedron
    pairs: np.ndarray  # (O + O (O - 1) / 2, 2) who may touch; the plane is number O; a ball comes before a polyhedron


def solids(shapes: tuple[Shape, ...]) -> Solids:
    """Raises BadInput for an ellipsoid that is no sphere, or a body without volume."""
    points, planes, faces, edges, table, balls = [np.zeros((0, 3))], [np.zeros((0, 4))], [], [], [], []
    for shape in shapes:
        first = [sum(map(len, points)), sum(map(len, planes)), len(edges)]
        if shape.radii is not None:
            if np.ptp(shape.radii) > 1e-12 * shape.extent:
                raise BadInput("an ellipsoid that is no sphere meets only the plane.", fix="Give the convex hull of points on it.")
            balls.append([0.0, 0.0, 0.0, shape.extent, shape.extent])
        else:
            sides, loops, seams = polyhedron(shape.points)
            centre = shape.points.mean(0)
            balls.append([*centre, np.linalg.norm(shape.points - centre, axis=-1).max(), 0.0])
            faces += [[k + first[0] for k in loop] for loop in loops]
            edges += [[a + first[0], b + first[0], f + first[1], g + first[1]] for a, b, f, g in seams]
            points.append(shape.points)
            planes.append(sides)
        last = [sum(map(len, points)), sum(map(len, planes)), len(edges)]
        table.append([k for ends in zip(first, last, strict=True) for k in ends])
    count, most = len(shapes), max(map(len, faces), default=0)
    ground = [(i, count) for i in range(count)]
    meet = [(i, j) if balls[i][4] > 0 or balls[j][4] == 0 else (j, i) for i in range(count) for j in range(i + 1, count)]
    return Solids(
        np.concatenate(points), np.concatenate(planes),
        np.array([[len(loop), *loop, *[0] * (most - len(loop))] for loop in faces], np.int32).reshape(-1, 1 + most),
        np.array(edges, np.int32).reshape(-1, 4), np.array(table, np.int32), np.array(balls), np.array(ground + meet, np.int32),
    )  # fmt: skip


def polyhedron(points: np.ndarray) -> tuple[np.ndarray, list[list[int]], list[tuple[int, int, int, int]]]:
    """Planes (F, 4), corners of each face counter-clockwise, and edges (corner, corner, face, face) of a hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        mesh = ConvexHull(points)
    except (QhullError, ValueError) as error:
        raise BadInput("a body is flat or has fewer than four points.", fix="Give a body with a volume.") from error
    near = 1e-7 * np.array([1.0, 1.0, 1.0, np.abs(points).max()])
    planes, members = [], []
    for equation, corners in zip(mesh.equations, mesh.simplices, strict=True):
        same = next((k for k, plane in enumerate(planes) if np.all(np.abs(plane - equation) < near)), len(planes))
        if same == len(planes):
            planes.append(equation)
            members.append(set())
        members[same].update(corners.tolist())
    loops, sides = [], {}
    for f, (plane, corners) in enumerate(zip(planes, members, strict=True)):
        corners = sorted(corners)
        away = points[corners] - points[corners].mean(0)
        across = np.cross(plane[:3], away[0])
        loops.append([corners[k] for k in np.argsort(np.arctan2(away @ across, away @ away[0]))])
        for a, b in zip(loops[-1], [*loops[-1][1:], loops[-1][0]], strict=True):
            sides.setdefault((min(a, b), max(a, b)), []).append(f)
    seams = [(a, b, f[0], f[1]) for (a, b), f in sides.items() if len(f) == 2]
    return np.array(planes) * [1.0, 1.0, 1.0, -1.0], loops, seams
