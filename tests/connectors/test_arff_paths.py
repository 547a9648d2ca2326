"""Records of ARFF, dense and sparse, read in bulk and one by one: the same rows and letters."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.arff_header import Attribute
from connectors.arff_records import ArffCodec
from connectors.parser import RecordParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows, join_rows

ATTRIBUTES = (
    Attribute("x1", "number"), Attribute("calm", "flag"), Attribute("x2", "number"),
    Attribute("left", "number"), Attribute("bit", "flag"), Attribute("sad", "flag"),
)  # fmt: skip
NAMES = ("x2", "x1", "bit")
FLAGS = RecordFormat(task="multilabel", labels=("sad", "calm"), features=NAMES, max_record=60)
FORMS = {
    "flags": (ATTRIBUTES, FLAGS),
    "one label": (ATTRIBUTES, RecordFormat(task="regression", label="sad", features=NAMES)),
    "ranks": (ATTRIBUTES, RecordFormat(label="left", ranks=2, features=NAMES)),
    "node": (
        (*ATTRIBUTES, Attribute("node", "{a, 'b c'}", "a")),
        RecordFormat(task="multilabel", labels=("sad", "calm"), features=NAMES, node_field="node"),
    ),
    "text": ((*ATTRIBUTES, Attribute("note", "string", "")), FLAGS),
    "ones": ((*ATTRIBUTES, Attribute("one", "flag", "1")), FLAGS),
}
odd = ["?", "", "nan", "inf", "x", "'", '"', "'a,b'", "a b", "1 2", "é", "%", "{", "}", "\\"]
numbers = st.one_of(
    st.sampled_from(["0", "1", "0", "1", "-0", "0.5", "2", " 1 ", "1.0", "'1'", '"0.25"', "1e2"]),
    st.sampled_from(odd),
    st.floats(width=32).map(repr),
)
plain = st.sampled_from(["0", "1", "0", "1", "0.5", "-0", "1."])
indices = st.one_of(
    st.integers(0, 6).map(str),
    st.sampled_from(["7", "-1", "+1", "01", "1.0", "x", "", "9" * 20, "1 ", "'1'"]),
)
endings = st.sampled_from(
    ["\n", "\n", "\r\n", "\n\n", "\n% 1,2\n", "\n \t%{0 1}\n", " % end\n", "\r\r\n"]
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Make one record, often a good one, dense or sparse."""
    value = draw(st.sampled_from([plain, plain, numbers]))
    if draw(st.booleans()):
        count = draw(st.sampled_from([6, 7, 7, 7, 5, 8, 0]))
        text = draw(st.sampled_from([",", ", ", ",", "\t,"])).join(
            draw(st.lists(value, min_size=count, max_size=count))
        )
    else:
        some = draw(st.lists(st.integers(0, 6), unique=True)) if draw(st.booleans()) else None
        keys = draw(st.lists(indices, max_size=4)) if some is None else list(map(str, some))
        gap = draw(st.sampled_from([" ", " ", "\t ", ""]))
        text = "{" + draw(st.sampled_from(["", " "]))
        text += ",".join(key + gap + draw(value) for key in keys) + draw(st.sampled_from(["", " "]))
        text += draw(st.sampled_from(["}", "}", "}", "} ", "", "}}", ",}", "},{5}"]))
    return text + draw(endings)


def read(name: str, data: bytes, fast: bool, most: int) -> Rows:
    attributes, form = FORMS[name]
    codec = ArffCodec(attributes, NAMES, form)
    parser = RecordParser(form, len(NAMES), codec, Origin("f", "p"), fast=fast)
    parts, at, done = [], 0, 0
    while True:
        rows, at = parser.parse(data, at, True, most, done)
        if rows.records == 0:
            assert at == len(data)
            return join_rows(parts, form, len(NAMES))
        parts.append(rows)
        done += rows.records


def picture(rows: Rows) -> Any:
    found = (rows.X.tobytes(), rows.y.tobytes(), rows.positions.tolist(), rows.keys)
    return (*found, rows.dead, rows.records)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=120, deadline=None)
@given(found=st.lists(lines(), max_size=10), most=st.integers(1, 5))
def test_both_ways_to_read_records_agree(name: str, found: list[str], most: int) -> None:
    data = "".join(found).encode()
    slow = read(name, data, False, 50)
    assert picture(read(name, data, True, most)) == picture(slow)
    positions = [*slow.positions.tolist(), *(letter.position for letter in slow.dead)]
    assert sorted(positions) == list(range(slow.records))
    if name not in ("one label", "ranks"):
        assert np.isin(slow.y, (0.0, 1.0)).all()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_rows_or_dead_letters(data: bytes, sparse: bool) -> None:
    data = b"{" + data if sparse else data
    for name in FORMS:
        assert picture(read(name, data, True, 3)) == picture(read(name, data, False, 50))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,0,?,0,0,1", "missing_field"),
        ("1,0,2,0,0,?", "missing_field"),
        ("{5 ?}", "missing_field"),
        ("1,0,2,0,0", "missing_field"),
        ("1,0,2,0,0,1,1", "extra_field"),
        ("1,0,2,0,0,2", "bad_label"),
        ("{5 0.5}", "bad_label"),
        ("1,x,2,0,0,1", "bad_label"),
        ("a,0,2,0,0,1", "not_numeric"),
        ("1,0,2,0,3,1", "not_numeric"),
        ("inf,0,2,0,0,1", "infinite"),
        ("nan,0,2,0,0,1", "not_finite"),
        ("{6 1}", "bad_index"),
        ("{-1 1}", "bad_index"),
        ("{1.0 1}", "bad_index"),
        ("{0 1,0 2}", "bad_index"),
        ("{0}", "bad_index"),
        ("{0 1", "malformed"),
        ("{0 1} 2", "malformed"),
        ("1,'0,2,0,0,1", "malformed"),
        ("1,0,2,0,0,1,{7}", "malformed"),
        ("9" * 61, "too_long"),
    ],
)
def test_a_bad_record_says_why(line: str, reason: str) -> None:
    for fast in (True, False):
        rows = read("flags", f"{line}\n0,1,0.5,7,0,1\n".encode(), fast, 9)
        (letter,) = rows.dead
        assert (letter.reason, letter.position, letter.raw) == (reason, 0, line.encode())
        assert rows.X.tolist() == [[0.5, 0, 0]]
        assert rows.y.tolist() == [[1, 1]]
        assert rows.positions.tolist() == [1]


def test_what_a_sparse_record_leaves_out_is_zero_or_the_first_value() -> None:
    rows = read("flags", b"{}\n{ 5 1 ,\t2  -2.5}\n{1 1}\n", True, 9)
    assert rows.X.tolist() == [[0, 0, 0], [-2.5, 0, 0], [0, 0, 0]]
    assert rows.y.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert read("node", b"{}\n{6 'b c'}\n", True, 9).keys == ["a", "b c"]
    attributes = (*ATTRIBUTES[:5], Attribute("sad", "flag", "1"))
    codec = ArffCodec(attributes, NAMES, FLAGS)
    assert codec.parse(b"{0 3}").label == [1.0, 0.0]


def test_regular_records_are_taken_in_bulk() -> None:
    codec = ArffCodec(ATTRIBUTES, NAMES, FLAGS)
    codec.parse = None  # type: ignore[method-assign,assignment]
    parser = RecordParser(FLAGS, len(NAMES), codec, Origin("f", "p"))
    data = b"0.5,1,2,3,0,0\n% no record\n{2 7, 0 0.25,5 1}\n{}\r\n 1 , 0,0,0 ,1,1 \n"
    rows, _ = parser.parse(data, 0, True, 9, 0)
    assert rows.X.tolist() == [[2, 0.5, 0], [7, 0.25, 0], [0, 0, 0], [0, 1, 1]]
    assert rows.y.tolist() == [[0, 1], [1, 0], [0, 0], [1, 0]]


def test_sparse_records_with_ranks_are_taken_in_bulk() -> None:
    attributes, form = FORMS["ranks"]
    codec = ArffCodec(attributes, NAMES, form)
    careful = codec.parse(b"{2 7, 3 2}")
    codec.parse = None  # type: ignore[method-assign,assignment]
    parser = RecordParser(form, len(NAMES), codec, Origin("f", "p"))
    rows, _ = parser.parse(b"{2 7, 3 2}\n{3 1}\n0.5,1,2,2,0,0\n", 0, True, 9, 0)
    assert rows.X.tolist() == [careful.features, [0, 0, 0], [2, 0.5, 0]]
    assert rows.y.tolist() == [careful.label, 1, 2]
