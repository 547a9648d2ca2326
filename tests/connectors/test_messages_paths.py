"""Messages read in bulk and one by one give the same rows and dead letters, whatever they hold."""

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.message_layout import MessageFormat
from connectors.messages import MessageParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows, join_rows

NAMES = ("x1", "x2")
NODES = frozenset({"a", "b c", "é"})
FORMS = {
    "plain": RecordFormat(ranks=3, max_record=70),
    "open": RecordFormat(features=NAMES, max_record=200),
    "node": RecordFormat(ranks=3, node_field="node", nodes=NODES),
    "node, any": RecordFormat(ranks=3, node_field="node", features=NAMES),
    "key": RecordFormat(ranks=3, node_from="key", nodes=NODES),
    "header": RecordFormat(ranks=3, node_from="header", node_field="h", id_from="header:i"),
    "apart": RecordFormat(ranks=3, id_from="key", node_field="node", nodes=NODES),
    "apart, open": RecordFormat(ranks=3, id_from="field:id", features=NAMES),
    "apart, id": RecordFormat(id_from="field:id"),
}
form_names = st.sampled_from(list(FORMS))
keys = st.sampled_from([None, b"", b"a", b"b c", "é".encode(), b"zz", b"\xff"])
headers = st.lists(
    st.tuples(st.sampled_from("hix"), st.sampled_from([b"a", b"b", b"", b"\xff"])), max_size=3
)
special = [float("nan"), float("inf"), -0.0, 1e300, 2**63, -(2**60), 2**64 - 1, 2**53 + 1]
numbers = st.one_of(
    st.floats(width=32), st.integers(-300, 70000), st.sampled_from(special), st.floats()
)
labels = st.sampled_from([1, 2, 3, 2.0, 4, 0, 1.5, None, "1", True, float("nan")])
others = st.sampled_from([None, True, "text", "é", 'q"\\\n', "", [1], {"a": {"a": 2}}, 7, 1.5])
nodes = st.sampled_from(["a", "b c", " a ", "zz", "", "é", 'b"c', 7, None])
ids = st.sampled_from(["s-1", "é", "", 'q"', 12, -3, 0, 2**53, 2.0, 2.5, None, True, [1]])


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    made = {"x1": draw(numbers), "x2": draw(numbers), "y": draw(labels)}
    made |= {"node": draw(nodes), "id": draw(ids)}
    if draw(st.integers(0, 4)) == 0:
        made |= dict.fromkeys(draw(st.sampled_from([["x1"], ["x1", "x2"], ["y"]])), draw(others))
    if draw(st.booleans()):
        made["more"] = draw(others)
    for name in draw(st.lists(st.sampled_from(list(made)), max_size=3)):
        made.pop(name, None)
    order = draw(st.permutations(list(made))) if draw(st.booleans()) else list(made)
    return {name: made[name] for name in order}


@st.composite
def json_values(draw: st.DrawFn) -> bytes | None:
    made: Any = draw(objects())
    if draw(st.integers(0, 5)) == 0:
        made = list(made.values())
    text = json.dumps(
        made, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1]))
    )
    if draw(st.integers(0, 8)) == 0:
        odd = ["", " ", "\n", "[]", "7", "null", '{"x1": 01, "x2": 2, "y": 1}', "\ufeff" + text]
        text = draw(st.sampled_from([*odd, text[:-1], text + "}", text.replace("x2", "x1")]))
    ends = draw(st.sampled_from(["", "", " ", "\n", "\r\n"]))
    return None if text == "null" else (ends + text + ends).encode()


@st.composite
def msgpack_values(draw: st.DrawFn) -> bytes | None:
    made: Any = draw(objects())
    if draw(st.integers(0, 5)) == 0:
        made = list(made.values())
    if draw(st.integers(0, 9)) == 0:
        made = draw(
            st.sampled_from([{7: 1}, {}, [], 7, None, [[[]]], msgspec.msgpack.Ext(5, b"x")])
        )
    value = msgspec.msgpack.encode(made)
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(value)))
        junk = draw(st.sampled_from([b"", b"\xc1", b"\xdf\xff\xff\xff\xff", b"\xca\x40\0\0\0"]))
        value = value[:at] + junk + value[at + len(junk) :]
    return value or None


@st.composite
def csv_values(draw: st.DrawFn) -> bytes | None:
    made = [draw(numbers), draw(numbers), draw(labels), draw(nodes), draw(ids), draw(others)]
    fields = ["" if value is None else str(value) for value in made]
    if draw(st.integers(0, 4)) == 0:
        fields[:2] = draw(st.sampled_from([["", ""], [" ", ""], ["1", ""], ['"1"', "2"]]))
    text = ",".join(fields[: draw(st.sampled_from([6, 6, 6, 5, 0]))])
    return (text + draw(st.sampled_from(["", "", " ", "\n", "\r\n"]))).encode()


def picture(rows: Rows) -> Any:
    """Make rows comparable, bit for bit."""
    assert rows.times is not None
    apart = rows.apart and (rows.apart.kinds.tolist(), rows.apart.ids, rows.apart.times.tolist())
    y = np.where(np.isnan(rows.y), np.nan, rows.y)  # one NaN
    arrays = (rows.X.tobytes(), y.tobytes(), rows.positions.tolist(), rows.times.tolist())
    return (*arrays, rows.keys, rows.dead, rows.records, apart)


def read(
    form: RecordFormat, format: MessageFormat, found: list[Any], fast: bool, most: int
) -> Rows:
    parser = MessageParser(form, NAMES, format, Origin("t", "t:0"), fast=fast)
    parts = []
    for at in range(0, len(found), most):
        some = found[at : at + most]
        offsets = [3 * (at + i) for i in range(len(some))]
        columns = [list(column) for column in zip(*some, strict=True)]
        parts.append(parser.parse(offsets, *columns, [offset + 100 for offset in offsets]))
    return join_rows(parts, form, 2)


def check_both(form: RecordFormat, format: MessageFormat, found: list[Any], most: int) -> None:
    if not found:
        return
    slow = read(form, format, found, False, 50)
    assert picture(read(form, format, found, True, most)) == picture(slow)
    seen = sorted([*slow.positions.tolist(), *(letter.position for letter in slow.dead)])
    assert seen == [3 * i for i in range(len(found))]
    for letter in slow.dead:
        key, value, own = found[letter.position // 3]
        assert (letter.key, letter.raw, letter.headers) == (key, value or b"", tuple(own))


def messages(values: st.SearchStrategy[bytes | None]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.tuples(keys, values, headers), max_size=14)


@settings(max_examples=150, deadline=None)
@given(name=form_names, found=messages(json_values()), most=st.integers(1, 14))
def test_both_ways_to_read_json_messages_agree(name: str, found: list[Any], most: int) -> None:
    check_both(FORMS[name], "json", found, most)


@settings(max_examples=150, deadline=None)
@given(name=form_names, found=messages(msgpack_values()), most=st.integers(1, 14))
def test_both_ways_to_read_msgpack_messages_agree(name: str, found: list[Any], most: int) -> None:
    check_both(FORMS[name], "msgpack", found, most)


@settings(max_examples=150, deadline=None)
@given(name=form_names, found=messages(csv_values()), most=st.integers(1, 14))
def test_both_ways_to_read_csv_messages_agree(name: str, found: list[Any], most: int) -> None:
    form = FORMS[name]
    columns = (*NAMES, "y", "node", "id", "more")
    changed = RecordFormat(
        **{field: getattr(form, field) for field in form.__dataclass_fields__}
        | {"columns": columns, "features": NAMES}
    )
    check_both(changed, "csv", found, most)


@pytest.mark.parametrize("format", ["json", "msgpack", "csv"])
@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.binary(max_size=40), min_size=1, max_size=6))
def test_any_bytes_are_rows_or_dead_letters(format: MessageFormat, values: list[bytes]) -> None:
    form = RecordFormat(features=NAMES)
    check_both(form, format, [(None, value, []) for value in values], 2)
