"""What a node has heard from each of its neighbours, for whoever watches."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from anabranch.protocol import Message, NodeId

__all__ = ["Ear", "Ears"]


@dataclass(slots=True)
class Ear:
    """What came over one edge: parcels, and the newest message and when (monotonic, s).

    A parcel without a message is heard, too: its sender lives.
    """

    at: float = 0.0
    parcels: int = 0
    messages: int = 0
    newest: Message | None = None


@dataclass(slots=True)
class Ears:
    """A node's edges inwards. Nothing here survives a crash, and nothing needs to.

    Examples
    --------
    >>> ears = Ears.of(["n01", "n02"])
    >>> ears.hear("n02", None)
    >>> [(name, ear.parcels, ear.messages) for name, ear in ears.heard.items()]
    [('n01', 0, 0), ('n02', 1, 0)]
    """

    heard: dict[NodeId, Ear] = field(default_factory=dict)

    @classmethod
    def of(cls, neighbours: Iterable[NodeId]) -> Self:
        """Begin with an edge from each neighbour, over which nothing has come yet."""
        return cls({name: Ear() for name in neighbours})

    def expect(self, neighbours: Iterable[NodeId]) -> None:
        """Take other neighbours from now on; what was heard of those that stay is kept."""
        # A new dictionary: whoever watches may be reading the old one.
        self.heard = {name: self.heard.get(name) or Ear() for name in neighbours}

    def hear(self, sender: NodeId, message: Message | None) -> None:
        """Note a parcel; one of a node that is no neighbour (any more) is passed over."""
        ear = self.heard.get(sender)
        if ear is None:
            return
        ear.at = time.monotonic()
        ear.parcels += 1
        if message is not None:
            ear.messages += 1
            ear.newest = message
