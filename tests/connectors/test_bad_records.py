"""Every kind of bad record becomes a dead letter with its reason, and harms no other."""

import json
from pathlib import Path

import pytest

from anabranch.stream import RAW_LIMIT, End
from connectors.records import REASONS, RecordFormat
from tests.connectors.helpers import blocks, drain, letters, source, table, write_csv

FORM = RecordFormat(ranks=3, node_field="node", nodes=frozenset({"n0", "n1"}), max_record=2000)
BAD_CSV = {
    b'1,2,"2,n0': "malformed",
    b'"1"2,2,2,n0': "malformed",
    b"1,2\r,2,n0": "malformed",
    b"1,2,2": "missing_field",
    b"1,,2,n0": "missing_field",
    b"1,2,,n0": "missing_field",
    b"1,2,2,": "missing_field",
    b"1,2,2,n0,5": "extra_field",
    b"1,two,2,n0": "not_numeric",
    b"1_0,2,2,n0": "not_numeric",
    b"0x10,2,2,n0": "not_numeric",
    b"nan,2,2,n0": "not_finite",
    b"1,-Infinity,2,n0": "infinite",
    b"1,1e999,2,n0": "infinite",
    b"1,2,4,n0": "bad_label",
    b"1,2,0,n0": "bad_label",
    b"1,2,1.5,n0": "bad_label",
    b"1,2,nan,n0": "bad_label",
    b"1,2,good,n0": "bad_label",
    b"1,2,2,n7": "unknown_node",
    b"1" * 2001: "too_long",
    b"1,2,2,\xff": "bad_encoding",
}
BAD_JSON = {
    b'{"x1": 1, "x2": 2, "y": 2': "malformed",
    b"7": "malformed",
    b'"x1"': "malformed",
    b"null": "malformed",
    b'{"x1": 1, "x1": 1, "x2": 2, "y": 2, "node": "n0"}': "malformed",
    b"[" * 1990: "malformed",
    b'{"x1": 1, "y": 2, "node": "n0"}': "missing_field",
    b'{"x1": 1, "x2": null, "y": 2, "node": "n0"}': "missing_field",
    b'{"x1": 1, "x2": 2, "y": 2, "node": ""}': "missing_field",
    b'{"x1": 1, "x2": 2, "y": 2, "node": "n0", "z": 1}': "extra_field",
    b'{"x1": "1", "x2": 2, "y": 2, "node": "n0"}': "not_numeric",
    b'{"x1": true, "x2": 2, "y": 2, "node": "n0"}': "not_numeric",
    b'{"x1": {"a": [1]}, "x2": 2, "y": 2, "node": "n0"}': "not_numeric",
    b'{"x1": NaN, "x2": 2, "y": 2, "node": "n0"}': "not_finite",
    b'{"x1": "nan", "x2": 2, "y": 2, "node": "n0"}': "not_finite",
    b'{"x1": 1, "x2": -Infinity, "y": 2, "node": "n0"}': "infinite",
    b'{"x1": 1, "x2": ' + b"9" * 400 + b', "y": 2, "node": "n0"}': "infinite",
    b"[1, 2, 2]": "wrong_length",
    b'[1, 2, 2, "n0", 3]': "wrong_length",
    b'{"x1": 1, "x2": 2, "y": "2", "node": "n0"}': "bad_label",
    b'{"x1": 1, "x2": 2, "y": 9, "node": "n0"}': "bad_label",
    b'{"x1": 1, "x2": 2, "y": 2, "node": "n9"}': "unknown_node",
    b'{"x1": 1, "x2": 2, "y": 2, "node": 3}': "unknown_node",
    b'{"x1": 1, "x2": 2, "y": 2, "node": "\\ud800"}': "bad_encoding",
    b'{"x1": 1, "x2": 2, "y": 2, "node": "\xff"}': "bad_encoding",
    b'{"x1": ' + b" " * 2000 + b"1}": "too_long",
}
GOOD = {"csv": b"1,2.5,3,n0", "jsonl": b'{"x1": 1, "x2": 2.5, "y": 3, "node": "n0"}'}


@pytest.mark.parametrize(("kind", "bad"), [("csv", BAD_CSV), ("jsonl", BAD_JSON)])
def test_each_kind_of_bad_record_has_its_reason(
    tmp_path: Path, kind: str, bad: dict[bytes, str]
) -> None:
    path = tmp_path / f"bad.{kind}"
    lines = [line for record in bad for line in (GOOD[kind], record)]
    header = [b"x1,x2,y,node"] if kind == "csv" else []
    path.write_bytes(b"\n".join([*header, *lines, b""]))
    seen, _ = drain(source(path, 7, records=FORM))
    found = letters(seen)
    assert [letter.reason for letter in found] == list(bad.values())
    assert [letter.position for letter in found] == list(range(1, 2 * len(bad), 2))
    assert [letter.raw for letter in found] == [record[:RAW_LIMIT] for record in bad]
    assert {(letter.source, letter.partition) for letter in found} == {(str(path), path.name)}
    assert set(bad.values()) <= set(REASONS)
    assert table(seen).tolist() == [[1, 2.5, 3, 2 * i] for i in range(len(bad))]
    assert sum(block.records for block in blocks(seen)) == 2 * len(bad)
    assert all(block.keys == ["n0"] * len(block.y) for block in blocks(seen))


def test_a_detail_names_the_field_and_the_value(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("height,y\ntall,1\n")
    (letter,) = letters(drain(source(path))[0])
    assert letter.detail == "field 'height' is 'tall', not a number"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_tenth_of_bad_records_leaves_exactly_the_others(tmp_path: Path, kind: str) -> None:
    bad = list((BAD_CSV if kind == "csv" else BAD_JSON).items())
    path, lines, want = tmp_path / f"big.{kind}", [], []
    for row in range(10_000):
        if row % 10 == 3:
            record, reason = bad[row // 10 % len(bad)]
            lines.append(record)
            want.append((row, reason))
        elif kind == "csv":
            lines.append(b"%d,%.3f,%d,n%d" % (row, row / 7, row % 3 + 1, row % 2))
        else:
            values = {"x1": row, "x2": row / 7, "y": row % 3 + 1, "node": f"n{row % 2}"}
            lines.append(json.dumps(values).encode())
    header = [b"x1,x2,y,node"] if kind == "csv" else []
    path.write_bytes(b"\n".join([*header, *lines]))
    seen, _ = drain(source(path, 97, records=FORM))
    rows = table(seen)
    assert rows.shape == (9000, 4)
    assert rows[:, 0].tolist() == rows[:, 3].tolist() == [r for r in range(10_000) if r % 10 != 3]
    assert [(letter.position, letter.reason) for letter in letters(seen)] == want
    assert seen[-1] == End(path.name, -(-10_000 // 97) - 1)


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
@pytest.mark.parametrize("seed", [None, 1])
def test_an_empty_file_is_one_letter_and_an_end(
    tmp_path: Path, text: str, seed: int | None
) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(text)
    seen, _ = drain(
        source([write_csv(tmp_path / "full.csv", 3), path], shuffle_seed=seed), "empty.csv"
    )
    (letter,) = letters(seen)
    assert (letter.reason, letter.position) == ("empty_file", 0)
    assert seen[-1] == End("empty.csv", -1)
    (block,) = blocks(seen)
    assert (block.tick, block.records, block.X.shape) == (-1, 0, (0, 2))


def test_an_empty_json_file_is_one_letter_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    seen, _ = drain(source(tmp_path / "a.jsonl"))
    assert [letter.reason for letter in letters(seen)] == ["empty_file"]


@pytest.mark.parametrize("seed", [None, 1])
def test_a_header_alone_is_one_letter_and_an_end(tmp_path: Path, seed: int | None) -> None:
    path = write_csv(tmp_path / "a.csv", 0)
    seen, _ = drain(source(path, shuffle_seed=seed))
    assert [letter.reason for letter in letters(seen)] == ["header_only"]
    assert seen[-1] == End("a.csv", -1)


def test_a_line_of_ten_megabytes_is_too_long_and_costs_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "long.csv"
    long = b"9" * 10_000_000
    path.write_bytes(b"x1,y\n1,1\n" + long + b"\n" + b" " * 5_000_000 + b"\n2,2\n" + long)
    of = source(path, 2)
    tracemalloc.start()
    seen, _ = drain(of)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000
    assert [(x.reason, x.position, len(x.raw)) for x in letters(seen)] == [
        ("too_long", 1, RAW_LIMIT),
        ("too_long", 2, RAW_LIMIT),
        ("too_long", 4, RAW_LIMIT),
    ]
    assert table(seen).tolist() == [[1, 1, 0], [2, 2, 3]]
    for kept in range(4):
        _, state = drain(of, stop_after=kept)
        rest, _ = drain(of, state=state)
        assert [letter.position for letter in letters(rest)] == [
            letter.position for letter in letters(seen) if letter.position >= 2 * kept
        ]
