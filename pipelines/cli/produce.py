"""`anabranch produce`: the records of a file into a topic."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from anabranch.errors import ConfigurationError
from pipelines.cli.brokers import (
    BrokersOption,
    JobOption,
    SetOption,
    find_settings,
    stalls_told,
)
from pipelines.cli.early import heard
from pipelines.cli.guard import complain
from pipelines.cli.pace import Pace

if TYPE_CHECKING:
    from connectors.kafka.placed import PlacingProducer
    from connectors.kafka.produce import BadLine, FileMessages
    from connectors.kafka.producer import Record
    from connectors.kafka.settings import KafkaSettings
    from connectors.kafka.sink_progress import SinkProgress

__all__ = ["produce"]

_CHUNK = 1000
_TOLD = 20
_NAP = 0.1


def produce(
    file: Annotated[str, typer.Argument(help="CSV, ARFF, svmlight or JSON Lines, plain or .gz.")],
    topic: Annotated[str, typer.Option(help="Topic to write to; made if it is not there.")],
    brokers: BrokersOption = None,
    job: JobOption = None,
    settings: SetOption = None,
    rate: Annotated[
        float | None, typer.Option(help="Records a second; as many as go without it.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Field to make the message's key.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Field that stays text though it looks like a number."),
    ] = None,
    format: Annotated[
        Literal["json", "msgpack", "csv"], typer.Option(help="How values are written.")
    ] = "json",
    partitions: Annotated[
        int | None, typer.Option(help="Partitions of the topic, if it is made.")
    ] = None,
    partition_by: Annotated[
        Literal["key", "turn"] | None,
        typer.Option(help="key, or each partition in turn; turn without --key."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME,...", help="Fields of a CSV file without a header."),
    ] = None,
    separator: Annotated[
        str, typer.Option(help="Between the fields of CSV; in .tsv files a tab.")
    ] = ",",
    index_base: Annotated[
        int, typer.Option(min=0, max=1, help="The first index in svmlight files.")
    ] = 1,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Begin again at the end, until stopped.")
    ] = False,
) -> None:
    """Write every record of a file to a topic, one message each, and say how many.

    Ctrl-C stops after what was read; a second one leaves at once.
    """
    _check(rate, partitions, key, partition_by)
    connection = find_settings(job, brokers, settings or [])
    from connectors.kafka.produce import FileMessages

    names = None if columns is None else tuple(columns.split(","))
    fields = (key, frozenset(text or ()), names, separator.replace("\\t", "\t"), index_base)
    messages = FileMessages(file, format, *fields)
    by_turn = partition_by == "turn" or (partition_by is None and key is None)
    sender = _Sender.to(connection, topic, partitions, by_turn=by_turn)
    sender.send_all(_endless(messages) if repeat else messages, Pace(rate))


def _check(
    rate: float | None, partitions: int | None, key: str | None, partition_by: str | None
) -> None:
    if rate is not None and not rate > 0:
        raise ConfigurationError(f"--rate is {rate:g}; it must be more than 0")
    if partitions is not None and partitions < 1:
        raise ConfigurationError(f"--partitions is {partitions}; it must be 1 or more")
    if partition_by == "key" and key is None:
        raise ConfigurationError("--partition-by is 'key', but --key names no field")


def _endless(messages: "FileMessages") -> Iterator["Record | BadLine"]:
    while True:
        any_left = False
        for message in messages:
            any_left = True
            yield message
        if not any_left:
            return


@dataclass
class _Sender:
    """Sends messages to one topic and counts them."""

    progress: "SinkProgress"
    producer: "PlacingProducer"
    by_turn: int
    """Number of partitions to go through in turn; 0 leaves it to the keys."""
    sent: int = 0
    bad: int = 0

    @classmethod
    def to(
        cls, settings: "KafkaSettings", topic: str, partitions: int | None, *, by_turn: bool
    ) -> "_Sender":
        """Make the topic if it is not there, and what writes to it."""
        from connectors.kafka.admin import TopicSpec, ensure_topics, message_limit
        from connectors.kafka.placed import PlacingProducer, count_partitions
        from connectors.kafka.sink_progress import SinkProgress

        ensure_topics(settings, {topic: TopicSpec(partitions=partitions)})
        progress, limit = SinkProgress(topic), message_limit(settings, topic)
        producer = PlacingProducer(settings, topic, progress, limit)
        return cls(progress, producer, count_partitions(settings, topic) if by_turn else 0)

    def send_all(self, messages: Iterable["Record | BadLine"], pace: Pace) -> None:
        """Send messages until they end or a signal comes, and say how many were sent."""
        begin = time.monotonic()
        self.producer.open()
        with heard() as signals, stalls_told(self._stalled):
            try:
                left, more = iter(messages), True
                while more and not signals.count:
                    more = self._send_some(left, pace)
            finally:
                self.producer.close()
        seconds = time.monotonic() - begin
        typer.echo(f"{self.progress.topic}: {_counted(self.sent, seconds)}")
        if self.bad:
            complain(f"{self.bad:,} lines are no records and were left out")

    def _stalled(self) -> str | None:
        return None if self.progress.failure else self.progress.error

    def _send_some(self, messages: Iterator["Record | BadLine"], pace: Pace) -> bool:
        """Send what is due; False when there is nothing left."""
        due = pace.take(_CHUNK)
        if not due:
            time.sleep(min(pace.wait, _NAP))
            return True
        chunk = list(islice(messages, due))
        records = [message for message in chunk if not isinstance(message, str)]
        for message in chunk:
            if isinstance(message, str):
                self._leave_out(message)
        self.producer.place(records, self._places(len(records)))
        self.sent += len(records)
        return len(chunk) == due

    def _places(self, records: int) -> list[int | None]:
        if not self.by_turn:
            return [None] * records
        return [number % self.by_turn for number in range(self.sent, self.sent + records)]

    def _leave_out(self, why: "BadLine") -> None:
        self.bad += 1
        if self.bad <= _TOLD:
            complain(why)
        elif self.bad == _TOLD + 1:
            complain("further bad lines are only counted")


def _counted(records: int, seconds: float) -> str:
    return f"{records:,} records in {seconds:,.1f} s, {records / max(seconds, 1e-9):,.0f} a second"
