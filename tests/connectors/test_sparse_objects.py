"""JSON Lines of indices and values: what messages give, files give too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connectors.reader
from anabranch.errors import ConfigurationError
from anabranch.sparse import SparseRows
from connectors.json_records import JsonCodec
from connectors.messages import MessageParser
from connectors.parser import RecordParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows
from tests.connectors.helpers import bits, blocks, drain, letters, parsed, same, source

WIDTH = 6
FORMS = [RecordFormat(ranks=3, sparse_width=WIDTH, sparse=sparse) for sparse in (True, False)]
places: st.SearchStrategy[Any] = st.one_of(
    st.lists(st.integers(0, WIDTH - 1), unique=True),
    st.lists(st.sampled_from([0, 1, 2.0, 5, 6, -1, 1.5, 2**70, "1", None, True]), max_size=4),
    st.sampled_from([None, 3, {}]),
)
values = st.lists(
    st.one_of(st.floats(width=32), st.sampled_from([0, -0.0, 1e300, 7, "x", None])), max_size=6
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Make one record, often a good one."""
    where, what = draw(places), draw(values)
    if isinstance(where, list) and draw(st.booleans()):
        what = (what + [1.0] * WIDTH)[: len(where)]
    record: Any = {"indices": where, "values": what, "y": draw(st.sampled_from([1, 2, 3, 4]))}
    if draw(st.booleans()):
        record = {name: record[name] for name in draw(st.permutations(list(record)))}
    elif draw(st.booleans()):
        record = list(record.values())
    pieces = (", ", ": ") if draw(st.booleans()) else (",", ":")
    return json.dumps(record, separators=pieces).encode()


def read_lines(form: RecordFormat, lines: list[bytes], fast: bool, most: int) -> Rows:
    parser = RecordParser(form, WIDTH, JsonCodec((), form), Origin("f", "p"), fast=fast)
    return parsed(parser, b"\n".join(lines), form, WIDTH, most)


@pytest.mark.parametrize("form", FORMS, ids=["sparse", "dense"])
@settings(max_examples=100, deadline=None)
@given(lines=st.lists(records(), max_size=8), most=st.integers(1, 4), fast=st.booleans())
def test_lines_give_what_messages_give(
    form: RecordFormat, lines: list[bytes], most: int, fast: bool
) -> None:
    found, n = read_lines(form, lines, fast, most), len(lines)
    parser = MessageParser(form, (), "json", Origin("t", "p"), fast=False)
    expected = parser.parse(range(n), [None] * n, lines, [[]] * n, [0] * n)
    assert bits(found.X) == bits(expected.X)
    assert found.y.tobytes() == expected.y.tobytes()
    assert found.positions.tolist() == expected.positions.tolist()
    told = [(letter.reason, letter.detail, letter.position, letter.raw) for letter in expected.dead]
    assert [(one.reason, one.detail, one.position, one.raw) for one in found.dead] == told
    assert found.records == n


def test_regular_lines_are_taken_in_bulk() -> None:
    line = b'{"indices": [4, 0], "values": [1.5, -2], "y": 3}'
    for form in FORMS:
        codec = JsonCodec((), form)
        codec.parse(line)
        codec.parse = None  # type: ignore[assignment,method-assign]
        parser = RecordParser(form, WIDTH, codec, Origin("f", "p"))
        rows, _ = parser.parse(b"\n".join([line] * 9), 0, True, 99, 0)
        X = rows.X.toarray() if form.sparse else rows.X
        assert X.tolist() == [[-2, 0, 0, 0, 1.5, 0]] * 9


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("form", FORMS, ids=["sparse", "dense"])
def test_a_source_of_them_goes_on_exactly(
    tmp_path: Path, form: RecordFormat, seed: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors.reader, "BLOCK_BYTES", 100)
    dense = np.random.default_rng(1).integers(0, 3, (25, WIDTH)).astype(float)
    lines = [
        {"indices": np.flatnonzero(row).tolist(), "values": row[row > 0].tolist(), "y": 1}
        for row in dense
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"y": 2}]))
    of = source(path, 10, records=form, shuffle_seed=seed)
    assert (of.features, of.width) == ((), WIDTH)
    whole, _ = drain(of)
    X = [block.X.toarray() if form.sparse else block.X for block in blocks(whole)]
    order = np.argsort(np.concatenate([block.positions for block in blocks(whole)]))
    assert np.array_equal(np.concatenate(X)[order], dense)
    assert all(isinstance(block.X, SparseRows) == form.sparse for block in blocks(whole))
    assert [(letter.reason, letter.position) for letter in letters(whole)] == [
        ("missing_field", 25)
    ]
    for stop in range(4):
        begun, state = drain(of, stop_after=stop)
        assert same(begun + drain(of, state=state)[0], whole)


def test_csv_and_arff_have_none(tmp_path: Path) -> None:
    for name in ("a.csv", "a.arff"):
        (tmp_path / name).touch()
        with pytest.raises(ConfigurationError, match="those of 'jsonl' may have it, those of"):
            source(tmp_path / name, records=FORMS[0])
