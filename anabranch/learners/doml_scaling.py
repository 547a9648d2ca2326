"""How the nodes of a network come to the same coordinates without showing a sample."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.features.standardiser import Moments, Standardiser
from anabranch.kernels.doml import note_rows
from anabranch.kernels.moments import COUNT, M2, MEAN
from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.doml_settings import DomlSettings
from anabranch.learners.doml_strays import Strays
from anabranch.learners.doml_wire import Telling
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, NodeId, State, freeze

__all__ = ["Scaling"]


class Scaling:
    """Moments that are averaged over the network, and the coordinates made of them.

    While it warms up a node has coordinates of its own, renewed whenever its count of samples
    has doubled. After `warm_up` rounds they stand, until many samples of a node stray from them
    and it says wider ones; where two nodes differ, all take up those with the larger key. A
    node without neighbours goes on renewing its own.

    Attributes
    ----------
    frame : the coordinates in use
    fixed : whether they are the network's
    """

    def __init__(self, settings: DomlSettings) -> None:
        features = settings.features
        self.consensus = settings.scaling == "consensus"
        self._bias = settings.bias
        self._progress = np.zeros(8)
        rounds = settings.warm_up if self.consensus else 0
        self._scaler = Standardiser(features, rounds, self._progress)
        self._varied = np.zeros(features)
        self.frame = Coordinates.plain(features, bias=settings.bias)
        self.fixed = not self.consensus
        self._strays = Strays(features)

    def note(self, X: Array) -> None:
        """Take rows (n, d) into the moments."""
        if self.consensus and self.fixed:
            self._strays.note(X, self.frame)
        elif self.consensus:
            note_rows(X, self._scaler.scale, self._progress, self._varied)

    def arrays(self) -> dict[str, Array]:
        """Give what is told of it: moments while it warms up."""
        if self.fixed:
            return {}
        return {**self._scaler.shared().arrays(), "varied": freeze(self._varied.copy())}

    def frame_array(self) -> Array:
        """Give the coordinates as the (2, d) of a message."""
        return freeze(np.stack([self.frame.centre, self.frame.scale]))

    def follow(
        self, told: Sequence[Telling], weights: Mapping[NodeId, float]
    ) -> Coordinates | None:
        """Take a round's messages in; give new coordinates if there are any.

        The caller carries its parameters and rows over, then calls `move`.
        """
        if not self.consensus:
            return None
        frames = [one.frame for one in told if one.frame]
        best = max(frames, key=lambda frame: frame.key, default=None)
        if self.fixed or best is not None:
            if best is None or (self.fixed and best.key <= self.frame.key):
                return self._strays.wider(self.frame)
            self.fixed = True
            return best
        self._average(told, weights)
        self.fixed = self._scaler.frozen
        count = float(self._progress[COUNT])
        if not self.fixed and (count == 0.0 or count < 2.0 * self.frame.count):
            return None
        scale = self._scaler.scale
        return Coordinates.of(count, scale[MEAN], scale[M2], self._varied, bias=self._bias)

    def _average(self, told: Sequence[Telling], weights: Mapping[NodeId, float]) -> None:
        heard: list[tuple[float, Moments]] = []
        for one in told:
            if one.moments is not None and one.varied is not None:
                heard.append((float(weights[one.sender]), one.moments))
                self._varied = np.maximum(self._varied, np.minimum(one.varied, 1.0))
        if weights:
            self._scaler.combine(heard, lonely=False)

    def move(self, frame: Coordinates) -> None:
        """Have these coordinates from now on."""
        self.frame = frame
        self._strays.clear()

    def export(self) -> State:
        """Give the state; there is no sample in it."""
        return {
            "moments": np.stack([self._scaler.scale[MEAN], self._scaler.scale[M2], self._varied]),
            "progress": self._progress.copy(),
            "warm_up_rounds": self._scaler.rounds,
            "fixed": self.fixed,
            "frame": np.stack([self.frame.centre, self.frame.scale]),
            "frame_count": self.frame.count,
        }

    def strays(self) -> State:
        """Give the rest of the state, in which there may be a sample."""
        return self._strays.export()

    def restore(self, state: State) -> Self:
        """Take a state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        features = len(self._varied)
        mean, m2, self._varied = saved_array(state, "moments", (3, features))
        progress = saved_array(state, "progress", self._progress.shape)
        if (progress < 0.0).any() or (m2 < 0.0).any():
            raise ModelError("damaged state: progress or moments are negative")
        self._progress[:] = progress
        rounds = saved_whole(state, "warm_up_rounds", self._scaler.wanted)
        self._scaler.restore(mean, m2, rounds, False)
        self.fixed = bool(saved_value(state, "fixed"))
        centre, scale = saved_array(state, "frame", (2, features))
        count = saved_value(state, "frame_count")
        if not isinstance(count, int | float) or not count >= 0.0 or scale.min() <= 0.0:
            raise ModelError(f"damaged state: frame_count={count!r} or a scale is no number > 0")
        if count > 0.0:
            self.frame = Coordinates.read(float(count), centre, scale, bias=self._bias)
        if "strays" in state:
            self._strays.restore(state)
        return self
