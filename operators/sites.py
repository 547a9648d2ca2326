"""Nodes of several sites: their parameters cross as letters, and nothing else does."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import KeyedStream
from bytewax.outputs import FixedPartitionedSink
from typing_extensions import override

from anabranch.errors import ConfigurationError
from anabranch.letters import Letter
from anabranch.protocol import NodeId
from anabranch.stream import DeadLetter
from operators.hub import PARAMETERS, Hub
from operators.items import Hello, Outgoing, Parcel
from operators.node_plan import NodePlan
from operators.process_sink import process_key

__all__ = ["LetterPartition", "LettersIn", "ParameterLink", "letters_in", "letters_out"]

log = logging.getLogger("anabranch.exchange")

Post = Letter | DeadLetter


class LetterPartition(Protocol):
    """A partition of the letters between sites; never waits."""

    def read(self, until: int | None) -> list[Post]:
        """Give what has come for nodes of this site, refused letters as dead ones.

        Stops before the first letter of a round after `until`; without a limit, of each
        sender and receiver only the newest need be there.
        """
        ...

    def next_awake(self) -> datetime | None:
        """Tell when to be asked again, as Bytewax's partitions do."""
        ...

    def snapshot(self) -> Any:
        """Give the position behind all that was given."""
        ...

    def close(self) -> None:
        """Clean up."""
        ...


@dataclass(frozen=True)
class ParameterLink:
    """How letters travel between sites.

    Parameters
    ----------
    source : its partitions are `LetterPartition`s
    sink : must have in it what it was given before it lets a snapshot be taken; its parts and
        keys are those of `ProcessSink`
    site : the name of this site
    sites : every site's nodes

    Raises
    ------
    ConfigurationError
        The site is none of the sites, or a node belongs to two.
    """

    source: FixedPartitionedSource[Post, Any]
    sink: FixedPartitionedSink[Letter, Any]
    site: str
    sites: Mapping[str, tuple[NodeId, ...]]

    def __post_init__(self) -> None:
        if self.site not in self.sites:
            raise ConfigurationError(
                f"the site {self.site!r} is not in the network; allowed: {sorted(self.sites)}"
            )
        count = sum(len(nodes) for nodes in self.sites.values())
        if count > len(self.homes):
            twice = [n for n in self.homes if sum(n in nodes for nodes in self.sites.values()) > 1]
            raise ConfigurationError(f"nodes of two sites: {twice[:10]}; allowed: one site a node")

    @property
    def homes(self) -> dict[NodeId, str]:
        """The site of each node."""
        return {node: site for site, nodes in self.sites.items() for node in nodes}

    def spread(self, plan: NodePlan) -> NodePlan:
        """Give the plan of this site's nodes.

        Raises
        ------
        ConfigurationError
            The plan places samples on other nodes than this site's, or a node has no site.
        """
        nodes, here = plan.placement.nodes, self.sites[self.site]
        if set(nodes) != set(here):
            raise ConfigurationError(
                f"the nodes of site {self.site!r} are {sorted(here)[:10]}, but samples are placed "
                f"on {sorted(nodes)[:10]}; allowed: the site's own"
            )
        lost = sorted(set(plan.weights.graph.nodes) - self.homes.keys())
        if lost:
            raise ConfigurationError(f"nodes without a site: {lost[:10]}; allowed: none")
        elsewhere = tuple(sorted(self.sites.keys() - {self.site}))
        return replace(plan, site=self.site, elsewhere=elsewhere)


@dataclass(frozen=True)
class LettersIn:
    """Streams returned from `letters_in`."""

    parcels: KeyedStream[list[Parcel | Hello]]
    dead: Stream[DeadLetter]


def letters_in(
    flow: Dataflow,
    link: ParameterLink,
    plan: NodePlan,
    keys: Mapping[NodeId, str],
    hub: Hub,
    ticks_ahead: int,
) -> LettersIn:
    """Add the letters of other sites to a dataflow, as parcels by their receivers' keys."""
    hub.expect(plan.elsewhere)
    ahead = None if plan.mode == "asynchronous" else _rounds_ahead(plan, ticks_ahead)
    paced = _PacedLetters(link.source, hub, ahead, plan.rounds_per_tick)
    letters = op.input("letters", flow, paced)
    return LettersIn(
        op.flat_map_batch("letters_to_nodes", letters, _opener(link.homes, keys, hub)),
        op.flat_map_batch("letters_refused", letters, _refused),
    )


def letters_out(
    outgoing: Stream[Outgoing], link: ParameterLink, plan: NodePlan, hub: Hub
) -> Stream[Outgoing]:
    """Send letters to the receivers that other sites host; give what remains here."""
    home = frozenset(plan.placement.nodes)
    lasting = plan.mode == "asynchronous"
    letters = op.flat_map_batch("letters_out", outgoing, _writer(home, lasting, hub))
    op.output("letters_sent", letters, link.sink)
    return op.flat_map_batch("at_home", outgoing, _keeper(home))


def _rounds_ahead(plan: NodePlan, ticks_ahead: int) -> int:
    """Give how many rounds beyond the slowest node's last acknowledged one are read.

    No node is more exchanges ahead of another than there are hops between them. What the
    slowest node waits for cannot stand behind a later round than that, so it is never held back.
    """
    each = plan.rounds_per_tick
    farthest = plan.weights.graph.diameter * plan.policy.every
    return max(ticks_ahead * each, farthest + plan.ack_every * each + 1)


class _PacedPart(StatefulSourcePartition[Post, Any]):
    def __init__(self, inner: LetterPartition, paced: "_PacedLetters") -> None:
        self._inner = inner
        self._hub = paced.hub
        self._paced = paced

    @override
    def next_batch(self) -> list[Post]:
        if self._hub.stopping:
            raise StopIteration
        with self._hub.telling():
            return self._inner.read(self._paced.limit())

    @override
    def next_awake(self) -> datetime | None:
        return self._inner.next_awake()

    @override
    def snapshot(self) -> Any:
        return self._inner.snapshot()

    @override
    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class _PacedLetters(FixedPartitionedSource[Post, Any]):
    """Deal the partitions to the processes, and read no further ahead than is needed."""

    inner: FixedPartitionedSource[Post, Any]
    hub: Hub
    ahead: int | None
    rounds_per_tick: int = 1

    def limit(self) -> int | None:
        """Give the last round whose letters may be read; None for all."""
        if self.ahead is None:
            return None
        rounds = (self.hub.slowest(PARAMETERS) + 1) * self.rounds_per_tick
        return rounds - 1 + self.ahead

    @override
    def list_parts(self) -> list[str]:
        return self.inner.list_parts()[self.hub.process :: self.hub.processes]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: Any | None) -> _PacedPart:
        part = self.inner.build_part(step_id, for_part, resume_state)
        return _PacedPart(part, self)  # type: ignore[arg-type]


Keyed = tuple[str, list[Parcel | Hello]]


def _opener(
    homes: Mapping[NodeId, str], keys: Mapping[NodeId, str], hub: Hub
) -> Callable[[list[Post]], Iterable[Keyed]]:
    def open_letters(items: list[Post]) -> list[Keyed]:
        parcels: dict[NodeId, list[Parcel | Hello]] = {}
        for item in items:
            if isinstance(item, DeadLetter):
                hub.refuse(item.reason)
                log.warning("letter refused: %s", item.detail, extra={"partition": item.partition})
                continue
            hub.hear(homes[item.sender], item.news)
            parcels.setdefault(item.receiver, []).append(_parcel(item))
        return [(keys[node], mail) for node, mail in parcels.items()]

    return open_letters


def _parcel(letter: Letter) -> Parcel:
    flags = (letter.unchanged, letter.last)
    return Parcel(letter.sender, letter.round, letter.message, *flags, letter.news)


def _refused(items: list[Post]) -> list[DeadLetter]:
    return [item for item in items if isinstance(item, DeadLetter)]


def _writer(
    home: frozenset[NodeId], lasting: bool, hub: Hub
) -> Callable[[list[Outgoing]], Iterable[tuple[str, Letter]]]:
    mine = process_key(hub.process)

    def write(items: list[Outgoing]) -> list[tuple[str, Letter]]:
        return [
            (mine, _letter(item.parcel, receiver))
            for item in items
            # A letter that only refers to an earlier one would hide it from who reads the newest.
            if not (lasting and item.parcel.unchanged)
            for receiver in item.receivers
            if receiver not in home
        ]

    return write


def _letter(parcel: Parcel, receiver: NodeId) -> Letter:
    flags = (parcel.unchanged, parcel.last)
    return Letter(parcel.sender, receiver, parcel.round, parcel.message, *flags, parcel.news)


def _keeper(home: frozenset[NodeId]) -> Callable[[list[Outgoing]], Iterable[Outgoing]]:
    def keep(items: list[Outgoing]) -> list[Outgoing]:
        kept = []
        for item in items:
            receivers = tuple(node for node in item.receivers if node in home)
            if receivers:
                kept.append(Outgoing(item.parcel, receivers))
        return kept

    return keep
