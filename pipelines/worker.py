"""One process of a job: python -m pipelines.worker RUN_DIR/job.json --process I ...

Exit codes: 0 done or drained, 1 crash, 2 wrong configuration, 3 stopped by bad input, 5 stopped
by a source or output that will not do.
"""

import argparse
import gc
import logging
import os
import signal
import sys
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import TYPE_CHECKING

from pipelines.stopping import tell_supervisor
from pipelines.supervise import exit_with_parent, is_supervised

if TYPE_CHECKING:
    from bytewax.dataflow import Dataflow

    from pipelines.config import Job
    from pipelines.flow import Built

__all__ = ["main"]

CRASH, WRONG_USE, BAD_INPUT, STOPPED, KILLED = 1, 2, 3, 5, 130
log = logging.getLogger("anabranch.run")


def main() -> None:
    """Run the process named on the command line, and exit."""
    args = _arguments()
    exit_with_parent()
    # Its client reports every broken connection as an error; the job's health tells which last.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    # Bytewax's own web server binds one port a machine; a second process would fail.
    os.environ.pop("BYTEWAX_DATAFLOW_API_ENABLED", None)
    from anabranch.errors import ConfigurationError

    with ExitStack() as held:
        try:
            sys.exit(run_process(args.job, args.process, args.addresses, held))
        except ConfigurationError as error:
            log.critical(str(error))
            sys.exit(WRONG_USE)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipelines.worker")
    parser.add_argument("job", type=Path, help="the run's job.json")
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--addresses", default=None, help="host:port of all, with ; between")
    return parser.parse_args()


def run_process(job_file: Path, process: int, addresses: str | None, held: ExitStack) -> int:
    """Run one process of a job to its end and give its exit code.

    Parameters
    ----------
    held : keeps the job's folders, and the log until the caller has logged how the process ends
    """
    from pipelines.config import from_json
    from pipelines.flow import build_flow
    from pipelines.lock import hold_as_worker
    from pipelines.logs import logged, write_to_stderr
    from pipelines.run_dir import RunDirectory
    from pipelines.status import write_status

    job = from_json(job_file.read_bytes())
    hold_as_worker(job, held)
    held.enter_context(logged(job.logs, write_to_stderr, process=process))
    log.info(
        "process %d of %d begins: %s, %s",
        process, job.parallel.processes, job.learner.kind, job.exchange.mode,
    )  # fmt: skip
    built = build_flow(job, process)
    _drain_on_signals(built)
    done, begin = Event(), time.monotonic()
    run_dir = RunDirectory(Path(job.job.run_dir))
    _calm_the_collector()
    status = Thread(target=write_status, args=(run_dir, process, built.gauges, job, done, begin))
    status.start()
    failure = None
    try:
        _run(built.flow, job, process, addresses)
    except BaseException as error:  # the engine's panics are no Exception; the log has it all
        failure = error
    done.set()
    status.join()
    code = _exit_code(failure, built)
    if not isinstance(failure, Exception | None):
        # What a panic left of the engine's threads would abort an orderly exit, and hide its code.
        held.close()
        os._exit(code)
    return code


def _exit_code(failure: BaseException | None, built: "Built") -> int:
    """Tell how the process ends, and give its code."""
    stopped = built.gauges.failure if failure else None
    known = built.hub.bad_input or stopped
    if failure:
        level = logging.INFO if known else logging.CRITICAL
        log.log(level, "the dataflow failed: %s", _cause(failure), exc_info=failure)
    if stopped:
        log.critical("StoppedError: %s", stopped)
    if built.hub.bad_input:
        log.critical("BadInputError: %s", built.hub.bad_input)
        return BAD_INPUT
    if failure:
        return STOPPED if stopped else CRASH
    how = "drained" if built.hub.drain.is_set() else "done"
    log.info("%s, %d samples learned since the start", how, built.hub.rows)
    return 0


def _cause(failure: BaseException) -> str:
    """Give the innermost error: the engine wraps what a step raises."""
    while failure.__cause__ is not None:
        failure = failure.__cause__
    return f"{type(failure).__name__}: {failure}"


def _run(flow: "Dataflow", job: "Job", process: int, addresses: str | None) -> None:
    from bytewax.recovery import RecoveryConfig
    from bytewax.run import cli_main

    recovery = None
    if job.recovery.dir is not None:
        backup = timedelta(seconds=job.recovery.backup_every)
        recovery = RecoveryConfig(Path(job.recovery.dir), backup)  # type: ignore[no-untyped-call]
    cli_main(  # type: ignore[no-untyped-call]
        flow,
        workers_per_process=job.parallel.workers,
        process_id=None if addresses is None else process,
        addresses=None if addresses is None else addresses.split(";"),
        epoch_interval=timedelta(seconds=job.recovery.snapshot_every),
        recovery_config=recovery,
    )


def _calm_the_collector() -> None:
    # Rounds make short-lived objects and no cycles; modules and kernels are here to stay.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def _drain_on_signals(built: "Built") -> None:
    def heard(number: int, frame: FrameType | None) -> None:
        if built.hub.drain.is_set():
            # A supervisor kills by itself; who stops a service may signal it and us, each once.
            if not is_supervised():
                os._exit(KILLED)
            return
        built.hub.drain.set()
        built.gauges.hurry()
        tell_supervisor()

    signal.signal(signal.SIGTERM, heard)
    signal.signal(signal.SIGINT, heard)


if __name__ == "__main__":
    main()
