"""Sets of labels: what was found, what was missed, and the scores that follow."""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.kernels.label_sets import SUMS, count_rows, first_bad, recount
from anabranch.labels import named
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, State, Task

__all__ = ["MultilabelTally"]


class MultilabelTally:
    """Counts hits, false alarms and misses of each label, and sums the scores of each row.

    Totals are summable between nodes, also where each has met other labels: a label stands
    under its own name, and a row that came before it did not have it.

    Parameters
    ----------
    labels : names of the labels known from the beginning, or their number
    window : how many of the newest samples `window_totals` covers; 0 for no window

    Raises
    ------
    ConfigurationError
        `window` is negative, or a name is empty or there twice.

    Examples
    --------
    >>> tally = MultilabelTally(["calm", "sad"])
    >>> tally.add(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 0.0]]))
    >>> tally.totals()["labels"].tolist()
    [[2, 0, 0], [0, 1, 1]]
    >>> tally.add(np.array([[1.0]]), np.array([[0.0]]), ["angry"])
    >>> tally.totals()["label:angry"].tolist()
    [0, 0, 1]
    """

    task: ClassVar[Task] = "multilabel"

    def __init__(self, labels: int | Sequence[str] = (), window: int = 0) -> None:
        if window < 0:
            raise ConfigurationError(f"window = {window} is negative; allowed: 0 (none) or more")
        self._known = list(named(labels))
        self._fixed = len(self._known)
        self.window = window
        self._place = {name: i for i, name in enumerate(self._known)}
        self._counts = np.zeros((self._fixed, 3), dtype=np.int64)
        self._sums = np.zeros(SUMS)
        self._ring = np.zeros((window, 2, _bytes(self._fixed)), dtype=np.uint8)
        self._cursor = np.zeros(2, dtype=np.int64)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels met: those known from the beginning, then in order of arrival."""
        return tuple(self._known)

    def add(self, y: Array, predicted: Array, names: Sequence[str] | None = None) -> None:
        """Count a block of pairs, oldest first.

        Parameters
        ----------
        y : (n, q) true sets, of 0 and 1, any numeric type
        predicted : (n, q) predicted sets
        names : of the q columns; by default the labels given to the constructor. Labels that
            are not among them are in neither set

        Raises
        ------
        SampleError
            The shapes differ or do not fit the names, or a value is neither 0 nor 1; nothing
            is counted then.
        """
        columns = self._known[: self._fixed] if names is None else list(names)
        truth = np.array(y, dtype=np.float64, order="C")
        guess = np.array(predicted, dtype=np.float64, order="C")
        if truth.shape != guess.shape or truth.ndim != 2 or truth.shape[1] != len(columns):
            raise SampleError(
                f"shapes {truth.shape} of y and {guess.shape} of predicted cannot be scored; "
                f"allowed: (n, {len(columns)}) twice"
            )
        for name, values in (("y", truth), ("predicted", guess)):
            bad = first_bad(values.reshape(-1))
            if bad >= 0:
                row, column = divmod(bad, len(columns))
                raise SampleError(
                    f"{name}[{row}, {column}] is {values[row, column]:g}; allowed: 0 or 1"
                )
        places = self._places(columns)
        count_rows(truth, guess, places, self._counts, self._sums, self._ring, self._cursor)

    def _places(self, names: Sequence[str]) -> Array:
        """Give the place of each label, making room for new ones."""
        new = [name for name in names if name not in self._place]
        if new:
            named(new)
            self._known += new
            self._place |= {name: len(self._place) + i for i, name in enumerate(new)}
            self._counts = _longer(self._counts, len(self._known), 0)
            self._ring = _longer(self._ring, _bytes(len(self._known)), 2)
        return np.array([self._place[name] for name in names], dtype=np.int64)

    def totals(self) -> dict[str, Array]:
        """Give the sums over everything counted.

        {"samples": (4,) n, exact matches, sums of each row's F1 and Jaccard index,
        "labels": (q, 3) true positives, false positives and false negatives of the labels known
        from the beginning, "label:NAME": (3,) the same of each label met later}.
        """
        return self._named(self._counts, self._sums)

    def window_totals(self) -> dict[str, Array]:
        """Give the same over the newest `window` pairs."""
        counts, sums = np.zeros_like(self._counts), np.zeros(SUMS)
        recount(self._ring, self._cursor, counts, sums)
        return self._named(counts, sums)

    def _named(self, counts: Array, sums: Array) -> dict[str, Array]:
        later = enumerate(self._known[self._fixed :], self._fixed)
        return {
            "samples": sums.copy(),
            "labels": counts[: self._fixed].copy(),
            **{f"label:{name}": counts[i].copy() for i, name in later},
        }

    def export(self) -> State:
        """Give the whole state; `restore` of it continues exactly."""
        return {
            "schema": 1,
            "kind": self.task,
            "names": list(self._known),
            "fixed": self._fixed,
            "counts": self._counts.copy(),
            "sums": self._sums.copy(),
            "ring": self._ring.copy(),
            "cursor": self._cursor.copy(),
        }

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a tally from `export`.

        Raises
        ------
        ModelError
            The state is newer than this version reads, or damaged.
        """
        if state.get("schema") != 1:
            raise ModelError(f"schema {state.get('schema')!r} of a tally is unknown; allowed: 1")
        try:
            known = named([*saved_value(state, "names")])
            ring = np.array(saved_value(state, "ring"), dtype=np.uint8, order="C")
            counts = np.array(saved_value(state, "counts"), dtype=np.int64, order="C")
            cursor = np.array(saved_value(state, "cursor"), dtype=np.int64)
        except (ValueError, TypeError, OverflowError, ConfigurationError) as error:
            raise ModelError(f"a tally's state is damaged: {error}") from error
        tally = cls(known)
        tally._fixed = saved_whole(state, "fixed", len(known))
        tally._sums = saved_array(state, "sums", (SUMS,))
        tally._take(counts, ring, cursor)
        return tally

    def _take(self, counts: Array, ring: Array, cursor: Array) -> None:
        """Set the state, refusing what the kernel could not index safely."""
        width = _bytes(len(self._known))
        if ring.shape[1:] != (2, width) or counts.shape != self._counts.shape:
            raise ModelError("a tally's state is damaged: its arrays do not fit together")
        if cursor.shape != (2,) or not (
            0 <= cursor[1] <= len(ring) and 0 <= cursor[0] < max(1, len(ring))
        ):
            raise ModelError(f"a tally's state is damaged: cursor {cursor.tolist()} is outside")
        if (counts < 0).any():
            raise ModelError("a tally's state is damaged: a count is negative")
        self.window = len(ring)
        self._counts, self._ring, self._cursor = counts, ring, cursor


def _bytes(labels: int) -> int:
    return (labels + 7) // 8


def _longer(array: Array, length: int, axis: int) -> Array:
    """Give an array with zeros at the end of an axis."""
    more = [(0, length - have if i == axis else 0) for i, have in enumerate(array.shape)]
    return np.pad(array, more)
