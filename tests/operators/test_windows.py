"""Windows and alarms as steps of a dataflow: those of direct calls, across a crash, bit for bit."""

from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow, Stream
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main

from anabranch.alarms import AlarmRule, AlarmWatch
from anabranch.placement import Placement
from anabranch.signal import EntropyFeatures, Windower, WindowPlan
from anabranch.stream import Block, End, Predictions
from operators.alarms import alarms
from operators.hub import Hub
from operators.learn import make_hub
from operators.windows import windows

PLAN = WindowPlan(24, 10, features=EntropyFeatures(modes=2, trials=1, order=3), seed=4)
PARTS = ("a", "b")
RULE = AlarmRule(stay=2)


def blocks() -> list[Block | End]:
    """Seven ticks of two sensors by turns, none of them a whole number of windows."""
    rng = np.random.default_rng(1)
    items: list[Block | End] = []
    for tick in range(7):
        for part in PARTS:
            rows = np.arange(17 * tick, 17 * (tick + 1))
            items.append(Block(part, tick, rng.normal(size=(17, 1)), rows % 3 + 1.0, rows))
    return [*items, *(End(part, 6) for part in PARTS)]


def plain(item: Block | End) -> Any:
    if isinstance(item, End):
        return item
    arrays = (item.X, item.y, item.positions)
    return item.partition, item.tick, *(array.tobytes() for array in arrays)


def of_partition(items: list[Any], part: str) -> list[Any]:
    return [plain(item) for item in items if item.partition == part]


def flow_of(items: list[Any], step: Any, out: list[Any]) -> Dataflow:
    flow = Dataflow("signals")
    made = step(op.input("in", flow, TestingSource(items, batch_size=1)))
    op.output("out", made, TestingSink(out))
    return flow


def run_twice(folder: Path, items: list[Any], at: int, step: Any) -> list[Any]:
    """Run until the source crashes, then again from the snapshots; give what came out."""
    init_db_dir(folder, 1)
    out: list[Any] = []
    broken = [*items[:at], TestingSource.ABORT(), *items[at:]]
    for _ in range(2):
        run_main(
            flow_of(broken, step, out),
            epoch_interval=timedelta(0),
            recovery_config=RecoveryConfig(folder),
        )
    return out


@pytest.fixture(scope="module")
def direct() -> list[Block | End]:
    windowers = {part: Windower(PLAN, part) for part in PARTS}
    return [
        item if isinstance(item, End) else windowers[item.partition].take(item) for item in blocks()
    ]


def test_a_flow_gives_what_direct_calls_give(direct: list[Block | End]) -> None:
    out: list[Any] = []
    flow = flow_of(blocks(), lambda up: windows("windows", up, PLAN, PARTS), out)
    cluster_main(flow, [], 0, worker_count_per_proc=2)
    for part in PARTS:
        assert of_partition(out, part) == of_partition(direct, part)


@pytest.mark.parametrize("at", [1, 6, 13])
def test_a_crash_within_a_window_changes_nothing(
    tmp_path: Path, direct: list[Block | End], at: int
) -> None:
    out = run_twice(tmp_path, blocks(), at, lambda up: windows("windows", up, PLAN, PARTS))
    for part in PARTS:
        assert of_partition(out, part) == of_partition(direct, part)


def test_a_short_sensor_is_told_of_before_its_end() -> None:
    rows = np.arange(20)
    items = [Block("a", 0, rows[:, None] * 1.0, rows % 3 + 1.0, rows), End("a", 0)]
    out: list[Any] = []
    run_main(flow_of(items, lambda up: windows("windows", up, PLAN, PARTS), out))
    assert [getattr(item, "tick", None) for item in out] == [0, -1, None]
    assert [letter.reason for letter in out[1].dead] == ["no_window"]


def test_alarms_survive_a_crash(tmp_path: Path) -> None:
    ranks = np.array([1, 1, 2, 2, 1, 1, 1, 3, 3, 3])
    one = Predictions("n", 0, "a", np.arange(1), ranks[:1], ranks[:1])
    items = [
        replace(one, node=node, positions=np.array([i]), predicted=ranks[i : i + 1])
        for i in range(10)
        for node in ("n", "m")
    ]
    watch = AlarmWatch(RULE, "n")
    wanted = [asdict(alarm) for item in items[::2] for alarm in watch.take(item)]
    assert [alarm["kind"] for alarm in wanted] == ["raised", "cleared", "raised"]
    for at in (5, 6, 11):
        (tmp_path / str(at)).mkdir()
        hub = make_hub(Placement(["n", "m"], "round-robin", ["a"]))
        told = run_twice(tmp_path / str(at), items, at, partial(watched, hub))
        assert [alarm for alarm in told if alarm["node"] == "n"] == wanted
        assert len(told) == 2 * len(wanted)
        assert hub.alarms == sum(alarm["kind"] == "raised" for alarm in told)


def watched(hub: Hub, up: Stream[Predictions]) -> Stream[dict[str, Any]]:
    return alarms("alarms", up, RULE, hub)
