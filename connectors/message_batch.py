"""Messages while they are read: room for what they hold."""

from dataclasses import dataclass

import numpy as np

from anabranch.protocol import Array
from connectors.inputs import Columns, Inputs, Pairs, Texts, name_columns
from connectors.label_names import empty_labels
from connectors.message_layout import MessageFormat
from connectors.message_names import Refusal
from connectors.pairs import Store, new_store
from connectors.records import RecordFormat

__all__ = ["Batch"]

_NAMES = 6
"""Columns in which nodes, ids and lists of labels are told."""
_SHORTEST_PAIR = 2
"""Bytes of an index and a value, at least."""


@dataclass(slots=True)
class Batch:
    """Messages on their way to rows.

    Attributes
    ----------
    values : the messages
    inputs : their features
    y, kinds : (n,) or (n, q), and (n,); labels, and kinds of rows
    nodes, ids, sets : (n,) each, as lists: names, ids, labels' names; empty where nobody asks
    dead : the bad ones, by row: a reason and a sentence
    data, bounds : the messages joined, and (n + 1,) where they begin and the last one ends
    X, names, store : what `scan_messages` writes to, for `inputs`
    """

    values: list[bytes]
    inputs: Inputs
    y: Array
    kinds: Array
    nodes: list[str | None]
    ids: list[str | None]
    sets: list[tuple[str, ...] | None]
    dead: dict[int, Refusal]
    data: bytes
    bounds: Array
    X: Array
    names: Array
    store: Store

    @classmethod
    def of(
        cls, values: list[bytes], form: RecordFormat, width: int, format: MessageFormat
    ) -> "Batch":
        """Make room for what messages hold; those that are too long are not looked at."""
        count, longest = len(values), form.max_record
        shorter = [value if len(value) <= longest else b"" for value in values]
        bounds = np.cumsum([0, *map(len, shorter)], dtype=np.int64)
        data = b"".join(shorter)
        X = np.empty((count, width if form.width is None else 0))
        names = np.zeros((count, max(_NAMES, name_columns(form))), np.int64)
        pairs = form.sparse_width is not None
        store = new_store(len(data) // _SHORTEST_PAIR if pairs else 0)
        inputs: Inputs = Pairs(form, store, names) if pairs else Columns(X)
        if form.text:
            inputs = Texts(form, data, names, escapes=format == "json")
        return cls(
            values, inputs, empty_labels(form, count), np.zeros(count, np.uint8),
            [None] * count if form.named else [],
            [None] * count if form.apart else [],
            [None] * count if form.label_list else [],
            {}, data, bounds, X, names, store,
        )  # fmt: skip
