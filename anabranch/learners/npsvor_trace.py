"""How the objective falls with the time spent: what the papers' figures show."""

import time
from collections.abc import Callable

import numpy as np

from anabranch.protocol import Array

__all__ = ["Trace"]


class Trace:
    """Objectives of all planes, noted at moments of this thread's processor time.

    The clock stands still while objectives are evaluated.

    The first note is of all planes, where the solver begins.

    Parameters
    ----------
    planes : how many there are

    Examples
    --------
    >>> trace = Trace(2)
    >>> trace.note(lambda: np.array([3.0, 2.0]))
    >>> trace.note(lambda: 1.0, plane=0)
    >>> [total for _, total in trace.points]
    [5.0, 3.0]
    """

    def __init__(self, planes: int) -> None:
        self._now = np.zeros(planes)
        self._seconds: list[float] = []
        self._planes: list[Array] = []
        self._spent, self._since = 0.0, time.thread_time()

    def note(self, evaluate: Callable[[], Array | float], plane: int | None = None) -> None:
        """Note the objective of one plane, or those of all of them."""
        self._spent += time.thread_time() - self._since
        self._now[slice(None) if plane is None else plane] = evaluate()
        self._seconds.append(self._spent)
        self._planes.append(self._now.copy())
        self._since = time.thread_time()

    @property
    def points(self) -> list[tuple[float, float]]:
        """Seconds since the start, and the objectives' sum."""
        sums = self.planes.sum(axis=1).tolist()
        return list(zip(self._seconds, sums, strict=True))

    @property
    def planes(self) -> Array:
        """The objectives at each of the points (points, p)."""
        return np.array(self._planes)
