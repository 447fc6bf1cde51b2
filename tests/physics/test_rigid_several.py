"""Several rigid bodies in space: closed forms of collisions, conservation, stacks, MuJoCo, and the simulator of one body."""

import numpy as np
import pytest

from video2phys.errors import BadInput
from video2phys.simulate.rigid import rotation, several, shapes, spatial
from video2phys.simulate.rigid.several_shapes import polyhedron

G, R, A = 9.81, 0.05, 0.1
BALL, BOX = shapes.sphere(R), shapes.box((A, A, A))
TWO = several.Scene((BALL, BALL))
STACK = several.Scene((BOX, BOX))


def state(position, velocity=None, spin=None, turn=None):
    """One scene from (O, 3) values, or a batch from (B, O, 3)."""
    x = np.asarray(position, float)
    x = x.reshape(-1, *x.shape[-2:])
    other = [np.broadcast_to(0.0 if a is None else np.asarray(a, float), x.shape) for a in (velocity, spin, turn)]
    return several.State(x, rotation.exp(other[2]), other[0], other[1])


def energies(p, track):
    return np.array([several.energy(p, track.at(k))[0] for k in range(track.position.shape[1])])


def deepest(p, scene, track):
    return min(several.gaps(p, scene, track.at(k)).min() for k in range(track.position.shape[1]))


def free(scene, **values):
    return several.params(scene, gravity=(0, 0, 0), **values)


@pytest.mark.parametrize("e", [0.0, 0.35, 1.0])
def test_head_on_collision_of_balls(e):
    m, v = np.array([0.3, 0.5]), 2.0
    p = free(TWO, restitution=e, mass=m)
    track = several.rollout(p, TWO, state([[0, 0, 0], [0.4, 0, 0]], [[v, 0, 0], [0, 0, 0]]), np.array([0, 0.4]))
    after = v * np.array([m[0] - e * m[1], (1 + e) * m[0]]) / m.sum()
    t = (0.4 - 2 * R) / v
    assert np.allclose(track.velocity[0, 1, :, 0], after, atol=1e-12)
    want = np.array([v * t, 0.4]) + after * (0.4 - t)
    assert np.allclose(track.position[0, 1, :, 0], want, atol=1e-10)
    assert np.array_equal(track.hits[0, 1], [1, 1])


def oblique(given, T):
    """Where two smooth balls of radius R, 0.4 apart along x, are at T: the first comes with v, aimed b beside the other's centre."""
    v, b, e, ratio = given
    reach = np.sqrt(4 * R**2 - b**2)
    t = (0.4 - reach) / v
    n = np.array([reach, -b, 0 * b]) / (2 * R)  # from the first centre to the second
    pulse = (1 + e) * (v * n[0]) * ratio / (1 + ratio)  # per mass of the second
    after1 = np.array([v, 0 * v, 0 * v]) - pulse * n / ratio
    return np.array([v * t, b, 0 * v]) + after1 * (T - t), np.array([0.4, 0, 0]) + pulse * n * (T - t)


def test_oblique_collision_of_smooth_balls():
    v, b, e, ratio, T = 1.7, 0.03, 0.6, 1.5, 0.5
    p = free(TWO, restitution=e, mass=[ratio, 1.0])
    track = several.rollout(p, TWO, state([[0, b, 0], [0.4, 0, 0]], [[v, 0, 0], [0, 0, 0]]), np.array([0, T]))
    assert np.allclose(track.position[0, 1], oblique((v, b, e, ratio), T), atol=1e-10)
    one, two = track.at(0), track.at(1)
    assert np.allclose(several.momentum(p, one)[0], several.momentum(p, two)[0], atol=1e-13)
    assert np.abs(track.spin).max() < 1e-12


@pytest.mark.parametrize("k", range(4))
def test_derivatives_through_the_collision_are_the_closed_form(k):
    """By v, b, e and mass ratio: central differences of rollouts against complex steps of the closed form."""
    at, h = np.array([1.7, 0.03, 0.6, 1.5]), 1e-5
    up, down = at + h * np.eye(4)[k], at - h * np.eye(4)[k]
    v, b, e, ratio = np.stack([up, down], 1)
    zero = np.zeros(2)
    p = free(TWO, restitution=np.stack([e, e], 1), mass=np.stack([ratio, zero + 1], 1))
    x = np.stack([np.stack([zero, b, zero], 1), np.tile([0.4, 0, 0], (2, 1))], 1)
    u = np.stack([np.stack([v, zero, zero], 1), np.zeros((2, 3))], 1)
    track = several.rollout(p, TWO, state(x, u), np.array([0, 0.5]))
    got = (track.position[0, 1] - track.position[1, 1]) / (2 * h)
    z = at.astype(complex)
    z[k] += 1e-30j
    want = np.array(oblique(z, 0.5)).imag / 1e-30
    assert np.abs(got - want).max() < 1e-6 * np.abs(want).max()


@pytest.mark.parametrize("mu", [0.05, 0.6])
def test_english_throws_the_object_ball(mu):
    """Side spin w: normal impulse m (1 + e) v / 2, tangential m min(mu (1 + e) v / 2, r w / 7), the latter where slip ends."""
    v, w, e = 1.0, 30.0, 0.9
    p = free(TWO, restitution=e, friction=mu)
    track = several.rollout(p, TWO, state([[0, 0, 0], [0.3, 0, 0]], [[v, 0, 0], [0, 0, 0]], [[0, 0, w], [0, 0, 0]]), np.array([0, 0.5]))
    normal = (1 + e) * v / 2
    across = min(mu * normal, R * w / 7)
    assert (across == mu * normal) == (mu == 0.05)
    assert np.allclose(track.velocity[0, 1], [[v - normal, -across, 0], [normal, across, 0]], atol=1e-9)
    assert np.allclose(track.spin[0, 1, :, 2], [w - 2.5 * across / R, -2.5 * across / R], atol=1e-7)


def test_equal_balls_trade_velocities_and_a_row_hands_the_blow_on():
    p = free(TWO, restitution=1.0)
    track = several.rollout(p, TWO, state([[0, 0, 0], [0.3, 0, 0]], [[1, 0, 0], [-0.5, 0, 0]]), np.array([0, 0.5]))
    assert np.allclose(track.velocity[0, 1, :, 0], [-0.5, 1.0], atol=1e-12)
    row = several.Scene((BALL,) * 4)
    p = free(row, restitution=1.0)
    start = state([[0, 0, 0], [0.3, 0, 0], [0.4, 0, 0], [0.5, 0, 0]], [[1, 0, 0], *[[0, 0, 0]] * 3])
    track = several.rollout(p, row, start, np.array([0, 0.5]))
    assert np.allclose(track.velocity[0, 1, :, 0], [0, 0, 0, 1], atol=1e-9)


def test_a_rolling_ball_stops_dead_and_rolls_on_at_two_sevenths():
    """Equal balls that do not rub on each other: the first keeps its spin, which the floor turns into 2/7 of its speed."""
    v = 1.0
    p = several.params(TWO, offset=0.0, restitution=1.0, friction=[0.3, 0.0])
    start = state([[0, 0, R], [0.3, 0, R]], [[v, 0, 0], [0, 0, 0]], [[0, v / R, 0], [0, 0, 0]])
    track = several.rollout(p, TWO, start, np.array([0, 0.2001, 0.8]))
    assert np.allclose(track.velocity[0, 2, :, 0], [2 / 7 * v, v], rtol=1e-6)
    assert track.spin[0, 2, 0, 1] == pytest.approx(2 / 7 * v / R, rel=1e-6)
    assert np.abs(track.position[0, ..., 2] - R).max() < 1e-6


@pytest.mark.parametrize(("e", "mu"), [(1.0, 0.0), (0.5, 0.3), (0.0, 0.5)])
def test_tumbling_boxes_keep_momentum_and_angular_momentum_in_free_space(e, mu):
    scene = several.Scene((BOX, shapes.box((0.2, 0.1, 0.05))))
    p = free(scene, friction=mu, restitution=e, mass=[1, 2])
    start = state([[0, 0, 0], [0.4, 0.03, 0.02]], [[2, 0, 0], [-1, 0.1, 0]], [[3, 1, 2], [5, -2, 1]], [[0.3, 0.1, 0.2], [0.5, 0.5, 0.5]])
    track = several.rollout(p, scene, start, np.linspace(0, 1, 101))
    kept = [np.concatenate([a[0] for a in several.momentum(p, track.at(k))]) for k in range(101)]
    E = energies(p, track)
    assert track.hits.sum() > 0 and np.abs(np.array(kept) - kept[0]).max() < 1e-12
    assert np.diff(E).max() < 1e-9 and (E[-1] == pytest.approx(E[0], rel=1e-9) if e == 1 and mu == 0 else E[-1] < 0.6 * E[0])
    assert deepest(p, scene, track) > -1e-6


def test_pressed_boxes_keep_momentum_while_they_slide_on_each_other():
    p = free(STACK, friction=0.4)
    start = state([[0, 0, 0], [0.02, 0.01, 0.101]], [[0.3, 0, 0.3], [-0.3, 0, -0.3]], [[0, 0, 1], [0, 0, -2]])
    track = several.rollout(p, STACK, start, np.linspace(0, 0.3, 61))
    kept = np.array([np.concatenate([a[0] for a in several.momentum(p, track.at(k))]) for k in range(61)])
    assert np.abs(kept - kept[0]).max() < 1e-12
    assert np.diff(energies(p, track)).max() < 1e-9


def test_a_stack_rests_beside_a_bouncing_ball_without_creep():
    """The ball keeps the scene from falling asleep."""
    scene = several.Scene((BOX, BOX, BALL))
    p = several.params(scene, offset=0.0, friction=0.4, restitution=[0.3, 0.3, 1.0])
    track = several.rollout(p, scene, state([[0, 0, A / 2], [0.02, 0.01, 1.5 * A], [1, 0, 0.5]]), np.linspace(0, 2, 21))
    assert np.abs(track.position[0, :, :2] - track.position[0, 0, :2]).max() < 1e-8
    assert np.abs(track.rotation[0, :, :2] - track.rotation[0, 0, :2]).max() < 1e-8
    assert np.ptp(track.position[0, :, 2, 2]) > 0.2


@pytest.mark.parametrize("mu", [0.25, 0.35])
def test_a_stack_on_a_slope_holds_until_tan_exceeds_friction(mu):
    slope, T = np.arctan(0.3), 0.5
    normal = np.array([-np.sin(slope), 0, np.cos(slope)])
    p = several.params(STACK, offset=0.0, friction=mu, normal=normal)
    track = several.rollout(p, STACK, state([A / 2 * normal, 1.5 * A * normal], turn=[[0, -slope, 0]] * 2), np.array([0, T]))
    moved = np.linalg.norm(track.position[0, 1] - track.position[0, 0], axis=-1)
    want = max(0.5 * G * (np.sin(slope) - mu * np.cos(slope)) * T**2, 0.0)
    assert np.allclose(moved, want, rtol=1e-4, atol=1e-8)


def test_the_upper_box_slides_over_the_lower():
    """The lower is held by the floor; the upper stops after v^2 / (2 mu g) with mu = sqrt(0.9 0.1)."""
    wide = several.Scene((shapes.box((1.0, 0.3, 0.1)), BOX))
    p = several.params(wide, offset=0.0, friction=[0.9, 0.1], mass=[10, 1])
    track = several.rollout(p, wide, state([[0, 0, 0.05], [-0.3, 0, 0.15]], [[0, 0, 0], [1, 0, 0]]), np.linspace(0, 0.6, 31))
    assert track.position[0, -1, 1, 0] == pytest.approx(-0.3 + 1 / (2 * 0.3 * G), rel=2e-3)
    assert np.abs(track.position[0, :, 0]).max() == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("kind", ["ball on face", "ball on edge", "ball on corner", "box on box by edges"])
def test_smooth_elastic_blows_reverse_the_normal_velocity(kind):
    """A body of vast mass and inertia is struck: the other's velocity is mirrored at the contact normal."""
    n = {"ball on face": [1, 0, 0], "ball on edge": [1, 1, 0], "ball on corner": [1, 1, 1], "box on box by edges": [0, 0, 1]}[kind]
    n = np.array(n) / np.linalg.norm(n)
    v = np.array([-1.0, 0.1, -0.3])
    if kind == "box on box by edges":
        scene, turn = STACK, [[np.pi / 4, 0, 0], [0, np.pi / 4, 0]]
        v = np.array([0.0, 0.0, -1.0])
        touch = A * np.sqrt(2) * n
    else:
        scene, turn = several.Scene((BOX, BALL)), None
        touch = A / 2 * (n > 0) + R * n
    p = free(scene, restitution=1.0, mass=[1e9, 1.0])
    t = 0.1
    track = several.rollout(p, scene, state([[0, 0, 0], touch - t * v], [[0, 0, 0], v], turn=turn), np.array([0, 2 * t]))
    after = v - 2 * n * n.dot(v)
    assert np.allclose(track.velocity[0, 1, 1], after, atol=1e-7)
    assert np.allclose(track.position[0, 1, 1], touch + t * after, atol=1e-7)


def test_a_ball_that_strikes_a_box_off_centre_turns_it():
    """Impulse p = 2 v / (1/m + 1/M + b^2 / I) of a smooth elastic blow at distance b from the centre."""
    scene = several.Scene((BALL, BOX))
    m, M, b, v = 0.5, 2.0, 0.03, 1.0
    p = free(scene, restitution=1.0, mass=[m, M])
    track = several.rollout(p, scene, state([[-0.3, b, 0], [0, 0, 0]], [[v, 0, 0], [0, 0, 0]]), np.array([0, 0.25]))
    moment = M * A**2 / 6
    pulse = 2 * v / (1 / m + 1 / M + b**2 / moment)
    assert np.allclose(track.velocity[0, 1, :, 0], [v - pulse / m, pulse / M], atol=1e-10)
    assert track.spin[0, 1, 1, 2] == pytest.approx(-b * pulse / moment, rel=1e-9)
    h, t = 1e-4, 0.3 - A / 2 - np.sqrt(R**2)
    q = free(scene, restitution=np.array([[1, 1], [1, 1 - 2 * h]]), mass=[m, M])  # geometric mean: sqrt(1 - 2 h)
    two = several.rollout(q, scene, state([[-0.3, b, 0], [0, 0, 0]], [[v, 0, 0], [0, 0, 0]]), np.array([0, 0.25]))
    slope = (two.position[0, 1, 1, 0] - two.position[1, 1, 1, 0]) / (1 - np.sqrt(1 - 2 * h))
    assert slope == pytest.approx(pulse / 2 / M * (0.25 - t), rel=1e-6)


def struck(given):
    """Where a tumbling box that another has struck is after 0.4 s; speed, friction, restitution, offset (B, 4)."""
    v, mu, e, b = np.asarray(given).T
    zero = np.zeros(len(v))
    p = free(STACK, friction=np.stack([mu, mu], 1), restitution=np.stack([e, e], 1))
    x = np.stack([np.stack([zero, b, zero], 1), np.tile([0.4, 0, 0], (len(v), 1))], 1)
    u = np.stack([np.stack([v, zero, zero], 1), np.zeros((len(v), 3))], 1)
    start = state(x, u, [[1, 2, 3], [3, -2, 1]], [[0.3, 0.2, 0.1], [0.5, 0.1, 0.2]])
    track = several.rollout(p, STACK, start, np.array([0, 0.4]))
    assert np.all(track.hits[:, 1] == 1)
    return track.position[:, 1, 1]


def test_a_struck_box_moves_smoothly_with_all_that_is_given():
    """Impacts fall between steps: differences neither jump nor depend on their width."""
    at = np.array([1.5, 0.2, 0.9, 0.02])
    line = struck(at + 1e-7 * np.arange(-5, 6)[:, None] * [1, 0, 0, 0])
    assert np.abs(np.diff(line, 2, axis=0)).max() < 1e-12
    for k in range(4):
        wide, narrow = (np.diff(struck(at + h * np.eye(4)[k] * [[-1], [1]]), axis=0) / (2 * h) for h in (1e-5, 1e-6))
        assert np.abs(wide - narrow).max() < 1e-6 * np.abs(wide).max() and np.abs(wide).max() > 0.05


def test_energy_never_rises_in_a_heap():
    rng = np.random.default_rng(3)
    scene = several.Scene((BOX, BOX, BALL, shapes.cylinder(0.04, 0.12, 8), shapes.hull(rng.normal(size=(40, 3)) * 0.03)))
    p = several.params(scene, offset=0.0, friction=0.4, restitution=0.6)
    x = np.array([[0, 0, 0.1], [0.03, 0.02, 0.3], [0.01, 0, 0.5], [0, 0.03, 0.7], [0.02, 0, 0.9]])
    track = several.rollout(p, scene, state(x, spin=rng.normal(size=(5, 3)) * 3, turn=rng.normal(size=(5, 3))), np.linspace(0, 2.5, 251))
    E = energies(p, track)
    assert np.diff(E).max() < 1e-6 * E[0] and E[-1] < 0.4 * E[0]
    assert deepest(p, scene, track) > -1e-3 * R


def test_friction_with_restitution_creates_no_energy():
    """Rods thrown at the floor on one end (Kane 1984); Newton's law alone, as in the simulator of one body, speeds some of them up."""
    rng, B = np.random.default_rng(0), 100
    rod = shapes.box((0.3, 0.03, 0.03))
    turn = np.stack([rng.uniform(-0.5, 0.5, B), rng.uniform(0.2, 1.4, B), np.zeros(B)], -1)
    lowest = rod.lowest(rotation.matrix(rotation.exp(turn)), np.array([0, 0, 1.0]))
    x = np.stack([np.zeros(B), np.zeros(B), 1e-3 - lowest], -1)
    v = np.stack([rng.uniform(-3, 3, B), np.zeros(B), -np.ones(B)], -1)
    w = np.stack([np.zeros(B), rng.uniform(-5, 5, B), np.zeros(B)], -1)
    start, t = state(x[:, None], v[:, None], w[:, None], turn[:, None]), np.array([0, 0.003])
    scene = several.Scene((rod,))
    p = several.params(scene, offset=0.0, friction=0.6, restitution=0.9)
    track = several.rollout(p, scene, start, t)
    assert (several.energy(p, track.at(1)) - several.energy(p, track.at(0))).max() < 1e-6
    alone = spatial.params(offset=0.0, friction=0.6, restitution=0.9, inertia=p.inertia[0, 0])
    one = spatial.State(*(a[:, 0] for a in vars(start).values()))
    other = spatial.rollout(alone, spatial.Scene(rod), one, t)
    assert (spatial.energy(alone, other.at(1)) - spatial.energy(alone, one)).max() > 0.01


def test_dominoes_fall_one_after_another():
    count = 6
    scene = several.Scene((shapes.box((0.01, 0.04, 0.08)),) * count)
    p = several.params(scene, offset=0.0, friction=0.3, restitution=0.1)
    spin = np.zeros((count, 3))
    spin[0, 1] = 4.0
    start = state([[0.03 * i, 0, 0.04] for i in range(count)], np.cross(spin, [0, 0, 0.04]), spin)
    track = several.rollout(p, scene, start, np.linspace(0, 1.2, 121))
    lean = rotation.log(track.rotation[0])[..., 1]
    started = (lean > 0.2).argmax(0)
    assert np.all(np.diff(started) > 0) and np.all(lean[-1] > 1.0)
    assert np.diff(energies(p, track)).max() < 1e-7 and deepest(p, scene, track) > -1e-3 * 0.04


@pytest.mark.parametrize("kind", ["box", "ball", "rolling"])
def test_one_body_moves_as_in_the_simulator_of_one_body(kind):
    shape = BALL if kind != "box" else shapes.box((0.12, 0.08, 0.06))
    scene = several.Scene((shape,))
    p = several.params(scene, offset=0.0, friction=0.3, restitution=0.5, mass=1.3)
    x, v, w = ([0, 0, 0.3], [1, 0.2, 0], [1, 2, 3]) if kind != "rolling" else ([0, 0, R], [1, 0.2, 0], [3, 5, 20])
    start = state([x], [v], [w], [[0.4, 0.7, 0.1]])
    t = np.linspace(0, 0.6, 61)
    got = several.rollout(p, scene, start, t)
    alone = spatial.params(offset=0.0, friction=0.3, restitution=0.5, mass=1.3, inertia=p.inertia[0, 0])
    one = spatial.State(start.position[:, 0], start.rotation[:, 0], start.velocity[:, 0], start.spin[:, 0])
    want = spatial.rollout(alone, spatial.Scene(shape), one, t)
    assert got.hits[0].sum() == want.hits[0].sum()
    assert np.abs(got.position[0, :, 0] - want.position[0]).max() < 1e-8
    assert np.abs(rotation.between(got.rotation[0, :, 0], want.rotation[0])).max() < 1e-6


def test_a_box_dropped_on_a_box_ends_where_mujoco_has_it():
    mujoco = pytest.importorskip("mujoco")
    half = A / 2
    body = '<body pos="{}"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1" friction="0.5" solref="0.002 1"/></body>'
    world = body.format("0 0 0.05") + body.format("0.02 0.01 0.25")
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.0005" cone="elliptic"/><worldbody><geom type="plane" size="2 2 1" friction="0.5" solref="0.002 1"/>'
        + world + "</worldbody></mujoco>"
    )  # fmt: skip
    data = mujoco.MjData(model)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    p = several.params(STACK, offset=0.0, friction=0.5)
    track = several.rollout(p, STACK, state([[0, 0, half], [0.02, 0.01, 0.25]]), np.linspace(0, 1.5, 151))
    assert np.abs(track.position[0, -1].ravel() - data.qpos.reshape(2, 7)[:, :3].ravel()).max() < 1e-3 * A
    assert np.allclose(track.position[0, -1], [[0, 0, half], [0.02, 0.01, 3 * half]], atol=1e-5)
    assert deepest(p, STACK, track) > -1e-3 * A
    assert np.abs(track.velocity[0, -1]).max() < 1e-6


def test_scenes_of_a_batch_are_independent():
    starts = [[[0, 0, 0.05], [0.02, 0.01, 0.3]], [[0, 0, 0.05], [0.04, 0.0, 0.25]]]
    p = several.params(STACK, offset=0.0, friction=[[0.3, 0.3], [0.5, 0.1]], restitution=0.4)
    t = np.linspace(0, 0.5, 11)
    both = several.rollout(p, STACK, state(starts), t)
    for b in range(2):
        q = several.params(STACK, offset=0.0, friction=p.friction[b], restitution=0.4)
        assert np.array_equal(both.position[b], several.rollout(q, STACK, state(starts[b]), t).position[0])


def test_a_motion_that_is_not_finite_is_nan_and_spares_its_neighbours():
    starts = np.array([[[0, 0, 0], [0.4, 0, 0]], [[0, np.nan, 0], [0.4, 0, 0]]])
    track = several.rollout(free(TWO), TWO, state(starts, [[1, 0, 0], [0, 0, 0]]), np.array([0, 0.1]))
    assert np.isnan(track.position[1]).all() and np.isfinite(track.position[0]).all()
    fast = several.rollout(free(TWO), TWO, state(starts[0], [[1e200, 0, 0], [0, 0, 0]], [[0, 0, 1e200], [0, 0, 0]]), np.array([0, 0.1]))
    assert np.isnan(fast.position).all() and np.isnan(fast.spin).all()


def test_bad_input_is_refused_with_a_way_out():
    two = state([[0, 0, 0], [0.4, 0, 0]])
    t = np.array([0, 0.1])
    cases = [
        ("ascend", lambda: several.rollout(free(TWO), TWO, two, t[::-1])),
        ("overlaps body 1", lambda: several.rollout(free(TWO), TWO, state([[0, 0, 0], [0.05, 0, 0]]), t)),
        ("overlaps the plane", lambda: several.rollout(several.params(TWO, offset=0.0), TWO, two, t)),
        ("2 bodies", lambda: several.rollout(free(TWO), TWO, state([[0, 0, 0]]), t)),
        ("does not fit", lambda: several.params(TWO, friction=[0.1, 0.2, 0.3])),
        ("positive", lambda: several.params(TWO, mass=[1.0, 0.0])),
        ("negative", lambda: several.params(TWO, restitution=-0.1)),
        ("ellipsoid", lambda: several.params(several.Scene((BALL, shapes.ellipsoid((0.1, 0.2, 0.3)))))),
        ("flat", lambda: several.params(several.Scene((shapes.Shape(np.eye(3)),)))),
        ("without bodies", lambda: several.params(several.Scene(()))),
    ]
    for message, call in cases:
        with pytest.raises(BadInput, match=message) as caught:
            call()
        assert caught.value.fix


@pytest.mark.parametrize("shape", [shapes.box((1, 2, 3)), shapes.cylinder(0.5, 1.0, 12)])
def test_faces_are_whole_and_edges_meet_two_of_them(shape):
    planes, loops, edges = polyhedron(shape.points)
    assert len(shape.points) - len(edges) + len(planes) == 2  # Euler
    for plane, loop in zip(planes, loops, strict=True):
        corners = shape.points[loop]
        turn = np.cross(corners - corners[0], np.roll(corners, -1, 0) - corners[0]).sum(0)
        assert np.allclose(corners @ plane[:3], plane[3]) and turn @ plane[:3] > 0
