"""Topics as a source: each partition of a topic is a partition of the source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bytewax.inputs import FixedPartitionedSource
from typing_extensions import override

from anabranch.errors import ConfigurationError, nearest
from anabranch.stream import Block, End
from connectors.kafka.expired import OnExpired
from connectors.kafka.partition import KafkaPartition, KafkaState
from connectors.kafka.progress import Progress
from connectors.kafka.ranges import Range, topic_of
from connectors.kafka.reader import BUFFER_BYTES, Reader
from connectors.kafka.session import Session, SessionHolder
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.ticks import Parser
from connectors.kafka.watch import Watch
from connectors.rows import Origin

__all__ = ["KafkaSource"]

_RULES = ("stop", "earliest", "latest")


@dataclass(frozen=True)
class KafkaSource(FixedPartitionedSource[Block | End, KafkaState]):
    """Records of topics; a partition is named "topic:number", and rows by their offsets.

    Tick t of a partition is made of the next `rows_per_tick` records, good and bad, counted from
    the start of its range; offsets without a record count for nothing. The last tick of a range
    that ends may have fewer. An eager source does not wait for a tick to become full: it gives
    what is there once the first record has waited for `linger`.

    Resuming continues at the next tick, exactly. Brokers are not spoken to before a partition is
    built, never by the dataflow's own threads, and when they are away they are waited for;
    `progress` tells how it goes.

    Attributes
    ----------
    settings : how to reach the brokers
    ranges : what to read of each partition; see `resolve_ranges`
    rows_per_tick : records in a tick
    parser : makes the parser of a partition's messages
    features : names of X's columns
    eager : for jobs in asynchronous time
    linger : seconds
    on_expired : "stop", or go on with the "earliest" or "latest" record, when the next one was
        deleted by retention
    progress : the table where each process notes how far it is
    buffer_bytes : memory for records that were read ahead, about
    watch_every : seconds between looks at the topics
    retry : seconds after which a partition that cannot be decoded is tried again
    partitions : names of the partitions, in the order of `ranges`

    Raises
    ------
    ConfigurationError
        There is no partition, or a value is not allowed.
    SourceError
        While reading: a topic was deleted, a record is not there any more, the brokers refuse.

    >>> KafkaSource(KafkaSettings(("localhost:9092",)), {}, 10, parser=None, features=("a",))
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: source.topics have no partition: name one that has some
    """

    settings: KafkaSettings
    ranges: Mapping[str, Range]
    rows_per_tick: int
    parser: Callable[[Origin], Parser]
    features: tuple[str, ...]
    eager: bool = False
    linger: float = 0.005
    on_expired: OnExpired = "stop"
    progress: Progress = field(default_factory=Progress, compare=False)
    buffer_bytes: int = BUFFER_BYTES
    watch_every: float = 5.0
    retry: float = 5.0
    partitions: tuple[str, ...] = field(init=False, compare=False)
    _holder: SessionHolder = field(
        init=False, compare=False, repr=False, default_factory=SessionHolder
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "partitions", tuple(self.ranges))
        if not self.ranges:
            raise ConfigurationError("source.topics have no partition: name one that has some")
        if self.rows_per_tick < 1:
            raise ConfigurationError(
                f"source.rows_per_tick is {self.rows_per_tick}: allowed is 1 and up"
            )
        if self.linger < 0:
            raise ConfigurationError(f"source.linger is {self.linger}: allowed is 0 and up")
        if self.on_expired not in _RULES:
            hint = nearest(self.on_expired, list(_RULES))
            raise ConfigurationError(f"source.on_expired is {self.on_expired!r}{hint}")

    @override
    def list_parts(self) -> list[str]:
        return list(self.partitions)

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: KafkaState | None
    ) -> KafkaPartition:
        return KafkaPartition(
            for_part,
            self.ranges[for_part],
            self.rows_per_tick,
            self.linger if self.eager else None,
            self.parser(Origin(topic_of(for_part)[0], for_part)),
            self._holder.join(for_part, self._session),
            resume_state,
        )

    def _session(self) -> Session:
        reader = Reader(
            self.settings,
            partitions=len(self.partitions),
            buffer_bytes=self.buffer_bytes,
            on_expired=self.on_expired,
            say=self.progress.say,
            retry=self.retry,
        )
        watch = Watch(self.settings, self.partitions, reader, self.progress, self.watch_every)
        return Session(reader, watch, self.progress)
