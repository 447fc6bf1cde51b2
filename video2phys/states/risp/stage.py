"""Train on the reconstruction, ask for every crop of the video, join the views, and doubt what does not render back."""

from __future__ import annotations

import numpy as np

from video2phys.context import Context
from video2phys.errors import BadInput
from video2phys.states.risp import crops as crops_
from video2phys.states.risp.predict import Joined, join, nearest_rotation, overlap, predict
from video2phys.states.risp.randomise import PLACE, radius, random_states, render
from video2phys.states.risp.train import Trained, train
from video2phys.states.settings import Settings
from video2phys.types import Frames, Gaussians, StateTrack

FEW = 0.05  # of the held-out renders overlap less with their truth than the threshold taken from them
UNLEARNT = 0.8  # of the states' own spread: an error this large means that the pictures did not tell


def track(frames: Frames, gaussians: Gaussians, settings: Settings, context: Context) -> StateTrack:
    """StateTrack of kind "pose" or "affine" with method "risp". Raises BadInput for several objects or none that is whole."""
    if len(gaussians.bodies) != 1:
        raise BadInput("the rendering-invariant network follows one object.", fix="Use states.method=photometric.")
    body, soft = gaussians.bodies[0], settings.kind == "affine"
    crops = crops_.gather(frames)
    if not crops:
        raise BadInput("the object is whole in no frame.", fix="Check the masks, or use states.method=photometric.")
    generator = np.random.default_rng(context.seed)
    seats = [crops[i] for i in generator.integers(len(crops), size=settings.risp.renders)]
    states = random_states(len(seats), soft, settings.risp, generator)
    layers = render(body, seats, states, lambda share, text="": context.progress(0.3 * share, text))
    trained = train(layers, states, settings.risp, context.seed, lambda share, text="": context.progress(0.3 + 0.5 * share, text))
    pictures = [crops_.seen(frames, crop) for crop in crops]
    found = predict(trained, np.array([p for p, _ in pictures]))
    size = radius(body)
    joined = {k: join(*_of_frame(crops, found, k), trained, size) for k in sorted({c.frame for c in crops})}
    context.progress(0.85, "rendering the states back")
    worst = _threshold(trained, layers, body, seats, states)
    good = {k for k, share in _agreement(crops, pictures, joined, body, size, soft).items() if share >= worst}
    reach = chain(body.reference_frame, sorted(joined), good, {k: turn_deg(j.D) for k, j in joined.items()}, settings.risp.rotation_deg)
    return _result(frames, joined, good & reach, len(joined) - len(reach), trained, soft, body.rotation, gaussians.unit)


def chain(reference: int, frames: list[int], good: set[int], turn: dict[int, float], most: float) -> set[int]:
    """Frames that lead back to the reconstructed pose with the turn inside the trained range all the way.

    Beyond that range the network's answer may be a pose that merely looks alike, with nothing in one picture to show it. Going
    out from the reference, the chain ends at a turn over `most` [deg], or at two frames running whose state does not render back.
    """
    start = min(range(len(frames)), key=lambda i: abs(frames[i] - reference))
    out: set[int] = set()
    for way in (range(start, len(frames)), range(start - 1, -1, -1)):
        bad = 0
        for i in way:
            bad = 0 if frames[i] in good else bad + 1
            if bad == 2 or (not bad and turn[frames[i]] > most):
                break
            out.add(frames[i])
    return out


def turn_deg(D: np.ndarray) -> float:
    """Angle [deg] of the rotation in D (3, 3)."""
    return float(np.degrees(np.arccos(np.clip((np.trace(nearest_rotation(D)) - 1) / 2, -1, 1))))


def _of_frame(crops: list[crops_.Crop], found: np.ndarray, frame: int) -> tuple[list[crops_.Crop], np.ndarray]:
    index = [i for i, c in enumerate(crops) if c.frame == frame]
    return [crops[i] for i in index], found[index]


def _threshold(trained: Trained, layers, body, seats: list[crops_.Crop], states: np.ndarray) -> float:
    """Overlap that all but a few held-out renders reach when the predicted state is rendered again."""
    from video2phys.states.risp.randomise import picture, random_psi

    last = slice(max(0, len(seats) - 40), None)
    psi = random_psi(len(seats[last]), np.random.default_rng(0))
    found = predict(trained, picture(layers[last], psi).numpy())
    again = render(body, seats[last], found).alpha[:, 0].numpy()
    return float(np.quantile([overlap(a, b) for a, b in zip(again, layers[last].alpha[:, 0].numpy(), strict=True)], FEW))


def _agreement(crops, pictures, joined: dict[int, Joined], body, size: float, soft: bool) -> dict[int, float]:
    """Median over views of the overlap between mask and rendered state, by frame."""
    states = []
    for crop in crops:
        state = joined[crop.frame]
        D = state.D if soft else nearest_rotation(state.D)
        local = crop.rotation @ (state.position - crop.center)
        half = crops_.SIZE / 2
        place = [
            local[0] / local[2] * crop.focal / half,
            local[1] / local[2] * crop.focal / half,
            np.log(size * crop.focal / local[2] / half),
        ]
        states.append(np.concatenate([place, (crop.rotation @ D @ crop.rotation.T - np.eye(3)).ravel()]))
    drawn = render(body, crops, np.array(states)).alpha[:, 0].numpy()
    shares: dict[int, list[float]] = {}
    for crop, alpha, (_, mask) in zip(crops, drawn, pictures, strict=True):
        shares.setdefault(crop.frame, []).append(overlap(alpha, mask))
    return {k: float(np.median(v)) for k, v in shares.items()}


def _result(
    frames: Frames, joined: dict[int, Joined], kept: set[int], beyond: int, trained: Trained, soft: bool, reference: np.ndarray, unit: str
) -> StateTrack:
    from scipy.spatial.transform import Rotation

    T = len(frames.time)
    position, position_sigma = np.full((T, 1, 3), np.nan), np.full((T, 1, 3), np.inf)
    rotation, rotation_sigma = np.tile([1.0, 0, 0, 0], (T, 1, 1)), np.full((T, 1, 3), np.inf)
    F, F_sigma, valid = np.tile(np.eye(3), (T, 1, 1, 1)), np.full((T, 1), np.inf), np.zeros((T, 1), bool)
    start = Rotation.from_quat(reference, scalar_first=True)
    for k in kept:
        state = joined[k]
        valid[k], position[k, 0], position_sigma[k, 0] = True, state.position, state.position_sigma
        if soft:
            F[k, 0], F_sigma[k, 0] = state.D @ start.as_matrix(), state.D_sigma
        else:
            rotation[k, 0] = (Rotation.from_matrix(nearest_rotation(state.D)) * start).as_quat(scalar_first=True)
            rotation_sigma[k, 0] = np.sqrt(2) * state.D_sigma  # a turn by w changes D by [w], each component of which stands twice
    lost = len(joined) - len(kept) - beyond
    share = trained.sigma / trained.spread
    warnings = [f"{lost} of {len(joined)} frames are left out: the network's state does not render back to the mask"] if lost else []
    if beyond > 0:
        warnings.append(
            f"{beyond} of {len(joined)} frames are left out: the object turns further than states.risp.rotation_deg from its reconstructed "
            "pose, where the network cannot tell poses that look alike apart"
        )
    if share[PLACE:].mean() > UNLEARNT:
        warnings.append(
            "the network learnt next to nothing about turn and deformation: raise states.risp.steps, or use states.method=photometric"
        )
    note = (
        f"states come from a rendering-invariant network; on held-out renders its error is {share[:PLACE].mean():.0%} (place) and "
        f"{share[PLACE:].mean():.0%} (turn, deformation) of the spread of the states; what renders and video differ in beyond light and "
        "colour is not in the sigmas"
    )
    return StateTrack(frames.time, "affine" if soft else "pose", position, position_sigma, rotation, rotation_sigma, F if soft else None,
                      F_sigma if soft else None, valid, unit, "risp", (note,), tuple(warnings))  # type: ignore[arg-type]  # fmt: skip
