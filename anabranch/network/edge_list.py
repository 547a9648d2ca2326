"""Graphs from text: one edge a line."""

import re
from collections.abc import Iterable, Sequence

from anabranch.errors import NetworkError
from anabranch.network.graph import Edge, Graph
from anabranch.protocol import NodeId

__all__ = ["from_edges"]


def from_edges(lines: Iterable[str], names: Sequence[NodeId] = ()) -> Graph:
    """Read a graph from lines of two names, separated by white space or a comma.

    Empty lines are passed over, and what follows a # that begins a line or stands after white
    space. A line of a single name is a node without an edge of its own, which
    `Graph.check_connected` refuses unless other lines join it. Lines with a comma are cut there
    only, so that names may hold blanks.

    Parameters
    ----------
    lines : an open text file will do
    names : the nodes allowed; when none is given, those the lines name

    Raises
    ------
    NetworkError
        A line has more than two names or an empty one, or no line has any.
    UnknownNodeError
        `names` is given and a line names another node.
    SelfLoopError, DuplicateEdgeError
        As `Graph.of`.

    Examples
    --------
    >>> from_edges(["# north", "a b#2", "b#2, c  # by sea"]).edges
    (('a', 'b#2'), ('b#2', 'c'))
    """
    edges: list[Edge] = []
    found: set[NodeId] = set()
    for number, line in enumerate(lines, start=1):
        fields = _fields(line, number)
        found.update(fields)
        if len(fields) == 2:
            edges.append((fields[0], fields[1]))
    if not found:
        raise NetworkError("the edge list is empty; expected two node names a line")
    graph = Graph.of(names or found, edges)
    for name in sorted(found):
        graph.neighbours(name)  # refuses a line of a single unknown name
    return graph


def _fields(line: str, number: int) -> list[NodeId]:
    text = re.split(r"(?:^|\s)#", line.lstrip("\ufeff"), maxsplit=1)[0].strip()
    if not text:
        return []
    fields = [part.strip() for part in text.split(",")] if "," in text else re.split(r"\s+", text)
    if len(fields) > 2 or not all(fields):
        raise NetworkError(
            f"line {number} of the edge list is {text!r}; allowed: two node names separated by "
            "white space or a comma, or the name of a node alone"
        )
    return fields
