"""What is shown while a run lasts, and at its end."""

import io
import json
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from pipelines.cli import run as run_module
from pipelines.cli.app import app
from pipelines.cli.closing import score_table
from pipelines.cli.progress import Bar, Lines, make_display
from pipelines.cli.tail import Follower
from pipelines.config import load_job
from pipelines.run_dir import RunDirectory
from pipelines.supervise import Outcome
from pipelines.tail import Tail


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
        status |= {"clock": time.monotonic()}
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


def test_of_what_months_have_left_a_bounded_part_is_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path)
    letters = tmp_path / "dead_letters.jsonl"
    monkeypatch.setattr("pipelines.cli.tail._LETTERS", letters.stat().st_size // 2)
    monkeypatch.setattr("pipelines.cli.tail._SCORES", 5)
    follower = Follower(RunDirectory(tmp_path), letters)
    found = [follower.status() for _ in range(4)]
    assert [status and status["dead"] for status in found] == [1, 2, 3, 3]
    assert "score" not in (found[-1] or {})


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
        "round 99  2,000 of 4,000 samples  100/s  window: MAE 0.2500  disagreement 0.5  "
        "dead letters 3",
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
    assert summary["stopped"] == {0: "end", 130: "signal"}.get(code, "failure")
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


def test_nothing_learned_yet_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(tmp_path)
    follower = Follower(run, tmp_path / "dead_letters.jsonl")
    for cache, said in (("empty", "compiling kernels (first run only)"), ("full", "starting")):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / cache))
        (tmp_path / "full").mkdir(exist_ok=True)
        (tmp_path / "full" / "dsvor.step-1.py311.nbi").write_bytes(b"")
        text = io.StringIO()
        run.status_of(0).unlink(missing_ok=True)
        display = Lines(Console(file=text, width=60), follower, every=0.0)
        display.update()
        run.status_of(0).write_text('{"samples": 0, "rate": 0.0}', encoding="utf-8")
        display.update()
        assert text.getvalue().splitlines() == [said, said]


def closing(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["run", "--set", f"job.run_dir={folder}", *words])


def write_final(folder: Path, **changes: Any) -> None:
    write_run(folder)
    final = json.dumps(row(final=True, **changes)) + "\n"
    RunDirectory(folder).scores.write_text(final, encoding="utf-8")


def test_many_bad_records_are_warned_of_before_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pretend(job: Path, processes: int, **options: Any) -> Outcome:
        write_final(job.parent, samples=6)
        return Outcome(0)

    monkeypatch.setattr(run_module, "supervise", pretend)
    output = closing(tmp_path / "out", "--set", "output.report=false").stdout
    warning = "warning: 33 % of the records were set aside (malformed 2, not_finite 1): "
    assert f"{warning}{tmp_path / 'out' / 'dead_letters.jsonl'}" in output
    assert output.index("warning: ") < output.index("the whole stream: ")


def test_a_finished_job_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []

    def pretend(job: Path, processes: int, **options: Any) -> Outcome:
        starts.append(1)
        write_final(job.parent)
        return Outcome(1 if len(starts) == 1 else 0, signalled=len(starts) == 2)

    monkeypatch.setattr(run_module, "supervise", pretend)
    words = ("--set", f"recovery.dir={tmp_path}/{{name}}/state", "--set", "output.report=false")
    assert closing(tmp_path / "out", *words).exit_code == 1
    assert len(list((tmp_path / "default" / "state").glob("part-*"))) == 4
    # A failure may have come after the last scores; a signal after them stopped nothing.
    second = closing(tmp_path / "out", *words, "--resume")
    assert (second.exit_code, len(starts)) == (0, 2)
    assert "stopped by a signal" not in second.stdout
    third = closing(tmp_path / "out", *words, "--resume")
    assert (third.exit_code, len(starts)) == (0, 2)
    assert "default: already complete" in third.stderr
    assert "0.1250" in third.stdout


def test_a_signal_while_the_report_is_made_lets_it_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def pretend(job: Path, processes: int, **options: Any) -> Outcome:
        write_final(job.parent)
        return Outcome(0)

    def interrupted(runs: Sequence[Path], target: Path, times: int = 1) -> None:
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        target.write_text("page", encoding="utf-8")

    monkeypatch.setattr(run_module, "supervise", pretend)
    monkeypatch.setattr(run_module, "write_page", interrupted)
    once = closing(tmp_path / "once")
    assert once.exit_code == 0
    assert once.stdout.index("0.1250") < once.stdout.index("report: ")
    monkeypatch.setattr(run_module, "write_page", partial(interrupted, times=2))
    twice = closing(tmp_path / "twice")
    assert twice.exit_code == 130
    assert "0.1250" in twice.stdout
    assert "interrupted" in twice.stderr


def test_a_signal_before_the_job_is_begun_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*words: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return load_job(*words, **options)

    monkeypatch.setattr(run_module, "load_job", interrupted)
    result = closing(tmp_path / "out")
    assert result.exit_code == 0
    assert "stopped by a signal before the job was begun" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("held", "title"),
    [
        (None, "the nodes' training samples, after 41 rounds"),
        ({"MAE": 0.5}, "held-back rows, after 41 rounds"),
    ],
)
def test_a_batch_job_names_its_rounds(held: dict[str, float] | None, title: str) -> None:
    assert score_table({"cooperative": row(held=held)}, 41).title == title


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
