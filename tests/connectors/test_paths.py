"""The fast path and the careful one give the same rows and dead letters, on any text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.csv_records import CsvCodec
from connectors.json_records import JsonCodec
from connectors.parser import RecordParser
from connectors.records import Codec, RecordFormat
from connectors.rows import Origin, join_rows

FORM = RecordFormat(ranks=3, node_field="node", nodes=frozenset({"a", "b c"}), max_record=60)
NAMES = ("x1", "x2")
numbers = st.one_of(
    st.floats(width=32).map(repr),
    st.integers(-5, 1000).map(str),
    st.sampled_from(
        ["1_0", "0x1", "nan", "NaN", "-inf", "Infinity", "1e999", "-0", "007", "+1", ".5", "5."]
    ),
    st.sampled_from(["", " ", " 1 ", "\t2", '"3"', '"', "null", "true", "[1]", "1\r", "é", "\0"]),
)
labels = st.sampled_from(["1", "2", "3", "2.0", "4", "0", "1.5", "", "x", "nan"])
names = st.sampled_from(["a", "b c", " a ", "zz", "", '"a"', "é", '"b""c"'])
endings = st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n", "\n \t\r\n"])


@st.composite
def csv_lines(draw: st.DrawFn) -> str:
    fields = [
        draw(numbers),
        draw(numbers),
        draw(labels),
        draw(names),
        draw(st.text("ab,", max_size=3)),
    ]
    return ",".join(fields[: draw(st.integers(0, 5)) or 5]) + draw(endings)


@st.composite
def json_lines(draw: st.DrawFn) -> str:
    keys = draw(st.permutations(["x1", "x2", "y", "node"])) if draw(st.booleans()) else []
    values = {"x1": draw(numbers), "x2": draw(numbers), "y": draw(labels)}
    values["node"] = '"' + draw(names) + '"'
    space = draw(st.sampled_from(["", " "]))
    if draw(st.integers(0, 5)) == 0:
        return "[" + ("," + space).join(values.values()) + "]" + draw(endings)
    keys = [*(keys or values), *draw(st.lists(st.sampled_from(["x1", "more"]), max_size=1))]
    pairs = [f'"{key}":{space}{values.get(key, "7")}' for key in keys]
    return "{" + ("," + space).join(pairs) + "}" + draw(endings)


def read_all(codec: Codec, data: bytes, fast: bool, most: int, form: RecordFormat = FORM) -> object:
    parser = RecordParser(form, 2, codec, Origin("f", "p"), fast=fast)
    parts, at, done = [], 0, 0
    while True:
        rows, at = parser.parse(data, at, True, most, done)
        if rows.records == 0:
            break
        parts.append(rows)
        done += rows.records
    rows = join_rows(parts, form, 2)
    found = (rows.X.tobytes(), rows.y.tobytes(), rows.positions.tolist(), rows.keys)
    return (*found, rows.dead, rows.records, at)


@settings(max_examples=400, deadline=None)
@given(st.lists(csv_lines(), max_size=12), st.integers(1, 5))
def test_both_ways_to_read_csv_agree(lines: list[str], most: int) -> None:
    data = "".join(lines).encode()
    codec = CsvCodec((*NAMES, "y", "node", "rest"), NAMES, FORM)
    assert read_all(codec, data, True, most) == read_all(codec, data, False, 50)


@settings(max_examples=400, deadline=None)
@given(st.lists(json_lines(), max_size=12), st.integers(1, 5))
def test_both_ways_to_read_json_agree(lines: list[str], most: int) -> None:
    data = "".join(lines).encode()
    fast, slow = JsonCodec(NAMES, FORM), JsonCodec(NAMES, FORM)
    assert read_all(fast, data, True, most) == read_all(slow, data, False, 50)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_both_ways_agree_on_any_bytes_and_none_crashes(data: bytes) -> None:
    for make in (
        lambda: CsvCodec((*NAMES, "y", "node"), NAMES, FORM),
        lambda: JsonCodec(NAMES, FORM),
    ):
        assert read_all(make(), data, True, 3) == read_all(make(), data, False, 3)


OPEN = RecordFormat(features=NAMES, node_field="node")
texts = [
    r'"\u00e9\n\ud800"',
    r'"\x"',
    r'"\u12"',
    '"\t"',
    '"é"',
    '"\udcff"',
    '"\udcc3"',
    '"\x7f"',
    '"',
]
nests = ["[1]", '{"a": 1}', '{"a": 1, "a": 2}', "[", '["\udce2\udc82"]']
others = st.sampled_from(["true", "false", "null", "7", *texts, *nests])


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(others, others, names, st.booleans()), max_size=12), st.integers(1, 5))
def test_both_ways_agree_on_fields_that_nobody_asked_for(
    found: list[tuple[str, str, str, bool]], most: int
) -> None:
    lines = []
    for first, second, name, turned in found:
        pairs = [f'"a": {first}', '"x1": 1', f'"b": {second}', '"x2": 2.5', '"y": 1']
        pairs.append(f'"node": "{name}"')
        lines.append("{" + ", ".join(pairs[::-1] if turned else pairs) + "}\n")
    data = "".join(lines).encode("utf-8", "surrogateescape")
    fast, slow = JsonCodec(NAMES, OPEN), JsonCodec(NAMES, OPEN)
    assert read_all(fast, data, True, most, OPEN) == read_all(slow, data, False, 50, OPEN)


def test_a_nested_field_that_nobody_asked_for_is_left_alone() -> None:
    line = b'{"x1": 1, "x2": 2, "y": 3, "node": "a", "more": {"a": [1, {"b": 2}]}}\n'
    parser = RecordParser(OPEN, 2, JsonCodec(NAMES, OPEN), Origin("f", "p"))
    for number in range(3):
        rows, _ = parser.parse(line, 0, True, 1, number)
        assert rows.X.tolist() == [[1, 2]]


def test_regular_json_is_learned_and_taken_by_the_fast_path() -> None:
    codec = JsonCodec(NAMES, FORM)
    line = b'{"x1": 1, "more": "text", "x2": 2.5, "n": 0, "y": 3, "node": "a"}'
    form = RecordFormat(node_field="node", features=NAMES)
    codec = JsonCodec(NAMES, form)
    parser = RecordParser(form, 2, codec, Origin("f", "p"))
    first, _ = parser.parse(line + b"\n", 0, True, 1, 0)
    calls: list[bytes] = []
    codec.parse = calls.append  # type: ignore[method-assign,assignment]
    second, _ = parser.parse(line.replace(b"2.5", b"-7e-1") + b"\n", 0, True, 1, 1)
    assert not calls
    assert first.X.tolist() == [[1.0, 2.5]]
    assert second.X.tolist() == [[1.0, -0.7]]
    assert second.keys == ["a"]
