"""What messages become: rows by shape, by key and by header, or whole dead letters."""

import json
import tracemalloc
from typing import Any

import msgspec
import pytest

from anabranch.errors import ConfigurationError
from anabranch.stream import LABEL, RAW_LIMIT, SAMPLE, WHOLE
from connectors.message_layout import MessageFormat, infer_message_features, named_features
from connectors.messages import MessageParser
from connectors.records import REASONS, RecordFormat
from connectors.rows import Origin, Rows, join_rows
from connectors.values import LONGEST_ID

NAMES = ("x1", "x2")
NODES = frozenset({"n0", "n1"})
pack = msgspec.msgpack.encode


def parser(format: MessageFormat = "json", **form: Any) -> MessageParser:
    if format == "csv":
        form.setdefault("features", NAMES)
    return MessageParser(RecordFormat(**form), NAMES, format, Origin("t", "t:3"))


def parse(of: MessageParser, values: list[bytes | None], **given: Any) -> Rows:
    n = len(values)
    keys, headers = given.get("keys", [None] * n), given.get("headers", [[]] * n)
    return of.parse(list(range(10, 10 + n)), keys, values, headers, list(range(n)))


def fate(rows: Rows) -> list[str]:
    """Name what became of each message, in order: its reason, or "good"."""
    reasons = {letter.position: letter.reason for letter in rows.dead}
    return [reasons.get(10 + i, "good") for i in range(rows.records)]


def line(format: MessageFormat, *values: Any, **named: Any) -> bytes:
    """Encode a record of named fields."""
    if format == "csv":
        return ",".join("" if v is None else str(v) for v in named.values()).encode()
    return pack(named) if format == "msgpack" else json.dumps(named).encode()


FORMATS: list[MessageFormat] = ["json", "msgpack", "csv"]
BAD_JSON = {
    None: "empty_record",
    b"": "empty_record",
    b" \n\t ": "empty_record",
    b"{": "malformed",
    b"7": "malformed",
    b'{"x1": 1, "x2": 2, "y": 1}{"x1": 1, "x2": 2, "y": 1}': "malformed",
    b'{"x1": 1, "x2": 2, "y": 1}\n{"x1": 1, "x2": 2, "y": 1}': "malformed",
    b'{"x1": 1, "x1": 2, "x2": 2, "y": 1}': "malformed",
    b"[" * 200_000: "malformed",
    b'{"x1": 1, "x2": null, "y": 1}': "missing_field",
    b'{"x1": 1, "x2": 2}': "missing_field",
    b'{"x1": 1, "x2": 2, "y": 1, "z": 1}': "extra_field",
    b'{"x1": "1", "x2": 2, "y": 1}': "not_numeric",
    b'{"x1": true, "x2": 2, "y": 1}': "not_numeric",
    b'{"x1": NaN, "x2": 2, "y": 1}': "not_finite",
    b'{"x1": 1e999, "x2": 2, "y": 1}': "infinite",
    b'{"x1": %s, "x2": 2, "y": 1}' % (b"9" * 5000): "infinite",
    b"[1, 2]": "wrong_length",
    b'{"x1": 1, "x2": 2, "y": 4}': "bad_label",
    b'{"x1": 1, "x2": 2, "y": "1"}': "bad_label",
    b'{"x1": 1, "x2": 2, "y": 1, "\xff": 2}': "bad_encoding",
    b'{"x1": 1, "x2": 2, "y": 1%s}' % (b" " * 300_000): "too_long",
}
GOOD: dict[str, Any] = {"x1": 1, "x2": 2, "y": 1}
BAD_MSGPACK = {
    None: "empty_record",
    b"": "empty_record",
    b"\xc1": "malformed",
    pack(7): "malformed",
    pack(GOOD)[:-1]: "malformed",
    pack(GOOD) + b"\x01": "malformed",
    b"\xdd\xff\xff\xff\xff": "malformed",
    b"\xdf\xff\xff\xff\xff\xa1x": "malformed",
    b"\xc6\xff\xff\xff\xff": "malformed",
    b"\x91" * 200_000 + b"\x01": "malformed",
    b"\x84" + pack("x1") + b"\x01" + pack(GOOD)[1:]: "malformed",
    b"\x81\xa1\xff\x01": "malformed",
    b"\x81\x80\x01": "malformed",
    b"\xc7\x0c\xff" + b"\xff" * 12: "malformed",
    pack({"x1": 1, "x2": None, "y": 1}): "missing_field",
    pack({**GOOD, 7: 1}): "extra_field",
    pack({**GOOD, "x2": "2"}): "not_numeric",
    pack({**GOOD, "x2": True}): "not_numeric",
    pack({**GOOD, "x2": b"2"}): "not_numeric",
    pack({**GOOD, "x2": float("nan")}): "not_finite",
    pack({**GOOD, "x2": float("-inf")}): "infinite",
    pack([1, 2]): "wrong_length",
    pack({**GOOD, "y": 0}): "bad_label",
    pack({**GOOD, "x2": "2" * 300_000}): "too_long",
}
BAD_CSV = {
    None: "empty_record",
    b"\r\n": "empty_record",
    b"1,2\n3": "missing_field",
    b"1,,3": "missing_field",
    b"1,2,3,4": "extra_field",
    b"1,x,3": "not_numeric",
    b"nan,2,3": "not_finite",
    b"1e999,2,3": "infinite",
    b"1,2,2.5": "bad_label",
    b"1,2\0,3": "malformed",
    b'1,"2,3': "malformed",
    b"1,2,\xff": "bad_encoding",
    b"1,2,3" + b"3" * 300_000: "too_long",
}
BAD = {"json": BAD_JSON, "msgpack": BAD_MSGPACK, "csv": BAD_CSV}


@pytest.mark.parametrize("format", FORMATS)
def test_each_kind_of_bad_message_is_a_dead_letter_and_whole(format: MessageFormat) -> None:
    values, good = [], line(format, **GOOD)
    for bad in BAD[format]:
        values += [good, bad]
    n = len(values)
    rows = parse(
        parser(format, ranks=3, max_record=250_000),
        values,
        keys=[b"key %d" % i for i in range(n)],
        headers=[[("h", b"%d" % i)] for i in range(n)],
    )
    want = [reason for bad in BAD[format].values() for reason in ("good", bad)]
    assert fate(rows) == want
    assert set(want) - {"good"} <= set(REASONS)
    for letter, row in zip(rows.dead, range(1, n, 2), strict=True):
        assert letter.raw == (values[row] or b"")
        assert (letter.key, letter.headers) == (b"key %d" % row, (("h", b"%d" % row),))
        assert (letter.source, letter.partition, letter.time) == ("t", "t:3", row)
    assert max(len(letter.raw) for letter in rows.dead) > RAW_LIMIT
    assert rows.X.tolist() == [[1, 2]] * len(BAD[format])
    assert rows.positions.tolist() == list(range(10, 10 + n, 2))
    assert rows.times is not None
    assert rows.times.tolist() == list(range(0, n, 2))


@pytest.mark.parametrize(
    "bad", [b"\xdd\xff\xff\xff\xff", b"\xdf\x7f\xff\xff\xff", b"\xdb\xff\xff\xff\xff"]
)
def test_a_length_that_is_only_claimed_allocates_nothing(bad: bytes) -> None:
    of = parser("msgpack")
    parse(of, [bad])
    tracemalloc.start()
    rows = parse(of, [bad * 3, b"\x92\x01" + bad])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fate(rows) == ["malformed", "malformed"]
    assert peak < 100_000


def test_a_message_is_one_record_whatever_its_value_holds() -> None:
    record = {"x1": 1.5, "x2": -2, "y": 1, "note": "a\nb"}
    texts = [json.dumps(record), json.dumps(record, indent=2), json.dumps(record) + "\r\n"]
    of = parser(features=NAMES)
    for _ in range(2):
        rows = parse(of, [text.encode() for text in texts] * 3)
        assert rows.X.tolist() == [[1.5, -2]] * 9
    assert parse(parser("csv"), [b"1,2,1\n", b"3,4,1\r\n", b'"5","6",1']).X.tolist() == [
        [1, 2],
        [3, 4],
        [5, 6],
    ]


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_messages_of_a_few_shapes_are_read_in_bulk(
    format: MessageFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[dict[str, Any]] = [
        {"x1": 1.5, "x2": 2, "y": 3, "node": "n0"},
        {"node": "n1", "y": 1, "ok": True, "x2": -1e-7, "x1": 0},
        {"x2": 7, "more": "Zürich", "none": None, "x1": 70000, "y": 2, "node": "n1"},
    ]
    of = parser(format, features=NAMES, node_field="node", nodes=NODES)
    parse(of, [line(format, **shape) for shape in shapes])

    def refuse(value: bytes) -> Any:
        raise AssertionError(value)

    monkeypatch.setattr(of._codec, "parse", refuse)
    shapes[2]["more"] = 'another "text", longer'
    rows = parse(of, [line(format, **shape) for shape in shapes * 2])
    assert rows.X.tolist() == [[1.5, 2], [0, -1e-7], [70000, 7]] * 2
    assert rows.y.tolist() == [3, 1, 2] * 2
    assert rows.keys == ["n0", "n1", "n1"] * 2


def test_a_shape_never_seen_is_learned_within_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    of, calls = parser(), []
    careful = of._codec.parse
    monkeypatch.setattr(of._codec, "parse", lambda v: (calls.append(v), careful(v))[1])
    rows = parse(of, [b"?", *[line("json", x1=i, x2=2, y=1) for i in range(500)]])
    assert rows.X[:, 0].tolist() == list(range(500))
    assert len(calls) == 2


def test_the_key_names_the_node() -> None:
    keys = [b"n0", b"n1", None, b"", b"zz", b"\xff", b"n0"]
    rows = parse(
        parser(node_from="key", nodes=NODES), [line("json", **GOOD)] * 6 + [b"?"], keys=keys
    )
    assert fate(rows) == [
        "good", "good", "missing_field", "missing_field", "unknown_node", "bad_encoding",
        "malformed",
    ]  # fmt: skip
    assert rows.keys == ["n0", "n1"]


def test_the_last_header_of_a_name_names_the_node() -> None:
    headers = [
        [("node", b"n0")],
        [("node", b"n0"), ("other", b"n0"), ("node", b"n1")],
        [("other", b"n0")],
        [("node", b"zz")],
    ]
    of = parser(node_from="header", node_field="node", nodes=NODES)
    rows = parse(of, [line("json", **GOOD)] * 4, headers=headers)
    assert fate(rows) == ["good", "good", "missing_field", "unknown_node"]
    assert rows.keys == ["n0", "n1"]
    assert "header 'node'" in rows.dead[0].detail


@pytest.mark.parametrize("format", FORMATS)
def test_samples_and_labels_apart(format: MessageFormat) -> None:
    of = parser(format, ranks=3, id_from="field:id", features=NAMES)
    values = [
        line(format, x1=1, x2=2, y=3, id="a"),
        line(format, x1=4, x2=5, y=None, id="b"),
        line(format, x1=None, x2=None, y=2, id="b"),
        line(format, x1=None, x2=5, y=2, id="c"),
        line(format, x1=None, x2=None, y=4, id="c"),
        line(format, x1=1, x2="x", y=None, id="c"),
        line(format, x1=1, x2=2, y=3, id=None),
        line(format, x1=None, x2=None, y=None, id="c"),
    ]
    for _ in range(2):  # the second time from known shapes
        rows = parse(of, values * 3)
        assert fate(rows) == 3 * [
            "good", "good", "good", "missing_field", "bad_label", "not_numeric", "missing_field",
            "missing_field",
        ]  # fmt: skip
        assert rows.apart is not None
        assert rows.apart.kinds.tolist() == [WHOLE, SAMPLE, LABEL] * 3
        assert rows.apart.ids == ["a", "b", "b"] * 3
        assert rows.apart.times.tolist() == [0, 1, 2, 8, 9, 10, 16, 17, 18]
        assert rows.X.tolist() == [[1, 2], [4, 5], [0, 0]] * 3
        assert [str(label) for label in rows.y.tolist()] == ["3.0", "nan", "2.0"] * 3


def test_absent_fields_tell_samples_from_labels() -> None:
    of = parser(ranks=3, id_from="key")
    values = [line("json", x1=1, x2=2), line("json", y=2), line("json", y=2, z=1)]
    rows = parse(of, values, keys=[b"a", b"a", b"b"])
    assert fate(rows) == ["good", "good", "extra_field"]
    assert rows.apart is not None
    assert (rows.apart.kinds.tolist(), rows.apart.ids) == ([SAMPLE, LABEL], ["a", "a"])


@pytest.mark.parametrize("format", FORMATS)
def test_an_id_is_the_same_text_in_every_format(format: MessageFormat) -> None:
    ids = [12, 0, "12", "é", 2**53, -7]
    of = parser(format, id_from="field:id", features=NAMES)
    for _ in range(2):
        rows = parse(of, [line(format, **GOOD, id=id) for id in ids])
        assert rows.apart is not None
        texts = ["12", "0", "12", "é", str(2**53), "-7"]
        if format != "csv":  # too large to be told from its neighbours when JSON holds it
            texts.remove(str(2**53))
            assert fate(rows)[4] == "bad_id"
        assert rows.apart.ids == texts


def test_a_very_long_id_is_refused() -> None:
    fits = "i" * LONGEST_ID
    of = parser(id_from="field:id")
    values = [line("json", **GOOD, id=id) for id in ("a", fits, fits + "i")]
    for _ in range(2):
        assert fate(parse(of, values)) == ["good", "good", "bad_id"]
    of = parser(id_from="header:id")
    headers = [[("id", fits.encode())], [("id", b"i" + fits.encode())], [("id", b"")], []]
    rows = parse(of, [line("json", **GOOD)] * 4, headers=headers)
    assert fate(rows) == ["good", "bad_id", "missing_field", "missing_field"]


def test_csv_messages_have_the_columns_of_the_job() -> None:
    form = RecordFormat(columns=("y", "b", "note", "a"), features=("a", "b"), ranks=3)
    of = MessageParser(form, ("a", "b"), "csv", Origin("t", "t:0"))
    rows = parse(of, [b"1,2,text,3", b"2,5,,6"])
    assert rows.X.tolist() == [[3, 2], [6, 5]]
    assert rows.y.tolist() == [1, 2]


def test_pieces_of_a_tick_are_joined_and_made_a_block() -> None:
    of = parser(id_from="key")
    parts = [parse(of, [line("json", x1=i, x2=2), b"?"], keys=[b"%d" % i, b""]) for i in range(2)]
    rows = join_rows(parts, RecordFormat(), 2)
    block = rows.block("t:3", 5, None)
    assert (block.tick, block.records, len(block.dead)) == (5, 4, 2)
    assert block.apart is not None
    assert block.times is not None
    assert block.apart.ids == ["0", "1"]
    assert not any(a.flags.writeable for a in (block.X, block.y, block.times, block.apart.kinds))


def test_a_tick_of_any_size_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [line("json", x1=i, x2=2, y=1) if i % 3 else b"?" for i in range(11)]
    whole = parse(parser(id_from="key"), values, keys=[b"k%d" % i for i in range(11)])
    monkeypatch.setattr("connectors.messages._AT_ONCE", 4)
    rows = parse(parser(id_from="key"), values, keys=[b"k%d" % i for i in range(11)])
    assert rows.X.tolist() == whole.X.tolist()
    assert rows.positions.tolist() == whole.positions.tolist() == [11, 12, 14, 15, 17, 18, 20]
    assert rows.dead == whole.dead
    assert (rows.records, rows.apart and rows.apart.ids) == (11, whole.apart and whole.apart.ids)


def test_no_messages_make_no_rows() -> None:
    rows = parse(parser(node_from="key"), [])
    assert (rows.X.shape, rows.keys, rows.dead, rows.records) == ((0, 2), [], (), 0)


def test_features_are_named_by_the_first_message_that_can() -> None:
    form = RecordFormat(id_from="field:id", node_from="key")
    assert infer_message_features(b'{"b": 1, "a": 2, "id": 7}', form, "json") == ("b", "a")
    assert infer_message_features(pack({"b": 1, "id": "s"}), form, "msgpack") == ("b",)
    assert infer_message_features(pack([1, 2, 1, "s"]), form, "msgpack") == ("x1", "x2")
    for odd in (b'{"y": 1, "id": 7}', b'{"b": "x", "id": 7}', b"?", b"", None, b"7"):
        assert infer_message_features(odd, form, "json") is None
    assert infer_message_features(None, RecordFormat(features=("a",)), "json") == ("a",)


@pytest.mark.parametrize(
    ("format", "form", "says"),
    [
        ("xml", {}, "source.format is 'xml'"),
        ("csv", {}, "source.columns and source.features are missing"),
        ("csv", {"sparse_width": 3}, "source.sparse_width is set"),
        ("csv", {"columns": ("a", "b")}, "source.columns has no 'y'"),
        ("csv", {"columns": ("a", "y"), "node_field": "node"}, "source.columns has no 'node'"),
        ("csv", {"columns": ("y",)}, "source.columns has no feature"),
        ("csv", {"columns": ("a", "a", "y")}, "source.columns names 'a' more than once"),
        ("json", {"columns": ("a", "y")}, "only csv messages have columns"),
        ("json", {"sparse_width": 0}, "source.sparse_width is 0"),
        ("json", {"sparse_width": 2, "features": ("a",)}, "exclude each other"),
        ("json", {"node_from": "topic"}, "source.node is from 'topic'"),
        ("json", {"node_from": "header"}, "name the header"),
        ("json", {"node_from": "key", "node_field": "n"}, "a message has one key"),
        ("json", {"id_from": "value"}, "source.id is 'value'"),
        ("json", {"id_from": "field:"}, "source.id is 'field:'"),
        ("json", {"id_from": "key:k"}, "source.id is 'key:k'"),
        ("json", {"id_from": "field:y"}, "name 'y' more than once"),
    ],
)
def test_formats_that_cannot_be_are_refused(format: Any, form: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        named_features(RecordFormat(**form), format)
