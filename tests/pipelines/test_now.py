"""What a process tells of its nodes and edges is what they did and heard."""

import errno
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import numpy as np
import pytest

from anabranch.protocol import Message
from anabranch.stream import DeadLetter
from operators.ears import Ears
from operators.hub import Hub
from operators.learn import make_hub
from operators.synchronous import SynchronousNode
from pipelines import status
from pipelines.config import load_job
from pipelines.gauges import Gauges
from pipelines.live.records import EdgeNow, Letter, NodeNow, Now, read_now
from pipelines.now import Gatherer
from pipelines.run_dir import RunDirectory
from pipelines.status import write_status
from tests.operators.flows import run_flow
from tests.operators.toy import ToySource
from tests.operators.toy_job import NAMES, toy_plan


@pytest.fixture(params=["synchronous", "asynchronous"])
def ran(request: pytest.FixtureRequest) -> Any:
    source = ToySource([210, 70], 20)
    return run_flow(source, toy_plan(source.names, "hash", mode=request.param, final_rounds=3))


def test_nodes_are_as_the_scores_say(ran: Any) -> None:
    now = read_back(Gatherer(ran.hub, "ordinal").gather())
    assert tuple(now.nodes) == NAMES  # no companion among them
    for name, node in now.nodes.items():
        row = ran.final_row(node=name)
        assert (node.round, node.samples) == (row["round"] + 1, row["samples"])
        assert node.window == pytest.approx(row["window"])
        assert node.heard >= 0
    assert sum(node.messages for node in now.nodes.values()) == ran.final_row()["messages"]
    assert sum(node.bytes for node in now.nodes.values()) == ran.final_row()["bytes"]


def test_every_edge_has_heard_what_its_sender_sent(ran: Any) -> None:
    now = read_back(Gatherer(ran.hub, "ordinal").gather())
    graph = toy_plan(["p"]).weights.graph
    assert {(edge.sender, edge.receiver) for edge in now.edges} == {
        (a, b) for b in NAMES for a in graph.neighbours(b)
    }
    heard = sum(edge.messages for edge in now.edges)
    assert 0 < heard <= ran.final_row()["messages"]  # a node that has ended hears no more
    assert all(edge.age >= 0 and edge.bytes > 0 for edge in now.edges)


def test_in_step_all_that_is_sent_is_heard() -> None:
    source = ToySource([210, 70], 20)
    ran = run_flow(source, toy_plan(source.names, "hash"))
    edges = Gatherer(ran.hub, "ordinal").gather().edges
    assert sum(edge.messages for edge in edges) == ran.final_row()["messages"]
    assert len({edge.messages for edge in edges}) == 1


def test_a_process_counts_what_was_sent_since_it_began(ran: Any) -> None:
    told = Gauges(ran.hub).read()
    row = ran.final_row()
    assert (told["messages"], told["bytes"]) == (row["messages"], row["bytes"])
    assert told["rounds"][1] == row["round"] + 1
    hub = Hub(0, 1, 1, {})
    hub.watch("n00", node(messages=100, size=1000))
    assert (Gauges(hub).read()["messages"], Gauges(hub).read()["bytes"]) == (0, 0)


def node(messages: int = 0, size: int = 0, *, done: bool = False, ears: Ears | None = None) -> Any:
    made = SynchronousNode(toy_plan(["p"]), "n00", None)
    made.round, made.done, made.ears = 3, done, ears or Ears()
    made.core.messages, made.core.bytes = messages, size
    return made


def read_back(now: Now) -> Now:
    return msgspec.json.decode(msgspec.json.encode(now), type=Now)


def test_a_node_without_a_report_has_no_scores() -> None:
    hub = Hub(0, 1, 1, {})
    hub.watch("n00", node())
    told = read_back(Gatherer(hub, "ordinal").gather()).nodes["n00"]
    assert told == NodeNow(3, 0, 0, 0, {}, {}, -1.0)


def test_ages_and_sizes_of_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = set_clock(monkeypatch)
    hub, ears = Hub(0, 1, 1, {}), Ears.of(["a", "b", "c"])
    hub.watch("r", node(ears=ears))
    ears.hear("a", Message({"w": np.ones(4)}))
    ears.hear("a", Message({"w": np.ones(3)}))
    ears.hear("b", None)
    ears.hear("stranger", None)
    clock[0] += 5
    gatherer = Gatherer(hub, "ordinal")
    edges = gatherer.gather().edges
    assert edges == [
        EdgeNow("a", "r", 5.0, 2, 48),
        EdgeNow("b", "r", 5.0, 0, 0),
        EdgeNow("c", "r", -1.0, 0, 0),
    ]
    ears.expect(["b", "d"])
    assert [(e.sender, e.age) for e in gatherer.gather().edges] == [("b", 5.0), ("d", -1.0)]


def test_edges_of_nodes_that_have_ended_grow_no_older(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = set_clock(monkeypatch)
    hub, ears = Hub(0, 1, 1, {}), Ears.of(["a"])
    hub.watch("r", node(ears=ears, done=True))
    ears.hear("a", None)
    gatherer = Gatherer(hub, "ordinal")
    for _ in range(2):
        clock[0] += 5
        assert gatherer.gather().edges == [EdgeNow("a", "r", 5.0, 0, 0)]


def set_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give a clock to be put forward by hand."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    return clock


def test_dead_letters_are_counted_and_few_are_shown() -> None:
    hub = Hub(0, 1, 1, {})
    for number in range(9):
        hub.set_aside(DeadLetter("malformed", "x" * 999, "t", "t:1", number, b"raw", b"key"))
    hub.set_aside(DeadLetter("refused_message", "no", "n1", "n1", 4, b""))
    now = read_back(Gatherer(hub, "ordinal").gather())
    assert (hub.dead, now.reasons) == (10, {"malformed": 9, "refused_message": 1})
    assert hub.refused == {"refused_message": 1}
    assert now.examples["malformed"] == [Letter("x" * 300, "t", "t:1", at) for at in range(4, 9)]
    kept = [letter for letters in hub.examples.values() for letter in letters]
    assert {(letter.raw, letter.key) for letter in kept} == {(b"", None)}


def test_a_score_that_is_not_finite_is_left_out() -> None:
    source = ToySource([20], 20)
    ran = run_flow(source, toy_plan(source.names))
    one = ran.hub.reports["n00"]
    empty = {"counts": np.zeros_like(one.window["counts"])}
    ran.hub.reports["n00"] = replace(one, window=empty)
    window = read_back(Gatherer(ran.hub, "ordinal").gather()).nodes["n00"].window
    assert all(np.isfinite(list(window.values())))


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[RunDirectory, Event, Thread]]:
    job = load_job(None, [f"job.run_dir={tmp_path}", "monitor.interval=100ms"])
    hub = make_hub(toy_plan(["p"]).placement, process=1, processes=2)
    hub.watch("n00", node())
    run_dir, done = RunDirectory(tmp_path), Event()
    args = (run_dir, 1, Gauges(hub), job, done, time.monotonic())
    thread = Thread(target=write_status, args=args)
    thread.start()
    yield run_dir, done, thread
    done.set()
    thread.join()


def test_both_files_are_written_until_the_end(
    writing: tuple[RunDirectory, Event, Thread],
) -> None:
    run_dir, done, thread = writing
    deadline = time.monotonic() + 60
    while (first := read_now(run_dir.now_of(1))) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    done.set()
    thread.join()
    last = read_now(run_dir.now_of(1))
    assert last is not None
    assert last.time >= first.time
    assert (last.process, tuple(last.nodes)) == (1, ("n00",))
    (status,) = run_dir.read_statuses()
    assert status["process"] == 1
    assert status["rounds"] == [3, 3]
    assert status["files"] > 2
    assert 0.0 < status["clock"] - status["seconds"] <= time.monotonic()
    assert status["started"] <= json.loads(run_dir.status_of(1).read_text())["time"]


def test_a_full_disk_is_told_and_survived(
    writing: tuple[RunDirectory, Event, Thread],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_dir, _, thread = writing
    full = [True]
    write = status.write_whole

    def refuse(path: Path, text: str) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, text)

    monkeypatch.setattr(status, "write_whole", refuse)
    await_it(lambda: "No space left on device" in caplog.text)
    run_dir.status_of(1).unlink(missing_ok=True)
    full[0] = False
    await_it(run_dir.status_of(1).exists)
    assert thread.is_alive()


def test_samples_go_on_from_what_was_told_until_the_nodes_are_back() -> None:
    hub = Hub(0, 1, 1, {})
    gauges = Gauges(hub, before=700)
    told = []
    for restored, rows in ((0, 0), (300, 0), (690, 0), (690, 5)):
        hub.restored, hub.rows = restored, rows
        told.append(gauges.read()["samples"])
    assert told == [700, 700, 700, 695]


def test_a_process_begins_with_what_the_one_before_it_told(tmp_path: Path) -> None:
    run_dir, done, gauges = RunDirectory(tmp_path), Event(), Gauges(Hub(1, 2, 1, {}))
    done.set()
    args = (run_dir, 1, gauges, load_job(None, []), done, time.monotonic())
    write_status(*args)
    assert run_dir.read_statuses()[0]["samples"] == 0
    gauges.hub.rows = 40
    write_status(*args)
    gauges.hub.rows = 0
    write_status(*args)
    assert run_dir.read_statuses()[0]["samples"] == 40


def await_it(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)
