"""What the elastic net's messages hold, and reading them without trust."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from sys import float_info
from typing import NamedTuple

import numpy as np

from anabranch.errors import MessageError
from anabranch.kernels.checks import LIMIT, within
from anabranch.learners.inbox import read_array, read_each, sealed
from anabranch.protocol import Array, Message, NodeId

__all__ = ["Heard", "Wire"]

_DOUBLE = np.dtype(np.float64)


class Heard(NamedTuple):
    """One neighbour's message, read and checked."""

    sender: NodeId
    arrays: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Wire:
    """The layout of one kind of message.

    Attributes
    ----------
    always : names of arrays that are always there -> their lengths
    groups : arrays that come together or not at all
    positive, signless : names whose numbers must be > 0, or >= 0
    """

    always: Mapping[str, int]
    groups: Sequence[Mapping[str, int]] = ()
    positive: frozenset[str] = field(default=frozenset({"scale"}))
    signless: frozenset[str] = field(default=frozenset({"status", "variance"}))

    _known: dict[frozenset[str], list[tuple[str, tuple[int], float]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Names that were found to go together -> each with its shape and its least number."""

    def read(self, message: Message) -> dict[str, Array]:
        """Check a message and give its arrays.

        Raises
        ------
        MessageError
            An array is missing, unknown, of wrong shape, not finite, or out of range.
        """
        arrays = self._fit(message.arrays)
        return self._checked(message) if arrays is None else arrays

    def _fit(self, given: Mapping[str, Array]) -> dict[str, Array] | None:
        """Give arrays that are as they should be, fast; None where there is doubt."""
        found: dict[str, Array] = {}
        for name, shape, least in self._known.get(frozenset(given), ()):
            array = given[name]
            if type(array) is not np.ndarray or array.dtype != _DOUBLE or array.shape != shape:
                return None
            found[name] = view = sealed(array)
            if not view.flags.c_contiguous or not within(view, least):
                return None
        return found or None

    def _checked(self, message: Message) -> dict[str, Array]:
        expected = dict(self.always)
        for group in self.groups:
            if any(name in message.arrays for name in group):
                expected |= group
        if message.arrays.keys() != expected.keys():
            raise MessageError(
                f"wrong arrays: {sorted(message.arrays)}; allowed: {sorted(expected)}"
            )
        found = {name: self._array(name, message.arrays[name], expected[name]) for name in expected}
        self._known[frozenset(expected)] = [
            (name, (length,), self._least(name)) for name, length in expected.items()
        ]
        return found

    def _least(self, name: str) -> float:
        if name in self.positive:
            return float_info.min
        return 0.0 if name in self.signless else -LIMIT

    def _array(self, name: str, given: Array, length: int) -> Array:
        array = read_array(name, given, length)
        if name in self.positive and array.min() <= 0.0:
            raise MessageError(f"not positive: {name} has {array.min()}; allowed: > 0")
        if name in self.signless and array.min() < 0.0:
            raise MessageError(f"negative: {name} has {array.min()}; allowed: 0 or more")
        return array

    def read_all(
        self, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> list[Heard]:
        """Read the messages of a round, in sorted order of their senders.

        Raises
        ------
        MessageError
            A message cannot be accepted, or its sender is no neighbour. Names the sender.
        """
        return [Heard(*one) for one in read_each(inbox, weights, self.read)]
