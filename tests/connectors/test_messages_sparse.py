"""Sparse records: indices and values to dense rows, in bulk and one by one alike."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.message_layout import MessageFormat, infer_message_features
from connectors.messages import MessageParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows

WIDTH = 4
FORM = RecordFormat(ranks=3, sparse_width=WIDTH)
indices = st.one_of(
    st.lists(st.integers(0, WIDTH - 1), unique=True),
    st.lists(st.sampled_from([0, 1, 2.0, 3, 4, -1, -0.0, 1.5, 2**70, "1", None, True]), max_size=5),
    st.sampled_from([None, 3, "1", {}]),
)
values = st.lists(
    st.one_of(st.floats(width=32), st.sampled_from([0, -0.0, 1e300, 7, "x", None])), max_size=5
)


def parse(
    records: list[Any], format: MessageFormat, form: RecordFormat = FORM, fast: bool = True
) -> Rows:
    encode = msgspec.msgpack.encode if format == "msgpack" else lambda one: json.dumps(one).encode()
    parser = MessageParser(form, [], format, Origin("t", "t:0"), fast=fast)
    n = len(records)
    found = [encode(record) for record in records]
    return parser.parse(list(range(n)), [b"k"] * n, found, [[]] * n, [0] * n)


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_a_sparse_record_becomes_a_dense_row(format: MessageFormat) -> None:
    good = [
        {"indices": [3, 0], "values": [1.5, -2], "y": 1},
        {"y": 2, "values": [0.5], "indices": [2]},
        {"indices": [], "values": [], "y": 3},
        [[1], [7.0], 2],
    ]
    rows = parse(good * 3, format)
    assert rows.X.tolist() == [[-2, 0, 0, 1.5], [0, 0, 0.5, 0], [0] * 4, [0, 7, 0, 0]] * 3
    assert rows.y.tolist() == [1, 2, 3, 2] * 3
    assert not rows.dead


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("format", ["json", "msgpack"])
@pytest.mark.parametrize(
    ("where", "what", "reason"),
    [
        ([-1], [1.0], "bad_index"),
        ([WIDTH], [1.0], "bad_index"),
        ([1.5], [1.0], "bad_index"),
        (["1"], [1.0], "bad_index"),
        ([True], [1.0], "bad_index"),
        ([2, 2], [1.0, 2.0], "bad_index"),
        ([2, 1], [1.0], "wrong_length"),
        ([1], [None], "not_numeric"),
        ([1], ["x"], "not_numeric"),
        (3, [1.0], "malformed"),
        (None, [1.0], "missing_field"),
    ],
)
def test_a_bad_sparse_record_is_a_dead_letter(
    format: MessageFormat, where: Any, what: Any, reason: str, fast: bool
) -> None:
    good = {"indices": [1], "values": [1.0], "y": 1}
    bad = {"indices": where, "values": what, "y": 1}
    rows = parse([good, good, bad, good], format, fast=fast)
    assert [(letter.reason, letter.position) for letter in rows.dead] == [(reason, 2)]
    assert rows.positions.tolist() == [0, 1, 3]


@settings(max_examples=200, deadline=None)
@given(
    pairs=st.lists(st.tuples(indices, values, st.booleans()), max_size=8),
    format=st.sampled_from(["json", "msgpack"]),
)
def test_both_ways_to_read_sparse_messages_agree(pairs: list[Any], format: MessageFormat) -> None:
    records = []
    for where, what, fit in pairs:
        size = len(where) if fit and isinstance(where, list) else len(what)
        whole = (what * 5 + [1.0] * 5)[:size]
        if format == "msgpack" and isinstance(where, list):
            where = [7 if index == 2**70 else index for index in where]
        records.append({"indices": where, "values": whole, "y": 1})
    left, right = (parse(records, format, fast=fast) for fast in (True, False))
    assert left.X.tobytes() == right.X.tobytes()
    assert left.positions.tolist() == right.positions.tolist()
    assert left.dead == right.dead


def test_sparse_features_may_wait_for_their_label() -> None:
    form = RecordFormat(sparse_width=2, sparse_fields=("i", "v"), id_from="key")
    rows = parse([{"i": [1], "v": [3]}, {"y": 2}, {"i": [0], "v": [4], "y": 5}], "json", form)
    assert rows.apart is not None
    assert rows.apart.kinds.tolist() == [1, 2, 0]
    assert rows.X.tolist() == [[0, 3], [0, 0], [4, 0]]


def test_columns_are_named_by_their_index() -> None:
    assert infer_message_features(b"?", FORM, "json") == ("x0", "x1", "x2", "x3")
