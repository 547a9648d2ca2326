"""The labels a DOML node knows, and how they stand to those of others."""

from collections.abc import Sequence

import numpy as np

from anabranch.labels import joined, named
from anabranch.learners.doml_wire import Telling, digest_of, label_array
from anabranch.protocol import Array

__all__ = ["Labels"]


class Labels:
    """Names of columns: the first ones in their order, others sorted.

    Attributes
    ----------
    first, names : those of the beginning, and all
    array : of a message, frozen
    digest : tells sets of labels apart

    Examples
    --------
    >>> labels = Labels(("b",), ("b",))
    >>> labels.admit(["c", "a"]).tolist(), labels.names
    ([0, -1, -1], ('b', 'a', 'c'))
    """

    def __init__(self, first: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.first = first
        self._first_digest = float(digest_of(label_array(first).tobytes()))
        self._take(names)

    def _take(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.array = label_array(names)
        self.digest = float(digest_of(self.array.tobytes()))

    @property
    def grown(self) -> bool:
        """Whether there are others than the first."""
        return self.names != self.first

    def admit(self, others: Sequence[str]) -> Array | None:
        """Take labels up; tell where each of all stood before, -1 for new. None if all were known.

        Raises
        ------
        ConfigurationError
            A name is empty, no text, or there twice.
        """
        before = self.names
        after = joined(before, named(tuple(others)), len(self.first))
        if after == before:
            return None
        self._take(after)
        return _columns(before, after)

    def columns_of(self, told: Telling) -> Array | None:
        """Tell where own labels stand in a message; None where it does not say.

        Its labels have been admitted before.
        """
        if told.labels is not None:
            return _columns(told.labels, self.names)
        known = told.state["names"] == self._first_digest
        return _columns(self.first, self.names) if known else None


def _columns(before: Sequence[str], after: Sequence[str]) -> Array:
    place = {label: i for i, label in enumerate(before)}
    return np.array([place.get(label, -1) for label in after], dtype=np.int64)
