"""When a node speaks to its neighbours, and how many bytes that costs."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array, Learner, Message

__all__ = ["Policy", "Speaker", "check_rounds_per_tick", "wire_size"]

INDEX_BYTES = 4


@dataclass(frozen=True)
class Policy:
    """The communication policy of all nodes.

    Parameters
    ----------
    kind : "every" (each `every`-th round) or "event" (when the parameters moved)
    every : rounds between exchanges
    tolerance : relative move of the parameters since the last broadcast, Euclidean norm,
        above which an event-triggered node speaks
    always_until : rounds at the start in which every node speaks (the warm-up)

    Raises
    ------
    ConfigurationError
        `every` is below 1, or `tolerance` is negative or not finite.
    """

    kind: Literal["every", "event"] = "every"
    every: int = 1
    tolerance: float = 0.0
    always_until: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("every", "event"):
            raise ConfigurationError(f"exchange.policy is {self.kind!r}; allowed: every, event")
        if self.every < 1:
            raise ConfigurationError(f"exchange.every is {self.every}; allowed: 1 or more rounds")
        if not (np.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ConfigurationError(
                f"exchange.tolerance is {self.tolerance}; allowed: a finite number, 0 or more"
            )

    def exchanges(self, round: int) -> bool:
        """Tell whether nodes exchange in this round; the same for all nodes.

        >>> [t for t in range(7) if Policy(every=3, always_until=1).exchanges(t)]
        [0, 2, 5]
        """
        return round < self.always_until or (round + 1) % self.every == 0


def check_rounds_per_tick(rounds: int) -> None:
    """Refuse a number of rounds for each tick.

    Raises
    ------
    ConfigurationError
        It is below 1.
    """
    if rounds < 1:
        raise ConfigurationError(f"exchange.rounds_per_tick is {rounds}; allowed: 1 or more rounds")


class Speaker:
    """One node's memory of what it last broadcast, for event-triggered exchange.

    An event-triggered node speaks when |theta - theta_last| > tolerance |theta_last|, theta
    its parameters now and theta_last those of its last broadcast; the first time always.

    Examples
    --------
    >>> from anabranch.learners import make
    >>> node, speaker = make("dsvor", 1, 2), Speaker(Policy("event", tolerance=0.1))
    >>> speaker.due(0, node), speaker.due(1, node)
    (True, False)
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._last: Array | None = None

    def due(self, round: int, learner: Learner) -> bool:
        """Tell whether a node speaks in a round of exchange; remember its parameters if so."""
        if self.policy.kind == "every":
            return True
        parameters = learner.parameters()
        if round >= self.policy.always_until and not self._moved(parameters):
            return False
        self._last = parameters.copy()
        return True

    def _moved(self, parameters: Array) -> bool:
        last = self._last
        if last is None or last.shape != parameters.shape:
            return True
        # Parameters that are not finite count as moved: the learner then sends nothing, and
        # its neighbours learn that it is silent instead of keeping what it said last.
        with np.errstate(invalid="ignore", over="ignore"):
            move = _length(parameters - last)
            return not (isfinite(move) and move <= self.policy.tolerance * _length(last))

    def forget(self) -> None:
        """Speak when next asked: somebody may listen who did not before."""
        self._last = None

    def export(self) -> Array | None:
        """Give the memory for a snapshot."""
        return None if self._last is None else self._last.copy()

    def restore(self, last: Array | None) -> None:
        """Take a memory from a snapshot."""
        self._last = last


def _length(vector: Array) -> float:
    """Euclidean norm; not BLAS's, whose sums depend on the number of its threads."""
    return float(np.sqrt(np.square(vector).sum()))


def wire_size(message: Message) -> int:
    """Count the bytes of a message's arrays: dense, or (index, value) pairs if smaller.

    An index takes 4 bytes; names, shapes and the envelope are not counted.

    >>> wire_size(Message({"w": np.array([0.0, 0.0, 0.0, 1.0])}))
    12
    """
    total = 0
    for array in message.arrays.values():
        dense = array.nbytes
        sparse = int(np.count_nonzero(array)) * (INDEX_BYTES + array.itemsize)
        total += sparse if sparse < dense else dense  # asked for every message: min() is slow
    return total
