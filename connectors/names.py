"""The names of nodes in records, remembered: a source names the same few again and again."""

from connectors.records import RecordFormat
from connectors.values import BadRecord, node

__all__ = ["NodeNames", "decode_text"]

_KEPT = 100_000
_LONGEST_KEPT = 200


def decode_text(raw: bytes | None, place: str) -> str:
    """Decode a text that must be there.

    Raises
    ------
    BadRecord
        missing_field or bad_encoding.

    >>> decode_text(b"a", "the message's key")
    'a'
    """
    if not raw:
        raise BadRecord("missing_field", f"{place} is {'missing' if raw is None else 'empty'}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRecord("bad_encoding", f"{place} is not UTF-8: {error}") from None


class NodeNames:
    """Reads node names.

    >>> names = NodeNames(RecordFormat(node_field="node", nodes=frozenset("a")))
    >>> names.find(b"a"), names.find(b"b"), names.known
    ('a', None, {b'a': 'a'})
    """

    def __init__(self, form: RecordFormat) -> None:
        self._form = form
        self.known: dict[bytes | None, str] = {}

    def find(self, raw: bytes) -> str | None:
        """Give the node that a text names, None when it names none."""
        try:
            return self.known.get(raw) or self.read(raw)
        except BadRecord:
            return None

    def read(self, raw: bytes | None) -> str:
        """Give the node that a text names.

        Raises
        ------
        BadRecord
            missing_field, bad_encoding or unknown_node.
        """
        name = node(decode_text(raw, self._form.node_place), self._form)
        if len(self.known) > _KEPT:
            self.known.clear()
        if len(name) <= _LONGEST_KEPT:
            self.known[raw] = name
        return name
