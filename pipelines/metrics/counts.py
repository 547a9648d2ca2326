"""Counts of a job that never go back, though its processes are restarted."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Counts"]

Key = tuple[str, str]
"""Name of a count and value of its label, empty where it has none."""

_PLAIN = ("learned", "messages", "bytes", "alarms")
_LABELLED = ("reasons", "refused", "drift")


class Counts:
    """Adds up what processes count, each from zero at its start, one start after another.

    Restarted processes write one after the other. Were their counts just added, a sum of old and
    new ones would fall twice, and to Prometheus the second would be an increase from nothing.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.take([{"process": 0, "started": 1.0, "learned": 50}])
    >>> counts.take([{"process": 0, "started": 2.0, "learned": 3}])
    >>> counts.of("learned")
    {'': 53.0}
    """

    def __init__(self) -> None:
        self._before: dict[Key, float] = {}
        self._newest: dict[int, tuple[float, dict[Key, float]]] = {}

    def take(self, statuses: Iterable[Mapping[str, Any]]) -> None:
        """Take what the processes wrote last."""
        for status in statuses:
            process, started = status["process"], status.get("started", 0.0)
            known = self._newest.get(process)
            if known is not None and known[0] != started:
                for key, value in known[1].items():
                    self._before[key] = self._before.get(key, 0.0) + value
            self._newest[process] = started, dict(_counted(status))

    def still(self) -> "Counts":
        """Give a copy that stays as it is while more is taken."""
        copy = Counts()
        copy._before = dict(self._before)
        copy._newest = dict(self._newest)
        return copy

    def of(self, name: str) -> dict[str, float]:
        """Give the sums of a count, by label."""
        sums: dict[str, float] = {}
        parts: list[Mapping[Key, float]] = [counts for _, counts in self._newest.values()]
        for counts in (self._before, *parts):
            for (found, label), value in counts.items():
                if found == name:
                    sums[label] = sums.get(label, 0.0) + value
        return sums


def _counted(status: Mapping[str, Any]) -> Iterator[tuple[Key, float]]:
    for name in _PLAIN:
        yield (name, ""), status.get(name) or 0
    for name in _LABELLED:
        for label, value in status.get(name, {}).items():
            yield (name, label), value
    for topic, output in status.get("outputs", {}).items():
        yield ("sent", topic), output["sent"]
