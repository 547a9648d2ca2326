"""Dead letters read again, from a topic or a file."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import msgspec

from anabranch.errors import ConfigurationError
from anabranch.stream import RAW_LIMIT, DeadLetter
from connectors.kafka.dead_letters import TRUNCATED, decode_dead_letter
from connectors.kafka.originals import Found
from connectors.kafka.ranges import Range, topic_of
from connectors.kafka.reader import Reader
from connectors.kafka.settings import KafkaSettings
from connectors.records import REASONS, SourceError

__all__ = ["read_letters_file", "read_letters_topic"]

_CHUNK = 1000
_NAP = 0.02
_PATIENCE = 60.0


def read_letters_topic(
    settings: KafkaSettings, ranges: Mapping[str, Range], stopped: Callable[[], bool]
) -> Iterator[Found]:
    """Read a topic of dead letters, each partition in order, to its end.

    Parameters
    ----------
    ranges : by partition; each has an end
    stopped : asked now and then whether to leave off

    Raises
    ------
    SourceError
        A record is no dead letter, or the brokers refuse, or give nothing for a minute.
    """
    with closing(Reader(settings, partitions=len(ranges))) as reader:
        for name, span in ranges.items():
            reader.add(*topic_of(name), span.start, span.end)
        moved = time.monotonic()
        while (left := [name for name in ranges if not reader.ended(name)]) and not stopped():
            records = [record for name in left for record in reader.take(name, _CHUNK)]
            if records:
                moved = time.monotonic()
            elif time.monotonic() - moved > _PATIENCE:
                why = reader.error(left[0]) or f"the brokers at {settings.addresses} give nothing"
                raise SourceError(f"{left[0]} cannot be read further: {why}")
            else:
                time.sleep(_NAP)
            for record in records:
                yield _found(record)


def _found(record: Any) -> Found:
    letter = decode_dead_letter(record)
    cut = any(name == TRUNCATED for name, _ in record.headers)
    cut |= letter.partition == letter.source and len(letter.raw) >= RAW_LIMIT
    # What a node set aside it had as numbers only, not as the bytes that came.
    read = letter.reason in REASONS and bool(letter.raw or letter.reason == "empty_record")
    return Found(letter, f"{record.topic}:{record.partition}:{record.offset}", read and not cut)


class _Line(msgspec.Struct):
    reason: str
    detail: str
    source: str
    partition: str
    position: int


def read_letters_file(path: str) -> Iterator[Found]:
    """Read a file of dead letters, as a job writes it; their originals are in their topics.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or holds something else.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                read = msgspec.json.decode(line, type=_Line)
                where = (read.source, read.partition, read.position)
                letter = DeadLetter(read.reason, read.detail, *where, b"")
                yield Found(letter, f"{path}:{number}", False)
    except OSError as error:
        raise ConfigurationError(
            f"--dead is {path!r}, which cannot be read: {error.strerror}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"--dead is {path!r}, whose line {number} is no dead letter: {error}"
        ) from None
