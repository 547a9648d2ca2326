"""Sets of labels read in bulk and one by one are the same rows and dead letters."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.stream import Block
from connectors.csv_records import CsvCodec
from connectors.json_records import JsonCodec
from connectors.message_layout import MessageFormat
from connectors.messages import MessageParser
from connectors.parser import RecordParser
from connectors.records import Codec, RecordFormat
from connectors.rows import Origin, join_rows

NAMES, LABELS = ("x1", "x2"), ("calm", "sad")
SPARSE: dict[str, Any] = {"task": "multilabel", "sparse_width": 2}
FLAGS: dict[str, Any] = {"task": "multilabel", "labels": LABELS}
LISTS: dict[str, Any] = {"task": "multilabel", "label_list": True}
FORMS = {
    "flags": RecordFormat(**FLAGS, features=NAMES),
    "flags, node": RecordFormat(**FLAGS, node_field="node", nodes=frozenset("ab")),
    "flags, apart": RecordFormat(**FLAGS, id_from="field:id", features=NAMES),
    "known": RecordFormat(**LISTS, labels=LABELS, features=NAMES),
    "ignore": RecordFormat(**LISTS, labels=LABELS, new_labels="ignore", features=NAMES),
    "grow": RecordFormat(**LISTS, new_labels="grow", features=NAMES),
    "bound": RecordFormat(
        **LISTS, labels=("sad",), new_labels="grow", max_labels=2, features=NAMES
    ),
    "lists, apart": RecordFormat(**LISTS, new_labels="grow", id_from="key", features=NAMES),
    "node": RecordFormat(**LISTS, new_labels="grow", node_field="node", features=NAMES),
}
numbers = st.one_of(st.floats(width=32), st.integers(-9, 9), st.sampled_from([None, "1", True]))
flags = st.sampled_from([0, 1, 0.0, 1.0, -0.0, True, False, True, 1, 0, 2, 0.5, None, "1", [1]])
label = st.sampled_from(["calm", "sad", "é", "a,b", 'q"\\', "{x}", "]", "calm", "", "x" * 201, 7])
lists = st.one_of(
    st.lists(label, max_size=4), st.lists(st.sampled_from(LABELS), max_size=3),
    st.sampled_from([None, "calm", {}, [["calm"]], [None]]),
)  # fmt: skip


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    made = {"x1": draw(numbers), "x2": draw(numbers), "calm": draw(flags), "sad": draw(flags)}
    made |= {"y": draw(lists), "node": draw(st.sampled_from(["a", "b", "zz"])), "id": "s-1"}
    away = st.sampled_from([["x1", "x2"], ["calm", "sad"], ["calm"], ["y"], ["id"], []])
    for name in draw(away) if draw(st.integers(0, 2)) == 0 else []:
        if draw(st.booleans()):
            made[name] = None
        else:
            del made[name]
    return made


def csv_field(value: Any) -> str:
    if isinstance(value, list):
        return ";".join("" if name is None else str(name) for name in value)
    return "" if value is None else str(value)


@st.composite
def values(draw: st.DrawFn, format: MessageFormat) -> bytes:
    made = draw(objects())
    if format == "csv":
        fields = [csv_field(made.get(name)) for name in (*NAMES, *LABELS, "y", "node", "id")]
        return ",".join(fields).encode()
    if format == "msgpack":
        return msgspec.msgpack.encode(made)
    text = json.dumps(made, ensure_ascii=draw(st.booleans()))
    odd = ["\n", "[ ]", '["\\ud800"]', '["a" , "b"]', '["a"', "\t"]
    if draw(st.integers(0, 5)) == 0:
        text = text.replace(
            draw(st.sampled_from(["[]", " ", "calm", '"sad"'])), draw(st.sampled_from(odd))
        )
    return text.encode()


def picture(rows: Block) -> Any:
    """Make rows comparable, bit for bit."""
    y = np.where(np.isnan(rows.y), np.nan, rows.y)
    apart = rows.apart and (rows.apart.kinds.tolist(), rows.apart.ids)
    found = (rows.X.tobytes(), y.shape, y.tobytes(), rows.positions.tolist(), rows.keys)
    return (*found, rows.labels, rows.dead, rows.records, apart)


def check_rows(rows: Block, form: RecordFormat, count: int) -> None:
    """Everything is a row or a dead letter; a row's labels are 0 or 1, or all to come."""
    seen = sorted([*rows.positions.tolist(), *(letter.position for letter in rows.dead)])
    assert seen == list(range(count))
    width = len(form.labels) if rows.labels is None else len(rows.labels)
    assert rows.y.shape == (len(rows.X), width)
    to_come = np.isnan(rows.y).any(axis=1)
    assert np.isin(rows.y[~to_come], (0.0, 1.0)).all()
    assert not np.signbit(rows.y).any()
    assert np.isnan(rows.y[to_come]).all()
    if rows.labels is not None:
        assert form.grows
        assert list(rows.labels) == sorted(rows.labels)
        assert (rows.y == 1).any(axis=0).all()


def change(form: RecordFormat, format: MessageFormat, columns: tuple[str, ...]) -> RecordFormat:
    """Name the columns where messages of a format need it."""
    return replace(form, columns=columns, features=NAMES) if format == "csv" else form


def read(
    form: RecordFormat, format: MessageFormat, found: list[bytes], fast: bool, most: int
) -> Block:
    form = change(form, format, (*NAMES, *LABELS, "y", "node", "id"))
    parser = MessageParser(form, NAMES, format, Origin("t", "t:0"), fast=fast)
    parts = []
    for at in range(0, len(found), most):
        some = found[at : at + most]
        offsets = list(range(at, at + len(some)))
        keys = [b"k%d" % offset for offset in offsets]
        parts.append(parser.parse(offsets, keys, some, [[]] * len(some), offsets))
    return join_rows(parts, form, 2).block("p", 0, None)


@pytest.mark.parametrize("format", ["json", "msgpack", "csv"])
@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), most=st.integers(1, 12))
def test_both_ways_to_read_messages_agree(
    format: MessageFormat, name: str, data: st.DataObject, most: int
) -> None:
    form, found = FORMS[name], data.draw(st.lists(values(format), min_size=1, max_size=12))
    if name == "bound":
        most = 12  # what is bounded is a block
    slow = read(form, format, found, False, 12)
    assert picture(read(form, format, found, True, most)) == picture(slow)
    check_rows(slow, form, len(found))


def read_lines(form: RecordFormat, codec: Codec, data: bytes, fast: bool, most: int) -> Block:
    parser = RecordParser(form, 2, codec, Origin("f", "p"), fast=fast)
    parts, at, done = [], 0, 0
    while True:
        rows, at = parser.parse(data, at, True, most, done)
        if rows.records == 0:
            return join_rows(parts, form, 2).block("p", 0, None)
        parts.append(rows)
        done += rows.records


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.id_from is None])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), most=st.integers(1, 5))
def test_both_ways_to_read_lines_agree(name: str, data: st.DataObject, most: int) -> None:
    form = FORMS[name]
    for format in ("csv", "json"):
        lines = data.draw(st.lists(values(format), max_size=8))
        text = b"".join(line + b"\r\n" for line in lines)

        def codec(format: str = format) -> Codec:
            if format == "json":
                return JsonCodec(NAMES, form)
            return CsvCodec((*NAMES, *LABELS, "y", "node", "id"), NAMES, form)

        slow = read_lines(form, codec(), text, False, 50)
        assert picture(read_lines(form, codec(), text, True, most)) == picture(slow)
        check_rows(slow, form, slow.records)


@pytest.mark.parametrize("format", ["json", "msgpack", "csv"])
@settings(max_examples=60, deadline=None)
@given(found=st.lists(st.binary(max_size=40), min_size=1, max_size=6))
def test_any_bytes_are_rows_or_dead_letters(format: MessageFormat, found: list[bytes]) -> None:
    for form in (FORMS["flags"], FORMS["grow"]):
        slow = read(form, format, found, False, 6)
        assert picture(read(form, format, found, True, 2)) == picture(slow)
        check_rows(slow, form, len(found))


@pytest.mark.parametrize("format", ["json", "msgpack", "csv"])
@pytest.mark.parametrize("name", ["flags", "known", "grow"])
def test_regular_records_are_taken_in_bulk(format: MessageFormat, name: str) -> None:
    fields = (*NAMES, *LABELS) if name == "flags" else (*NAMES, "y")
    found = []
    for i in range(40):
        flags = {"calm": i % 2 == 0, "sad": i % 3 == 0}
        made = {"x1": i / 4, "x2": -i, **flags, "y": ["sad", "calm"][: i % 3]}
        if format == "csv":
            row = [int(made[field]) if field in flags else made[field] for field in fields]
            found.append(",".join(map(csv_field, row)).encode())
        else:
            encode = msgspec.json.encode if format == "json" else msgspec.msgpack.encode
            found.append(encode({field: made[field] for field in fields}))
    parser = MessageParser(change(FORMS[name], format, fields), NAMES, format, Origin("t", "t:0"))
    careful, calls = parser._codec.parse, list[bytes]()
    parser._codec.parse = lambda line: calls.append(line) or careful(line)  # type: ignore
    offsets = list(range(40))
    rows = parser.parse(offsets, [None] * 40, found, [[]] * 40, offsets).block("t:0", 0, None)
    assert not rows.dead
    assert len(calls) == (0 if format == "csv" else 1)
    if name == "flags":
        assert rows.y.tolist() == [[i % 2 == 0, i % 3 == 0] for i in offsets]
    else:
        assert rows.y.tolist() == [[i % 3 > 1, i % 3 > 0] for i in offsets]


def test_sparse_features_go_with_sets_of_labels() -> None:
    form = RecordFormat(**SPARSE, labels=LABELS)
    value = b'{"indices": [1], "values": [2.5], "calm": true, "sad": 0}'
    for fast in (True, False):
        parser = MessageParser(form, NAMES, "json", Origin("t", "t:0"), fast=fast)
        rows = parser.parse([0, 1], [None] * 2, [value] * 2, [[]] * 2, [0, 1])
        assert rows.X.tolist() == [[0, 2.5]] * 2
        assert rows.y.tolist() == [[1, 0]] * 2
