"""Curves that grow without end in bounded memory."""

from bisect import bisect_left
from typing import Generic, TypeVar

__all__ = ["Series"]

T = TypeVar("T")


class Series(Generic[T]):
    """Points of a curve, evenly thinned where they would be too many.

    Parameters
    ----------
    most : points kept; when there are more, every second one goes

    Examples
    --------
    >>> series = Series(4)
    >>> for x in range(10):
    ...     series.add(x, str(x))
    >>> [x for x, _ in series.points()]
    [0, 4, 8, 9]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, T]] = []
        self._newest: tuple[float, T] | None = None
        self._stride, self._skipped = 1, 0

    def add(self, x: float, value: T) -> None:
        """Append a point; what stood at `x` or beyond was undone by a restart, and goes."""
        if self._newest is not None and x <= self._newest[0]:
            del self._kept[bisect_left(self._kept, x, key=lambda point: point[0]) :]
        self._newest = x, value
        self._skipped += 1
        if self._skipped < self._stride and self._kept:
            return
        self._skipped = 0
        self._kept.append(self._newest)
        if len(self._kept) > self._most:
            self._kept = self._kept[::2]
            self._stride *= 2

    def points(self) -> list[tuple[float, T]]:
        """Give the points kept, and the newest."""
        if self._newest is None or (self._kept and self._kept[-1] is self._newest):
            return list(self._kept)
        return [*self._kept, self._newest]

    @property
    def newest(self) -> T | None:
        """The value of the newest point; None without any."""
        return None if self._newest is None else self._newest[1]
