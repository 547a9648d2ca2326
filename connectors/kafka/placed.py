"""A producer that is told which partition each record goes to."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from kafka import KafkaProducer
from typing_extensions import override

from connectors.kafka.clients import asking
from connectors.kafka.producer import Record, TopicProducer
from connectors.kafka.settings import KafkaSettings

__all__ = ["PlacingProducer", "count_partitions"]


def count_partitions(settings: KafkaSettings, topic: str) -> int:
    """Ask how many partitions a topic has.

    Raises
    ------
    ConfigurationError
        No broker answers, or the login is refused.
    """
    with asking(settings) as admin:
        return len(admin.describe_topics([topic])[0]["partitions"])


class PlacingProducer(TopicProducer):
    """As `TopicProducer`, but records may be sent to partitions by number.

    >>> from connectors.kafka.sink_progress import SinkProgress
    >>> settings = KafkaSettings(("localhost:9092",))
    >>> PlacingProducer(settings, "samples", SinkProgress("samples")).place([], [])
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places: deque[int | None] = deque()

    def place(self, records: Sequence[Record], partitions: Sequence[int | None]) -> None:
        """Send records, each to its partition; where that is None, the key decides.

        Raises
        ------
        SinkError
            As `send` does, or a partition is not there.
        """
        self._places = deque(partitions)
        self.send(records)

    @override
    def _deal(self, client: KafkaProducer, keys: list[bytes | None]) -> list[int | None]:
        dealt = super()._deal(client, keys)
        told = [self._places.popleft() for _ in keys]
        return [
            by_key if place is None else place for place, by_key in zip(told, dealt, strict=True)
        ]
