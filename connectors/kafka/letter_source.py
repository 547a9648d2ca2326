"""The parameter topic as a source: letters for this site's nodes, and those that are refused."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from anabranch.letters import Letter
from anabranch.protocol import NodeId
from anabranch.stream import DeadLetter
from connectors.kafka.expired import OnExpired
from connectors.kafka.letter_codec import (
    Envelope,
    RefusedLetter,
    check_letter,
    decode_letter,
    letter_key,
    read_letter_key,
)
from connectors.kafka.progress import Progress
from connectors.kafka.ranges import Range
from connectors.kafka.reader import BUFFER_BYTES, Reader, Record
from connectors.kafka.session import Session, SessionHolder
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.watch import Watch

__all__ = ["LetterPartition", "LetterSource", "Mailbox"]

Post = Letter | DeadLetter

_MOST = 500
"""Records looked at in one call in synchronous time."""
_MOST_AT_HAND = 20_000
"""Records looked at in one call when only the newest count."""


_ADVICE = (
    "these are letters of other sites, which this one needs to catch up: start all sites anew, and"
    " let the topic keep its records for longer than a site may be away"
)


class Mailbox:
    """Tells the letters for this site's nodes, and reads them.

    Parameters
    ----------
    envelope : what this site takes
    hosted : the nodes of this site
    neighbours : of every node of the whole network

    >>> box = Mailbox(Envelope("run-7", "4f1c", "dsvor", "9a30"), ["b"], {"a": ["b"], "b": ["a"]})
    >>> box.is_elsewhere(letter_key("a", "b")), box.is_elsewhere(letter_key("b", "a"))
    (True, False)
    """

    def __init__(
        self,
        envelope: Envelope,
        hosted: Iterable[NodeId],
        neighbours: Mapping[NodeId, Collection[NodeId]],
    ) -> None:
        self._envelope = envelope
        self._hosted = frozenset(hosted)
        self._neighbours = {node: frozenset(others) for node, others in neighbours.items()}
        self._elsewhere = {
            letter_key(receiver, sender)
            for receiver, senders in self._neighbours.items()
            if receiver not in self._hosted
            for sender in senders
        }

    def is_elsewhere(self, key: bytes | None) -> bool:
        """Tell by its key whether a letter is another site's affair."""
        if key in self._elsewhere:
            return True
        try:
            receiver, _ = read_letter_key(key)
        except RefusedLetter:
            return False
        return receiver in self._neighbours and receiver not in self._hosted

    def read(self, record: Record) -> Post:
        """Read a letter; one that is refused becomes a dead letter."""
        try:
            return decode_letter(record.key, record.value, self._envelope, self._neighbours)
        except RefusedLetter as refused:
            return _dead(record, refused)

    def glance(self, record: Record) -> DeadLetter | None:
        """Look whether a letter that a newer one has made useless is one to refuse."""
        try:
            check_letter(record.key, record.value, self._envelope, self._neighbours)
        except RefusedLetter as refused:
            return _dead(record, refused)
        return None


def _dead(record: Record, refused: RefusedLetter) -> DeadLetter:
    return DeadLetter(
        refused.reason,
        refused.detail,
        record.topic,
        f"{record.topic}:{record.partition}",
        record.offset,
        record.value or b"",
        record.key,
        tuple((name, value or b"") for name, value in record.headers),
        record.timestamp,
    )


class LetterPartition(StatefulSourcePartition[Post, int]):
    """One partition of the parameter topic; its state is the next offset."""

    def __init__(self, name: str, offset: int, mailbox: Mailbox, session: Session) -> None:
        self._name, self._mailbox, self._session = name, mailbox, session
        self._records: deque[Record] = deque()
        self._first: Post | None = None
        self._offset = offset
        session.progress.open(name, offset)
        session.read(name, offset, None)

    def read(self, until: int | None) -> list[Post]:
        """Give what has come for nodes of this site, in the topic's order.

        Stops before the first letter of a round after `until`. Without a limit only the newest
        letter of each sender to each receiver is given, and before it, where that only refers to
        it, the one with the parameters; refused ones are given all the same.

        Raises
        ------
        SourceError
            The topic cannot be read any more.
        """
        given = self._newest() if until is None else self._up_to(until)
        offset = self.snapshot()
        if offset != self._offset:
            self._offset = offset
            self._session.progress.move(self._name, offset)
        return given

    def _up_to(self, until: int) -> list[Post]:
        given: list[Post] = []
        for _ in range(_MOST):
            if not self._records:
                self._records.extend(self._session.reader.take(self._name, _MOST))
            if not self._records:
                break
            if not self._mailbox.is_elsewhere(self._records[0].key):
                item = self._first or self._mailbox.read(self._records[0])
                if isinstance(item, Letter) and item.round > until:
                    self._first = item
                    break
                given.append(item)
            self._first = None
            self._records.popleft()
        return given

    def _newest(self) -> list[Post]:
        self._records.extend(self._session.reader.take(self._name, _MOST_AT_HAND))
        given: list[Post] = []
        settled: set[bytes | None] = set()
        referring: set[bytes | None] = set()
        for record in reversed(self._records):
            key = record.key
            if self._mailbox.is_elsewhere(key):
                continue
            item = self._mailbox.glance(record) if key in settled else self._mailbox.read(record)
            if isinstance(item, Letter):
                refers = item.unchanged and item.message is None
                if refers and key in referring:
                    continue
                (referring if refers else settled).add(key)
            if item is not None:
                given.append(item)
        self._records.clear()
        self._first = None
        return given[::-1]

    @override
    def next_batch(self) -> list[Post]:
        return self.read(None)

    @override
    def snapshot(self) -> int:
        if self._records:
            offset: int = self._records[0].offset
            return offset
        return self._session.reader.position(self._name)

    @override
    def close(self) -> None:
        self._session.leave(self._name)


@dataclass(frozen=True)
class LetterSource(FixedPartitionedSource[Post, int]):
    """Letters from other sites, for this site's nodes.

    Resuming reads again from the offset in the snapshot: the topic must keep its records for
    longer than a site may be away.

    Attributes
    ----------
    settings : how to reach the brokers
    ranges : where to begin in each partition of the parameter topic; see `resolve_ranges`
    mailbox : tells the letters for this site
    on_expired : "stop", or go on with the "earliest" or "latest" letter there is, when the next
        one was deleted by retention
    progress : the table where each process notes how far it is
    buffer_bytes : memory for letters that were read ahead, about
    watch_every : seconds between looks at the topic

    >>> box = Mailbox(Envelope("run-7", "4f1c", "dsvor", "9a30"), ["b"], {"a": ["b"], "b": ["a"]})
    >>> settings = KafkaSettings(("localhost:9092",))
    >>> LetterSource(settings, {"parameters:0": Range(0)}, box).list_parts()
    ['parameters:0']
    """

    settings: KafkaSettings
    ranges: Mapping[str, Range]
    mailbox: Mailbox
    on_expired: OnExpired = "stop"
    progress: Progress = field(default_factory=Progress, compare=False)
    buffer_bytes: int = BUFFER_BYTES
    watch_every: float = 5.0
    _holder: SessionHolder = field(
        init=False, compare=False, repr=False, default_factory=SessionHolder
    )

    @override
    def list_parts(self) -> list[str]:
        return list(self.ranges)

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> LetterPartition:
        offset = self.ranges[for_part].start if resume_state is None else resume_state
        session = self._holder.join(for_part, self._session)
        return LetterPartition(for_part, offset, self.mailbox, session)

    def _session(self) -> Session:
        reader = Reader(
            self.settings,
            partitions=len(self.ranges),
            buffer_bytes=self.buffer_bytes,
            on_expired=self.on_expired,
            say=self.progress.say,
            advice=_ADVICE,
        )
        watch = Watch(self.settings, tuple(self.ranges), reader, self.progress, self.watch_every)
        return Session(reader, watch, self.progress)
