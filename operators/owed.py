"""The last broadcast of a network that is no more, kept for who was a neighbour there."""

from collections.abc import Iterable
from dataclasses import replace

from anabranch.protocol import NodeId
from operators.items import Outgoing

__all__ = ["Owed"]


class Owed:
    """What a node sends again, when rebuilt, to neighbours of before; nobody waits for them.

    Where a node has gone on, all neighbours of before have its broadcasts but for the last one.

    Examples
    --------
    >>> from operators.items import Parcel
    >>> owed = Owed([])
    >>> owed.keep([Outgoing(Parcel("a", 7, None), ("b", "c", "d"))], {"b", "c"})
    >>> owed.has("c")
    >>> [sent.receivers for sent in owed.sent]
    [('b',)]
    """

    def __init__(self, sent: Iterable[Outgoing] = ()) -> None:
        self.sent = list(sent)

    def keep(self, sent: Iterable[Outgoing], names: set[NodeId]) -> None:
        """Keep what went to some nodes, for them."""
        self.sent += [kept for one in sent for kept in _for_some(one, names)]

    def has(self, name: NodeId) -> None:
        """Note that a node has all it needs."""
        if any(name in one.receivers for one in self.sent):
            self.sent = [
                kept for one in self.sent for kept in _for_some(one, set(one.receivers) - {name})
            ]


def _for_some(one: Outgoing, names: set[NodeId]) -> list[Outgoing]:
    receivers = tuple(name for name in one.receivers if name in names)
    return [replace(one, receivers=receivers)] if receivers else []
