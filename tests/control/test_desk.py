"""Changes taken up while a job runs, and networks settled when one is resumed."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from anabranch.errors import ConfigurationError
from pipelines import rewiring
from pipelines.cli import run as run_command
from pipelines.cli.app import app
from pipelines.cli.recovery import prepare_recovery
from pipelines.config import Job, load_job
from pipelines.control import desk as desks
from pipelines.control.desk import Desk
from pipelines.control.lines import FileLines
from pipelines.networks import Networks, networks_of, read_networks
from pipelines.resume import changed_keys, kept_keys
from pipelines.rewiring import settle_networks
from pipelines.run_dir import RunDirectory
from pipelines.state.reached import Reached

Reach = Callable[..., None]


def resolve(folder: Path, *more: str) -> Job:
    own = [f"job.run_dir={folder / 'run'}", f"recovery.dir={folder / 'state'}"]
    network = ["network.nodes=4", "network.graph=ring"]
    return load_job(None, [*own, *network, f"network.control={folder / 'c.jsonl'}", *more])


def prepared(folder: Path, *more: str) -> tuple[Job, RunDirectory]:
    job = resolve(folder, *more)
    run = RunDirectory.of(job)
    run.prepare(job, networks=settle_networks(job, None, ["p"], print).to_json())
    return job, run


@pytest.fixture(autouse=True)
def reach(monkeypatch: pytest.MonkeyPatch) -> Reach:
    """Say how far the snapshots are: there is no job behind them here."""

    def at(round: int, ended: tuple[str, ...] = (), done: bool = False) -> None:
        monkeypatch.setattr(rewiring, "Snapshots", lambda folder: None)
        state = Reached(round, frozenset(ended), done)
        monkeypatch.setattr(rewiring, "reached", lambda *words: state)

    at(40)
    return at


def desk(job: Job, run: RunDirectory, said: list[str]) -> Desk:
    lines = FileLines(Path(str(job.network.control)), said.append)
    return Desk(job, run, lines, ["p"], said.append, said.append)


def ask(folder: Path, *lines: str) -> None:
    with (folder / "c.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def steps(run: RunDirectory) -> list[tuple[int, int, int]]:
    found = read_networks(run.networks)
    assert found is not None
    return [(era.round, len(era.nodes), len(era.edges)) for era in found.eras]


JOIN = '{"join": "n20", "neighbours": ["n00", "n02"]}'


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


def test_a_resumed_job_keeps_its_networks_unless_its_file_states_another(tmp_path: Path) -> None:
    job, run = prepared(tmp_path)
    ask(tmp_path, JOIN)
    one = desk(job, run, [])
    assert one.due()
    assert one.act()
    said: list[str] = []
    assert settle_networks(job, run, ["p"], said.append) == read_networks(run.networks)
    assert said == []
    other = resolve(tmp_path, "network.nodes=5")
    settled = settle_networks(other, run, ["p"], said.append)
    assert said == [
        "network: n04 joins; n20 leaves; n00 - n04 and n03 - n04 linked; n00 - n03 and "
        "n00 - n20 and n02 - n20 cut; from round 41 on"
    ]
    run.prepare(other, resume=True, networks=settled.to_json())
    assert settle_networks(other, run, ["p"], said.append) == settled
    assert len(said) == 1
    assert changed_keys(job, other) == {}


def test_an_edge_list_that_was_edited_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "net.txt"
    file.write_text("a b\nb c\n", encoding="utf-8")
    own = ["network.graph=edges", "network.nodes=", f"network.edges={file}"]
    job, run = prepared(tmp_path, *own)
    file.write_text("a b\nb c\na c\n", encoding="utf-8")
    settled = settle_networks(resolve(tmp_path, *own), run, ["p"], lambda text: None)
    assert [(era.round, len(era.edges)) for era in settled.eras] == [(0, 2), (40, 3)]
    assert networks_of(job, run.networks).newest == Networks.begin(settled.eras[0].build()).newest


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ["learner.kind=mlknn", "source.kind=labelled"],
            'learner.kind is "mlknn", which needs the network it began',
        ),
        (
            ["learner.kind=npsvor", "exchange.policy=event"],
            'exchange.policy is "event", under which nodes',
        ),
        (["job.kind=batch"], 'learner.kind is "dsvor-batch", which needs the network it began'),
        (["recovery.dir="], "recovery.dir is none, and a changed network begins at a snap"),
    ],
)
def test_jobs_whose_network_cannot_change(tmp_path: Path, more: list[str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=f"network.control is .*, but {told}"):
        resolve(tmp_path, *more)
    if more == ["recovery.dir="]:
        return
    _, run = prepared(tmp_path, "network.control=", *more)
    other = resolve(tmp_path, "network.control=", "network.nodes=5", *more)
    change = "n04 joins; n00 - n04 and n03 - n04 linked; n00 - n03 cut"
    sentence = rf"its network has changed \({change}\): {told}"
    with pytest.raises(ConfigurationError, match=sentence):
        settle_networks(other, run, ["p"], print)


def test_ticks_stay_as_they_were_where_the_job_does_not_say(tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    text = '[source]\nkind = "nonlinear"\n[network]\nnodes = {}\n'
    file.write_text(text.format(4), encoding="utf-8")
    before = load_job(file)
    file.write_text(text.format(5), encoding="utf-8")
    assert load_job(file).source.rows_per_tick != before.source.rows_per_tick
    assert changed_keys(before, load_job(file, kept=kept_keys(before))) == {}
    stated = load_job(file, ["source.rows_per_tick=50"], kept=kept_keys(before))
    assert changed_keys(before, stated) == {"source.rows_per_tick": (40, 50)}


def test_windows_may_change(tmp_path: Path) -> None:
    job = resolve(tmp_path)
    other = resolve(tmp_path, "evaluation.window=7", "evaluation.every=3")
    assert changed_keys(job, other) == {}


def test_damaged_networks_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "networks.json"
    assert read_networks(file) is None
    for text, told in (("{", "cannot be read"), ('{"eras": []}', "is damaged"),
                       ('{"eras": [], "schema": 9}', "a newer version wrote")):  # fmt: skip
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=told):
            read_networks(file)


def test_the_command_shows_and_asks(tmp_path: Path) -> None:
    job, run = prepared(tmp_path)
    prepare_recovery(job)

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["network", str(run.path), *words])
        return result.exit_code, result.output

    code, shown = call()
    assert code == 0
    assert shown.startswith("4 nodes, 4 edges, diameter 2, metropolis-hastings")
    assert "n00: n01, n03" in shown
    assert call("--join", "n20", "--neighbours", "n00,n02", "--from", "neighbour")[0] == 0
    assert call("--leave", "n03") == (0, "asked for: n03 leaves\n")
    assert call("--link", "n00", "n02")[0] == call("--cut", "n00", "n01")[0] == 0
    code, told = call("--cut", "n00", "n02")
    assert (code, told) == (2, "error: 'n00' and 'n02' are not linked\n")
    code, told = call("--neighbours", "n00")
    assert (code, told[:35]) == (2, "error: --neighbours and --from are ")
    code, told = call("--join", "n21")
    assert (code, told[:45]) == (2, "error: --join 'n21' lacks the nodes that it i")
    code, told = call("--join", "M\udcfcller", "--neighbours", "n00")  # what a shell makes of \xfc
    assert (code, "holds bytes that are not UTF-8" in told) == (2, True)
    code, told = call("--join", " ", "--neighbours", "n00")
    assert (code, told[:28]) == (2, "error: the name ' ' is blank")
    said: list[str] = []
    one = desk(job, run, said)
    assert one.due()
    assert one.act()
    assert steps(run) == [(0, 4, 4), (40, 4, 4)]
    assert "node 'n20' begins without n00's model: it has none yet" in said
    assert (
        "from round 40 on: n20 joins; n03 leaves; n00 - n02 and n00 - n20 and n02 - n20"
        in call()[1]
    )
    plain = resolve(tmp_path, "network.control=")
    run.prepare(plain, overwrite=True)
    code, told = call("--leave", "n03")
    assert code == 2
    assert "network.control is none" in told


def test_the_command_asks_nothing_of_a_job_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, run = prepared(tmp_path)
    prepare_recovery(job)
    monkeypatch.setattr(RunDirectory, "is_complete", lambda self: True)
    result = CliRunner().invoke(app, ["network", str(run.path), "--leave", "n03"])
    assert result.exit_code == 2
    assert "has ended, and its network changes no more" in result.output
    assert not (tmp_path / "c.jsonl").exists()


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
