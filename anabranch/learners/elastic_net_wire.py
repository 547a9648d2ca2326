"""What the elastic net's messages hold, and reading them without trust."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.errors import MessageError
from anabranch.learners.inbox import read_array, read_each
from anabranch.protocol import Array, Message, NodeId

__all__ = ["Heard", "Wire"]


@dataclass(frozen=True, slots=True)
class Heard:
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

    def read(self, message: Message) -> dict[str, Array]:
        """Check a message and give its arrays.

        Raises
        ------
        MessageError
            An array is missing, unknown, of wrong shape, not finite, or out of range.
        """
        expected = dict(self.always)
        for group in self.groups:
            if any(name in message.arrays for name in group):
                expected |= group
        if message.arrays.keys() != expected.keys():
            raise MessageError(
                f"wrong arrays: {sorted(message.arrays)}; allowed: {sorted(expected)}"
            )
        return {name: self._array(name, message.arrays[name], expected[name]) for name in expected}

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
