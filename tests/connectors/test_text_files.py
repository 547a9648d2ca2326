"""Texts in files: hashed as they are read, whatever the format, the ticks and the order."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connectors.reader
from anabranch.errors import ConfigurationError
from anabranch.features.hashing import TextHasher
from anabranch.sparse import SparseRows
from connectors.csv_records import CsvCodec
from connectors.files import FileSource
from connectors.json_records import JsonCodec
from connectors.parser import RecordParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows, join_rows
from tests.connectors.helpers import bits, blocks, drain, letters, same, source

HASHER = TextHasher(12, 2)
WORDS: dict[str, Any] = {"text": ("title", "body"), "hasher": HASHER, "sparse": True, "ranks": 3}
COLUMNS = ("y", "title", "note", "body")
FORMS = {
    "csv": RecordFormat(header=False, columns=COLUMNS, **WORDS),
    "semicolon": RecordFormat(header=False, columns=COLUMNS, separator=";", **WORDS),
    "tab": RecordFormat(header=False, columns=COLUMNS, separator="\t", **WORDS),
    "jsonl": RecordFormat(node_field="n", nodes=frozenset("ab"), **WORDS),
}
REVIEWS = [
    ("Good", "a fine film", 3),
    ("", "not GOOD, not bad", 2),
    ("été", "l'été à Paris", 3),
    ('He said "no"', "bad; bad, bad", 1),
    ("x", "", 1),
]


def codec_of(form: RecordFormat) -> Any:
    return JsonCodec((), form) if form.node_field else CsvCodec(COLUMNS, (), form)


def read(form: RecordFormat, data: bytes, fast: bool, most: int = 50) -> Rows:
    parser = RecordParser(form, HASHER.features, codec_of(form), Origin("f", "p"), fast=fast)
    parts: list[Rows] = []
    at = done = 0
    while True:
        rows, at = parser.parse(data, at, True, most, done)
        if rows.records == 0:
            return join_rows(parts, form, HASHER.features)
        parts.append(rows)
        done += rows.records


def picture(rows: Rows) -> Any:
    found = (bits(rows.X), rows.y.tobytes(), rows.positions.tolist(), rows.keys)
    return (*found, rows.dead, rows.records)


def line(name: str, title: str, body: str, y: object) -> str:
    if name == "jsonl":
        return json.dumps({"body": body, "y": y, "title": title, "n": "a"}, ensure_ascii=False)
    separator = FORMS[name].separator
    fields = [f"{y}", title, "n/a", body]
    if separator == "\t":
        return "\t".join(fields)
    quoted = [
        f'"{f.replace(chr(34), chr(34) * 2)}"' if {separator, '"'} & set(f) else f for f in fields
    ]
    return separator.join(quoted)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_texts_become_hashed_rows(name: str, fast: bool) -> None:
    data = "\n".join(line(name, *review) for review in REVIEWS * 2).encode()
    rows = read(FORMS[name], data, fast)
    assert not rows.dead
    assert rows.y.tolist() == [3, 2, 3, 1, 1] * 2
    expected = HASHER.rows([f"{title} {body}" for title, body, _ in REVIEWS * 2])
    assert bits(rows.X) == bits(expected)


def test_regular_records_are_taken_in_bulk() -> None:
    for name in ("csv", "semicolon", "tab"):
        form, codec = FORMS[name], codec_of(FORMS[name])
        codec.parse = None
        data = "\n".join(line(name, *review) for review in REVIEWS).encode()
        rows, _ = RecordParser(form, 4096, codec, Origin("f", "p")).parse(data, 0, True, 9, 0)
        assert rows.y.tolist() == [3, 2, 3, 1, 1]


letters_of = st.sampled_from(
    [*"abAB 0_,;|\"'\t\\/\n\ré日\ud83d", "good", "not ", '""', "\\n", "\\u00e9"]
)
fields = st.lists(letters_of, max_size=8).map("".join)
endings = st.sampled_from(["\n", "\n", "\r\n", "\n\n"])


@st.composite
def lines(draw: st.DrawFn, name: str) -> bytes:
    """Make one record, often a good one."""
    title, body = draw(fields), draw(fields)
    y = draw(st.sampled_from([1, 2, 3, 3, 4, "x", None]))
    if draw(st.booleans()):
        title, body = (re.sub(r"[\n\r\t]", " ", part) for part in (title, body))
        text = line(name, title, body, y)
    elif name == "jsonl":
        text = draw(st.sampled_from(['{"title": "%s", "body": "%s", "y": 1, "n": "b"}',
            '{"y": 2, "n": "c", "title": "%s", "body": "%s"}', '["%s", "%s", 2, "a"]',
            '{"title": 3, "body": "%s%s", "y": 1, "n": "b"}'])) % (title, body)  # fmt: skip
    else:
        text = FORMS[name].separator.join([f"{y}", title, draw(fields), body])
    return (text + draw(endings)).encode(
        errors="replace" if draw(st.booleans()) else "surrogatepass"
    )


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=80)
@given(found=st.data(), most=st.integers(1, 5))
def test_both_ways_to_read_records_agree(name: str, found: st.DataObject, most: int) -> None:
    data = b"".join(found.draw(st.lists(lines(name), max_size=6)))
    slow = read(FORMS[name], data, False)
    assert picture(read(FORMS[name], data, True, most)) == picture(slow)
    positions = [*slow.positions.tolist(), *(letter.position for letter in slow.dead)]
    assert sorted(positions) == list(range(slow.records))


@pytest.mark.parametrize(
    ("name", "text", "reason", "words"),
    [
        ("csv", "1,good,film", "missing_field", "field 'body' is missing"),
        ("csv", "1,good,film,a,b", "extra_field", "the first too many is 'b'"),
        ("csv", "4,good,,film", "bad_label", "label 'y' is '4'"),
        ("csv", '1,"good,film,a', "malformed", "not a CSV record"),
        ("csv", '1,"go"od,,film', "malformed", "not a CSV record"),
        ("tab", "1\tgood\tfilm", "missing_field", "field 'body' is missing"),
        ("tab", "\tgood\tfilm\tx", "missing_field", "field 'y' is empty"),
        ("jsonl", '{"title": "a", "y": 1, "n": "a"}', "missing_field", "field 'body' is missing"),
        (
            "jsonl",
            '{"title": "a", "body": null, "y": 1, "n": "a"}',
            "missing_field",
            "field 'body' is null",
        ),
        (
            "jsonl",
            '{"title": "a", "body": ["b"], "y": 1, "n": "a"}',
            "not_text",
            "field 'body' is ['b'], not a text",
        ),
        ("jsonl", '{"title": 7, "body": "b", "y": 1, "n": "a"}', "not_text", "field 'title' is 7"),
        ("jsonl", '{"title": "a", "body": "b", "y": 1, "n": "c"}', "unknown_node", "'c'"),
    ],
)
def test_a_bad_record_says_why(name: str, text: str, reason: str, words: str) -> None:
    good = line(name, "good", "film", 2)
    for fast in (True, False):
        rows = read(FORMS[name], f"{good}\n{text}\n{good}\n".encode(), fast)
        (letter,) = rows.dead
        assert (letter.reason, letter.position, letter.raw) == (reason, 1, text.encode())
        assert words in letter.detail
        assert bits(rows.X) == bits(HASHER.rows(["good film"] * 2))
        assert rows.positions.tolist() == [0, 2]


def write(path: Path, name: str, rows: int = 47) -> Path:
    found = [
        line(name, f"t{row}", f"wörd{row % 7} " * (row % 5), row % 3 + 1) for row in range(rows)
    ]
    head = [] if name != "headed" else ["y,title,note,body"]
    text = "\n".join([*head, *found, ""])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(("name", "file"), [("tab", "a.tsv.gz"), ("jsonl", "a.jsonl")])
@pytest.mark.parametrize("shuffle", [None, 3])
def test_a_resumed_source_goes_on_exactly(
    tmp_path: Path, name: str, file: str, shuffle: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors.reader, "BLOCK_BYTES", 100)
    of = source(
        write(tmp_path / file, name), 10, records=FORMS[name], shuffle_seed=shuffle, split=(4,)
    )
    whole, _ = drain(of)
    assert (of.features, of.width) == ((), 4096)
    for stop in range(6):
        begun, state = drain(of, stop_after=stop)
        assert same(begun + drain(of, state=state)[0], whole)
    order = np.argsort(np.concatenate([block.positions for block in blocks(whole)]))
    rows = SparseRows.join([block.X for block in blocks(whole)])[order]
    expected = [f"t{row} " + f"wörd{row % 7} " * (row % 5) for row in range(47)]
    assert bits(rows) == bits(HASHER.rows(expected))
    assert sum(block.held.sum() for block in blocks(whole) if block.held is not None) == 1


def test_a_header_names_the_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('body;"y"; title\nfine;3;Good\n"so; so";2;""\n')
    form = RecordFormat(separator=";", **WORDS)
    seen, _ = drain(source(path, records=form))
    assert bits(blocks(seen)[0].X) == bits(HASHER.rows(["Good fine", "so so"]))
    other = RecordFormat(text=("title", "comment"), separator=";")
    with pytest.raises(ConfigurationError, match=r"source.text names 'comment', which the header"):
        source(path, records=other)


def test_a_file_without_header_has_the_columns_of_the_job(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,0.5,2\n")
    form = RecordFormat(header=False, columns=("y", "a", "b"))
    of = source(path, records=form)
    assert of.features == ("a", "b")
    assert blocks(drain(of)[0])[0].X.tolist() == [[0.5, 2]]
    with pytest.raises(ConfigurationError, match=r"'z', which source.columns does not have"):
        source(path, records=RecordFormat(header=False, columns=("y", "a"), label="z"))
    with pytest.raises(ConfigurationError, match="without a header the fields must be named"):
        RecordFormat(header=False)
    with pytest.raises(ConfigurationError, match=r"source\.separator is ':'"):
        RecordFormat(separator=":")


def test_texts_may_become_arrays_and_keys(tmp_path: Path) -> None:
    form = RecordFormat(
        text=("body",), hasher=TextHasher(4, 1), node_field="n", header=False, separator="|",
        columns=("n", "y", "body"), task="regression",
    )  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("Ünit 1|1.5|so good\nb|2|\n")
    (block,) = blocks(drain(source(path, records=form))[0])
    assert block.keys == ["Ünit 1", "b"]
    assert np.array_equal(block.X, TextHasher(4, 1).rows(["so good", ""]).toarray())
    empty = tmp_path / "b.csv"
    empty.touch()
    seen, _ = drain(source(empty, records=form))
    assert blocks(seen)[0].X.shape == (0, 16)


def test_a_long_text_in_quotes_is_one_text() -> None:
    body = 'good "film" ' * 20_000
    data = line("csv", "x", body, 3).encode() + b"\n"
    for fast in (True, False):
        rows = read(FORMS["csv"], data, fast)
        assert not rows.dead
        assert bits(rows.X) == bits(HASHER.rows(["x " + body]))


def test_a_followed_file_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line("jsonl", "good", "film", 3) + '\n{"title": "b')
    part = source(path, 2, follow=True, records=FORMS["jsonl"]).build_part("s", path.name, None)
    assert part.next_batch() == []
    with open(path, "a") as file:
        file.write('ad", "body": "caf\\u00e9 \\"x\\"", "y": 1, "n": "b"}\n')
    (block,) = part.next_batch()
    assert bits(block.X) == bits(HASHER.rows(["good film", 'bad café "x"']))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("semeval_tweets5", 43_011, ("y", "part", "topic", "text")),
        ("amazon_multidomain4", 8_000, ("y", "domain", "date", "text")),
    ],
)
def test_the_text_sets_are_read_whole(
    shared: Path, name: str, rows: int, columns: tuple[str, ...]
) -> None:
    path = shared / f"data/text_ordinal/{name}.tsv.gz"
    form = RecordFormat(
        text=("text",), columns=columns, header=False, separator="\t", sparse=True, ranks=5
    )
    seen, _ = drain(FileSource((str(path),), "csv", form, 5000))
    assert not letters(seen)
    text = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    assert sum(len(block.y) for block in blocks(seen)) == len(text) == rows
    last = blocks(seen)[-1]
    expected = TextHasher().rows([one.split("\t")[3] for one in text[-len(last.y) :]])
    assert bits(last.X) == bits(expected)
