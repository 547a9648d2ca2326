"""JSON Lines out: every item once, crash or not."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.stream import RAW_LIMIT, DeadLetter, Predictions
from connectors.records import SourceError
from connectors.sinks import JsonLinesSink, encode_dead_letter, encode_plain, encode_predictions


def test_a_crash_takes_back_what_no_snapshot_counts(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.jsonl"
    sink = JsonLinesSink(path, encode_plain)
    (name,) = sink.list_parts()
    part = sink.build_part("s", name, None)
    part.write_batch([1, {"a": None}])
    state = part.snapshot()
    part.write_batch([3])
    assert path.read_text() == '1\n{"a":null}\n3\n'
    part = sink.build_part("s", name, state)
    assert part.snapshot() == state
    part.write_batch([4])
    part.close()
    assert path.read_text() == '1\n{"a":null}\n4\n'
    sink.build_part("s", name, None).close()
    assert path.read_bytes() == b""


def test_a_file_shorter_than_its_snapshot_is_not_filled_up(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("1\n")
    with pytest.raises(SourceError, match="cut short"):
        JsonLinesSink(path, encode_plain).build_part("s", "out.jsonl", 9)
    with pytest.raises(ConfigurationError, match="directory"):
        JsonLinesSink(tmp_path, encode_plain)


def test_a_file_that_was_left_is_remembered_and_not_touched(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text("1\n2\n")
    sink = JsonLinesSink(tmp_path / "c.jsonl", encode_plain, ("b.jsonl", "d.jsonl"))
    assert sink.list_parts() == ["b.jsonl", "c.jsonl", "d.jsonl"]
    assert sink.list_parts()[sink.part_fn("predictions")] == "c.jsonl"
    left = sink.build_part("s", "b.jsonl", 2)
    assert left.snapshot() == 2
    left.close()
    assert (tmp_path / "b.jsonl").read_text() == "1\n2\n"


def test_what_is_encoded_reads_back() -> None:
    letter = DeadLetter(
        "malformed", "é \ud800".encode("ascii", "replace").decode(), "s", "p", 4, b'\xff\n"'
    )
    assert json.loads(encode_dead_letter(letter))["raw"] == '\\xff\n"'
    item = Predictions(
        "n1", 7, "a.csv", np.arange(3), np.array([1.0, 2.0, 3.0]), np.array([1, 2, 2]), True
    )
    rows = [json.loads(line) for line in encode_predictions(item).splitlines()]
    assert [row["position"] for row in rows] == [0, 1, 2]
    assert [row["predicted"] for row in rows] == [1, 2, 2]
    assert all(row["held"] is True and row["node"] == "n1" for row in rows)
    assert not any("margins" in row for row in rows)
    none = np.empty(0)
    assert encode_predictions(Predictions("n", 0, "p", none, none, none)) == b""
    assert json.loads(encode_plain({"a": np.arange(2), "b": np.bool_(True)})) == {
        "a": [0, 1],
        "b": True,
    }


def test_a_label_to_come_is_null_and_margins_are_told() -> None:
    margins = np.array([[0.5, -1.0], [2.0, 0.25]])
    item = Predictions(
        "n1", 7, "t:0", np.arange(2), np.array([np.nan, 3.0]), np.array([2, 3]), margins=margins
    )
    rows = [json.loads(line) for line in encode_predictions(item).splitlines()]
    assert [row["y"] for row in rows] == [None, 3.0]
    assert [row["margins"] for row in rows] == margins.tolist()


def test_a_file_of_dead_letters_holds_the_beginnings_of_long_records() -> None:
    letter = DeadLetter("too_long", "no", "t", "t:0", 4, b"x" * RAW_LIMIT + b"y" * 900_000)
    assert json.loads(encode_dead_letter(letter))["raw"] == "x" * RAW_LIMIT
