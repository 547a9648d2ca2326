"""In JSON every line is an object, whatever goes wrong and however early; ports are taken first."""

import json
import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli import main
from pipelines.cli.guard import complain_as
from pipelines.cli.words import form_of, interrupted
from pipelines.logs import make_formatter

JOB = "[source]\nkind = 'nonlinear'\nrows = 100\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.toml").write_text(JOB, encoding="utf-8")
    (tmp_path / "json.toml").write_text(f"{JOB}[logs]\nformat = 'json'\n", encoding="utf-8")
    yield tmp_path
    complain_as("text")


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("run json.toml", "json"),
        ("run text.toml", "text"),
        ("run none.toml", "text"),
        ("run json.toml --log-format text", "text"),
        ("run text.toml --log-format=json --set logs.format=text", "json"),
        ("run text.toml --set logs.format='json'", "json"),
        ("--traceback run --log-format json", "json"),
        ("run --log-format", "text"),
        ("check json.toml", "text"),
    ],
)
def test_the_form_is_known_before_the_words_are_parsed(words: str, form: str) -> None:
    assert form_of(words.split()) == form


def fail(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, list[dict[str, Any]]]:
    """Run a command that fails; give its exit code and the objects it printed."""
    with pytest.raises(SystemExit) as stopped:
        main(words)
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    return stopped.value.code, [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--colour",), "No such option: --colour"),
        (("--workers", "many"), "Invalid value for '--workers'"),
        (("--http", "\u00b2"), "--http is"),
        (("--set", "network.nods=3"), "network.nods"),
        (("--resume", "--traceback"), "--resume"),
    ],
)
def test_wrong_use_is_an_object_in_json(
    more: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, (line,) = fail(capsys, "run", "json.toml", *more)
    assert (code, line["level"], line["part"]) == (2, "error", "run")
    assert told in line["message"]
    assert ("error" in line) == ("--traceback" in more)


def test_a_crash_is_an_object_in_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.cli.run.load_job", lambda *_, **__: 1 / 0)
    code, (line,) = fail(capsys, "run", "json.toml")
    assert (code, line["level"]) == (1, "critical")
    assert line["message"].startswith("crash: ZeroDivisionError")


def test_a_signal_before_anything_is_loaded_is_an_object_in_json() -> None:
    assert json.loads(interrupted("json"))["message"] == interrupted("text")


@pytest.mark.parametrize("how", [(), ("--overwrite",)])
def test_a_port_in_use_is_noticed_before_anything_is_changed(
    how: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = folder / "old"
    if how:
        run_dir.mkdir()
        for name in ("job.json", "scores.jsonl"):
            (run_dir / name).write_text("{}\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ("--http", str(taken.getsockname()[1]), "--set", "job.run_dir=old", *how)
        code, (line,) = fail(capsys, "run", "json.toml", *words)
    assert (code, "cannot be used: Address already in use" in line["message"]) == (2, True)
    assert {file.name for file in run_dir.glob("[!.]*")} >= (
        {"job.json", "scores.jsonl"} if how else set()
    )
    assert run_dir.exists() == bool(how)


def test_a_figure_that_is_not_finite_is_null() -> None:
    told = {"name": "anabranch.run", "msg": "learning", "score": {"MAE": float("nan")}, "rate": 1.5}
    line = make_formatter("json", {}).format(logging.makeLogRecord(told))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(line, parse_constant=refuse)
    assert (found["score"], found["rate"]) == ({"MAE": None}, 1.5)
