"""`anabranch network`: what it shows, and asks for."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.app import app
from pipelines.cli.recovery import prepare_recovery
from pipelines.run_dir import RunDirectory
from tests.control.jobs import desk, prepared, resolve, steps


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
