"""One object's measured way through the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2phys.parameters.planar import motion
from video2phys.parameters.planar.fit import Window
from video2phys.types import Frames, StateTrack


@dataclass(frozen=True)
class Track:
    """One object's way through the picture, with its phases."""

    frames: np.ndarray  # (N,) indices into the capture
    time: np.ndarray  # [s] (N,)
    position: np.ndarray  # [px] (N, 2)
    phases: list[motion.Phase]  # their `frames` index into this track
    spikes: int  # frames set aside

    @staticmethod
    def of(frames: Frames, states: StateTrack, obj: int) -> Track:
        """The measured frames of object `obj`, lengths in pixels."""
        at = states.position[:, obj, [0, 2]] * float(frames.views[0].camera.K[0, 0])
        index = np.flatnonzero(states.valid[:, obj] & np.isfinite(at).all(1))
        sigma = motion.white_noise(at[index])
        odd = motion.spikes(at[index], sigma)
        index = index[~odd]
        return Track(index, states.time[index], at[index], motion.phases(states.time[index], at[index], sigma), int(odd.sum()))

    def window(self, phase: motion.Phase) -> Window:
        """The frames of a phase, less one at each end: the frame in which a motion changes belongs to neither side."""
        part = phase.frames[1:-1] if len(phase.frames) > 2 * motion.SHORTEST else phase.frames
        return Window(self.frames[part], self.time[part], self.position[part, None])
