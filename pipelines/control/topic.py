"""Changes asked for in a topic; needs the Kafka client."""

from collections.abc import Callable

from anabranch.errors import AnabranchError, ConfigurationError
from connectors.kafka import KafkaSettings, Record, TopicSpec, ensure_topics, resolve_ranges
from connectors.kafka.producer import TopicProducer
from connectors.kafka.reader import Reader
from connectors.kafka.sink_progress import SinkProgress
from connectors.records import SourceError
from pipelines.control.lines import Line, Position

__all__ = ["TopicLines"]

_MOST = 100


class TopicLines:
    """Records of a topic, made where it is missing; a position is an offset.

    Parameters
    ----------
    settings : how to reach the brokers
    topic : of one partition, since changes have an order
    say : told of records that retention deleted before they were read

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse, or the topic has several partitions.
    """

    def __init__(self, settings: KafkaSettings, topic: str, say: Callable[[str], None]) -> None:
        self._settings, self._topic, self._say = settings, topic, say
        self._reader: Reader | None = None
        self._anew = False
        ensure_topics(settings, {topic: TopicSpec(partitions=1)})
        if len(self._ends()) > 1:
            raise ConfigurationError(
                f'network.control is "kafka:{topic}", which has {len(self._ends())} partitions; '
                "allowed: a topic of one, since changes have an order"
            )

    def _ends(self) -> list[int]:
        ranges = resolve_ranges(self._settings, (self._topic,), "latest", False)
        return [one.start for one in ranges.values()]

    def end(self) -> Position:
        """Give the offset of the record that comes next."""
        return Position(self._ends()[0])

    def read(self, position: Position) -> list[Line]:
        """Give some of the records from an offset on, or that follow those given last.

        Of a topic that was made anew, from its beginning.
        """
        at = 0 if self._anew else position.at
        if self._reader is None:
            self._reader = Reader(self._settings, on_expired="earliest", say=self._say)
            self._reader.add(self._topic, 0, at)
        try:
            records = self._reader.take(f"{self._topic}:0", _MOST)
        except SourceError as error:
            self.close()
            self._open_again(position, error)
            return []
        self._anew = self._anew and not records
        return [
            Line(record.value or b"", f"offset {record.offset} of topic {self._topic}",
                 Position(record.offset + 1))
            for record in records if record.offset >= at
        ]  # fmt: skip

    def _open_again(self, position: Position, error: SourceError) -> None:
        try:
            self._anew = self._ends()[0] < position.at
        except AnabranchError:  # the brokers are away
            self._anew = False
        if self._anew:
            self._say(
                f"network.control: topic {self._topic} no longer has the {position.at:,} records "
                "that were read; it is read from its beginning"
            )
        else:
            self._say(f"network.control: {error}; opened again")

    def append(self, text: bytes) -> None:
        """Add a record, acknowledged on return.

        Raises
        ------
        SourceError
            The brokers refuse, or are away too long.
        """
        progress = SinkProgress(self._topic)
        producer = TopicProducer(self._settings, self._topic, progress)
        producer.open()
        try:
            producer.send([Record(None, text, [], None)])
            producer.flush()
        finally:
            producer.close()

    def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
