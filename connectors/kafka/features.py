"""Names of the features, from the first records of topics."""

from collections.abc import Mapping
from time import monotonic, sleep

from kafka import OffsetSpec, TopicPartition

from anabranch.errors import ConfigurationError
from connectors.kafka.clients import asking
from connectors.kafka.ranges import Range, offsets, partition_name, topic_of
from connectors.kafka.reader import Reader, Record
from connectors.kafka.settings import KafkaSettings
from connectors.message_layout import MessageFormat, infer_message_features, named_features
from connectors.records import RecordFormat, SourceError

__all__ = ["infer_topic_features"]

_RECORDS_TRIED = 100


def infer_topic_features(
    settings: KafkaSettings,
    ranges: Mapping[str, Range],
    form: RecordFormat,
    format: MessageFormat,
) -> tuple[str, ...] | None:
    """Name the features after the first record, of the first partition, that tells them.

    At most 100 records of each partition are looked at, from where its range begins.

    Parameters
    ----------
    settings : how to reach the brokers
    ranges : what will be read
    form : what a record is
    format : "json", "msgpack" or "csv"

    Returns
    -------
    The names; None when no record there tells them.

    Raises
    ------
    ConfigurationError
        No broker answers, a partition cannot be read, or the format lacks what it needs.
    """
    named = named_features(form, format)
    if named is not None:
        return named
    for name, end in _ends(settings, ranges).items():
        for record in _first_records(settings, name, ranges[name].start, end):
            found = infer_message_features(record.value, form, format)
            if found:
                return found
    return None


def _ends(settings: KafkaSettings, ranges: Mapping[str, Range]) -> dict[str, int]:
    """Give where each partition that has records of its range ends now."""
    places = [TopicPartition(*topic_of(name)) for name in ranges]
    with asking(settings) as admin:
        found = offsets(admin, places, OffsetSpec.LATEST)
    ends = {partition_name(*place): end for place, end in found.items()}
    return {name: ends[name] for name, range in ranges.items() if range.start < ends[name]}


def _first_records(settings: KafkaSettings, name: str, start: int, end: int) -> list[Record]:
    reader = Reader(settings)
    reader.add(*topic_of(name), start, end)
    records: list[Record] = []
    deadline = monotonic() + settings.timeout
    try:
        while len(records) < _RECORDS_TRIED and not reader.ended(name):
            records += reader.take(name, _RECORDS_TRIED - len(records))
            if monotonic() > deadline:
                raise ConfigurationError(
                    f"partition {name} has given no {_RECORDS_TRIED} records within"
                    f" {settings.timeout:g} s: {reader.error(name) or 'its brokers are silent'}"
                )
            sleep(0.001)
    except SourceError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        reader.close()
    return records
