"""What a message says outside its value: the node and the id in its key or a header."""

from collections.abc import Callable, Sequence

from connectors.names import NodeNames, decode_text
from connectors.records import RecordFormat
from connectors.values import BadRecord, identity

__all__ = ["Headers", "MessageNames", "Refusal"]

Headers = Sequence[tuple[str, bytes]]

Refusal = tuple[str, str]
"""A reason and a sentence. Not the exception, which would keep everything near it alive."""


def _last(headers: Headers, name: str) -> bytes | None:
    """Give a header's value; of several of one name the last one counts."""
    return next((value for key, value in reversed(headers) if key == name), None)


class MessageNames:
    """Reads the nodes and ids of messages where keys or headers hold them.

    >>> form = RecordFormat(node_from="key", nodes=frozenset("a"))
    >>> names, nodes, dead = MessageNames(form, NodeNames(form)), [None] * 2, {}
    >>> names.look_up([b"a", b"b"], [[], []], nodes, [], dead)
    >>> nodes, dead
    (['a', None], {1: ('unknown_node', "the message's key is 'b', not a node")})
    """

    def __init__(self, form: RecordFormat, names: NodeNames) -> None:
        self._nodes_outside = form.node_from != "field"
        self._node_header = form.node_field
        self._names = names
        place, _, self._id_header = (form.id_from or "field:").partition(":")
        self._ids_outside = place != "field"
        self._id_place = f"header {self._id_header!r}" if self._id_header else "the message's key"

    def look_up(
        self,
        keys: Sequence[bytes | None],
        headers: Sequence[Headers],
        nodes: list[str | None],
        ids: list[str | None],
        dead: dict[int, Refusal],
    ) -> None:
        """Fill in nodes and ids; a message whose node or id cannot be read is dead."""
        if self._nodes_outside:
            texts = _texts(self._node_header, keys, headers)
            nodes[:] = [self._names.known.get(text) for text in texts]
            if None in nodes:
                _read(self._names.read, texts, nodes, dead)
        if self._ids_outside:
            _read(self._read_id, _texts(self._id_header, keys, headers), ids, dead)

    def _read_id(self, raw: bytes | None) -> str:
        return identity(decode_text(raw, self._id_place), self._id_place)


def _texts(
    header: str | None, keys: Sequence[bytes | None], headers: Sequence[Headers]
) -> Sequence[bytes | None]:
    return [_last(one, header) for one in headers] if header else keys


def _read(
    read: Callable[[bytes | None], str],
    texts: Sequence[bytes | None],
    found: list[str | None],
    dead: dict[int, Refusal],
) -> None:
    for row, text in enumerate(texts):
        if found[row] is None and row not in dead:
            try:
                found[row] = read(text)
            except BadRecord as bad:
                dead[row] = bad.reason, bad.detail
