"""The network's verdict: how far a drift reaches, since when, and when it is over."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from anabranch.drift.watch import Change
from anabranch.protocol import NodeId

__all__ = ["Drift", "Verdict"]

Scope = Literal["node", "neighbourhood", "network"]
_REACH: tuple[Scope, ...] = ("node", "neighbourhood", "network")


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a drift reaches.

    Attributes
    ----------
    round : in which that became known
    since : round in which it began, at the first of its nodes
    scope : a "node" alone, a "neighbourhood" of several that are connected, or the "network"
    nodes : that drift, or have drifted in it, sorted
    kind : "begin", "wider" (more nodes, or drifts that turn out to be one), "end"
    before, after : mean error of these nodes, before and since; at the end, by then
    farther : whether it reaches farther than any part of it was known to
    """

    round: int
    since: int
    scope: Scope
    nodes: tuple[NodeId, ...]
    kind: Literal["begin", "wider", "end"]
    before: float
    after: float
    farther: bool = False


class _Figures(NamedTuple):
    """A node's part in a drift."""

    since: int
    before: float
    after: float
    over: bool = False


class _Episode(NamedTuple):
    """Nodes that drift together, and how far that has reached."""

    scope: Scope
    nodes: Mapping[NodeId, _Figures]


class Verdict:
    """Puts the nodes' drifts together by the graph.

    Drifting nodes that are neighbours, directly or by others that drift, are one drift; when
    more than the share `most` of all nodes drift at once, that is the network's, connected or
    not. A drift never becomes narrower: it ends when that of its last node is over, and a node
    that drifts again until then is of it again.

    Parameters
    ----------
    neighbours : gives a node's neighbours in a round
    count : gives the number of nodes in a round
    most : share of the nodes above which a drift is the network's

    Examples
    --------
    >>> ring = {"a": "bd", "b": "ac", "c": "bd", "d": "ca"}
    >>> verdict = Verdict(lambda node, round: ring[node], lambda round: 4, 0.5)
    >>> def tell(node, kind, round, since):
    ...     found = verdict.take(Change(node, kind, round, since, 0.1, 0.5))
    ...     return [(f.kind, f.scope, "".join(f.nodes), f.since) for f in found]
    >>> tell("a", "begin", 9, 5), tell("c", "begin", 10, 4)
    ([('begin', 'node', 'a', 5)], [('begin', 'node', 'c', 4)])
    >>> tell("b", "begin", 11, 6)  # most of the network, as three of four drift
    [('wider', 'network', 'abc', 4)]
    >>> tell("a", "end", 20, 5), tell("b", "end", 20, 6), tell("c", "end", 30, 4)
    ([], [], [('end', 'network', 'abc', 4)])
    """

    def __init__(
        self,
        neighbours: Callable[[NodeId, int], Collection[NodeId]],
        count: Callable[[int], int],
        most: float,
    ) -> None:
        self._neighbours = neighbours
        self._count = count
        self._most = most
        self._episodes: list[_Episode] = []

    def take(self, change: Change) -> list[Drift]:
        """Take what happened to a node; give what it makes known of the network."""
        if change.kind == "begin":
            return self._begin(change)
        for at, episode in enumerate(self._episodes):
            own = episode.nodes.get(change.node)
            if own is not None and not own.over:
                new = own._replace(after=change.after, over=change.kind == "end")
                self._episodes[at] = episode._replace(nodes={**episode.nodes, change.node: new})
                return self._ended(at, change.round)
        return []

    def _begin(self, change: Change) -> list[Drift]:
        figures = _Figures(change.since, change.before, change.after)
        joined = self._joined(change.node, change.round)
        nodes: dict[NodeId, _Figures] = {}
        for at in joined:
            for name, own in self._episodes[at].nodes.items():
                if name not in nodes or nodes[name].over:  # it may be over in one, not in another
                    nodes[name] = own
        reach = [_REACH.index(self._episodes[at].scope) for at in joined]
        again = change.node in nodes
        nodes[change.node] = figures
        active = sum(not own.over for own in nodes.values())
        reach.append(2 if self._is_most(active, change.round) else int(len(nodes) > 1))
        self._episodes = [e for at, e in enumerate(self._episodes) if at not in joined]
        self._episodes.append(_Episode(_REACH[max(reach)], nodes))
        kind: Literal["begin", "wider"] = "wider" if joined else "begin"
        farther = max(reach) > max(reach[:-1], default=-1)
        if again and not farther and len(joined) == 1:
            return []
        return [_told(self._episodes[-1], change.round, kind, farther)]

    def _joined(self, node: NodeId, round: int) -> list[int]:
        """Give the places of the drifts that a node, which begins to drift, makes one."""
        actives = [
            {name for name, own in episode.nodes.items() if not own.over}
            for episode in self._episodes
        ]
        if self._is_most(sum(map(len, actives)) + 1, round):
            return list(range(len(actives)))
        near = set(self._neighbours(node, round))
        return [
            at
            for at, active in enumerate(actives)
            if near & active
            or node in self._episodes[at].nodes
            or self._episodes[at].scope == "network"
        ]

    def _is_most(self, drifting: int, round: int) -> bool:
        # One node is no network.
        return drifting > max(1.0, self._most * self._count(round))

    def _ended(self, at: int, round: int) -> list[Drift]:
        episode = self._episodes[at]
        if not all(own.over for own in episode.nodes.values()):
            return []
        del self._episodes[at]
        return [_told(episode, round, "end")]

    def export(self) -> list[Any]:
        """Give the state as plain values."""
        return [(e.scope, {name: tuple(own) for name, own in e.nodes.items()})
                for e in self._episodes]  # fmt: skip

    def restore(self, state: Iterable[Any]) -> None:
        """Take over what `export` gave."""
        self._episodes = [
            _Episode(scope, {name: _Figures(*own) for name, own in nodes.items()})
            for scope, nodes in state
        ]


def _told(
    episode: _Episode,
    round: int,
    kind: Literal["begin", "wider", "end"],
    farther: bool = False,
) -> Drift:
    names = tuple(sorted(episode.nodes))
    figures = [episode.nodes[name] for name in names]
    before = sum(own.before for own in figures) / len(figures)
    after = sum(own.after for own in figures) / len(figures)
    since = min(own.since for own in figures)
    return Drift(round, since, episode.scope, names, kind, before, after, farther)
