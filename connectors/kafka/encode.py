"""Predictions and scores as records; what a crash makes twice can be told by its key."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import msgspec

from anabranch.protocol import Array
from anabranch.stream import Predictions
from connectors.kafka.place import place_of
from connectors.kafka.producer import Record
from connectors.sinks import encode_plain, plain_labels, plain_margins

__all__ = ["alarm_records", "prediction_records", "score_records"]

_JSON = msgspec.json.Encoder()


def prediction_records(item: Predictions) -> list[Record]:
    r"""Make one record a row; its key is the id "topic:partition:offset" of what was predicted.

    The value is a JSON object: id, node, prediction, round, topic, partition, offset, y (null
    where the label is still to come), and where there are any margins and time (ms since 1970,
    of the sample), and sample, its id where labels come apart; held is there, and true, for
    rows that are scored only. Sets of labels are lists of their names.

    A row predicted again after a crash has the same id, so the same key and partition: the last
    of an id counts, and a compacted topic, or an upsert by key, keeps just that.

    >>> import numpy as np
    >>> one = np.ones(1)
    >>> record = prediction_records(Predictions("n0", 2, "a:3", np.arange(7, 8), one, one))[0]
    >>> record.key
    b'a:3:7'
    >>> record.value  # doctest: +NORMALIZE_WHITESPACE
    b'{"id":"a:3:7","node":"n0","prediction":1.0,"round":2,"topic":"a","partition":3,"offset":7,"y":1.0}'
    """
    if not len(item.positions):
        return []
    place = place_of(item.partition)
    prefix = f"{place.topic}:{place.number}:"
    offsets = _column(item.positions)
    predicted, truth = (_labels(array, item.labels) for array in (item.predicted, item.y))
    columns = [offsets, predicted, offsets, truth]
    # A form with a gap a column, filled once a row: what is the same in all rows is encoded once.
    form = (
        f'{{"id":{_text(prefix)[:-1]}%b","node":{_text(item.node)},"prediction":%b'
        f',"round":{item.round},"topic":{_text(place.topic)},"partition":{place.number}'
        ',"offset":%b,"y":%b'
    )
    if item.margins is not None:
        form += ',"margins":%b'
        columns.append(_margins(item.margins, item.labels))
    if item.times is not None:
        form += ',"time":%b'
        columns.append(_column(item.times))
    if item.ids is not None:
        form += ',"sample":%b'
        columns.append([_text(id).encode() for id in item.ids])
    whole = (form + (',"held":true}' if item.held else "}")).encode()
    values = [whole % row for row in zip(*columns, strict=True)]
    start = prefix.encode()
    keys = [start + offset for offset in offsets]
    return list(map(Record, keys, values, repeat([]), repeat(None)))


def score_records(row: Mapping[str, Any]) -> list[Record]:
    """Make one record of a row of scores; its key is "learner/node/round".

    The node of a row about the whole network is "*".

    >>> score_records({"learner": "cooperative", "node": None, "round": 9})[0].key
    b'cooperative/*/9'
    """
    node = "*" if row["node"] is None else row["node"]
    key = f"{row['learner']}/{node}/{row['round']}".encode()
    return [Record(key, encode_plain(row)[:-1], [], None)]


def alarm_records(row: Mapping[str, Any]) -> list[Record]:
    """Make one record of an alarm; its key is "node/partition/at/kind", at of what decided.

    >>> alarm_records({"node": "n0", "kind": "raised", "partition": "a:3", "at": 9})[0].key
    b'n0/a:3/9/raised'
    """
    key = f"{row['node']}/{row['partition']}/{row['at']}/{row['kind']}".encode()
    return [Record(key, encode_plain(row)[:-1], [], None)]


def _labels(y: Array, names: Sequence[str] | None) -> list[bytes]:
    if y.ndim == 1 or names is None:
        return _column(y)
    return [_JSON.encode(row) for row in plain_labels(y, names)]


def _margins(margins: Array, names: Sequence[str] | None) -> list[bytes]:
    if names is None:
        return _column(margins)
    return [_JSON.encode(row) for row in plain_margins(margins, names)]


def _column(array: Array) -> list[bytes]:
    """Give each row of an array as JSON; what is not finite is null."""
    text = _JSON.encode(array.tolist())
    if array.ndim == 1:
        return text[1:-1].split(b",")
    return [b"[%b]" % row for row in text[2:-2].split(b"],[")]


def _text(text: str) -> str:
    """Give a text as JSON for the form, where % would open a gap."""
    return _JSON.encode(text).decode().replace("%", "%%")
