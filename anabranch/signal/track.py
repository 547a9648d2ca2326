"""The samples of one sensor that are in no whole window yet, and the windows they complete."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from anabranch.protocol import Array

__all__ = ["Samples", "Track", "Window"]


class Samples(NamedTuple):
    """Consecutive samples: values (n, c), labels, positions, whether held back, times or None."""

    X: Array
    y: Array
    positions: Array
    held: Array
    times: Array | None

    def rows(self, rows: Any) -> "Samples":
        """Give some of them: a slice, or an array of indices."""
        return Samples(*(None if array is None else array[rows] for array in self))  # type: ignore[arg-type]

    def repeated(self, times: int) -> "Samples":
        """Give each value of a row as a sample of its own, with all else that the row has."""
        rest = (None if array is None else np.repeat(array, times) for array in self[1:])
        return Samples(self.X.reshape(-1, 1), *rest)  # type: ignore[arg-type]


class Window(NamedTuple):
    """A whole window: its values (n, c), number, label, place, time, and whether held back."""

    X: Array
    number: int
    y: float
    position: int
    held: bool
    time: int | None


class Track:
    """Cuts samples into windows as they come, whatever the blocks they come in.

    Attributes
    ----------
    number : whole windows so far, those left out for being held back in part included
    """

    def __init__(self) -> None:
        self._tail: Samples | None = None
        self._skip = 0
        self.number = 0

    def take(self, samples: Samples, window: int, hop: int) -> Iterator[Window]:
        """Give the windows that samples complete; those held back in part are left out."""
        if self._tail is not None:
            pairs = zip(self._tail, samples, strict=True)
            joined = (None if b is None else np.concatenate([a, b]) for a, b in pairs)
            samples = Samples(*joined)  # type: ignore[arg-type]
        start = self._skip
        while start + window <= len(samples.y):
            own = samples.rows(slice(start, start + window))
            if own.held.all() or not own.held.any():
                yield _window(own, self.number)
            self.number += 1
            start += hop
        # Copies: a view would keep the whole block alive.
        left = samples.rows(slice(start, None))
        self._tail = Samples(*(None if a is None else a.copy() for a in left))  # type: ignore[arg-type]
        self._skip = max(0, start - len(samples.y))

    @property
    def left(self) -> tuple[int, int]:
        """Samples that are in no whole window yet, and the last one's position; 0 without any."""
        if self._tail is None or not len(self._tail.y):
            return 0, 0
        return len(self._tail.y), int(self._tail.positions[-1])

    def restart(self) -> None:
        """Let the next window begin with the next sample."""
        self._tail, self._skip = None, 0

    def export(self) -> dict[str, Any]:
        """Give the state, plain values and arrays that change no more."""
        tail = None if self._tail is None else tuple(self._tail)
        return {"tail": tail, "skip": self._skip, "number": self.number}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Go on from what `export` gave."""
        track = cls()
        track._tail = None if state["tail"] is None else Samples(*state["tail"])
        track._skip, track.number = state["skip"], state["number"]
        return track


def _window(own: Samples, number: int) -> Window:
    time = None if own.times is None else int(own.times[-1])
    place = int(own.positions[-1])
    return Window(own.X, number, _usual(own.y), place, bool(own.held[0]), time)


def _usual(y: Array) -> float:
    """Give the most frequent label, of equally frequent ones the one seen last.

    >>> _usual(np.array([1.0, 2.0, 2.0, 1.0, 3.0]))
    1.0
    """
    labels, counts = np.unique(y, return_counts=True)
    often = labels[counts == counts.max()]
    last: float = y[np.flatnonzero(np.isin(y, often))[-1]]
    return float(last)
