"""The command line: exit codes, messages, and what each command prints."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pipelines.cli import main
from pipelines.cli.app import app
from pipelines.config import describe_learner, describe_section
from pipelines.config.decode import SECTIONS

NO_EDGE_LIST = "[source]\nkind = 'csv'\npaths = ['data.csv']\n[learner]\nranks = 3\n"


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{i % 5},{1 + i % 3}\n" for i in range(60))
    (tmp_path / "data.csv").write_text("x1,x2,y\n" + rows, encoding="utf-8")
    (tmp_path / "job.toml").write_text(NO_EDGE_LIST, encoding="utf-8")
    return tmp_path


def test_the_version_and_the_help() -> None:
    assert call("--version").output.startswith("anabranch")
    for command in ("run", "check", "report", "describe", "predict"):
        assert command in call("--help").output
        assert call(command, "--help").exit_code == 0


@pytest.mark.parametrize("section", SECTIONS)
def test_describe_lists_every_key(section: str) -> None:
    output = call("describe", section).output
    struct: Any = SECTIONS[section]
    for key in struct.__struct_fields__:
        assert key == "options" or f"{section}.{key}: " in output
    for key in describe_section(section):
        assert key.meaning.endswith(".")
        assert key.allowed
        assert key.default
        assert key.meaning[:40] in output


def test_describe_lists_every_option_of_a_learner() -> None:
    output = call("describe", "learner", "dsvor").output
    keys = describe_learner("dsvor")
    assert {"learner.alpha", "learner.kernel"} <= {key.name for key in keys}
    for key in keys:
        assert f"{key.name}: " in output
        assert key.meaning or key.name == "learner.seed"
    assert 'default "gaussian"' in output


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("npsvor", ("rows_waiting", "reach", "repeats", "unconfirmed")),
        ("dsvor", ("zeros", "dropped")),
    ],
)
def test_describe_explains_what_a_learner_tells_of_itself(
    kind: str, names: tuple[str, ...]
) -> None:
    output = call("describe", "learner", kind).output
    told = output.partition(f"What {kind} tells of itself, in scores and report:")[2]
    assert [line.partition(": ")[0] for line in told.split("\n") if line] == list(names)
    assert "tells of itself" not in call("describe", "learner", "kind").output


def test_describe_one_key_and_an_unknown_one() -> None:
    assert call("describe", "network", "graph").output.startswith("network.graph: one of ")
    wrong = call("describe", "network", "grahp")
    assert wrong.exit_code == 2
    assert "did you mean 'network.graph'" in wrong.stderr
    assert call("describe", "learner", "alpha").output.startswith("learner.alpha: a number; ")
    assert call("describe", "learner", "alhpa").exit_code == 2
    assert call("describe", "networks").exit_code == 2
    assert all(section in call("describe").output for section in SECTIONS)


def test_check_prints_the_network(folder: Path) -> None:
    result = call("check", "job.toml", "--set", "network.graph=ring")
    assert result.exit_code == 0
    facts = {line[:20].strip(): line[20:] for line in result.stdout.splitlines()}
    assert facts["nodes"] == "20"
    assert facts["edges"] == "20"
    assert facts["degree"] == "min 2, mean 2, max 2"
    assert facts["diameter"] == "10"
    assert facts["messages a round"] == "40"
    traffic = re.fullmatch(r"at most ([\d,]+) \(40 messages of ([\d,]+)\)", facts["bytes a round"])
    assert traffic
    total, size = (int(group.replace(",", "")) for group in traffic.groups())
    assert total == 40 * size > 40 * 200 * 8
    assert facts["learner"] == "dsvor, 3 ranks"
    assert (facts["features"], facts["rows a tick"]) == ("2", "200 of each partition")
    assert len(facts["topology hash"]) == 16
    assert float(facts["spectral radius"]) + float(facts["spectral gap"]) == pytest.approx(1)
    assert not list(folder.glob("runs"))


@pytest.mark.parametrize("command", ["check", "run"])
def test_what_the_header_lacks_is_refused_before_anything_is_made(
    folder: Path, command: str
) -> None:
    for setting, message in (
        ("source.label=rank", "source.label names 'rank', which the header"),
        ("source.node=field:nosite", "source.node names 'nosite', which the header"),
    ):
        result = call(command, "job.toml", "--set", setting)
        assert result.exit_code == 2
        assert message in result.stderr
        assert not (folder / "runs").exists()


def test_a_comparison_leaves_the_runs_own_reports(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    monkeypatch.setattr("pipelines.cli.report.write_page", lambda _, out: written.append(out))
    call("report", "a")
    call("report", "a", "b")
    call("report", "a", "b", "-o", "c.html")
    assert written == [Path("a/report.html"), Path("comparison.html"), Path("c.html")]


def test_check_warns(folder: Path) -> None:
    settings = ["exchange.mode=asynchronous", "source.rows_per_tick=1000", "parallel.workers=2"]
    words = [word for setting in settings for word in ("--set", setting)]
    warnings = call("check", "job.toml", *words).stderr
    assert warnings.count("warning: ") == 3
    endless = call("check", "job.toml", "--set", "source.follow=true").stderr
    assert "a crash loses what was learned" in endless
    assert "no held-back rows" in call("check", "job.toml", "--set", "job.kind=batch").stderr
    path = ("--set", "network.graph=path", "--set", "network.nodes=60")
    assert "the spectral gap is" in call("check", "job.toml", *path).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", "none.toml"),
        ("run", "job.toml", "--set", "network.nods=3"),
        ("run", "job.toml", "--set", "nonsense"),
        ("run", "job.toml", "--learner", "dsvr"),
        ("run", "job.toml", "--source", "data.txt"),
        ("run", "job.toml", "--workers", "0"),
        ("run", "job.toml", "--workers", "many"),
        ("run", "job.toml", "--on-bad-input", "halt"),
        ("run", "job.toml", "--resume"),
        ("run", "job.toml", "--resume", "--overwrite"),
        ("run", "job.toml", "--colour"),
        ("check", "none.toml"),
        ("check", "job.toml", "--set", "source.label=none"),
        ("run", "job.toml", "--set", 'source.features=["x1","x9"]'),
        ("run", "job.toml", "--set", "source.node=field:site"),
        ("report", "none"),
        ("predict", "none.npz", "data.csv"),
        ("nonsense",),
    ],
)
def test_wrong_use_is_told_in_a_sentence_with_exit_code_2(folder: Path, words: tuple[str]) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert not list(folder.glob("runs"))


def test_traceback_is_shown_on_request_anywhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", "none.toml", "--traceback"])
    assert stopped.value.code == 2
    assert "Traceback" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", "none.toml"])
    assert "Traceback" not in capsys.readouterr().err


def test_a_crash_is_exit_code_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.network.combination_weights", lambda *_: 1 / 0)
    result = call("check", "job.toml")
    assert result.exit_code == 1
    assert result.stderr == "crash: ZeroDivisionError: division by zero (--traceback shows where)\n"


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = "{'numba', 'bytewax', 'scipy', 'river', 'bokeh', 'sklearn'}"
    program = f"import sys, pipelines.cli.app; print(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"
