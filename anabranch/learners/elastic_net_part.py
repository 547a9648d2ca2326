"""What the nodes, the hub and the nodes of a graph have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from anabranch.errors import ModelError
from anabranch.features.frame import Frame
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_wire import Heard, Wire
from anabranch.learners.states import saved_array, saved_whole
from anabranch.protocol import Array, Message, NodeId, State, freeze

__all__ = [
    "PATIENCE",
    "Part",
    "frozen",
    "raw_weights",
    "restored_frame",
    "saved_frame",
    "saved_names",
]

PATIENCE = 6
"""Rounds without an answer after which a question is asked again, or an answer is old."""

_MOST = 1 << 53


class Part(ABC):
    """One role in the network: what it says, and what it makes of what it hears."""

    wire: Wire

    def __init__(self, settings: ElasticNetSettings, moments: CoMoments) -> None:
        self.settings, self.moments = settings, moments
        self.frame: Frame | None = None
        self.peak = np.zeros(settings.size)
        """Largest scales so far, of one who sets units."""

    @property
    @abstractmethod
    def served(self) -> Array:
        """The parameters that predict, in `frame`."""

    @property
    @abstractmethod
    def iterate(self) -> Array:
        """The node's own parameters, in `frame`."""

    @abstractmethod
    def acts(self) -> bool:
        """Tell whether there is something to say."""

    @abstractmethod
    def messages(self) -> Sequence[Message]:
        """Give what there is to say."""

    @abstractmethod
    def combine(self, heard: Sequence[Heard], weights: Mapping[NodeId, float]) -> None:
        """Take in what was heard."""

    @abstractmethod
    def leave(self) -> None:
        """Go on without samples, which are gone."""

    @abstractmethod
    def measures(self) -> dict[str, float]:
        """Give residuals and losses, for whoever watches."""

    @abstractmethod
    def export(self) -> State:
        """Give the state."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""

    def grown(self, known: int) -> bool:
        """Tell whether enough samples came since `known` of them to be worth a round."""
        fresh = self.moments.rows - known
        return fresh > 0 and fresh >= self.settings.growth * self.moments.count

    def new_frame(self, count: float, mean: Array, m2: Array) -> Frame | None:
        """Give the next frame, by moments of the network; None while the old one will do."""
        epoch = self.frame.epoch + 1 if self.frame else 1
        if self.settings.plain:
            return None if self.frame else Frame.plain(epoch, self.settings.size)
        peak = self.peak if self.settings.forgets else None
        found = Frame.of(epoch, count, mean, m2, peak)
        units = self.settings.units
        if self.frame and not self.frame.far(found, units, 0.5 * units):
            return None
        return found


def frozen(*values: float) -> Array:
    """Give numbers as a frozen array."""
    return freeze(np.array(values, dtype=np.float64))


def saved_frame(frame: Frame | None, prefix: str = "") -> State:
    """Give a frame as a part of a state."""
    if frame is None:
        return {f"{prefix}epoch": 0, f"{prefix}frame": np.zeros((0, 0))}
    units = np.stack([frame.centre, frame.scale])
    return {f"{prefix}epoch": frame.epoch, f"{prefix}frame": units}


def restored_frame(state: State, size: int, prefix: str = "") -> Frame | None:
    """Read a frame.

    Raises
    ------
    ModelError
        It is damaged.
    """
    epoch = saved_whole(state, f"{prefix}epoch", _MOST)
    units = saved_array(state, f"{prefix}frame", (2, size) if epoch else (0, 0))
    if epoch == 0:
        return None
    centre, scale = units
    if scale.min() <= 0.0:
        raise ModelError(f"damaged state: a scale in {prefix}frame is not positive")
    return Frame(epoch, centre, scale)


def saved_names(state: State, key: str) -> list[NodeId]:
    """Read a list of names.

    Raises
    ------
    ModelError
        It is none.
    """
    names = state.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"damaged state: {key}={names!r}; allowed: names")
    return names


def raw_weights(frame: Frame | None, theta: Array) -> Array:
    """Give weights and intercept for fields and target as they are."""
    if frame is None:
        return np.zeros_like(theta)
    weights, level = frame.raw(theta)
    return np.append(weights, level - float((weights * frame.centre[:-1]).sum()))
