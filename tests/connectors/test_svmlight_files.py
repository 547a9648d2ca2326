"""svmlight files as sources: rows, dead letters, resuming, following, shuffling."""

import gzip
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import connectors.reader
from anabranch.errors import ConfigurationError
from anabranch.sparse import SparseRows
from connectors.files import FileSource
from connectors.parser import RecordParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows
from connectors.svmlight_records import SvmlightCodec
from tests.connectors.helpers import (
    bits,
    blocks,
    dense,
    drain,
    letters,
    parsed,
    same,
    source,
    table,
)

WIDTH = 9
FORM = RecordFormat(ranks=5, sparse_width=WIDTH, sparse=True, max_record=60)
ZERO = RecordFormat(task="regression", sparse_width=WIDTH, sparse=True, index_base=0)
LINES = b"""# made by hand
2 1:0.5 3:-1 9:2e0 # said so
1
 3 qid:7 2:1.5\t4:1
+4.0 9:1
5 4:1 2:1.5 1:7
"""


def read(form: RecordFormat, data: bytes, fast: bool, most: int = 50) -> Rows:
    parser = RecordParser(form, WIDTH, SvmlightCodec(form), Origin("f", "p"), fast=fast)
    return parsed(parser, data, form, WIDTH, most)


def picture(rows: Rows) -> Any:
    found = (bits(rows.X), rows.y.tobytes(), rows.positions.tolist())
    return (*found, rows.dead, rows.records)


@pytest.mark.parametrize("fast", [True, False])
def test_records_become_sparse_rows(fast: bool) -> None:
    rows = read(FORM, LINES, fast)
    assert isinstance(rows.X, SparseRows)
    assert not rows.dead
    assert rows.y.tolist() == [2, 1, 3, 4, 5]
    assert rows.X.indptr.tolist() == [0, 3, 3, 5, 6, 9]
    assert rows.X.indices.tolist() == [0, 2, 8, 1, 3, 8, 0, 1, 3]
    assert rows.X.values.tolist() == [0.5, -1, 2, 1.5, 1, 1, 7, 1.5, 1]
    assert rows.X.indices.dtype == np.uint32


def test_regular_records_are_taken_in_bulk() -> None:
    codec = SvmlightCodec(FORM)
    codec.parse = None  # type: ignore[method-assign,assignment]
    data = LINES[: LINES.index(b"5 4:1")]
    rows, _ = RecordParser(FORM, WIDTH, codec, Origin("f", "p")).parse(data, 0, True, 9, 0)
    assert rows.y.tolist() == [2, 1, 3, 4]


@pytest.mark.parametrize(
    ("line", "reason", "words"),
    [
        ("1 0:1", "bad_index", "the index '0' is not among 1..9"),
        ("1 10:1", "bad_index", "the index '10' is not among 1..9"),
        ("1 -1:1", "bad_index", "the index '-1' is not among 1..9"),
        ("1 4294967297:1", "bad_index", "the index '4294967297' is not among 1..9"),
        ("1 1.0:1", "bad_index", "'1.0'"),
        ("1 99999999999999999999:1", "bad_index", "not among"),
        ("1 2:1 2:3", "bad_index", "the index 2 is there twice"),
        ("1 3:1 2:0 3:3", "bad_index", "the index 3 is there twice"),
        ("1 2", "malformed", "'2' is no index and a value with : between"),
        ("1 2: 3", "missing_field", "field '2' is empty"),
        ("1 2:x", "not_numeric", "field '2' is 'x', not a number"),
        ("1 2:nan", "not_finite", "field '2' is 'nan'"),
        ("1 2:inf", "infinite", "field '2' is 'inf'"),
        ("1 2:1e999", "infinite", "field '2' is '1e999'"),
        ("6 2:1", "bad_label", "label 'y' is '6', not a whole number 1..5"),
        ("0 2:1", "bad_label", "label 'y' is '0'"),
        ("1.5 2:1", "bad_label", "label 'y' is '1.5'"),
        ("nan 2:1", "bad_label", "field 'y' is 'nan', not a finite number"),
        ("x 2:1", "bad_label", "field 'y' is 'x', not a number"),
        ("1,2 2:1", "bad_label", "not a number"),
        ("2:1", "bad_label", "field 'y' is '2:1', not a number"),
        ("1 2:1 qid:3", "bad_index", "'qid'"),
        ("1 " + "2:1 " * 40, "too_long", "longer than 60 bytes, the most a record may"),
        ("1 2:é", "not_numeric", "not a number"),
    ],
)
def test_a_bad_record_says_why(line: str, reason: str, words: str) -> None:
    for fast in (True, False):
        rows = read(FORM, f"3 1:1\n{line}\n2 9:1 \n".encode(), fast)
        (letter,) = rows.dead
        assert (letter.reason, letter.position, letter.raw) == (reason, 1, line.encode()[:1000])
        assert words in letter.detail
        assert dense(rows.X).tolist() == [[1] + [0] * 8, [0] * 8 + [1]]
        assert rows.positions.tolist() == [0, 2]


def test_bytes_that_are_no_text_are_told() -> None:
    for fast in (True, False):
        (letter,) = read(FORM, b"1 2:1\xff\n1 2:1 # \xff\n", fast).dead
        assert (letter.reason, letter.position) == ("bad_encoding", 0)


odd = st.sampled_from(
    ["1 2:1", "2", "3 9:1 1:2", " 1 1:1 ", "1\t2:1\t3:.5", "4 qid:1 5:1", "4 qid:x 5:1", "5 q 1:1",
     "4  qid:12", "1 2:1#c", "#c", " # c", "1 #c", "1 2:1 # 3:4", "1 2 :1", "1 2: 1", "",
     "2 1:1e-400", "1 02:1", "1 2:01", "1 2:1.", "1 1:1 2:2 3:3 4:4", "1 4:1 3:1", "1 1:1e5 2:-0",
     "7", "1 qid:"]
)  # fmt: skip
pairs = st.lists(
    st.tuples(st.integers(0, 10), st.sampled_from(["1", "-2.5", "0", "x", "1e3", "nan"])),
    max_size=5,
).map(lambda some: "2 " + " ".join(f"{index}:{value}" for index, value in some))
endings = st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n", "\r\r\n", "\n \t\n"])


@settings(max_examples=150)
@given(
    found=st.lists(st.tuples(st.one_of(odd, pairs), endings), max_size=8),
    most=st.integers(1, 5),
    base=st.booleans(),
)
def test_both_ways_to_read_records_agree(
    found: list[tuple[str, str]], most: int, base: bool
) -> None:
    data, form = "".join(line + end for line, end in found).encode(), FORM if base else ZERO
    slow = read(form, data, False)
    assert picture(read(form, data, True, most)) == picture(slow)
    positions = [*slow.positions.tolist(), *(letter.position for letter in slow.dead)]
    assert sorted(positions) == list(range(slow.records))


@settings(max_examples=100)
@given(st.binary(max_size=60))
def test_any_bytes_are_rows_or_dead_letters(data: bytes) -> None:
    assert picture(read(FORM, data, True, 3)) == picture(read(FORM, data, False))


def write(path: Path, rows: int) -> Path:
    lines = [
        f"{row % 5 + 1} " + " ".join(f"{i + 1}:{row / (i + 3)!r}" for i in range(row % WIDTH))
        for row in range(rows)
    ]
    text = "# header\n" + "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.svmlight", "a.svmlight.gz"])
@pytest.mark.parametrize("shuffle", [None, 3])
def test_a_resumed_source_goes_on_exactly(
    tmp_path: Path, name: str, shuffle: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors.reader, "BLOCK_BYTES", 100)
    of = source(write(tmp_path / name, 57), 10, records=FORM_LONG, shuffle_seed=shuffle)
    whole, _ = drain(of)
    assert of.features == ()
    assert of.width == WIDTH
    assert [block.records for block in blocks(whole)] == [10, 10, 10, 10, 10, 7]
    for stop in range(7):
        begun, state = drain(of, stop_after=stop)
        rest, _ = drain(of, state=state)
        assert same(begun + rest, whole)
    rows = table(whole)
    order = np.argsort(rows[:, -1])
    assert rows[order, -1].tolist() == list(range(57))
    expected, labels = load_svmlight_file(BytesIO(raw(tmp_path / name)), n_features=WIDTH)
    assert np.array_equal(rows[order, :WIDTH], expected.toarray())
    assert np.array_equal(rows[order, WIDTH], labels)


FORM_LONG = RecordFormat(ranks=5, sparse_width=WIDTH, sparse=True)


def raw(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def test_a_followed_file_waits_for_whole_ticks(tmp_path: Path) -> None:
    path = tmp_path / "a.svmlight"
    path.write_text("1 1:1\n2 2:")
    part = source(path, 2, follow=True, records=FORM_LONG).build_part("s", path.name, None)
    assert part.next_batch() == []
    with open(path, "a") as file:
        file.write("0.5 # a comment\n# another\n3 1:1")
    (block,) = part.next_batch()
    assert table([block]).tolist() == [[1, *[0] * 8, 1, 0], [0, 0.5, *[0] * 7, 2, 1]]
    assert part.next_batch() == []


def test_rows_held_back_and_rows_as_arrays(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svmlight", 20)
    sparse, _ = drain(source(path, 10, records=FORM_LONG, split=(3, 14)))
    form = RecordFormat(ranks=5, sparse_width=WIDTH)
    arrays, _ = drain(source(path, 10, records=form, split=(3, 14)))
    for left, right in zip(blocks(sparse), blocks(arrays), strict=True):
        assert isinstance(right.X, np.ndarray)
        assert np.array_equal(left.X.toarray(), right.X)
        assert left.held is not None
        assert np.flatnonzero(left.held).tolist() == [3 if left.tick == 0 else 4]
        assert not left.X.values.flags.writeable


def test_a_file_without_records_and_a_broken_one(tmp_path: Path) -> None:
    (tmp_path / "a.svmlight").touch()
    seen, _ = drain(source(tmp_path / "a.svmlight", records=FORM_LONG))
    assert [letter.reason for letter in letters(seen)] == ["empty_file"]
    packed = write(tmp_path / "b.svmlight.gz", 500)
    packed.write_bytes(packed.read_bytes()[:-20])
    seen, _ = drain(source(packed, 100, records=FORM_LONG))
    assert [letter.reason for letter in letters(seen)] == ["unreadable"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "source.sparse_width is missing and source.kind is 'svmlight'"),
        ({"sparse_width": 0}, "source.sparse_width is 0: allowed is 1 to 2**31"),
        ({"sparse_width": 2**31 + 1}, "source.sparse_width is 2147483649"),
        ({"sparse_width": 3, "index_base": 2}, "source.index_base is 2: allowed are 0 and 1"),
        ({"sparse_width": 3, "features": ("a",)}, "exclude each other"),
        ({"text": ("a",)}, "source.text is set and source.kind is 'svmlight'"),
        ({"sparse_width": 3, "node_field": "n"}, "source.node names fields"),
        (
            {"sparse_width": 3, "task": "multilabel", "labels": ("a", "b")},
            "source.labels names fields",
        ),
    ],
)
def test_formats_that_do_not_fit_are_refused(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "a.svmlight", 3)
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        source(path, records=RecordFormat(**options))


def test_other_files_have_no_width(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ConfigurationError, match="those of other files have none"):
        source(tmp_path / "a.csv", records=RecordFormat(sparse_width=4))


@pytest.mark.parametrize(("name", "shape"), [("train", (9484, 8569)), ("test", (2371, 8569))])
def test_treebank_is_read_as_scikit_learn_reads_it(
    shared: Path, name: str, shape: tuple[int, int]
) -> None:
    path = shared / f"data/text_ordinal/treebank5_authors_{name}.libsvm.gz"
    X, y = load_svmlight_file(str(path), n_features=shape[1])
    form = RecordFormat(ranks=5, sparse_width=shape[1], sparse=True)
    seen, _ = drain(FileSource((str(path),), "svmlight", form, 1000))
    assert not letters(seen)
    rows = SparseRows.join([block.X for block in blocks(seen)])
    assert rows.shape == shape
    assert np.array_equal(rows.indptr, X.indptr)
    assert np.array_equal(rows.indices, X.indices)
    assert np.array_equal(rows.values, X.data)
    assert np.array_equal(np.concatenate([block.y for block in blocks(seen)]), y)
