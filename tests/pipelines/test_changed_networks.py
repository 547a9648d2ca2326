"""Networks that change between two runs of a job, or while it runs: nothing is lost by it."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from anabranch.network import Eras, combination_weights, ring
from anabranch.placement import Placements
from anabranch.protocol import Learner
from anabranch.simulate import Simulation, simulate
from anabranch.stream import Block
from anabranch.synthetic import nonlinear
from pipelines.config import build_weights, load_job
from pipelines.flow import build_plan
from pipelines.networks import Networks, read_networks
from pipelines.run_dir import RunDirectory, read_lines
from pipelines.sources import build_source
from tests.pipelines.jobs import (
    SETTINGS,
    arrays,
    finish,
    kill,
    models,
    read_job,
    round_of,
    start,
    wait_for,
    workers,
)

ROWS, TICK = 6000, 12
NODES = [f"n{i:02d}" for i in range(6)]


def edges(folder: Path, nodes: Iterable[str], more: str = "") -> str:
    """Write the edge list of a ring, and further edges."""
    ring = list(nodes)
    lines = [f"{a} {b}" for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
    file = folder / "net.txt"
    file.write_text("\n".join([*lines, more]) + "\n", encoding="utf-8")
    return str(file)


def settings(folder: Path, *more: str) -> list[str]:
    kept = [s for s in SETTINGS if not s.startswith("network.")]
    out = f"output.predictions={folder / 'predictions.jsonl'}"
    network = ["network.graph=edges", "network.nodes=", f"network.edges={folder / 'net.txt'}"]
    small = [f"source.rows={ROWS}", "learner.kernel=linear", "learner.dimension="]
    return [*kept, *network, *small, out, *more]


def regression(folder: Path) -> list[str]:
    """Settings of an elastic net over two files, whose hub is n00."""
    others = ("source.rows=", "source.partitions=", "source.kind=", "learner.")
    kept = [s for s in settings(folder) if not s.startswith(others)]
    files = [folder / f"{name}.jsonl" for name in "ab"]
    for part, file in enumerate(files):
        write(file, part * ROWS // 2 // TICK, (part + 1) * ROWS // 2 // TICK)
    paths = json.dumps([str(file) for file in files])
    graph = ["learner.kind=elastic-net", "learner.shape=graph"]
    return [*kept, "source.kind=jsonl", f"source.paths={paths}", *graph]


def networks(folder: Path) -> Networks:
    found = read_networks(folder / "run/networks.json")
    assert found is not None
    return found


def in_the_loop(folder: Path, *, ends: bool = True) -> Simulation:
    """Run the same job in the reference loop, with the networks that it had.

    A job that was told to stop has no rounds after its last tick.
    """
    job = read_job(folder)
    source = build_source(job)
    plan = build_plan(job, source, networks(folder))
    eras = plan.eras or Eras(((0, plan.weights),))
    placements = Placements.of(plan.placement, eras, plan.rounds_per_tick)
    blocks: dict[int, list[Block]] = {}
    for part in source.partitions:
        partition = source.blocks.build_part("source", part, None)
        while (found := partition.next_batch()) and isinstance(block := found[0], Block):
            blocks.setdefault(block.tick, []).append(block)
    ticks = []
    for tick in sorted(blocks):
        shares = [placements.at(tick).shares(block) for block in blocks[tick]]
        nodes = placements.at(tick).nodes
        ticks.append({n: [(s[n].X, s[n].y) for s in shares if n in s] for n in nodes})
    learners: dict[str, Learner] = {node: plan.make(node) for node in eras.nodes}
    after = plan.final_rounds if ends else -eras.widest(len(ticks))
    return simulate(learners, eras, ticks, final_rounds=after)


def all_learned_once(folder: Path, count: int = ROWS) -> None:
    files = sorted(folder.glob("predictions*.jsonl"))
    rows = [(row["partition"], row["position"]) for file in files for row in read_lines(file)]
    assert len(rows) == len(set(rows)) == count
    assert not list(read_lines(folder / "run/dead_letters.jsonl"))


def test_nodes_come_and_go_between_two_runs(tmp_path: Path) -> None:
    edges(tmp_path, NODES)
    job = [*regression(tmp_path), "evaluation.window=40"]
    running = start(tmp_path, settings=job)
    wait_for(lambda: round_of(tmp_path) >= 40 or running.poll() is not None)
    kill([running.pid, *workers(tmp_path).values()])
    running.communicate(timeout=60)
    wait_for(lambda: not workers(tmp_path))
    # Other windows, too, another number of processes, and another file for the predictions.
    edges(tmp_path, [*NODES[:2], *NODES[3:], "n20", "n21"], "n00 n20")
    again = [*job, "evaluation.window=70", "evaluation.every=30",
             f"output.predictions={tmp_path / 'predictions-2.jsonl'}"]  # fmt: skip
    told = finish(start(tmp_path, "--resume", "--processes", "2", settings=again))
    change = networks(tmp_path).eras[1].round
    assert "n20 and n21 join; n02 leaves; n00 - n20 and " in told
    assert f"cut; from round {change:,} on" in told
    truth = in_the_loop(tmp_path)
    assert models(tmp_path) == {n: arrays(m.model()) for n, m in truth.learners.items()}
    all_learned_once(tmp_path)
    row = RunDirectory(tmp_path / "run").final_rows()["cooperative"]
    assert row["samples"] == ROWS
    assert truth_rows(truth, "n02") > 0  # which are of who left
    summary = json.loads((tmp_path / "run/summary.json").read_text(encoding="utf-8"))
    assert (summary["nodes"], summary["edges"]) == (7, 8)


def truth_rows(truth: Simulation, node: str) -> int:
    return sum(len(y) for y in truth.truth[node])


def test_nodes_come_and_go_while_a_job_runs(tmp_path: Path) -> None:
    edges(tmp_path, NODES)
    control, data = tmp_path / "control.jsonl", tmp_path / "data.jsonl"
    ask(control, {"leave": "n01"})  # for whoever ran before
    write(data, 0, 50)
    running = start(tmp_path, settings=followed(tmp_path, data, control))

    def until(condition: Callable[[], bool]) -> None:
        wait_for(lambda: condition() or running.poll() is not None, seconds=120)

    until(lambda: round_of(tmp_path) >= 49)
    ask(control, {"join": "n20", "neighbours": ["n00", "n03"], "from": "neighbour"},
        {"cut": ["n00", "n01"], "and": 1}, {"leave": "n02"})  # fmt: skip
    until(lambda: len(networks(tmp_path).eras) == 2)
    # The processes have hardly begun again. Without n02, n01 hangs on n00 alone.
    ask(control, {"leave": "n00"}, {"link": ["n01", "n03"]}, {"leave": "n20"})
    write(data, 50, 200)
    until(lambda: round_of(tmp_path) >= 199)
    running.terminate()
    told = finish(running)
    assert told.count("it has the key 'and'") == told.count("no neighbour at all: n01") == 1
    assert [len(era.nodes) for era in networks(tmp_path).eras] == [6, 6, 5]
    truth = in_the_loop(tmp_path, ends=False)
    assert models(tmp_path) == {n: arrays(m.model()) for n, m in truth.learners.items()}
    all_learned_once(tmp_path, 200 * TICK)


def test_nodes_come_and_go_before_the_first_round(tmp_path: Path) -> None:
    edges(tmp_path, NODES)
    control, data = tmp_path / "control.jsonl", tmp_path / "data.jsonl"
    write(data, 0, 100)
    job = followed(tmp_path, data, control)
    running = start(tmp_path, "--processes", "2", settings=job)
    wait_for((tmp_path / "run/networks.json").exists)
    ask(control, {"join": "n20", "neighbours": ["n00", "n03"]}, {"leave": "n02"})
    wait_for(lambda: "n20" in networks(tmp_path).nodes or running.poll() is not None)
    kill([running.pid])  # before there is a snapshot; the processes end with it
    running.communicate(timeout=60)
    wait_for(lambda: not workers(tmp_path))
    ask(control, {"join": "n21", "neighbours": ["n20", "n04"], "from": "neighbour"},
        {"cut": ["n00", "n01"]}, {"link": ["n01", "n03"]})  # fmt: skip
    running = start(tmp_path, "--resume", "--processes", "2", settings=job)
    wait_for(lambda: round_of(tmp_path) >= 99 or running.poll() is not None, seconds=120)
    running.terminate()
    finish(running)
    (era,) = networks(tmp_path).eras
    assert set(era.nodes) == {*NODES, "n20", "n21"} - {"n02"}
    truth = in_the_loop(tmp_path, ends=False)
    assert models(tmp_path) == {n: arrays(m.model()) for n, m in truth.learners.items()}
    all_learned_once(tmp_path, 100 * TICK)


def test_the_only_network_may_be_another_than_the_job_file_states(tmp_path: Path) -> None:
    edges(tmp_path, NODES)
    job = load_job(None, settings(tmp_path, f"job.run_dir={tmp_path / 'run'}"))
    first = Networks.begin(build_weights(job.network))
    grown = first.changed(0, combination_weights(ring([*NODES[1:], "n20"])))
    plan = build_plan(job, build_source(job), grown)
    assert plan.placement.nodes == plan.weights.graph.nodes == (*NODES[1:], "n20")


def followed(folder: Path, data: Path, control: Path) -> list[str]:
    """Settings of a job that reads a file as it grows, in step."""
    others = ("source.rows=", "source.partitions=", "source.kind=")
    kept = [s for s in settings(folder) if not s.startswith(others)]
    source = ["source.kind=jsonl", f'source.paths=["{data}"]', "source.follow=true"]
    alone = "evaluation.companions=[]"
    return [*kept, *source, alone, "exchange.mode=synchronous", "learner.ranks=4",
            f"network.control={control}"]  # fmt: skip


def ask(control: Path, *lines: dict[str, Any]) -> None:
    with control.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def write(file: Path, start: int, end: int) -> None:
    """Add the records of some ticks to a file."""
    X, y = nonlinear(seed=1).block(start * TICK, (end - start) * TICK)
    rows = [{"a": x[0], "b": x[1], "y": int(v)} for x, v in zip(X.tolist(), y, strict=True)]
    with file.open("a", encoding="utf-8") as lines:
        lines.write("".join(json.dumps(row) + "\n" for row in rows))
