"""Whether a run is new to the topic of its letters."""

from collections.abc import Collection, Mapping
from time import monotonic, sleep

import msgspec

from anabranch.errors import ConfigurationError
from anabranch.protocol import NodeId
from connectors.kafka.letter_codec import RefusedLetter, read_letter_key
from connectors.kafka.ranges import Range, topic_of
from connectors.kafka.reader import Reader, Record
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["speaks_for"]

_MOST = 5000


class _Head(msgspec.Struct, array_like=True, frozen=True):
    version: int
    run: str


_HEADS = msgspec.msgpack.Decoder(_Head)


def speaks_for(
    settings: KafkaSettings, ranges: Mapping[str, Range], run: str, nodes: Collection[NodeId]
) -> bool:
    """Tell whether a topic has letters of a run from one of some nodes.

    Parameters
    ----------
    settings : how to reach the brokers
    ranges : what to look through, with ends
    run : name of the run
    nodes : the senders

    Raises
    ------
    ConfigurationError
        The topic cannot be read.
    """
    reader = Reader(settings, partitions=len(ranges))
    try:
        for name, range in ranges.items():
            reader.add(*topic_of(name), range.start, range.end)
        return any(_found(reader, name, run, nodes, settings.timeout) for name in ranges)
    except SourceError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        reader.close()


def _found(reader: Reader, name: str, run: str, nodes: Collection[NodeId], patience: float) -> bool:
    last = monotonic()
    while not reader.ended(name):
        records = reader.take(name, _MOST)
        if any(_is_of(record, run, nodes) for record in records):
            return True
        if records:
            last = monotonic()
        elif monotonic() - last > patience:
            raise ConfigurationError(
                f"partition {name} gave nothing for {patience:g} s:"
                f" {reader.error(name) or 'its brokers are silent'}"
            )
        else:
            sleep(0.001)
    return False


def _is_of(record: Record, run: str, nodes: Collection[NodeId]) -> bool:
    try:
        _, sender = read_letter_key(record.key)
        return sender in nodes and _HEADS.decode(record.value or b"").run == run
    except (RefusedLetter, msgspec.DecodeError):
        return False
