"""The time from the death of a process until all make progress again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Restart"]

Status = Mapping[str, Any]


@dataclass(frozen=True)
class Restart:
    """All processes of a job are started again.

    Parameters
    ----------
    reason : why
    at : when, by time.monotonic, which all processes of a machine share
    planned : whether nothing is wrong: the job goes on with another network
    processes : how many there are
    """

    reason: str
    at: float
    planned: bool
    processes: int

    def age(self, now: float) -> float:
        """Give how long it lasts, in seconds."""
        return now - self.at

    def is_before(self, status: Status) -> bool:
        """Tell whether a status was written before."""
        return bool(status["clock"] <= self.at)

    def is_over(self, statuses: Sequence[Status], *, idle: bool) -> bool:
        """Tell whether all processes run, and have learned or have nothing to learn.

        Messages sent since count as well: a batch job has no samples to come.
        """
        here = [one for one in statuses if one["clock"] - one.get("seconds", 0.0) > self.at]
        if len(here) < self.processes:
            return False
        done = sum(status.get("learned", 0) + status.get("messages", 0) for status in here)
        return done > 0 or idle
