"""What the node operator emits and what travels back to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from anabranch.letters import SiteNews
from anabranch.packing import pack_all, unpack_all
from anabranch.protocol import Array, Message, NodeId, State

__all__ = ["NO_NEWS", "Ack", "Done", "Final", "Hello", "Outgoing", "Parcel", "Report", "Told"]

NO_NEWS: Mapping[str, SiteNews] = {}
"""What nodes tell of sites in a job of one site."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One node's parameters of one round.

    `message` is None when the node does not act in this round; `unchanged` says that the
    receiver's last message from this sender still stands; `last` that it will stand for good,
    since the sender has performed its last round (asynchronous). `news` is what the sender
    knows of the sites, `ends` the last ticks of partitions that ended before the receiver was
    there; a parcel of round -1 carries nothing else. One that is `last`, too, says in synchronous
    time that the sender has all it needs of a network that is no more.
    """

    sender: NodeId
    round: int
    message: Message | None
    unchanged: bool = False
    last: bool = False
    news: Mapping[str, SiteNews] = field(default_factory=lambda: NO_NEWS)
    ends: Mapping[str, int] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: parcels cross processes by the thousand."""
        message = self.message
        packed = None if message is None else (pack_all(message.arrays), message.to)
        flags = (self.unchanged, self.last)
        rest = (self.news or NO_NEWS, *(() if self.ends is None else (self.ends,)))
        return _unpack_parcel, (self.sender, self.round, packed, *flags, *rest)


def _unpack_parcel(
    sender: NodeId,
    round: int,
    packed: Any,
    unchanged: bool,
    last: bool,
    news: Mapping[str, SiteNews] = NO_NEWS,
    ends: Mapping[str, int] | None = None,
) -> Parcel:
    message = None if packed is None else Message(unpack_all(packed[0]), packed[1])
    return Parcel(sender, round, message, unchanged, last, news, ends)


@dataclass(frozen=True, slots=True)
class Hello:
    """Tells a node its name, before anything else need come for it."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A parcel and the nodes it goes to."""

    parcel: Parcel
    receivers: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class Ack:
    """A node has done with all ticks up to `tick`, of one partition or (None) of all."""

    node: NodeId
    tick: int
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A node has performed its last round."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class Told:
    """A node has told all that befell it up to a round; see `operators.drift`."""

    node: NodeId
    round: int


@dataclass(frozen=True, slots=True)
class Report:
    """A node's scores so far.

    `totals`, `window` and `held` are summable between nodes; `parameters` is None for
    companions; `messages` and `bytes` count what the node has sent; `drained` says that the
    job was told to stop, so that other nodes may be at other rounds; `measures` is what the
    learner tells of itself, None where it tells nothing; `labels` names the labels that
    `parameters` are for, None where they are for none in particular; `present` is False of a
    node that leaves the network, or (`drained`) has not come to join it.
    """

    node: NodeId
    learner: str
    round: int
    samples: int
    totals: Mapping[str, Array]
    window: Mapping[str, Array]
    held: Mapping[str, Array] | None
    parameters: Array | None
    messages: int
    bytes: int
    final: bool
    drained: bool = False
    measures: Mapping[str, float] | None = None
    labels: tuple[str, ...] | None = None
    present: bool = True

    def __setstate__(self, values: list[Any]) -> None:
        """Unpickle; fields that an older version's snapshot lacks have their defaults."""
        for place, known in enumerate(fields(self)):
            value = values[place] if place < len(values) else known.default
            object.__setattr__(self, known.name, value)


@dataclass(frozen=True, slots=True)
class Final:
    """A node's model after its last round, without samples."""

    node: NodeId
    learner: str
    model: State
