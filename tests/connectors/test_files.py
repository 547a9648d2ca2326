"""Files as partitions: ticks, resuming, packing, shuffling, splits, wrong settings."""

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connectors.reader
from anabranch.errors import ConfigurationError
from anabranch.stream import End
from connectors.files import read_split
from connectors.records import RecordFormat, SourceError
from tests.connectors.helpers import blocks, drain, letters, same, source, table, write_csv


def pack(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "messy.csv"
    good = [f"{i},{i / 3!r},{i % 3 + 1}" for i in range(40)]
    odd = ["", "1,2", '"5",6,1', "nan,1,1", "x" * 90, " \t", "7,8,9\r"]
    lines = [line for i, line in enumerate(good) for line in (line, odd[i % len(odd)])]
    path.write_text("\n".join(["x1,x2,y", *lines]), newline="")
    return path


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("packed", [False, True])
def test_resuming_anywhere_continues_exactly(messy: Path, seed: int | None, packed: bool) -> None:
    form = RecordFormat(ranks=3, max_record=80)
    for rows in (1, 7, 1000):
        of = source(pack(messy) if packed else messy, rows, records=form, shuffle_seed=seed)
        whole, _ = drain(of)
        for kept in range(len(whole) + 1):
            first, state = drain(of, stop_after=kept)
            second, _ = drain(of, state=state)
            assert same(first + second, whole)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 60),
    st.lists(st.integers(1, 9), max_size=6),
    st.sampled_from([None, 3]),
)
def test_ticks_do_not_depend_on_blocks_or_on_crashes(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    size: int,
    kills: list[int],
    seed: int | None,
) -> None:
    path = tmp_path_factory.mktemp("kill") / "a.csv"
    long = "y" * 3000
    unit = long + "\r\n\r\n2,2\r\nbad\r\n"
    path.write_text("\ufeffx1,y\r\n1,1\r\n" + unit * 9 + long, newline="")
    of = source(path, rows, records=RecordFormat(max_record=20), shuffle_seed=seed)
    whole, _ = drain(of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connectors.reader, "BLOCK_BYTES", size)
        seen, state = drain(of, stop_after=0)
        for kill in kills:
            more, state = drain(of, state=state, stop_after=kill)
            seen += more
        seen += drain(of, state=state)[0]
    assert same(seen, whole)
    assert len(table(whole)) == 10
    assert sum(block.records for block in blocks(whole)) == 29


def test_a_tick_is_a_range_of_records(tmp_path: Path) -> None:
    seen, _ = drain(source(write_csv(tmp_path / "a.csv", 25), 10))
    assert [block.tick for block in blocks(seen)] == [0, 1, 2]
    assert [block.positions.tolist() for block in blocks(seen)] == [
        list(range(10)), list(range(10, 20)), list(range(20, 25)),
    ]  # fmt: skip
    assert seen[-1] == End("a.csv", 2)
    assert not any(block.X.flags.writeable or block.y.flags.writeable for block in blocks(seen))
    assert all(block.X.flags.c_contiguous and block.keys is None for block in blocks(seen))


@pytest.mark.parametrize("seed", [None, 2])
def test_packed_equals_plain(tmp_path: Path, seed: int | None) -> None:
    plain = write_csv(tmp_path / "a.csv", 5000, 5)
    packed = tmp_path / "p" / "a.csv"
    packed.parent.mkdir()
    packed = packed.with_name("a.csv.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    a, b = (table(drain(source(path, 300))[0]) for path in (plain, packed))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_marks_and_a_last_line_without_end(
    tmp_path: Path, ending: str, closed: bool, mark: str
) -> None:
    path = tmp_path / "a.csv"
    text = mark + ending.join(["x1,y", "1,2", "", "3,1"]) + (ending if closed else "")
    path.write_bytes(text.encode())
    assert table(drain(source(path))[0]).tolist() == [[1, 2, 0], [3, 1, 1]]


def test_quoted_fields_and_columns_nobody_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name,"x 1",y,node\n"a, ""b""","1.5",2, n0 \nplain,2,1,n1\n')
    form = RecordFormat(features=("x 1",), node_field="node")
    of = source(path, records=form)
    assert of.features == ("x 1",)
    (block,) = blocks(drain(of)[0])
    assert block.X.tolist() == [[1.5], [2.0]]
    assert block.keys == ["n0", "n1"]


def test_csv_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n4,5,1\n")
    form = RecordFormat(features=("a", "b"), header=False)
    assert table(drain(source(path, records=form))[0]).tolist() == [[1, 2, 3, 0], [4, 5, 1, 1]]


def test_files_are_partitions_with_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "s1").mkdir()
    (tmp_path / "s2").mkdir()
    paths = [write_csv(tmp_path / name, 3) for name in ("s2/a.csv", "s1/a.csv", "s1/b.csv")]
    paths[2].write_text("y,x2,x1\n1,5,6\n")
    of = source(paths)
    assert of.partitions == ("s1/a.csv", "s1/b.csv", "s2/a.csv")
    assert of.features == ("x1", "x2")
    assert table(drain(of, "s1/b.csv")[0]).tolist() == [[6, 5, 1, 0]]


def test_json_features_are_those_of_the_first_good_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('oops\n{"b": 1, "y": 2, "a": 3}\n[5, 4, 1]\n')
    of = source(path)
    assert of.features == ("b", "a")
    assert table(drain(of)[0]).tolist() == [[1, 3, 2, 1], [5, 4, 1, 2]]


def test_shuffling_is_a_seeded_permutation_that_keeps_the_numbers(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", 200)
    plain = table(drain(source(path, 30))[0])
    one, again, other = (table(drain(source(path, 30, shuffle_seed=seed))[0]) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.array_equal(one[np.argsort(one[:, -1])], plain)
    assert np.array_equal(one[:, 0], one[:, -1])


@pytest.mark.parametrize("seed", [None, 1])
def test_a_split_marks_its_records(tmp_path: Path, seed: int | None) -> None:
    path = write_csv(tmp_path / "a.csv", 20)
    seen, _ = drain(source(path, 5, split=(3, 0, 17), shuffle_seed=seed))
    held = [
        position
        for block in blocks(seen)
        if block.held is not None
        for position in block.positions[block.held].tolist()
    ]
    assert sorted(held) == [0, 3, 17]
    assert all(block.held is None or block.held.any() for block in blocks(seen))


@pytest.mark.parametrize("seed", [None, 1])
def test_only_one_carriage_return_belongs_to_the_line_end(tmp_path: Path, seed: int | None) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x1,y\r\n1,2\r\r\n3,1\r\n")
    seen, _ = drain(source(path, shuffle_seed=seed))
    assert table(seen).tolist() == [[3, 1, 1]]
    assert [(letter.reason, letter.raw) for letter in letters(seen)] == [("malformed", b"1,2\r")]


@pytest.mark.parametrize("seed", [None, 1])
def test_a_file_that_is_not_packed_at_all_is_unreadable(tmp_path: Path, seed: int | None) -> None:
    (tmp_path / "a.csv.gz").write_text("x1,y\n1,2\n")
    seen, _ = drain(source(tmp_path / "a.csv.gz", shuffle_seed=seed))
    assert [letter.reason for letter in letters(seen)] == ["unreadable"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rows": 0}, "rows_per_tick is 0"),
        ({"follow": True, "shuffle_seed": 1}, "exclude each other"),
        ({"split": (-1,)}, "record numbers begin at 0"),
        ({"records": RecordFormat(label="rank")}, "label names 'rank'"),
        ({"records": RecordFormat(features=("x1", "z"))}, "features names 'z'"),
        ({"records": RecordFormat(node_field="yy")}, "did you mean 'y'"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    path = write_csv(tmp_path / "a.csv", 3)
    with pytest.raises(ConfigurationError, match=says):
        source(path, **options)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none.csv", "No such file"), (tmp_path, "directory")):
        with pytest.raises(ConfigurationError, match=says):
            source(path)
    one = write_csv(tmp_path / "a.csv", 1)
    with pytest.raises(ConfigurationError, match="twice"):
        source([one, one])
    with pytest.raises(ConfigurationError, match="same features"):
        source([one, write_csv(tmp_path / "b.csv", 1, 3)])
    (tmp_path / "c.csv").write_text("x1,x1,y\n")
    with pytest.raises(ConfigurationError, match="'x1' twice"):
        source(tmp_path / "c.csv")
    (tmp_path / "d.csv").write_bytes(b"\xff\xfex\x001\x00\n")
    with pytest.raises(ConfigurationError, match="header"):
        source(tmp_path / "d.csv")


@pytest.mark.parametrize(
    "wrong",
    [
        {"features": ()},
        {"features": ("y",)},
        {"ranks": 1},
        {"task": "multilabel"},
        {"header": False},
    ],
)
def test_a_record_format_checks_itself(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        RecordFormat(**wrong)


def test_a_file_that_was_exchanged_is_not_resumed(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", 50)
    of = source(path, 10)
    _, state = drain(of, stop_after=2)
    with pytest.raises(ConfigurationError, match="rows_per_tick is 20"):
        drain(source(path, 20), state=state)
    path.write_text(path.read_text().replace("x1", "x7"))
    with pytest.raises(SourceError, match="not the file"):
        drain(of, state=state)
    path.write_text("x1,x2,y\n")
    with pytest.raises(SourceError):
        drain(of, state=state)


@pytest.mark.parametrize("name", ["toy", "ERA", "abalone5", "california5"])
def test_real_sets_are_read_to_the_last_digit(shared: Path, name: str) -> None:
    path = shared / "data" / "ordinal" / f"{name}.csv"
    with open(path, newline="") as file:
        want = [[float(text) for text in row] for row in list(csv.reader(file))[1:]]
    split = read_split(path.with_suffix(".splits.csv"), 1)
    seen, _ = drain(source(path, 100, records=RecordFormat(ranks=9), split=split))
    assert table(seen)[:, :-1].tolist() == want
    assert letters(seen) == []
    held = sum(int(block.held.sum()) for block in blocks(seen) if block.held is not None)
    assert held == len(split)


def test_a_splits_file_must_have_the_line(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("1,2\n3,x\n")
    assert read_split(path, 0) == (1, 2)
    for holdout, says in ((2, "allowed are 0 to 1"), (1, "holdout 1")):
        with pytest.raises(ConfigurationError, match=says):
            read_split(path, holdout)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_split(tmp_path / "none", 0)
