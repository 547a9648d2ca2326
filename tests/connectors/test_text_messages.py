"""Texts and sparse features in messages: rows that are sparse, in bulk and one by one."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError
from anabranch.features.hashing import TextHasher
from anabranch.sparse import SparseRows
from connectors.kafka.produce import BadLine, FileMessages
from connectors.kafka.ticks import make_ticks
from connectors.message_layout import MessageFormat, infer_message_features, named_features
from connectors.messages import MessageParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows
from tests.connectors.helpers import bits

HASHER = TextHasher(12, 2)
TEXT = RecordFormat(ranks=3, text=("title", "body"), hasher=HASHER, sparse=True)
WIDTH = 300
PAIRS = RecordFormat(ranks=3, sparse_width=WIDTH, sparse=True)
ARRAYS = RecordFormat(ranks=3, sparse_width=WIDTH)
GOOD = [("Good", "a fine film", 3), ("été", 'not "GOOD"\n', 2), ("", "bad, bad", 1), ("x", "", 1)]
FORMATS: tuple[MessageFormat, ...] = ("json", "msgpack", "csv")


def encode(record: Any, format: MessageFormat) -> bytes:
    if format == "msgpack":
        return msgspec.msgpack.encode(record)
    if format == "json":
        return json.dumps(record).encode()
    fields = [str(value).replace("\n", " ") for value in record.values()]
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields).encode()


def parse(records: list[Any], format: MessageFormat, form: RecordFormat, fast: bool = True) -> Rows:
    features = named_features(form, format) or ()
    parser = MessageParser(form, features, format, Origin("t", "t:0"), fast=fast)
    n = len(records)
    found = [encode(record, format) for record in records]
    return parser.parse(list(range(n)), [b"k"] * n, found, [[]] * n, [0] * n)


def picture(rows: Rows) -> Any:
    apart = None if rows.apart is None else (rows.apart.kinds.tolist(), rows.apart.ids)
    return (bits(rows.X), np.nan_to_num(rows.y).tolist(), rows.positions.tolist(), rows.dead, apart)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("format", FORMATS)
def test_texts_become_hashed_rows(format: MessageFormat, fast: bool) -> None:
    records = [{"title": title, "body": body, "y": y} for title, body, y in GOOD * 3]
    rows = parse(records, format, TEXT, fast)
    assert not rows.dead
    assert rows.y.tolist() == [3, 2, 1, 1] * 3
    assert bits(rows.X) == bits(HASHER.rows([f"{title} {body}" for title, body, _ in GOOD * 3]))
    assert not rows.X.values.flags.writeable


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_other_fields_and_arrays(format: MessageFormat) -> None:
    records = [{"more": [1], "body": "so", "y": 1, "n": None, "title": "good"}, ["good", "so", 1]]
    rows = parse(records * 3, format, TEXT)
    assert bits(rows.X) == bits(HASHER.rows(["good so"] * 6))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_a_field_that_is_no_text_is_told(format: MessageFormat, fast: bool) -> None:
    good = {"title": "a b", "body": "so good", "y": 1}
    bad = [{**good, "body": 3}, {**good, "title": None}, {**good, "body": {"a": "b"}}, {"y": 2}]
    rows = parse([good, *bad, good], format, TEXT, fast)
    reasons = [(letter.reason, letter.position) for letter in rows.dead]
    assert reasons == [("not_text", 1), ("missing_field", 2), ("not_text", 3), ("missing_field", 4)]
    assert rows.positions.tolist() == [0, 5]
    assert bits(rows.X) == bits(HASHER.rows(["a b so good"] * 2))


@pytest.mark.parametrize("format", ["json", "msgpack"])
@pytest.mark.parametrize("form", [TEXT, PAIRS])
def test_labels_may_come_apart(format: MessageFormat, form: RecordFormat) -> None:
    form = RecordFormat(**{**_options(form), "id_from": "field:id"})
    inputs = {"title": "so", "body": "good"} if form.text else {"indices": [7, 2], "values": [1, 2]}
    records = [{"id": "a", **inputs}, {"id": "a", "y": 2}, {"id": "b", "y": 1, **inputs}] * 3
    for fast in (True, False):
        rows = parse(records, format, form, fast)
        assert not rows.dead
        assert rows.apart is not None
        assert rows.apart.kinds.tolist() == [1, 2, 0] * 3
        assert rows.apart.ids == ["a", "a", "b"] * 3
        counts = np.diff(rows.X.indptr).tolist()
        assert counts == ([3, 0, 3] if form.text else [2, 0, 2]) * 3


def _options(form: RecordFormat) -> dict[str, Any]:
    return {name: getattr(form, name) for name in RecordFormat.__dataclass_fields__}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_sparse_features_stay_sparse(format: MessageFormat, fast: bool) -> None:
    good = [
        {"indices": [299, 0], "values": [1.5, -2], "y": 1},
        {"y": 2, "values": [0.5], "indices": [2]},
        {"indices": [], "values": [], "y": 3},
        [[1, 5, 9], [7.0, 0, -1], 2],
    ]
    bad = {"indices": [3, 1, 3], "values": [1, 2, 3], "y": 1}
    rows = parse([*good, bad, *good], format, PAIRS, fast)
    assert [(letter.reason, letter.position) for letter in rows.dead] == [("bad_index", 4)]
    assert isinstance(rows.X, SparseRows)
    assert rows.X.indices.tolist() == [0, 299, 2, 1, 5, 9] * 2
    assert rows.X.values.tolist() == [-2, 1.5, 0.5, 7, 0, -1] * 2
    arrays = parse([*good, bad, *good], format, ARRAYS, fast)
    assert np.array_equal(rows.X.toarray(), arrays.X)
    assert arrays.dead == rows.dead


numbers = st.one_of(st.integers(-1, WIDTH), st.sampled_from([0, 1, 2, 1.5, "1", None]))
values = st.one_of(st.floats(width=32), st.sampled_from([0, 3, "x", None]))
texts = st.text('abé "\\\n,', max_size=6)


@settings(max_examples=100)
@given(
    some=st.lists(
        st.one_of(
            st.lists(st.tuples(numbers, values), max_size=5).map(
                lambda pairs: {
                    "indices": [i for i, _ in pairs], "values": [v for _, v in pairs], "y": 1
                }
            ),
            st.fixed_dictionaries(
                {"y": st.integers(1, 4)},
                optional={"title": texts, "body": texts, "indices": st.just([1]),
                          "values": st.just([2.0])},
            ),
        ),
        max_size=8,
    ),
    format=st.sampled_from(["json", "msgpack"]),
    form=st.sampled_from([TEXT, PAIRS]),
)  # fmt: skip
def test_both_ways_to_read_messages_agree(
    some: list[Any], format: MessageFormat, form: RecordFormat
) -> None:
    left, right = (parse(some, format, form, fast) for fast in (True, False))
    assert picture(left) == picture(right)


def test_ticks_are_cut_from_sparse_rows() -> None:
    parser = MessageParser(TEXT, (), "json", Origin("t", "t:0"))
    records = [
        SimpleNamespace(
            offset=2 * i, key=None, headers=[], timestamp=5,
            value=encode({"title": "t", "body": f"w{i}", "y": 1}, "json"),
        )
        for i in range(7)
    ]  # fmt: skip
    ticks = make_ticks(parser, records, 3)
    assert [tick.rows.X.shape for tick in ticks] == [(3, 4096), (3, 4096), (1, 4096)]
    assert bits(ticks[2].rows.X) == bits(HASHER.rows(["w6"]))


def test_columns_have_no_names() -> None:
    assert named_features(PAIRS, "json") == ()
    assert named_features(TEXT, "csv") == ()
    assert infer_message_features(b"?", TEXT, "msgpack") == ()
    assert named_features(RecordFormat(sparse_width=2), "json") == ("x0", "x1")
    with pytest.raises(ConfigurationError, match="exclude each other: X is made of texts alone"):
        RecordFormat(text=("a",), features=("b",))
    with pytest.raises(ConfigurationError, match="name 'a' more than once"):
        RecordFormat(text=("a",), label="a")
    with pytest.raises(ConfigurationError, match=r"source\.columns has no 'body'"):
        named_features(RecordFormat(text=("body",), columns=("y", "title")), "csv")


def test_a_file_of_texts_becomes_messages(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('3\ta "b"\tété\n1\t12\tso, so\n2\tshort\n', encoding="utf-8")
    texts = frozenset(("title", "body"))
    for format in ("json", "msgpack"):
        found = [*FileMessages(str(path), format, None, texts, ("y", "title", "body"))]
        assert found[2] == "line 3: it has 2 fields, and the header 3"
        parser = MessageParser(TEXT, (), format, Origin("t", "t:0"))
        values = [record.value for record in found if not isinstance(record, BadLine)]
        rows = parser.parse([0, 1], [None] * 2, values, [[]] * 2, [0, 0])
        assert rows.y.tolist() == [3, 1]
        assert bits(rows.X) == bits(HASHER.rows(['a "b" été', "12 so, so"]))
    with pytest.raises(ConfigurationError, match="--separator is ':'; it must be a comma"):
        FileMessages(str(path), separator=":")


def test_an_svmlight_file_becomes_messages(tmp_path: Path) -> None:
    path = tmp_path / "a.svm.gz"
    path.write_bytes(gzip.compress(b"# head\n1 7:2 3:0.5 # x\n3\n2 qid:1 1:1 1:2\n2 0:1\n"))
    first, second, *bad = FileMessages(str(path), "json")
    assert bad == [
        "line 4: the index 1 is there twice",
        "line 5: the index '0' is not among 1..2147483648",
    ]
    assert [record.value for record in (first, second) if not isinstance(record, BadLine)] == [
        b'{"indices":[2,6],"values":[0.5,2.0],"y":1.0}', b'{"indices":[],"values":[],"y":3.0}',
    ]  # fmt: skip
    from_zero = [*FileMessages(str(path), index_base=0)][3]
    assert not isinstance(from_zero, BadLine)
    assert from_zero.value == b'{"indices":[0],"values":[1.0],"y":2.0}'
    with pytest.raises(ConfigurationError, match="--key is 'a', but svmlight has no fields"):
        FileMessages(str(path), key="a")
