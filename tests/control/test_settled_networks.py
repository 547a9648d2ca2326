"""Networks settled when a job is resumed, and what else may be another."""

from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import load_job
from pipelines.networks import Networks, networks_of, read_networks
from pipelines.resume import changed_keys, kept_keys
from pipelines.rewiring import settle_networks
from tests.control.jobs import JOIN, ask, desk, prepared, resolve


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
