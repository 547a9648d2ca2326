"""What is shown while a run lasts, and at its end."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from pipelines.cli import run as run_module
from pipelines.cli.app import app
from pipelines.cli.progress import Bar, Lines, make_display
from pipelines.cli.tail import Follower, Tail
from pipelines.run_dir import RunDirectory
from pipelines.supervise import Outcome


def row(**changes: Any) -> dict[str, Any]:
    base = {
        "round": 99, "time": "2026-01-01T00:00:00+00:00", "learner": "cooperative", "node": None,
        "samples": 2000, "scores": {"MAE": 0.125, "Accuracy": 0.5}, "window": {"MAE": 0.25},
        "held": None, "disagreement": {"max": 2.0, "mean": 0.5}, "messages": 10, "bytes": 100,
        "confusion": [[1, 0], [0, 1]],
    }  # fmt: skip
    return base | changes


def write_run(folder: Path) -> None:
    run = RunDirectory(folder)
    rows = [row(), row(learner="pooled", scores={"MAE": 0.0625}), row(node="n00", window={})]
    run.scores.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    for process in (0, 1):
        status = {"process": process, "samples": 1000, "rows_total": 4000, "rate": 50.0}
        run.status_of(process).write_text(json.dumps(status), encoding="utf-8")
    letters = [{"reason": "malformed"}, {"reason": "not_finite"}, {"reason": "malformed"}]
    dead = "".join(json.dumps(letter) + "\n" for letter in letters)
    (folder / "dead_letters.jsonl").write_text(dead, encoding="utf-8")


def test_a_tail_gives_each_whole_line_once(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    tail = Tail(path)
    assert tail.lines() == []
    path.write_bytes(b"a\nb\nc")
    assert tail.lines() == [b"a", b"b"]
    path.write_bytes(b"a\nb\ncd\n")
    assert tail.lines() == [b"cd"]
    path.write_bytes(b"a\n")
    assert tail.lines() == []
    path.write_bytes(b"a\ne\n")
    assert tail.lines() == [b"e"]


def test_status_is_put_together_from_all_processes(tmp_path: Path) -> None:
    follower = Follower(RunDirectory(tmp_path), tmp_path / "dead_letters.jsonl")
    assert follower.status() is None
    write_run(tmp_path)
    status = follower.status()
    assert status is not None
    assert (status["samples"], status["rate"], status["rows_total"]) == (2000, 100.0, 4000)
    assert (status["round"], status["score"], status["dead"]) == (99, {"MAE": 0.25}, 3)
    again = follower.status()
    assert again == status


def test_lines_elsewhere_and_a_bar_on_a_terminal(tmp_path: Path) -> None:
    write_run(tmp_path)
    follower = Follower(RunDirectory(tmp_path), tmp_path / "dead_letters.jsonl")
    plain = Console(file=io.StringIO(), width=60)
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    assert isinstance(make_display(plain, follower, bounded=True), Lines)
    assert isinstance(make_display(terminal, follower, bounded=False), Lines)
    assert isinstance(make_display(terminal, follower, bounded=True), Bar)


def test_a_line_says_it_all(tmp_path: Path) -> None:
    write_run(tmp_path)
    text = io.StringIO()
    follower = Follower(RunDirectory(tmp_path), tmp_path / "dead_letters.jsonl")
    with Lines(Console(file=text, width=60), follower, every=0.0) as display:
        display.update()
        display.say("[said]")
    assert text.getvalue().splitlines() == [
        "round 99  2,000 of 4,000 samples  100/s  MAE 0.2500  disagreement 0.5  dead letters 3",
        "[said]",
    ]


def test_a_bar_moves(tmp_path: Path) -> None:
    text = io.StringIO()
    write_run(tmp_path)
    follower = Follower(RunDirectory(tmp_path), tmp_path / "dead_letters.jsonl")
    with Bar(Console(file=text, force_terminal=True, width=160), follower) as display:
        display.update()
        display.say("restarting")
    assert "50%" in text.getvalue()
    assert "MAE 0.2500" in text.getvalue()
    assert "restarting" in text.getvalue()


@pytest.mark.parametrize("code", [0, 1, 3, 4, 130])
def test_a_run_from_start_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {}

    def pretend(job: Path, processes: int, **options: Any) -> Outcome:
        asked.update(options, processes=processes)
        write_run(job.parent)
        options["log"](0).write_text("Traceback: the reason\n", encoding="utf-8")
        options["watch"]()
        return Outcome(code, "process 0 was lost" if code else "", signalled=code == 130)

    monkeypatch.setattr(run_module, "supervise", pretend)
    words = ["run", "--set", "job.run_dir=out", "--processes", "2", "--set", "recovery.dir=state"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, result.output
    assert (asked["processes"], asked["restarts"]) == (2, 3)
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert summary["dead_letters"] == {"malformed": 2, "not_finite": 1}
    assert (summary["rounds"], summary["samples"], summary["nodes"]) == (100, 2000, 20)
    assert summary["stopped"] == ("signal" if code == 130 else "end")
    assert set(summary["final"]) == {"cooperative", "pooled"}
    if code:
        assert "process 0 was lost" in result.stderr
        assert "Traceback: the reason" in result.stderr
    else:
        for text in (
            "cooperative",
            "0.1250",
            "0.0625",
            "3 dead letters (malformed 2, not_",
        ):
            assert text in result.stdout
        assert "report: out/report.html" in result.stdout
        assert Path("out/report.html").stat().st_size > 10_000


def test_recovery_folders_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_module, "supervise", lambda *_, **__: Outcome(0))

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["run", "--set", "recovery.dir=state", *words])
        return result.exit_code, result.stderr

    assert call("--set", "job.run_dir=a")[0] == 0
    assert len(list(Path("state").glob("part-*.sqlite3"))) == 4
    code, message = call("--set", "job.run_dir=b")
    assert code == 2
    assert "holds another run's snapshots" in message
    assert not Path("b").exists()
    assert call("--set", "job.run_dir=a", "--resume")[0] == 0
    code, message = call("--set", "job.run_dir=a", "--set", "job.seed=1", "--resume")
    assert code == 2
    assert "job.seed was 7 and is now 1" in message
    assert call("--set", "job.run_dir=a", "--overwrite")[0] == 0
    code, message = call("--set", "recovery.dir=none", "--set", "job.run_dir=a", "--resume")
    assert code == 2
    assert "finds no snapshots" in message
