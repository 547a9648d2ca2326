"""Start a job's processes, pass signals on, and restart them all when one dies.

Exit codes of a worker process: 0 done, 2 wrong configuration, 3 stopped by bad input, 5 stopped
by a source or output that will not do; any other end is a crash. Exit codes of a supervised job:
the same, and 1 crash, 4 a process of several was lost, 130 killed by a second signal.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from pipelines.files import open_to_append
from pipelines.stopping import Ear, Signals

__all__ = [
    "BAD_INPUT",
    "STOPPED",
    "Interlude",
    "Outcome",
    "exit_with_parent",
    "free_ports",
    "is_supervised",
    "supervise",
]

CRASH, BAD_INPUT, WRONG_USE, LOST, STOPPED, KILLED = 1, 3, 2, 4, 5, 130
_CAUSES = (
    (BAD_INPUT, "bad input"),
    (WRONG_USE, "a wrong configuration"),
    (STOPPED, "its source or an output"),
)
_SUPERVISED = "ANABRANCH_SUPERVISED"
_ONE_THREAD = ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
# glibc gives large blocks back to the system at every free and faults them in again at every
# allocation; blocks of samples are just that size, and kept they make a job half as fast again.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "4000000000"}
_POLL = 0.05
_DRAINING = "stopping after the ticks already read; again to kill"
_TOLD = "a process was told to stop: all stop after the ticks already read"
PAUSES = 1.0, 10.0, 60.0
"""Seconds before restarts in a row, the last before all others: a disk may be full for a minute."""


@dataclass(frozen=True)
class Outcome:
    """How a supervised job ended: its exit code, why if not 0, whether a signal asked for it."""

    code: int
    reason: str = ""
    signalled: bool = False


@dataclass(frozen=True)
class Interlude:
    """What a job is stopped for in its midst, to go on afterwards.

    Attributes
    ----------
    due : tells, often asked, whether there is something to be done
    act : does it, while no process runs; tells whether the job is to go on
    """

    due: Callable[[], bool]
    act: Callable[[], bool]


_NONE = Interlude(lambda: False, lambda: False)


@dataclass(frozen=True)
class Plan:
    """What to start, and where each process prints."""

    job_file: Path
    processes: int
    module: str
    log: Callable[[int], Path]
    grace: float
    watch: Callable[[], None]
    say: Callable[[str], None]
    due: Callable[[], bool]


def supervise(
    job_file: Path,
    processes: int = 1,
    *,
    log: Callable[[int], Path],
    restarts: int = 0,
    module: str = "pipelines.worker",
    watch: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda text: None,
    lost: Callable[[str], None] = lambda reason: None,
    grace: float = 3.0,
    pauses: Sequence[float] = PAUSES,
    forget: float = 3600.0,
    signals: Signals | None = None,
    interlude: Interlude | None = None,
) -> Outcome:
    """Run a job's processes to their common end. To be called from the main thread.

    SIGINT and SIGTERM are passed to every process as SIGTERM; a second one kills them. One that
    somebody sent to a process alone is passed to the others: they would wait for it for ever.
    When a process dies, the others are ended, and all are started again.

    Parameters
    ----------
    job_file : the run's job.json
    processes : number of processes, 1 or more
    log : gives the file a process prints to, at its end
    restarts : times in a row to start again after a death; 0 without recovery
    module : module that a process runs
    watch : called often while the processes run
    say : told the reason of each restart, and that a signal was heard
    lost : told why processes are started again, before they are
    grace : seconds the other processes have to end by themselves when one died
    pauses : seconds before each restart in a row; the last of them before all that follow
    forget : seconds that processes must live for the restarts before to count no more
    signals : counts signals already; those of the caller, or of this call alone
    interlude : when due, the processes are drained as by a signal, and started again after it
    """
    plan = Plan(job_file, processes, module, log, grace, watch, say, (interlude or _NONE).due)
    with ExitStack() as held:
        heard = held.enter_context(Signals()) if signals is None else signals
        held.enter_context(heard.polled())
        attempt = 0
        while True:
            begin = time.monotonic()
            outcome = _run_once(plan, heard)
            attempt = 0 if time.monotonic() - begin >= forget else attempt
            if outcome == Outcome(0) and (interlude or _NONE).act():
                continue
            if attempt == restarts or outcome.signalled or outcome.code not in (CRASH, LOST):
                return outcome
            wait = pauses[min(attempt, len(pauses) - 1)]
            attempt += 1
            lost(outcome.reason)
            say(
                f"{outcome.reason}; restarting {'all processes' if processes > 1 else 'it'} "
                f"from the last snapshot in {wait:.0f} s ({attempt} of {restarts})"
            )
            _rest(wait, plan, heard)


def exit_with_parent() -> None:
    """End this process when its supervisor dies, even by kill -9; for a worker's start.

    Its death is the end of this process's standard input. Without a supervisor nothing is done.
    """
    if is_supervised():
        Thread(target=_await_end_of_input, name="exit-with-parent", daemon=True).start()


def is_supervised() -> bool:
    """Tell whether this process is a worker that a supervisor has started."""
    return os.environ.get(_SUPERVISED) == "1"


def _await_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(CRASH)


def free_ports(count: int) -> list[int]:
    """Choose TCP ports that are free on this machine now, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _rest(seconds: float, plan: Plan, signals: Signals) -> None:
    end = time.monotonic() + seconds
    while not signals.count and (left := end - time.monotonic()) > 0:
        plan.watch()
        time.sleep(min(_POLL, left))


def _run_once(plan: Plan, signals: Signals) -> Outcome:
    if signals.count:  # heard before anything was started
        return Outcome(0, signalled=True)
    with Ear() as ear:
        children = _start(plan, ear)
        try:
            return _wait(plan, signals, ear, children)
        finally:
            _kill(children)


def _start(plan: Plan, ear: Ear) -> list[subprocess.Popen[bytes]]:
    addresses = [f"localhost:{port}" for port in free_ports(plan.processes)]
    environment = {**_KEEP_MEMORY, **os.environ, _SUPERVISED: "1", "PYTHONUNBUFFERED": "1"}
    environment.update(ear.environment, **{f"{name}_NUM_THREADS": "1" for name in _ONE_THREAD})
    children = []
    for process in range(plan.processes):
        command = [sys.executable, "-m", plan.module, str(plan.job_file), "--process", str(process)]
        if plan.processes > 1:
            command += ["--addresses", ";".join(addresses)]
        with open_to_append(plan.log(process)) as output:
            children.append(
                # Its own session: a terminal's Ctrl-C reaches the supervisor alone, who passes
                # it on once.
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    pass_fds=(ear.mouth,),
                    start_new_session=True,
                )
            )
    return children


def _wait(
    plan: Plan, signals: Signals, ear: Ear, children: Sequence[subprocess.Popen[bytes]]
) -> Outcome:
    failed: dict[int, int] = {}
    drained = asked = False
    deadline = float("inf")
    while True:
        if signals.count > 1:
            return Outcome(KILLED, "killed by a second signal", signalled=True)
        codes = [child.poll() for child in children]
        told = not drained and ear.hears()
        if not asked and (signals.count or told):
            asked = True
            plan.say(_DRAINING if signals.count else _TOLD)
        if not drained and (asked or plan.due()):
            drained = True
            _send(children, signal.SIGTERM)
        failed.update({i: c for i, c in enumerate(codes) if c and i not in failed})
        if None not in codes or time.monotonic() > deadline:
            return _judge(failed, len(children), drained, asked)
        if failed and deadline == float("inf"):
            deadline = time.monotonic() + plan.grace
        plan.watch()
        time.sleep(_POLL)


def _judge(failed: dict[int, int], processes: int, drained: bool, signalled: bool) -> Outcome:
    """Find the cause among processes that failed: the others ended because of it."""
    if not failed:
        return Outcome(0, signalled=signalled)
    for wanted, text in _CAUSES:
        for process, code in failed.items():
            if code == wanted:
                return Outcome(code, f"process {process} was stopped by {text}", signalled)
    if drained and -signal.SIGTERM in failed.values():
        # A process that had not begun yet ends at once, and the others lose their peer.
        return Outcome(0, signalled=signalled)
    process, code = min(failed.items(), key=lambda item: item[1] > 0)
    return Outcome(LOST if processes > 1 else CRASH, _death(process, code), signalled)


def _death(process: int, code: int) -> str:
    """Say how a process died.

    >>> _death(1, -9), _death(0, 1)
    ('process 1 was killed by SIGKILL', 'process 0 ended with exit code 1')
    """
    if code > 0:
        return f"process {process} ended with exit code {code}"
    return f"process {process} was killed by {signal.Signals(-code).name}"


def _send(children: Sequence[subprocess.Popen[bytes]], number: int) -> None:
    for child in children:
        if child.poll() is None:
            child.send_signal(number)


def _kill(children: Sequence[subprocess.Popen[bytes]]) -> None:
    _send(children, signal.SIGKILL)
    for child in children:
        child.wait()
        if child.stdin:
            child.stdin.close()
