"""The connectors inside a Bytewax flow, with a crash and a resume."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, cluster_main, run_main

from anabranch.stream import Block, End
from connectors.files import FileSource
from connectors.sinks import JsonLinesSink, encode_dead_letter, encode_plain
from tests.connectors.helpers import source, write_csv


def build(of: FileSource, folder: Path, fail_at: int | None = None) -> Dataflow:
    flow = Dataflow("flow")
    items = op.input("read", flow, of)

    def lines(item: Block | End) -> list[tuple[str, Any]]:
        if isinstance(item, End):
            return []
        if item.tick == fail_at:
            raise RuntimeError("crash")
        return [("", {"at": position}) for position in item.positions.tolist()]

    def dead(item: Block | End) -> list[tuple[str, Any]]:
        return [("", letter) for letter in item.dead] if isinstance(item, Block) else []

    rows = op.flat_map("rows", items, lines)
    op.output("out", rows, JsonLinesSink(folder / "rows.jsonl", encode_plain))
    letters = op.flat_map("dead", items, dead)
    op.output("letters", letters, JsonLinesSink(folder / "dead.jsonl", encode_dead_letter))
    return flow


def test_two_workers_read_every_item_of_several_files(tmp_path: Path) -> None:
    paths = [write_csv(tmp_path / f"{name}.csv", rows) for name, rows in (("a", 35), ("b", 8))]
    of = source(paths)
    seen: list[Any] = []
    flow = Dataflow("flow")
    op.output("out", op.input("read", flow, of), TestingSink(seen))
    cluster_main(flow, [], 0, worker_count_per_proc=2)  # type: ignore[no-untyped-call]
    ends = {item.partition: item.last_tick for item in seen if isinstance(item, End)}
    assert ends == {"a.csv": 3, "b.csv": 0}
    assert sum(block.records for block in seen if isinstance(block, Block)) == 43


@pytest.mark.parametrize("seed", [None, 4])
def test_every_record_is_written_once_over_crashes(tmp_path: Path, seed: int | None) -> None:
    path = write_csv(tmp_path / "a.csv", 100)
    path.write_text(path.read_text().replace("\n50,", "\nfifty,"))
    (tmp_path / "db").mkdir()
    init_db_dir(tmp_path / "db", 1)  # type: ignore[no-untyped-call]
    of = source(path, 10, shuffle_seed=seed)
    options: dict[str, Any] = {
        "epoch_interval": timedelta(0),
        "recovery_config": RecoveryConfig(tmp_path / "db"),  # type: ignore[no-untyped-call]
    }
    for fail_at in (0, 3, 8):
        with pytest.raises(BaseException):  # noqa: B017, PT011 - the engine wraps it
            run_main(build(of, tmp_path, fail_at), **options)  # type: ignore[no-untyped-call]
    run_main(build(of, tmp_path), **options)  # type: ignore[no-untyped-call]
    rows = [json.loads(line)["at"] for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 99
    assert sorted(rows) == [row for row in range(100) if row != 50]
    (letter,) = (tmp_path / "dead.jsonl").read_text().splitlines()
    assert json.loads(letter)["position"] == 50
