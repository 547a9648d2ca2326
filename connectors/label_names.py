"""Lists of the names of a record's labels, and the columns that many of them make."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from anabranch.protocol import Array
from connectors.records import RecordFormat
from connectors.template import CSV, JSON, PACKED
from connectors.values import BadRecord, shown, whole_text

__all__ = ["LONGEST_LABEL", "LabelLists", "LabelNames", "NewLabels", "empty_labels",
           "label_columns", "occurring", "split_names"]  # fmt: skip

LONGEST_LABEL = 200
"""Letters of a label's name at most."""
_KEPT = 10_000
_LONGEST_KEPT = 200
Names = tuple[str, ...]


def split_names(text: str, form: RecordFormat) -> list[str]:
    """Split the names of a CSV field; spaces and tabs around a name are dropped.

    >>> split_names("calm; sad", RecordFormat(task="multilabel", labels=("a",)))
    ['calm', 'sad']
    """
    if not text.strip(" \t"):
        return []
    return [name.strip(" \t") for name in text.split(form.label_separator)]


class LabelNames:
    """Passes on the names of a record's labels, each once, in their order.

    >>> form = RecordFormat(task="multilabel", label_list=True, new_labels="grow")
    >>> LabelNames(form).read(["b", "a", "b"])
    ('b', 'a')
    """

    def __init__(self, form: RecordFormat) -> None:
        self._label, self._rule = shown(form.label), form.new_labels
        self._labels = frozenset(form.labels)

    def read(self, found: Any) -> Names:
        """Give the names of a decoded list.

        Raises
        ------
        BadRecord
            bad_label, bad_encoding or unknown_label.
        """
        if not isinstance(found, list):
            raise BadRecord(
                "bad_label", f"label {self._label} is {shown(found)}, not a list of names"
            )
        for name in found:
            self._check(name)
        names = tuple(dict.fromkeys(found))
        if self._rule == "grow":
            return names
        new = [name for name in names if name not in self._labels]
        if new and self._rule == "refuse":
            raise BadRecord(
                "unknown_label", f"label {self._label} names {shown(new[0])}, which is not known"
            )
        return tuple(name for name in names if name in self._labels)

    def _check(self, name: Any) -> None:
        if not isinstance(name, str) or not name:
            what = f"{shown(name)}, which is no name" if name != "" else "an empty name"
            raise BadRecord("bad_label", f"label {self._label} holds {what}")
        whole_text(name)
        if len(name) > LONGEST_LABEL:
            raise BadRecord(
                "bad_label",
                f"label {self._label} holds a name longer than {LONGEST_LABEL} letters:"
                f" {shown(name)}",
            )


class LabelLists:
    """Reads lists of names as they lie in records; remembers the short ones.

    >>> form = RecordFormat(task="multilabel", labels=("a",), label_list=True)
    >>> lists = LabelLists(form)
    >>> lists.find(b'["a"]', JSON), lists.find(b'["b"]', JSON)
    (('a',), None)
    """

    def __init__(self, form: RecordFormat) -> None:
        self._names = LabelNames(form)
        self._known: dict[bytes, Names] = {}
        self._decoders: dict[int, Callable[[bytes], list[str]]] = {
            CSV: lambda raw: split_names(raw.decode(), form),
            JSON: msgspec.json.Decoder(list[str]).decode,
            PACKED: msgspec.msgpack.Decoder(list[str]).decode,
        }

    def find(self, raw: bytes, grammar: int) -> Names | None:
        """Give the names of a list; None when it needs, or deserves, a careful reading."""
        names = self._known.get(raw)
        if names is not None:
            return names
        try:
            names = self._names.read(self._decoders[grammar](raw))
        except (BadRecord, msgspec.DecodeError):
            return None
        if len(self._known) > _KEPT:
            self._known.clear()
        if len(raw) <= _LONGEST_KEPT:
            self._known[raw] = names
        return names


class NewLabels:
    """Counts the labels that occur in one block beyond those known, up to a bound.

    >>> form = RecordFormat(task="multilabel", label_list=True, new_labels="grow", max_labels=1)
    >>> new = NewLabels(form)
    >>> new.refusal(("a",)), new.refusal(("a", "b")), new.refusal(None)
    (None, "one label too many for a block: 'b', after 1 others", None)
    """

    def __init__(self, form: RecordFormat) -> None:
        self._known, self._most = frozenset(form.labels), form.max_labels
        self._seen: set[str] = set()

    def clear(self) -> None:
        """Begin another block."""
        self._seen.clear()

    def refusal(self, names: Names | None) -> str | None:
        """Take a record's names up; a sentence says why they, all of them, cannot be."""
        new = [name for name in names or () if name not in self._known and name not in self._seen]
        room = self._most - len(self._seen)
        if len(new) > room:
            return f"one label too many for a block: {shown(new[room])}, after {self._most} others"
        self._seen.update(new)
        return None


def empty_labels(form: RecordFormat, count: int) -> Array:
    """Make room for y: (count,), or (count, q), with no column yet where labels grow.

    >>> empty_labels(RecordFormat(task="multilabel", labels=("a", "b")), 3).shape
    (3, 2)
    """
    if form.task != "multilabel":
        return np.empty(count)
    return np.empty((count, 0 if form.grows else len(form.labels)))


def label_columns(sets: Sequence[Names | None], labels: Sequence[str]) -> Array:
    """Make y (n, q) of sets of names, a row of NaN where they are still to come.

    >>> label_columns([("b",), ("a", "b"), ()], ["a", "b"]).tolist()
    [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    """
    place = {name: column for column, name in enumerate(labels)}
    y = np.zeros((len(sets), len(labels)))
    counts = [len(names or ()) for names in sets]
    columns = np.array([place[name] for names in sets for name in names or ()], np.int64)
    y[np.repeat(np.arange(len(sets)), counts), columns] = 1.0
    y[[row for row, names in enumerate(sets) if names is None]] = np.nan
    return y


def occurring(sets: Sequence[Names | None]) -> Names:
    """Give the names that occur in some set, sorted.

    >>> occurring([("b",), None, ("a", "b")])
    ('a', 'b')
    """
    return tuple(sorted({name for names in sets for name in names or ()}))
