"""Lists of label names: what blocks make of them, and how many new ones they may have."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connectors.label_names
import connectors.reader
from anabranch.stream import LABEL, SAMPLE, WHOLE, Block
from connectors.kafka.ticks import Tick, make_ticks
from connectors.messages import MessageParser
from connectors.records import RecordFormat
from connectors.rows import Origin
from tests.connectors.helpers import blocks, drain, same, source
from tests.connectors.kafka.reading import record

GROW = RecordFormat(task="multilabel", label_list=True, new_labels="grow", features=("x",))
KNOWN = RecordFormat(task="multilabel", label_list=True, labels=("b", "a"), features=("x",))


def parse(form: RecordFormat, values: list[Any], **options: Any) -> Block:
    parser = MessageParser(form, form.features or (), "json", Origin("t", "t:0"), **options)
    offsets = list(range(len(values)))
    texts = [json.dumps(value).encode() for value in values]
    keys = [b"%d" % offset for offset in offsets]
    return parser.parse(offsets, keys, texts, [[]] * len(values), offsets).block("t:0", 0, None)


def sets(of: Block, form: RecordFormat) -> list[set[str]]:
    names = form.labels if of.labels is None else of.labels
    return [{names[i] for i in np.flatnonzero(row)} for row in of.y]


def test_known_names_have_columns_in_their_order() -> None:
    rows = parse(KNOWN, [{"x": 1, "y": ["a"]}, {"x": 2, "y": ["a", "b", "a"]}, {"x": 3, "y": []}])
    assert rows.labels is None
    assert rows.y.tolist() == [[0, 1], [1, 1], [0, 0]]
    assert not rows.y.flags.writeable


def test_new_names_are_refused_ignored_or_taken_up() -> None:
    values = [{"x": 1, "y": ["a", "new"]}, {"x": 2, "y": ["b"]}, {"x": 3, "y": ["new"]}]
    rows = parse(KNOWN, values)
    assert [letter.reason for letter in rows.dead] == ["unknown_label"] * 2
    assert rows.dead[0].detail == "label 'y' names 'new', which is not known"
    assert rows.y.tolist() == [[1, 0]]
    rows = parse(replace(KNOWN, new_labels="ignore"), values)
    assert rows.y.tolist() == [[0, 1], [1, 0], [0, 0]]
    rows = parse(replace(KNOWN, new_labels="grow"), values)
    assert rows.labels == ("a", "b", "new")
    assert sets(rows, KNOWN) == [{"a", "new"}, {"b"}, {"new"}]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a", "bad_label"), (7, "bad_label"), ({"a": 1}, "bad_label"), ([1], "bad_label"),
        ([None], "bad_label"), ([["a"]], "bad_label"), ([""], "bad_label"),
        (["x" * 201], "bad_label"), (["\ud800"], "bad_encoding"), (None, "missing_field"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_names_is_refused(value: Any, reason: str, fast: bool) -> None:
    rows = parse(GROW, [{"x": 1, "y": ["a"]}, {"x": 1, "y": value}], fast=fast)
    assert [(letter.reason, letter.position) for letter in rows.dead] == [(reason, 1)]
    assert rows.labels == ("a",)


def test_names_are_kept_as_they_are() -> None:
    odd = [" a ", "a", "é\n", '"', "x" * 200, "a;b"]
    rows = parse(GROW, [{"x": 1, "y": odd}, [2, odd[:1]]])
    assert rows.labels == tuple(sorted(odd))
    assert sets(rows, GROW) == [set(odd), {" a "}]


def test_csv_splits_a_field_and_an_empty_one_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,y\n1,a; b\n2,\n3,"a;a"\n4,a;\n5,c\n6,"""q"""\n')
    form = RecordFormat(task="multilabel", label_list=True, new_labels="grow")
    (block,) = blocks(drain(source(path, records=form))[0])
    assert block.labels == ('"q"', "a", "b", "c")
    assert sets(block, form) == [{"a", "b"}, set(), {"a"}, {"c"}, {'"q"'}]
    assert [letter.reason for letter in block.dead] == ["bad_label"]
    (block,) = blocks(drain(source(path, records=replace(form, label_separator=",")))[0])
    assert block.labels == ('"q"', "a;", "a; b", "a;a", "c")


def test_an_empty_block_has_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{\n[\n")
    form = replace(GROW, features=("x", "z"))
    (block,) = blocks(drain(source(path, records=form))[0])
    assert (block.labels, block.y.shape, block.X.shape) == ((), (0, 0), (0, 2))
    path.write_text("")
    (block,) = blocks(drain(source(path, records=form))[0])
    assert (block.labels, block.y.shape, block.X.shape) == ((), (0, 0), (0, 2))


def test_samples_and_sets_of_labels_may_come_apart() -> None:
    form = replace(GROW, id_from="key")
    rows = parse(form, [{"x": 1}, {"x": 2, "y": ["b"]}, {"y": []}, {"y": ["a"]}, {"x": 1, "y": []}])
    assert rows.apart is not None
    assert rows.apart.kinds.tolist() == [SAMPLE, WHOLE, LABEL, LABEL, WHOLE]
    assert rows.labels == ("a", "b")
    assert np.isnan(rows.y[0]).all()
    assert rows.y[1:].tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]
    lone = parse(form, [{"x": 1}])
    assert (lone.labels, lone.y.shape) == ((), (1, 0))


def test_samples_and_columns_of_labels_may_come_apart() -> None:
    form = RecordFormat(task="multilabel", labels=("a", "b"), id_from="key", features=("x",))
    rows = parse(form, [{"x": 1}, {"a": 1, "b": False}, {"x": 2, "a": 1}, {"x": 1, "a": 0, "b": 1}])
    assert [(letter.reason, letter.position) for letter in rows.dead] == [("missing_field", 2)]
    assert np.isnan(rows.y[0]).all()
    assert rows.y[1:].tolist() == [[1, 0], [0, 1]]
    assert rows.apart is not None
    assert rows.apart.kinds.tolist() == [SAMPLE, LABEL, WHOLE]


def test_csv_messages_tell_an_empty_set_from_one_to_come_by_their_features() -> None:
    form = replace(GROW, id_from="key", columns=("x", "y"))
    values = [b"1,", b",", b",a", b"1,a", b" , "]
    for fast in (True, False):
        parser = MessageParser(form, ("x",), "csv", Origin("t", "t:0"), fast=fast)
        rows = parser.parse([*range(5)], [b"k"] * 5, values, [[]] * 5, [*range(5)]).block(
            "t:0", 0, None
        )
        assert rows.apart is not None
        assert rows.apart.kinds.tolist() == [SAMPLE, LABEL, LABEL, WHOLE, LABEL]
        assert rows.y[1:].tolist() == [[0], [1], [1], [0]]


def test_a_stream_of_new_names_is_bounded_a_block(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lists = [["k", f"n{i}", f"n{i + 1}"] for i in range(8)]
    path.write_text("".join(json.dumps({"x": 1, "y": names}) + "\n" for names in lists))
    form = replace(GROW, labels=("k",), max_labels=3)
    first, second = blocks(drain(source(path, 4, records=form))[0])
    assert first.labels == ("k", "n0", "n1", "n2")
    assert second.labels == ("k", "n4", "n5", "n6")
    for block in (first, second):
        assert [letter.reason for letter in block.dead] == ["unknown_label"] * 2
        assert block.positions.tolist() == [4 * block.tick, 4 * block.tick + 1]
    assert "one label too many for a block: 'n3', after 3 others" in first.dead[0].detail
    assert first.dead[0].raw == path.read_bytes().splitlines()[2]


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 9), size=st.integers(1, 80), kills=st.lists(st.integers(1, 4), max_size=4),
    seed=st.sampled_from([None, 3]), csv=st.booleans(),
)  # fmt: skip
def test_blocks_of_files_do_not_depend_on_how_they_were_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    size: int,
    kills: list[int],
    seed: int | None,
    csv: bool,
) -> None:
    path = tmp_path_factory.mktemp("lists") / ("a.csv" if csv else "a.jsonl")
    names = [["abc"[(i + j) % 3] + str(i // 7) for j in range(i % 4)] for i in range(30)]
    if csv:
        lines = ["x,y", *(f"{i},{';'.join(some)}" for i, some in enumerate(names))]
    else:
        lines = [json.dumps({"x": i, "y": some}) for i, some in enumerate(names)]
    path.write_text("\n".join([*lines[:9], "bad", *lines[9:]]))
    of = source(path, rows, records=replace(GROW, max_labels=4), shuffle_seed=seed)
    whole, _ = drain(of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connectors.reader, "BLOCK_BYTES", size)
        seen, state = drain(of, stop_after=0)
        for kill in kills:
            more, state = drain(of, state=state, stop_after=kill)
            seen += more
        seen += drain(of, state=state)[0]
    assert same(seen, whole)
    for block in blocks(whole):
        assert block.labels is not None
        assert len(block.labels) <= 4
        for row, found in zip(block.X[:, 0].tolist(), sets(block, GROW), strict=True):
            assert found == set(names[int(row)])


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("size", [1, 3, 7, 40])
def test_ticks_of_messages_cut_from_many_are_those_made_one_by_one(size: int, apart: bool) -> None:
    form = replace(GROW, max_labels=3, id_from="key" if apart else None)
    parser = MessageParser(form, ("x",), "json", Origin("t", "t:0"))
    values = [
        {"x": i, "y": [f"n{(i + j) % 5}" for j in range(i % 3)]} if i % 6 else {"x": i}
        for i in range(50)
    ]
    records = [
        record(3 * i, json.dumps(value).encode(), key=b"%d" % i) for i, value in enumerate(values)
    ]
    singly = [
        tick
        for at in range(0, 50, size)
        for tick in make_ticks(parser, records[at : at + size], size)
    ]
    assert [shown(tick) for tick in make_ticks(parser, records, size)] == list(map(shown, singly))
    for tick in singly:
        block = tick.rows.block("t:0", 0, None)
        assert not block.y.flags.writeable
        assert block.labels is not None
        assert (block.y == 1).any(axis=0).all()
        assert len(block.labels) <= 3
    if size > 5:
        assert any(letter.reason == "unknown_label" for t in singly for letter in t.rows.dead)


def shown(tick: Tick) -> object:
    rows = tick.rows.block("t:0", 0, None)
    y = np.where(np.isnan(rows.y), np.nan, rows.y).tobytes()
    return rows.X.tobytes(), y, rows.y.shape, rows.labels, rows.positions.tolist(), rows.dead


def test_a_stream_of_random_names_costs_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors.label_names, "_KEPT", 100)
    form, draw, held = replace(GROW, max_labels=20), Random(5), list[int]()
    parser = MessageParser(form, ("x",), "json", Origin("t", "t:0"))
    tracemalloc.start()
    for _ in range(30):
        values = [
            json.dumps({"x": 1, "y": [f"{draw.random()}" for _ in range(3)]}).encode()
            for _ in range(100)
        ]
        rows = parser.parse([*range(100)], [None] * 100, values, [[]] * 100, [*range(100)])
        assert len(rows.block("t:0", 0, None).labels or ()) == 18
        assert len(rows.dead) == 94
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[-1] - held[10] < 50_000
