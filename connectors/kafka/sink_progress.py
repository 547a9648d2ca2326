"""How far a topic's records have come on their way out, for whoever watches the job."""

import logging
from collections.abc import Callable
from time import monotonic

__all__ = ["SinkProgress"]

log = logging.getLogger("anabranch.output")

_QUIET = 5.0
"""Seconds without an acknowledgement that are nobody's business."""


class SinkProgress:
    """What one process has sent to one topic: written by its producer, read by any thread.

    Parameters
    ----------
    topic : where the records go
    quiet : seconds that records may wait before `error` speaks of it

    Attributes
    ----------
    queued : records handed to the producer since the process began
    sent : those that Kafka has acknowledged
    failed : those that it has refused for good
    failure : why the sink has failed, or None
    hurried : whether brokers that are away are no longer worth a long wait; set by anybody

    Examples
    --------
    >>> progress = SinkProgress("scores", quiet=0.0)
    >>> progress.hand_over(2)
    >>> progress.acknowledge(2)
    >>> progress.queued, progress.sent, progress.waiting, progress.error
    (2, 2, 0, None)
    """

    def __init__(self, topic: str, quiet: float = _QUIET) -> None:
        self.topic = topic
        self.queued = self.sent = self.failed = 0
        self.failure: str | None = None
        self.hurried = False
        self._quiet = quiet
        self._reason = "not acknowledged"
        self._since = monotonic()
        self._told = False
        self._refresh: Callable[[], None] | None = None

    @property
    def waiting(self) -> int:
        """Records on their way."""
        return self.queued - self.sent - self.failed

    @property
    def stalled(self) -> float:
        """Seconds since records were last acknowledged, while some wait for it; else 0."""
        return monotonic() - self._since if self.waiting else 0.0

    @property
    def error(self) -> str | None:
        """A sentence when the sink has failed, or when records wait longer than they should."""
        if self.stalled > self._quiet and self._refresh is not None:
            self._refresh()
        stalled = self.stalled
        if self.failure is not None or stalled <= self._quiet:
            return self.failure
        return (
            f"{self.waiting} records for topic {self.topic!r} have waited {stalled:.0f} s:"
            f" {self._reason}"
        )

    def attach(self, refresh: Callable[[], None]) -> None:
        """Name what brings the counts up to date; it must not wait."""
        self._refresh = refresh

    def hand_over(self, records: int) -> None:
        """Count records that begin to wait."""
        if not self.waiting:
            self._since = monotonic()
        self.queued += records

    def acknowledge(self, records: int) -> None:
        """Count records that Kafka has taken."""
        self.sent += records
        self._since = monotonic()
        self._reason = "not acknowledged"
        if self._told:
            self._told = False
            log.info("topic %r takes records again", self.topic)

    def explain(self, reason: str) -> None:
        """Say why records wait."""
        self._reason = reason
        if self.stalled > self._quiet and not self._told:
            self._told = True
            log.warning("topic %r takes no records: %s", self.topic, reason)

    def fail(self, failure: str) -> None:
        """Note a record that was refused for good; the first reason stays."""
        self.failed += 1
        self.failure = self.failure or failure
