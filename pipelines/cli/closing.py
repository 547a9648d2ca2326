"""The last words of a run: scores, dead letters, where the report is; or why it failed."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from pipelines.cli.guard import OUT_OF_MEMORY, complain
from pipelines.config import Job
from pipelines.config.targets import Target
from pipelines.logs import plain_lines
from pipelines.run_dir import RunDirectory, read_lines, set_aside
from pipelines.supervise import BAD_INPUT, STOPPED, Outcome

__all__ = [
    "SENTENCE",
    "log_closing",
    "log_failure",
    "print_closing",
    "print_failure",
    "print_report",
    "score_table",
    "tell_end",
    "tell_report",
]

log = logging.getLogger("anabranch.run")

_TAIL = 15
_STREAM = "each sample predicted before it is learned"
SENTENCE = re.compile(r"(?:BadInput|Stopped)Error: (.*)")
"""Why a process was stopped, in its log."""
_MEMORY = re.compile(r"MemoryError: (.*)")
_BETWEEN_WORDS = re.compile("(?<=[a-z])(?=[A-Z])")
_LEARNERS = {"cooperative": 0, "local": 1, "pooled": 2}


def print_closing(job: Job, run_dir: RunDirectory, outcome: Outcome, console: Console) -> None:
    """Print the scores and the dead letters, with a warning first where those are many."""
    rows, summary = run_dir.final_rows(), run_dir.read_summary() or {}
    dead, samples = summary.get("dead_letters") or {}, int(summary.get("samples", 0))
    many = set_aside(dead, samples, job.output.dead_letters)
    if many:
        _print(console, f"warning: {many}", "bold yellow")
    if rows:
        batch = int(summary.get("rounds", 0)) if job.job.kind == "batch" else None
        console.print(score_table(rows, batch, stopped=outcome.signalled))
    for line in _facts(job, outcome, summary):
        _print(console, line)


def print_report(run_dir: RunDirectory, console: Console) -> None:
    """Print where the report is, if there is one."""
    if run_dir.report.exists():
        _print(console, f"report: {run_dir.report}")


def tell_end(
    job: Job, run_dir: RunDirectory, outcome: Outcome, console: Console, begun: Sequence[int]
) -> None:
    """Tell how a run ended, in the form of its log; `begun` as of `print_failure`."""
    if job.logs.format == "json":
        if outcome.code:
            log_failure(job, run_dir, outcome, begun)
        else:
            log_closing(job, run_dir, outcome)
    elif outcome.code:
        print_failure(job, run_dir, outcome, begun)
    else:
        print_closing(job, run_dir, outcome, console)


def tell_report(job: Job, run_dir: RunDirectory, console: Console) -> None:
    """Tell where the report is, if there is one, in the form of the log."""
    if job.logs.format == "text":
        print_report(run_dir, console)
    elif run_dir.report.exists():
        log.info("report: %s", run_dir.report)


def _print(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def score_table(
    rows: Mapping[str, Mapping[str, Any]],
    batch_rounds: int | None = None,
    *,
    stopped: bool = False,
) -> Table:
    """Make a table of every learner's scores over the whole network.

    Scores on held-back rows are shown where there are any, otherwise those of the stream,
    or of the training samples after so many rounds of a batch job.
    """
    held = any(row.get("held") for row in rows.values())
    table = Table(title=_title(held, batch_rounds, stopped), pad_edge=False)
    table.add_column("learner", overflow="fold", min_width=max(map(len, _LEARNERS)))
    table.add_column("samples", justify="right", vertical="bottom")
    shown = {
        name: (row.get("held") if held else row.get("scores")) or {} for name, row in rows.items()
    }
    metrics = list(dict.fromkeys(metric for scores in shown.values() for metric in scores))
    for metric in metrics:
        table.add_column(_BETWEEN_WORDS.sub("\n", metric), justify="right", vertical="bottom")
    for name in sorted(rows, key=lambda name: (_LEARNERS.get(name, len(_LEARNERS)), name)):
        learned = rows[name].get("samples")
        values = [_figure(shown[name].get(metric) if learned else None) for metric in metrics]
        table.add_row(name, f"{rows[name].get('samples', 0):,}", *values)
    return table


def _title(held: bool, batch_rounds: int | None, stopped: bool) -> str:
    if batch_rounds is not None:
        what = "held-back rows" if held else "the nodes' training samples"
        return f"{what}, after {batch_rounds:,} rounds"
    if held:
        return "held-back rows"
    return f"{'the stream so far' if stopped else 'the whole stream'}: {_STREAM}"


def print_failure(
    job: Job, run_dir: RunDirectory, outcome: Outcome, begun: Sequence[int] = ()
) -> None:
    """Print on standard error why a run failed: the record, or the end of each process's log.

    Parameters
    ----------
    begun : bytes at the start of each log that are not of this run
    """
    complain(f"{job.job.name}: {outcome.reason}")
    logs = _logs(job, run_dir, begun)
    sentence = _sentence(outcome, logs)
    if sentence is not None:
        complain(sentence)
        return
    for process, lines in logs.items():
        if lines:
            complain(f"--- the last lines of {run_dir.log(process)}")
            complain("\n".join(lines[-_TAIL:]))


def log_failure(
    job: Job, run_dir: RunDirectory, outcome: Outcome, begun: Sequence[int] = ()
) -> None:
    """Log why a run failed; as `print_failure`."""
    sentence = _sentence(outcome, _logs(job, run_dir, begun))
    why = outcome.reason if sentence is None else f"{outcome.reason}: {sentence}"
    log.critical(why, extra={"code": outcome.code})


def log_closing(job: Job, run_dir: RunDirectory, outcome: Outcome) -> None:
    """Log the scores and the dead letters."""
    summary = run_dir.read_summary() or {}
    scores = {
        name: row.get("held") or row.get("scores") for name, row in run_dir.final_rows().items()
    }
    found = {"samples": summary.get("samples"), "rounds": summary.get("rounds"), "scores": scores}
    log.info("; ".join(["ended", *_facts(job, outcome, summary)]), extra=found)


def _sentence(outcome: Outcome, logs: Mapping[int, list[str]]) -> str | None:
    """Find the sentence that says why a run failed, if one does."""
    said = [part for lines in logs.values() for line in lines for part in plain_lines(line)]
    if outcome.code in (BAD_INPUT, STOPPED):
        sentence = _find(SENTENCE, said)
        if sentence is not None:
            return sentence
    memory = _find(_MEMORY, said[-_TAIL:])
    return None if memory is None else f"{OUT_OF_MEMORY} ({memory})"


def _logs(job: Job, run_dir: RunDirectory, begun: Sequence[int]) -> dict[int, list[str]]:
    offsets = dict(enumerate(begun))
    return {
        process: _log_lines(run_dir, process, offsets.get(process, 0))
        for process in range(job.parallel.processes)
    }


def _find(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    """Give the first match's group."""
    return next((match[1] for match in map(pattern.search, lines) if match), None)


def _log_lines(run_dir: RunDirectory, process: int, offset: int) -> list[str]:
    path = run_dir.log(process)
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(offset)
        return file.read().decode(errors="replace").splitlines()


def _facts(job: Job, outcome: Outcome, summary: Mapping[str, Any]) -> list[str]:
    lines = []
    if summary:
        lines.append(
            f"{summary.get('samples', 0):,} samples in {summary.get('seconds', 0):.1f} s, "
            f"{summary.get('rate', 0):,.0f}/s, {summary.get('rounds', 0):,} rounds"
        )
        if summary.get("samples") or job.signal.window is None:
            lines.extend(_still_warming_up(job, int(summary.get("rounds", 0))))
        else:
            lines.append(
                f"warning: nothing was learned: no window of signal.window = {job.signal.window:,} "
                "samples was complete; lower it, or give longer records of each sensor"
            )
    dead = summary.get("dead_letters") or {}
    if dead:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(dead.items()))
        lines.append(f"{sum(dead.values()):,} dead letters ({reasons}): {job.output.dead_letters}")
        lines.extend(_example(job, sum(dead.values()), int(summary.get("samples", 0))))
    if outcome.signalled:
        how = "--resume continues it" if job.recovery.dir else "without recovery.dir it ends here"
        lines.append(f"stopped by a signal; {how}")
    return lines


def _example(job: Job, dead: int, samples: int) -> list[str]:
    """Tell of the first dead letter where most of the records became one."""
    path = Target.of(job.output.dead_letters).path
    if dead <= samples or path is None:
        return []
    letter = next(read_lines(path), {})
    where = f"record {letter.get('position')} of {letter.get('partition')}"
    return [f"for example {where}: {letter['detail']}"] if "detail" in letter else []


def _still_warming_up(job: Job, rounds: int) -> list[str]:
    """Say so where a job ended before its nodes exchanged parameters."""
    warm_up = job.learner.options.get("warm_up", 0)
    scaled = job.learner.options.get("scaling") != "none"
    if not scaled or len(job.network.names) == 1 or rounds > warm_up or job.job.kind == "batch":
        return []
    return [
        f"warning: nodes had not begun to exchange parameters: all {rounds:,} rounds were within "
        f"learner.warm_up = {warm_up:,}; lower it, or source.rows_per_tick"
    ]


def _figure(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "-"
