"""Watches the topics of a process from the outside: their ends, their partitions, their brokers."""

from collections.abc import Mapping, Sequence
from threading import Event, Thread
from time import monotonic
from typing import Any

from kafka import KafkaAdminClient, OffsetSpec, TopicPartition
from kafka.errors import AuthorizationError, KafkaError, UnknownTopicOrPartitionError, for_code

from anabranch.errors import ConfigurationError
from connectors.kafka.clients import open_admin, reason
from connectors.kafka.progress import Progress
from connectors.kafka.ranges import offsets, partition_name, topic_of
from connectors.kafka.reader import Reader
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["Watch"]


class Watch(Thread):
    """Asks the brokers now and then what no reader is told.

    Where each partition ends, even when it is not read for want of room; whether brokers answer
    at all; whether a topic was deleted (then its partitions fail) or gained partitions (then
    this is said, once).

    Parameters
    ----------
    settings : how to reach the brokers
    known : the job's partitions, those of other processes too
    reader : what this process reads
    progress : where to note it
    every : seconds between questions
    """

    def __init__(
        self,
        settings: KafkaSettings,
        known: Sequence[str],
        reader: Reader,
        progress: Progress,
        every: float = 5.0,
    ) -> None:
        super().__init__(name="kafka watch", daemon=True)
        self._settings, self._reader, self._progress = settings, reader, progress
        self._every = every
        self._known = frozenset(known)
        self._topics = sorted({topic_of(name)[0] for name in known})
        self._ids: dict[str, Any] = {}
        self._suspects: set[str] = set()
        self._admin: KafkaAdminClient | None = None
        self._answered = monotonic()
        self._stopped = Event()

    def stop(self) -> None:
        """End the thread, soon."""
        self._stopped.set()

    def run(self) -> None:
        """Ask until told to stop."""
        while not self._stopped.is_set():
            try:
                self._ask()
            except (KafkaError, ConfigurationError) as error:
                self._miss(error)
            else:
                self._answered = monotonic()
                self._progress.miss(None)
            self._stopped.wait(self._every)
        self._close()

    def _ask(self) -> None:
        admin = self._admin = self._admin or open_admin(self._settings)
        states = {state["name"]: state for state in admin.describe_topics(self._topics)}
        for topic, state in states.items():
            self._look(topic, state)
        led = {
            partition_name(topic, part["partition_index"]): part["leader_id"] >= 0
            for topic, state in states.items()
            for part in state["partitions"]
        }
        self._note_ends(admin, led)

    def _look(self, topic: str, state: Mapping[str, Any]) -> None:
        why = self._trouble(topic, state)
        if why is None:
            self._suspects.discard(topic)
            self._look_for_more(topic, state)
        elif topic in self._suspects:  # a broker that has just started may not know it yet
            for name in self._names(topic):
                self._reader.fail(name, SourceError(f"topic {topic!r} {why}"))
        else:
            self._suspects.add(topic)

    def _trouble(self, topic: str, state: Mapping[str, Any]) -> str | None:
        error = for_code(state["error_code"])
        if error is UnknownTopicOrPartitionError:
            return (
                f"was deleted while the job was reading it: the brokers at"
                f" {self._settings.addresses} have it no more; start anew with another topic"
            )
        if issubclass(error, AuthorizationError):
            who = self._settings.username or "this client"
            return (
                f"may not be read by {who!r} any more: allow it the operations Describe and Read,"
                " then resume the job"
            )
        if state["error_code"] == 0 and self._ids.setdefault(topic, state.get("topic_id")) != (
            state.get("topic_id")
        ):
            return (
                "was deleted and made anew while the job was reading it: start anew in another run"
                " directory"
            )
        return None

    def _look_for_more(self, topic: str, state: Mapping[str, Any]) -> None:
        names = [partition_name(topic, part["partition_index"]) for part in state["partitions"]]
        added = sorted(set(names) - self._known, key=topic_of)
        if added:
            self._progress.say(
                f"topic {topic!r} has gained {', '.join(added)}: taken up when the job is"
                " resumed next"
            )

    def _names(self, topic: str) -> list[str]:
        return [name for name in self._reader.names if topic_of(name)[0] == topic]

    def _note_ends(self, admin: KafkaAdminClient, led: Mapping[str, bool]) -> None:
        names = [name for name in self._reader.names if name in led]
        for name in names:
            orphan = None if led[name] else f"partition {name} has no leader: its brokers are down"
            self._progress.fail(name, orphan or self._reader.error(name))
        places = [TopicPartition(*topic_of(name)) for name in names if led[name]]
        if places:
            for place, end in offsets(admin, places, OffsetSpec.LATEST).items():
                self._progress.see_end(partition_name(*place), end)

    def _miss(self, error: Exception) -> None:
        """Say that brokers do not answer; ask by another client next time."""
        self._close()
        silent = monotonic() - self._answered
        self._progress.miss(
            f"the brokers at {self._settings.addresses} have not answered for {silent:.0f} s:"
            f" {reason(error)}"
        )

    def _close(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()
