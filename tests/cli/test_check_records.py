"""`anabranch check` and `run` tell why none of the records can be used."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.closing import print_failure
from pipelines.cli.guard import OUT_OF_MEMORY, guarded
from pipelines.config import build_job
from pipelines.run_dir import RunDirectory
from pipelines.supervise import Outcome
from tests.cli.test_command_line import call

JOB = """
[source]
kind = "csv"
paths = ["rows.csv"]
rows_per_tick = 5
node = "field:node"
[network]
nodes = 3
[learner]
kind = "dsvor"
ranks = 2
[evaluation]
companions = []
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


def write(folder: Path, nodes: list[str]) -> None:
    rows = [f"{i},{i % 2 + 1},{node}" for i, node in enumerate(nodes)]
    (folder / "rows.csv").write_text("x,y,node\n" + "\n".join(rows) + "\n", encoding="utf-8")


def test_check_warns_where_no_record_can_be_used(folder: Path) -> None:
    write(folder, ["A"] * 200)
    result = call("check", "job.toml")
    assert result.exit_code == 0
    assert (
        "warning: none of the first 100 records of rows.csv could be used: field 'node' is 'A', "
        "not a node"
    ) in result.stderr
    write(folder, ["A"] * 7 + ["n00"])
    assert "could be used" not in call("check", "job.toml").stderr
    write(folder, ["A"])
    assert "warning: no record of rows.csv could be used" in call("check", "job.toml").stderr


def test_a_run_tells_of_the_first_dead_letter_where_most_are_dead(folder: Path) -> None:
    write(folder, ["n00", "A", "B", "B"])
    result = call("run", "job.toml")
    assert result.exit_code == 0
    line = "for example record 1 of rows.csv: field 'node' is 'A', not a node"
    assert line in re.sub(r"\s+", " ", result.stdout + result.stderr)


def test_too_little_memory_is_told_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, ["n00"])

    def hungry() -> None:
        raise MemoryError("Unable to allocate 2 TiB")

    import typer

    small = typer.Typer()
    small.command()(guarded(hungry))
    result = CliRunner().invoke(small, [])
    assert result.exit_code == 1
    assert result.stderr == f"error: {OUT_OF_MEMORY} (Unable to allocate 2 TiB)\n"
    job = build_job({"source": {"kind": "linear"}, "job": {"run_dir": "r"}})
    run_dir = RunDirectory(folder / "r")
    run_dir.path.mkdir()
    run_dir.log(0).write_text("numpy._ArrayMemoryError: Unable to allocate 2 TiB\n")
    print_failure(job, run_dir, Outcome(1))
    assert capsys.readouterr().err.endswith(f"{OUT_OF_MEMORY} (Unable to allocate 2 TiB)\n")
