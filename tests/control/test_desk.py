"""Changes taken up while a job runs."""

import errno
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines.cli import run as run_command
from pipelines.cli.app import app
from pipelines.cli.recovery import prepare_recovery
from pipelines.control import desk as desks
from pipelines.run_dir import RunDirectory
from tests.control.conftest import Reach
from tests.control.jobs import JOIN, ask, desk, prepared, resolve, steps


def test_changes_are_made_once_and_refusals_told_once(tmp_path: Path) -> None:
    ask(tmp_path, JOIN)  # for whoever ran before
    job, run = prepared(tmp_path)
    said: list[str] = []
    first = desk(job, run, said)
    assert not first.due()
    assert not first.act()
    ask(tmp_path, '{"leave": "n99"}', JOIN, '{"cut": ["n00", "n01"]}', '{"cut": ["n01", "n02"]}')
    second = desk(job, run, said)
    assert second.due()
    place = f"of {tmp_path / 'c.jsonl'}"
    assert said[0].startswith(f"line 2 {place}: no change is made: unknown node 'n99'")
    assert said[3].startswith(f"line 5 {place}: no change is made: no neighbour at all: n01")
    assert second.act()
    assert (
        said[4]
        == "network: n20 joins; n00 - n20 and n02 - n20 linked; n00 - n01 cut; from round 40 on"
    )
    assert steps(run) == [(0, 4, 4), (40, 5, 5)]
    third = desk(job, run, said)
    assert not third.due()
    assert len(said) == 5


def test_what_was_heard_and_not_made_is_heard_again(tmp_path: Path, reach: Reach) -> None:
    job, run = prepared(tmp_path)
    ask(tmp_path, JOIN)
    assert desk(job, run, []).due()  # and killed before the job had stopped
    again = desk(job, run, [])
    assert again.due()
    reach(120)
    assert again.act()
    assert steps(run) == [(0, 4, 4), (120, 5, 6)]


def test_a_change_that_comes_too_late_is_told(tmp_path: Path, reach: Reach) -> None:
    job, run = prepared(tmp_path)
    said: list[str] = []
    ask(tmp_path, JOIN)
    late = desk(job, run, said)
    assert late.due()
    reach(200, ended=("p",))
    assert late.act()  # it goes on, to its last rounds
    assert said[-1].startswith("no change is made (n20 joins n00 and n02): the network cannot")
    assert steps(run) == [(0, 4, 4)]
    assert not desk(job, run, said).due()


def test_a_network_lasts_for_a_tick_at_least(tmp_path: Path, reach: Reach) -> None:
    job, run = prepared(tmp_path, "exchange.rounds_per_tick=3")
    for line in (JOIN, '{"leave": "n20"}'):
        ask(tmp_path, line)
        one = desk(job, run, [])
        assert one.due()
        assert one.act()
    assert steps(run) == [(0, 4, 4), (40, 5, 6), (43, 4, 4)]


def test_a_network_that_never_began_is_replaced(tmp_path: Path, reach: Reach) -> None:
    job, run = prepared(tmp_path)
    reach(0)
    ask(tmp_path, '{"leave": "n03"}')
    one = desk(job, run, [])
    assert one.due()
    assert one.act()
    assert steps(run) == [(0, 3, 2)]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (['{"join": "pooled", "neighbours": ["n00"]}'], "node 'pooled' has the name of a compan"),
        (['{"leave": "n00"}', None, '{"join": "n00", "neighbours": ["n01"]}'], "'n00' has left"),
    ],
)
def test_names_that_cannot_join(tmp_path: Path, lines: list[str | None], told: str) -> None:
    job, run = prepared(tmp_path)
    said: list[str] = []
    one = desk(job, run, said)
    for line in lines:
        if line is None:
            assert one.due()
            assert one.act()
            one = desk(job, run, said)
        else:
            ask(tmp_path, line)
    assert not one.due()
    assert told in said[-1]


def elastic(folder: Path, *more: str) -> list[str]:
    (folder / "x.csv").write_text("a,y\n1,2\n", encoding="utf-8")
    source = ["source.kind=csv", "source.rows=", f'source.paths=["{folder / "x.csv"}"]']
    return [*source, "learner.kind=elastic-net", "evaluation.companions=[]", *more]


@pytest.mark.parametrize(
    ("shape", "graph", "line", "told"),
    [
        ("graph", "ring", '{"leave": "n00"}', "node 'n00' is the hub, by which all others go, and"),
        ("server", "star", '{"link": ["n01", "n02"]}', "no star around 'n00': "),
        ("server", "star", '{"join": "x", "neighbours": ["n01"]}', "no star around 'n00': "),
    ],
)
def test_an_elastic_net_keeps_its_hub_and_a_server_its_star(
    tmp_path: Path, shape: str, graph: str, line: str, told: str
) -> None:
    more = [f"learner.shape={shape}", f"network.graph={graph}"]
    job, run = prepared(tmp_path, *elastic(tmp_path, *more))
    said: list[str] = []
    ask(tmp_path, line, '{"leave": "n03"}')
    one = desk(job, run, said)
    assert one.due()
    assert f"no change is made: {told}" in said[0]
    assert one.act()
    assert steps(run)[1][:2] == (40, 3)


def test_who_joins_an_elastic_net_begins_without_the_samples_of_another(tmp_path: Path) -> None:
    job, run = prepared(tmp_path, *elastic(tmp_path, "learner.shape=graph"))
    said: list[str] = []
    ask(tmp_path, '{"join": "x", "neighbours": ["n01", "n02"], "from": "neighbour"}')
    one = desk(job, run, said)
    assert one.due()
    assert one.act()
    assert "node 'x' begins without the model of 'n01', which stands for its samples" in said
    assert steps(run) == [(0, 4, 4), (40, 5, 6)]


def test_a_change_whose_models_cannot_be_left_is_refused_and_the_job_goes_on(
    tmp_path: Path,
) -> None:
    job, run = prepared(tmp_path)
    prepare_recovery(job)
    run.start.write_text("in the way", encoding="utf-8")
    said: list[str] = []
    ask(tmp_path, '{"join": "x", "neighbours": ["n01", "n02"], "from": "neighbour"}')
    one = desk(job, run, said)
    assert one.due()
    assert one.act()
    assert said[-1].endswith(f"{run.start} cannot be written: File exists")
    assert steps(run) == [(0, 4, 4)]


def test_what_is_asked_for_while_a_new_job_begins_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(tmp_path, '{"leave": "n01"}')  # for whoever ran before
    own = [f"job.run_dir={tmp_path / 'run'}", f"recovery.dir={tmp_path / 'state'}"]
    own += [f"network.control={tmp_path / 'c.jsonl'}", "network.nodes=4", "source.rows=100"]
    check = run_command.check_source

    def slow(*args: Any) -> Any:
        ask(tmp_path, JOIN)
        return check(*args)

    monkeypatch.setattr(run_command, "check_source", slow)
    monkeypatch.setattr(run_command, "perform", lambda *args: 0)
    settings = [word for key in own for word in ("--set", key)]
    assert CliRunner().invoke(app, ["run", "--source", "nonlinear", *settings]).exit_code == 0
    job, said = resolve(tmp_path), []
    one = desk(job, RunDirectory.of(job), said)
    assert one.due()
    assert said == [
        f"line 2 of {tmp_path / 'c.jsonl'}: n20 joins n00 and n02; made between two rounds"
    ]


def test_a_replaced_file_loses_no_change(tmp_path: Path) -> None:
    job, run = prepared(tmp_path)
    said: list[str] = []
    ask(tmp_path, '{"leave": "n99"}')
    assert not desk(job, run, said).due()
    (tmp_path / "c.jsonl").write_text('{"leave": "n03"}\n', encoding="utf-8")
    one = desk(job, run, said)  # of a job that was resumed
    assert one.due()
    assert one.act()
    assert steps(run) == [(0, 4, 4), (40, 3, 2)]
    assert sum("it is read from its beginning" in line for line in said) == 1


def test_bad_lines_are_told_once_and_never_fatal(tmp_path: Path) -> None:
    job, run = prepared(tmp_path)
    said: list[str] = []
    ask(tmp_path, "[" * 200_000, '{"join": "a\\ud800b", "neighbours": ["n00"]}', JOIN)
    one = desk(job, run, said)
    assert one.due()
    assert one.act()
    assert [line.count("no change is made: it is no JSON object") for line in said] == [1, 1, 0, 0]
    assert not desk(job, run, said).due()


def test_a_full_disk_delays_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, run = prepared(tmp_path)
    said: list[str] = []
    one = desk(job, run, said)
    write = desks.write_whole

    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(desks, "write_whole", full)
    ask(tmp_path, "nonsense", JOIN)
    assert one.due()
    assert one.act()  # the job goes on as it was
    assert said[-1].endswith("networks.json cannot be written: No space left on device")
    assert steps(run) == [(0, 4, 4)]
    assert not one.due()  # and is not stopped again at once
    monkeypatch.setattr(desks, "write_whole", write)
    monkeypatch.setattr(desks, "_AGAIN", 0.0)
    assert one.act()
    assert steps(run) == [(0, 4, 4), (40, 5, 6)]
    assert not one.due()
