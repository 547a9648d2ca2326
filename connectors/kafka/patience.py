"""How long a sink waits for brokers, and what it finds out meanwhile."""

from dataclasses import replace
from time import monotonic

from connectors.kafka.admin import topic_exists
from connectors.kafka.refusals import SinkError
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink_progress import SinkProgress

__all__ = ["PATIENCE", "Patience"]

PATIENCE = 600.0
"""Seconds that records wait for brokers that are away."""

HURRY = 10.0
"""Seconds to wait when the job has been told to stop: what is resumed makes the records again."""
_LOOK_AFTER = 5.0
_LOOK_EVERY = 5.0
_LOOK_FOR = 2.0
"""Seconds to wait for an answer; the records may be acknowledged meanwhile."""


class Patience:
    """Asked whenever nothing moves: it says so in the progress, or ends the wait.

    Brokers that are away may come back; a topic that was deleted does not, and the client
    cannot tell one from the other, so this asks.

    Parameters
    ----------
    settings : how to reach the brokers
    topic : where the records go
    progress : knows how long nothing has moved
    seconds : how long to wait

    >>> progress = SinkProgress("scores")
    >>> Patience(KafkaSettings(("localhost:9092",)), "scores", progress).strain("slow")
    >>> progress.error  # nothing waits yet
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        progress: SinkProgress,
        seconds: float = PATIENCE,
    ) -> None:
        self._settings, self._topic, self._progress = settings, topic, progress
        self._seconds, self._looked = seconds, -_LOOK_EVERY
        self._missed = False

    def strain(self, why: str) -> None:
        """Note why nothing moves.

        Raises
        ------
        SinkError
            It has lasted too long, or the topic is gone.
        """
        stalled = self._progress.stalled
        seconds = min(self._seconds, HURRY) if self._progress.hurried else self._seconds
        if stalled > seconds:
            raise SinkError(
                f"topic {self._topic!r} took no record for {stalled:.0f} s: the brokers at"
                f" {self._settings.addresses} {why}; resume the job when they are back"
            )
        self._progress.explain(f"the brokers at {self._settings.addresses} {why}")
        if stalled > _LOOK_AFTER and monotonic() - self._looked > _LOOK_EVERY:
            self._look()

    def _look(self) -> None:
        settings = replace(self._settings, timeout=min(self._settings.timeout, _LOOK_FOR))
        missed = topic_exists(settings, self._topic) is False
        self._looked = monotonic()
        # Once is not enough: a broker that has just started may not know its topics yet.
        before, self._missed = self._missed, missed
        if before and missed:
            raise SinkError(
                f"topic {self._topic!r} is gone from the brokers at {self._settings.addresses}:"
                " create it again, then resume the job"
            )
