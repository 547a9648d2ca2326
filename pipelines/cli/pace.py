"""So many a second, and no more."""

import time
from collections.abc import Callable

__all__ = ["Pace"]

_LATE = 1.0
"""Seconds behind that are made good; what is lost beyond them stays lost."""


class Pace:
    """Says how many may go now.

    Parameters
    ----------
    rate : how many a second; None is no limit
    clock : gives seconds

    Examples
    --------
    >>> now = 0.0
    >>> pace = Pace(10, clock=lambda: now)
    >>> pace.take(5)
    1
    >>> pace.take(5), pace.wait
    (0, 0.1)
    >>> now = 0.35
    >>> pace.take(5)
    3
    """

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._next = clock()

    @property
    def wait(self) -> float:
        """Seconds until one more may go."""
        return 0.0 if self._rate is None else max(self._next - self._clock(), 0.0)

    def take(self, most: int) -> int:
        """Give how many may go now, at most so many; they count as gone."""
        if self._rate is None:
            return most
        now = self._clock()
        self._next = max(self._next, now - _LATE)
        if now < self._next:
            return 0
        count = min(int((now - self._next) * self._rate) + 1, most)
        self._next += count / self._rate
        return count
