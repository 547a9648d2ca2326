"""What X is made of while records are read: columns, texts, or pairs of index and value."""

from typing import Any, Protocol

import numpy as np

from anabranch.protocol import Array
from anabranch.sparse import SparseRows
from connectors.pairs import Store, new_store
from connectors.records import RecordFormat
from connectors.scan import FEATURES_AT

__all__ = ["Columns", "Inputs", "Pairs", "Texts", "name_columns", "no_pairs", "no_rows"]


def name_columns(form: RecordFormat) -> int:
    """Give the columns that `scan` needs to tell where a record's texts and pairs are.

    >>> name_columns(RecordFormat()), name_columns(RecordFormat(text=("title", "body")))
    (2, 10)
    """
    if form.width is not None:
        return FEATURES_AT + 2 * max(1, len(form.text))
    return FEATURES_AT if form.label_list else 2


def no_pairs() -> Store:
    """Give a store for records without pairs."""
    return new_store(0)


def no_rows(form: RecordFormat, width: int) -> Any:
    """Give X of no rows."""
    if not form.sparse:
        return np.empty((0, width))
    return SparseRows(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), width)


class Inputs(Protocol):
    """The features of some records, all of them read, before the bad records are left out."""

    def put(self, row: int, features: Any) -> None:
        """Take what a careful reading gave for a row."""
        ...

    def clear(self, rows: Array) -> None:
        """Give rows no features: those of labels that come alone."""
        ...

    def rows(self, keep: Any) -> Any:
        """Make X of the rows to keep: a mask, or a slice."""
        ...


class Columns:
    """A number for each column, as they were read."""

    def __init__(self, X: Array) -> None:
        self.X = X

    def put(self, row: int, features: Any) -> None:
        """Take the numbers of a row."""
        self.X[row] = features

    def clear(self, rows: Array) -> None:
        """Make rows zeros."""
        self.X[rows] = 0.0

    def rows(self, keep: Any) -> Array:
        """Give some rows; all of them as a view."""
        X: Array = self.X[keep]
        return X


class Texts:
    """Texts, most of them where they were read.

    Parameters
    ----------
    form : names the texts' fields, and has what makes rows of them
    data : what was read
    names : (n, 6 + 2 k); the last 2 k columns tell where the k texts of each row are in it
    escapes : whether these have JSON's escapes
    """

    def __init__(self, form: RecordFormat, data: bytes, names: Array, *, escapes: bool) -> None:
        self._form, self._data, self._escapes = form, data, escapes
        self._spans = names[:, FEATURES_AT:].reshape(len(names), len(form.text), 2)
        self._texts: dict[int, str] = {}

    def put(self, row: int, features: Any) -> None:
        """Take the text of a row."""
        self._texts[row] = features

    def clear(self, rows: Array) -> None:
        """Make texts empty."""
        self._spans[rows] = 0

    def rows(self, keep: Any) -> Any:
        """Hash some texts."""
        self._spans[list(self._texts)] = 0
        texts = self._texts
        if not isinstance(keep, slice) and texts:
            places = np.flatnonzero(keep).tolist()
            texts = {i: texts[row] for i, row in enumerate(places) if row in texts}
        spans = self._spans[keep]
        rows = self._form.hasher.spans(self._data, spans, texts, escapes=self._escapes)
        return rows if self._form.sparse else rows.toarray()


class Pairs:
    """Indices and values, most of them in a store.

    Parameters
    ----------
    form : tells the number of columns
    store : see `keep_pairs`
    names : (n, 8); the last 2 columns tell where each row's pairs are in it
    """

    def __init__(self, form: RecordFormat, store: Store, names: Array) -> None:
        self._form, self._store = form, store
        self._spans = names[:, FEATURES_AT : FEATURES_AT + 2]
        self._more: list[tuple[Array, Array]] = []
        self._end = len(store[0])

    def put(self, row: int, features: Any) -> None:
        """Take the sorted indices and the values of a row."""
        begin, self._end = self._end, self._end + len(features[0])
        self._spans[row] = begin, self._end
        self._more.append(features)

    def clear(self, rows: Array) -> None:
        """Leave rows without any pair."""
        self._spans[rows] = 0

    def rows(self, keep: Any) -> Any:
        """Put the pairs of some rows together."""
        indices, values, _ = self._store
        if self._more:
            indices = np.concatenate([indices, *(pair[0] for pair in self._more)])
            values = np.concatenate([values, *(pair[1] for pair in self._more)])
        begins, ends = self._spans[keep].T
        indptr = np.zeros(len(begins) + 1, np.int64)
        np.cumsum(ends - begins, out=indptr[1:])
        places = np.repeat(begins - indptr[:-1], ends - begins) + np.arange(indptr[-1])
        width = int(self._form.sparse_width or 0)
        rows = SparseRows(indptr, indices[places].astype(np.uint32), values[places], width)
        return rows if self._form.sparse else rows.toarray()
