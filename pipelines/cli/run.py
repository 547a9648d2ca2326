"""`anabranch run`: a job from start to end."""

import logging
import socket
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from anabranch.errors import ConfigurationError
from pipelines.cli.closing import tell_end, tell_report
from pipelines.cli.early import heard
from pipelines.cli.guard import complain, complain_as
from pipelines.cli.opening import announce, say
from pipelines.cli.progress import make_display, print_line
from pipelines.cli.recovery import check_no_snapshots, prepare_recovery, tell_resumption
from pipelines.cli.report import write_page
from pipelines.cli.source import check_source
from pipelines.cli.starts import find_models
from pipelines.cli.tail import Follower
from pipelines.cli.watcher import Watcher
from pipelines.cli.worker_logs import WorkerLogs
from pipelines.config import Job, Target, load_job
from pipelines.control.lines import Position, end_of_lines
from pipelines.lock import job_lock
from pipelines.logs import logged
from pipelines.port import listen, parse_address
from pipelines.resume import kept_keys
from pipelines.run_dir import RunDirectory
from pipelines.run_summary import write_summary
from pipelines.stopping import Signals
from pipelines.supervise import STOPPED, Outcome, supervise
from pipelines.topics import settle

__all__ = ["run"]

log = logging.getLogger("anabranch.run")
network_log = logging.getLogger("anabranch.network")

Http = socket.socket | None
"""A job's HTTP port, which listens already, if it has one."""


def run(
    job: Annotated[
        Path | None, typer.Argument(help="Job file (TOML); without it, the built-in job.")
    ] = None,
    learner: Annotated[str | None, typer.Option(help="Sets learner.kind.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Kind of generator, or path of a CSV or JSON Lines file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Sets any key of the job file."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Sets parallel.workers.")] = None,
    processes: Annotated[int | None, typer.Option(help="Sets parallel.processes.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last snapshot.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier run in the run directory.")
    ] = False,
    carry_on: Annotated[
        bool, typer.Option("--continue", help="As --resume if there is a run, else begin one.")
    ] = False,
    models: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", help="Start from the models in this folder, or of this run."
        ),
    ] = None,
    on_bad_input: Annotated[
        str | None, typer.Option(metavar="continue|stop", help="Sets output.on_bad_input.")
    ] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Stop at the present ends of the source's topics.")
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT", help="Serve the live page, /health and /metrics there."
        ),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(metavar="text|json", help="Sets logs.format.")
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(metavar="debug|info|warning|error", help="Sets logs.level.")
    ] = None,
) -> None:
    """Run a job; without a job file, 20 nodes learn a synthetic set in a few seconds."""
    if resume + overwrite + carry_on > 1:
        raise ConfigurationError(
            "--resume, --continue and --overwrite exclude each other; give one of them"
        )
    if resume and models is not None:
        raise ConfigurationError(
            "--from starts from models and --resume continues from a snapshot; give one of them"
        )
    short = {
        "learner.kind": learner,
        "parallel.workers": workers,
        "parallel.processes": processes,
        "output.on_bad_input": on_bad_input,
        "source.until_end": "true" if until_end else None,
        "logs.format": log_format,
        "logs.level": log_level,
    }
    overrides = [f"{key}={value}" for key, value in short.items() if value is not None]
    address = None if http is None else parse_address(http)
    with heard() as signals, ExitStack() as held:
        load = partial(load_job, job, [*(settings or []), *overrides], source=source)
        resolved = load()
        complain_as(resolved.logs.format)
        # What is asked for from here on counts: it takes seconds until the job has begun.
        control = None if resume else end_of_lines(resolved)
        held.enter_context(job_lock(resolved))
        # Taken before anything is changed: it may be in use.
        port = None if address is None else held.enter_context(listen(address))
        # What a start that was cut short has left is no run yet.
        begun = carry_on and RunDirectory.of(resolved).holds_run()
        if carry_on and not begun:
            check_no_snapshots(resolved)
        if (resume or begun) and RunDirectory.of(resolved).holds_run():
            resolved = load(kept=kept_keys(RunDirectory.of(resolved).read_job()))
        how = Start(resume or begun, overwrite or (carry_on and not begun), port, models, control)
        code = _prepare_and_perform(resolved, signals, how)
    raise typer.Exit(code)


@dataclass(frozen=True)
class Start:
    """How a job is to be started.

    Attributes
    ----------
    resume, overwrite : as the command's options
    http : its port, if any
    models : folder of the models it starts from, if any
    control : where what network.control holds ended when the command began
    """

    resume: bool
    overwrite: bool
    http: Http
    models: Path | None = None
    control: Position | None = None


def _prepare_and_perform(job: Job, signals: Signals, how: Start) -> int:
    # late: they load the engine's and the learners' libraries
    from pipelines.former import cut_former
    from pipelines.rewiring import settle_networks

    run_dir, console = RunDirectory.of(job), Console()
    resume, overwrite = how.resume, how.overwrite
    former = run_dir if resume else None
    run_dir.check(job, resume=resume, overwrite=overwrite)
    positions = settle(job, former)
    source = check_source(job, positions)
    starts = None if resume or how.models is None else find_models(job, source, how.models)
    if signals.count:
        complain("stopped by a signal before the job was begun; nothing was changed")
        return 0
    if resume and run_dir.is_complete():
        complain(
            f"{job.job.name}: already complete; what has come since is for another job (job.name)"
        )
        with logged(job.logs, partial(print_line, console)):
            tell_end(job, run_dir, Outcome(0), console, ())
            tell_report(job, run_dir, console)
        return 0
    networks = settle_networks(job, former, source.partitions, complain, how.control)
    staged = None if starts is None else starts.stage(run_dir)
    prepare_recovery(job, resume=resume, overwrite=overwrite)
    if resume:
        cut_former(run_dir.read_job(), job)
    text = None if positions is None else positions.to_json()
    run_dir.prepare(
        job, resume=resume, overwrite=overwrite, positions=text, start=staged,
        networks=networks.to_json(),
    )  # fmt: skip
    return perform(job, run_dir, console, signals, how.http, source.partitions)


def perform(
    job: Job,
    run_dir: RunDirectory,
    console: Console,
    signals: Signals,
    http: Http = None,
    partitions: Collection[str] = (),
) -> int:
    """Run a prepared job to its end, show how it goes, and give the exit code.

    Parameters
    ----------
    partitions : all partitions of its source
    """
    with logged(job.logs, partial(print_line, console)):
        return _performed(job, run_dir, console, signals, http, partitions)


def _performed(
    job: Job,
    run_dir: RunDirectory,
    console: Console,
    signals: Signals,
    http: Http,
    partitions: Collection[str],
) -> int:
    announce(job, run_dir, console)
    begin, logs = time.monotonic(), WorkerLogs(run_dir, job.parallel.processes)
    outcome = _watched(job, run_dir, console, signals, http, partitions, logs)
    if run_dir.reached_end() and not outcome.code:
        outcome = Outcome(0)  # a signal that came after the last round stopped nothing
    try:
        write_summary(
            job,
            run_dir,
            seconds=time.monotonic() - begin,
            signalled=outcome.signalled,
            failed=bool(outcome.code) and not outcome.signalled,
        )
    except OSError as error:
        why = f"{run_dir.summary} cannot be written: {error.strerror}"
        log.error(why)
        outcome = outcome if outcome.code else Outcome(STOPPED, why, outcome.signalled)
    return _close(job, run_dir, outcome, console, logs.begun)


def _watched(
    job: Job,
    run_dir: RunDirectory,
    console: Console,
    signals: Signals,
    http: Http,
    partitions: Collection[str],
    logs: WorkerLogs,
) -> Outcome:
    from pipelines.control.desk import attended

    follower = Follower(run_dir, Target.of(job.output.dead_letters).path)
    with ExitStack() as held:
        display = held.enter_context(
            make_display(console, follower, bounded=job.source.bounded, form=job.logs.format)
        )
        watcher = Watcher(job, run_dir, partial(say, job, console))
        held.enter_context(watcher.served(http))
        stopped = partial(watcher.lost, "the network has changed", planned=True)
        changes = attended(job, run_dir, partitions, network_log.info, stopped, network_log.warning)

        def watch() -> None:
            display.update()
            watcher.update()
            for line in logs.lines():
                display.say(line)

        def lost(reason: str) -> None:
            watcher.lost(reason)
            tell_resumption(job)

        tell_resumption(job)
        outcome = supervise(
            run_dir.job,
            job.parallel.processes,
            log=run_dir.log,
            restarts=job.parallel.restarts if job.recovery.dir else 0,
            watch=watch,
            say=log.warning,
            lost=lost,
            signals=signals,
            interlude=held.enter_context(changes),
        )
        watcher.tell_notices()
        for line in logs.lines(now=True):
            display.say(line)
    return outcome


def _close(
    job: Job, run_dir: RunDirectory, outcome: Outcome, console: Console, begun: Sequence[int]
) -> int:
    # Drawing the report takes seconds: what is known is printed before.
    tell_end(job, run_dir, outcome, console, begun)
    if job.output.report and run_dir.scores.exists():
        try:
            write_page([run_dir.path], run_dir.report)
        except (ConfigurationError, OSError) as error:
            complain(f"no report: {error}")
    tell_report(job, run_dir, console)
    return outcome.code
