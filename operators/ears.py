"""What a node has heard from each of its neighbours, for whoever watches."""

import time
from dataclasses import dataclass, field

from anabranch.protocol import Message, NodeId

__all__ = ["Ear", "Ears"]


@dataclass(slots=True)
class Ear:
    """What came over one edge: parcels, and the newest message and when (monotonic, s).

    A parcel without a message is heard, too: its sender lives.
    """

    at: float
    parcels: int = 0
    messages: int = 0
    newest: Message | None = None


@dataclass(slots=True)
class Ears:
    """A node's edges inwards. Nothing here survives a crash, and nothing needs to."""

    heard: dict[NodeId, Ear] = field(default_factory=dict)

    def hear(self, sender: NodeId, message: Message | None) -> None:
        """Note a parcel from a neighbour."""
        ear = self.heard.get(sender)
        if ear is None:
            ear = self.heard[sender] = Ear(0.0)
        ear.at = time.monotonic()
        ear.parcels += 1
        if message is not None:
            ear.messages += 1
            ear.newest = message
