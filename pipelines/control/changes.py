"""One change to a network: read from a line, and made."""

import json
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from anabranch.errors import ConfigurationError, nearest
from anabranch.network import Graph
from anabranch.protocol import NodeId

__all__ = ["Change", "ChangeError", "check_name", "read_change"]

_SHAPES = {
    "join": '{"join": "n20", "neighbours": ["n03", "n07"]}',
    "leave": '{"leave": "n05"}',
    "link": '{"link": ["n03", "n07"]}',
    "cut": '{"cut": ["n03", "n07"]}',
}
_MORE = {"join": {"neighbours", "from"}}
_SHOWN = 200
_LONGEST = 200
"""Bytes of a name as its model's file bears it; file systems take 255, suffixes included."""


class ChangeError(ConfigurationError):
    """A change cannot be read, or not be made."""


@dataclass(frozen=True)
class Change:
    """A node that joins or leaves, an edge that is made or cut.

    Attributes
    ----------
    kind : join, leave, link or cut
    node : who joins or leaves, or one end of the edge
    others : the neighbours of a node that joins, or the edge's other end
    copies : whether a node that joins begins with the model of its first neighbour

    Examples
    --------
    >>> change = read_change(b'{"join": "d", "neighbours": ["a", "c"]}')
    >>> graph = Graph.of("abc", [("a", "b"), ("b", "c")])
    >>> str(change), change.on(graph).edges
    ('d joins a and c', (('a', 'b'), ('a', 'd'), ('b', 'c'), ('c', 'd')))
    """

    kind: str
    node: NodeId
    others: tuple[NodeId, ...] = ()
    copies: bool = False

    def __str__(self) -> str:
        others = " and ".join(self.others)
        ends = f"{self.node} and {others}"
        return {
            "join": f"{self.node} joins {others}",
            "leave": f"{self.node} leaves",
            "link": f"{ends} are linked",
            "cut": f"{ends} are no longer linked",
        }[self.kind]

    def on(self, graph: Graph) -> Graph:
        """Give the network with this change made to it; it may be disconnected.

        Raises
        ------
        ChangeError
            The node that joins is there already, or the edge to be made; the edge to be cut is not.
        NetworkError
            It names a node that is not there, or leaves none.
        """
        nodes, edges = set(graph.nodes), set(graph.edges)
        own = {_edge(self.node, other) for other in self.others}
        if self.kind == "join":
            if self.node in nodes:
                raise ChangeError(f"node {self.node!r} is in the network already")
            return Graph.of(nodes | {self.node}, [*edges, *own])
        graph.neighbours(self.node)  # refuses a strange name
        if self.kind == "leave":
            return Graph.of(nodes - {self.node}, [e for e in edges if self.node not in e])
        graph.neighbours(self.others[0])
        if (self.kind == "link") == bool(own & edges):
            how = "linked already" if self.kind == "link" else "not linked"
            raise ChangeError(f"{self.node!r} and {self.others[0]!r} are {how}")
        return Graph.of(nodes, edges ^ own)


def _edge(first: NodeId, second: NodeId) -> tuple[NodeId, NodeId]:
    return (first, second) if first < second else (second, first)


def read_change(line: bytes) -> Change:
    """Read a change from a line.

    Raises
    ------
    ChangeError
        It is none; the sentence says what is allowed.

    >>> read_change(b'{"leve": "n05"}')
    Traceback (most recent call last):
    pipelines.control.changes.ChangeError: it asks for 'leve'; did you mean 'leave'? \
(allowed: cut, join, leave, link)
    """
    table = _table(line)
    kinds = [key for key in table if key in _SHAPES]
    if len(kinds) != 1:
        asked = next((key for key in table if key not in _MORE["join"]), "")[:_SHOWN]
        if kinds or not asked:
            raise ChangeError(f"it asks for {len(kinds)} changes; allowed: one a line")
        raise ChangeError(f"it asks for {asked!r}{nearest(asked, list(_SHAPES))}")
    kind = kinds[0]
    strange = sorted(table.keys() - {kind} - _MORE.get(kind, set()))
    if strange:
        raise ChangeError(f"it has the key {strange[0][:_SHOWN]!r}; allowed: {_SHAPES[kind]}")
    return _edges(kind, table) if kind in ("link", "cut") else _nodes(kind, table)


def _table(line: bytes) -> dict[str, Any]:
    """Parse a line; unlike `json`, msgspec refuses halves of characters, which no file can hold."""
    try:
        table = msgspec.json.decode(line.removeprefix(BOM_UTF8))
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        text = line[:_SHOWN].decode("utf-8", "backslashreplace")
        # As it stands where it can be printed: a record may hold whatever moves a terminal.
        shown = text if text.isprintable() else repr(text)
        raise ChangeError(f"it is no JSON object: {shown}; allowed: {', '.join(_SHAPES.values())}")
    return table


def check_name(name: str) -> None:
    """Tell whether a node may have a name.

    Raises
    ------
    ChangeError
        It is blank, cannot be printed, or is too long for the name of a file.

    >>> check_name("pump 7/ü")
    >>> check_name(" ")
    Traceback (most recent call last):
    pipelines.control.changes.ChangeError: the name ' ' is blank; allowed: one character at least
    """
    if not name.strip():
        raise ChangeError(f"the name {name!r} is blank; allowed: one character at least")
    if not name.isprintable():  # nor can halves of characters be written
        shown = repr(name[:_SHOWN])
        raise ChangeError(f"the name {shown} cannot be printed; allowed: printable characters")
    if len(quote(name, safe="")) > _LONGEST:
        raise ChangeError(
            f"the name {name[:20]!r}... takes {len(quote(name, safe='')):,} bytes in the name of "
            f"its model's file; allowed: up to {_LONGEST}"
        )


def _edges(kind: str, table: dict[str, Any]) -> Change:
    ends = table[kind]
    if not _names(ends) or len(ends) != 2 or ends[0] == ends[1]:
        raise ChangeError(f"{kind} is {_shown(ends)}; allowed: {_SHAPES[kind]}")
    return Change(kind, ends[0], (ends[1],))


def _nodes(kind: str, table: dict[str, Any]) -> Change:
    name, others = table[kind], table.get("neighbours")
    if not isinstance(name, str) or not name:
        raise ChangeError(f"{kind} is {_shown(name)}; allowed: {_SHAPES[kind]}")
    if kind == "leave":
        return Change(kind, name)
    check_name(name)
    if others is None:
        raise ChangeError(f"it names no neighbours of {name!r}; allowed: {_SHAPES[kind]}")
    if not _names(others) or not others or len(set(others)) < len(others):
        raise ChangeError(f"neighbours is {_shown(others)}; allowed: {_SHAPES[kind]}")
    start = table.get("from")
    if start not in (None, "neighbour"):
        raise ChangeError(f'from is {_shown(start)}; allowed: "neighbour", or left out')
    return Change(kind, name, tuple(others), start is not None)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name for name in value)


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        return "nested deeply"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
