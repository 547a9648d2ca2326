"""Predictions, scores and dead letters as records: complete, and with ids that a crash repeats."""

import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.protocol import Array
from anabranch.stream import DeadLetter, Predictions
from connectors.kafka.dead_letters import TRUNCATED, dead_letter_records, decode_dead_letter
from connectors.kafka.encode import prediction_records, score_records
from connectors.kafka.producer import LIMIT, Record, size_of
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink import KafkaSink
from connectors.records import SourceError
from tests.brokers.client import Kafka

NAMES = st.text(min_size=1, max_size=20)


def values(item: Predictions) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in prediction_records(item)]


def predictions(partition: str = "t:2", node: str = "n0", **further: Any) -> Predictions:
    first: dict[str, Array] = {
        "positions": np.array([5, 9]),
        "y": np.array([1.0, 3.0]),
        "predicted": np.array([2, 3]),
    }
    return Predictions(node, 7, partition, **(first | further))


def test_each_row_is_a_record_with_all_that_is_known() -> None:
    item = predictions(
        margins=np.array([[0.5, -0.25], [1.0, 0.1]]), times=np.array([1000, 2000]), held=True
    )
    assert values(item) == [
        {
            "id": f"t:2:{offset}",
            "node": "n0",
            "prediction": predicted,
            "round": 7,
            "topic": "t",
            "partition": 2,
            "offset": offset,
            "y": y,
            "margins": margins,
            "time": time,
            "held": True,
        }
        for offset, predicted, y, margins, time in [
            (5, 2, 1.0, [0.5, -0.25], 1000),
            (9, 3, 3.0, [1.0, 0.1], 2000),
        ]
    ]


def test_what_is_not_known_is_not_there() -> None:
    (first, _) = values(predictions())
    assert first.keys().isdisjoint({"margins", "time", "held"})


def test_a_label_to_come_and_a_number_that_is_none_are_null() -> None:
    item = predictions(
        y=np.array([np.nan, 2.0]),
        predicted=np.array([np.inf, 2.5]),
        margins=np.array([[np.nan], [1.0]]),
    )
    assert [(v["y"], v["prediction"], v["margins"]) for v in values(item)] == [
        (None, None, [None]),
        (2.0, 2.5, [1.0]),
    ]


def test_numbers_are_written_as_they_are() -> None:
    predicted = np.array([0.1 + 0.2, 1e-300])
    assert [v["prediction"] for v in values(predictions(predicted=predicted))] == predicted.tolist()


def test_several_numbers_a_row_are_a_list() -> None:
    item = predictions(predicted=np.array([[0, 1], [1, 1]]))
    assert [value["prediction"] for value in values(item)] == [[0, 1], [1, 1]]


def test_no_rows_are_no_records() -> None:
    none = np.empty(0)
    assert prediction_records(predictions(positions=none, y=none, predicted=none)) == []


@given(NAMES, NAMES, st.integers(0, 99))
def test_names_of_any_letters_come_through(topic: str, node: str, number: int) -> None:
    item = predictions(f"{topic}:{number}", node)
    (record, _), (value, _) = prediction_records(item), values(item)
    assert (value["topic"], value["partition"], value["node"]) == (topic, number, node)
    assert value["id"] == f"{topic}:{number}:5"
    assert record.key == value["id"].encode()


def test_a_file_is_a_topic_of_one_partition() -> None:
    (value, _) = values(predictions('in/"100%b".csv'))
    assert (value["topic"], value["partition"]) == ('in/"100%b".csv', 0)
    assert value["id"] == 'in/"100%b".csv:0:5'


def test_a_row_predicted_again_after_a_crash_has_the_same_key() -> None:
    before, after = predictions(), predictions(predicted=np.array([4, 4]))
    first, again = prediction_records(before), prediction_records(after)
    assert [r.key for r in first] == [r.key for r in again]
    assert [r.value for r in first] != [r.value for r in again]


def test_scores_are_known_by_learner_node_and_round() -> None:
    row = {"learner": "local", "node": "n3", "round": 20, "scores": {"mae": np.float64(0.5)}}
    row["measures"] = {"gap": {"max": 1e-9, "mean": 1e-9}}
    (record,) = score_records(row)
    assert record.key == b"local/n3/20"
    assert json.loads(record.value) == row
    (network,) = score_records(row | {"node": None})
    assert network.key == b"local/*/20"


class Read(NamedTuple):
    """What of a record a reader sees."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


def as_read(record: Record) -> Read:
    return Read(record.key, record.value, record.headers)


def letter(**changed: Any) -> DeadLetter:
    fields: dict[str, Any] = {
        "reason": "malformed",
        "detail": "not JSON: “{”",
        "source": "in",
        "partition": "in:3",
        "position": 17,
        "raw": b"\xff\x00{",
        "key": b"k\xff",
        "headers": (("trace", b"\x01"), ("trace", b"\x02")),
        "time": 1_700_000_000_000,
    }
    return DeadLetter(**(fields | changed))


def test_a_dead_letter_is_the_original_with_headers_that_say_why() -> None:
    (record,) = dead_letter_records(letter())
    assert record == Record(
        b"k\xff",
        b"\xff\x00{",
        [
            ("anabranch.id", b"in:3:17:malformed"),
            ("anabranch.reason", b"malformed"),
            ("anabranch.detail", "not JSON: “{”".encode()),
            ("anabranch.topic", b"in"),
            ("anabranch.partition", b"3"),
            ("anabranch.offset", b"17"),
            ("anabranch.time", b"1700000000000"),
            ("trace", b"\x01"),
            ("trace", b"\x02"),
        ],
        None,
    )


LETTERS = st.builds(
    DeadLetter,
    NAMES,
    st.text(max_size=50),
    st.just("in") | NAMES,
    st.sampled_from(["in:3", "in:0", "in.csv", "in"]) | NAMES,
    st.integers(0, 1 << 62),
    st.binary(max_size=50),
    st.none() | st.binary(max_size=10),
    st.lists(
        st.tuples(
            st.text(max_size=10) | st.sampled_from(["anabranch.id", "anabranch.replayed-from"]),
            st.binary(max_size=5),
        ),
        max_size=3,
    ).map(tuple),
    st.none() | st.integers(0, 1 << 60),
)


@given(LETTERS)
def test_a_dead_letter_can_be_read_back(original: DeadLetter) -> None:
    (record,) = dead_letter_records(original)
    assert decode_dead_letter(as_read(record)) == original


def test_a_dead_letter_of_a_dead_letter_can_be_read_back() -> None:
    (first,) = dead_letter_records(letter())
    again = letter(key=first.key, raw=first.value, headers=tuple(first.headers), time=None)
    (second,) = dead_letter_records(again)
    assert decode_dead_letter(as_read(second)) == again


def size(record: Record) -> int:
    return size_of(record.key, record.value, record.headers)


@pytest.mark.parametrize(
    "changed",
    [
        {"raw": b"x" * (1 << 20)},
        {"key": b"k" * (1 << 20)},
        {"headers": (("h", b"x" * (1 << 20)),)},
        {"headers": tuple(("h", b"x") for _ in range(200_000))},
        {"detail": "“" * (1 << 20)},
        {
            "raw": b"x" * (1 << 20),
            "key": b"k" * (1 << 20),
            "headers": (("h", b"x" * (1 << 18)),),
            "detail": "“" * (1 << 20),
        },
    ],
)
def test_whatever_its_original_a_dead_letter_fits_in_a_record(changed: dict[str, Any]) -> None:
    for limit in (LIMIT, 20_000):
        original = letter(**changed)
        (record,) = dead_letter_records(original, limit)
        assert size(record) <= limit
        cut = dict(record.headers).get(TRUNCATED)
        whole = (record.key, record.value) == (original.key, original.raw) and all(
            header in record.headers for header in original.headers[:1]
        )
        assert whole == (cut is None)
        assert cut in (None, b"%d" % len(original.raw))
        assert decode_dead_letter(as_read(record)).reason == original.reason


def test_an_original_that_just_fits_is_whole() -> None:
    (record,) = dead_letter_records(letter(raw=b"", key=None))
    mark = size_of(None, b"", [(TRUNCATED, b"9" * 10)])
    room = LIMIT - size(record) - mark
    for extra, cut in ((0, False), (1, True)):
        (record,) = dead_letter_records(letter(raw=b"x" * (room + extra), key=None))
        assert (TRUNCATED in dict(record.headers)) == cut
        assert size(record) <= LIMIT


@pytest.mark.parametrize("missing", ["reason", "detail", "topic", "offset"])
def test_a_record_that_is_no_dead_letter_is_said_to_be_none(missing: str) -> None:
    (record,) = dead_letter_records(letter())
    rest = [header for header in record.headers if header[0] != f"anabranch.{missing}"]
    with pytest.raises(SourceError, match=rf"^a record has no header anabranch\.{missing}: it is"):
        decode_dead_letter(Read(record.key, record.value, rest))


@pytest.mark.parametrize("name", ["offset", "partition", "time"])
def test_a_header_that_is_no_number_is_named(name: str) -> None:
    (record,) = dead_letter_records(letter())
    spoilt = [(n, b"\xff" if n == f"anabranch.{name}" else v) for n, v in record.headers]
    with pytest.raises(SourceError, match=rf"^a record's header anabranch\.{name} is '.': allowed"):
        decode_dead_letter(Read(record.key, record.value, spoilt))


def test_a_long_dead_letter_is_taken_by_the_broker_and_read_back(kafka: Kafka) -> None:
    topic = kafka.topic()
    settings = KafkaSettings(tuple(kafka.brokers))
    part = KafkaSink(settings, topic, dead_letter_records).build_part("dead", "00000", None)
    many = tuple(("h", b"x") for _ in range(20_000))
    originals = [
        letter(),
        letter(raw=b"x" * (1 << 20)),
        letter(raw=b"x" * (1 << 20), headers=many),
        letter(key=None, headers=(), time=None),
    ]
    part.write_batch(originals)
    part.close()
    first, cut, with_many, last = (decode_dead_letter(record) for record in kafka.read(topic))
    assert (first, last) == (originals[0], originals[3])
    assert cut.raw == originals[1].raw[: len(cut.raw)]
    assert len(cut.raw) > 990_000
    assert with_many.headers == many
