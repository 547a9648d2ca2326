"""How far a run has come: a bar on a terminal, a line every few seconds elsewhere."""

import logging
import os
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from typing_extensions import override

from pipelines.cli.tail import Follower
from pipelines.config.logs import LogFormat

log = logging.getLogger("anabranch.run")
__all__ = ["Display", "describe_status", "make_display", "print_line", "starting"]

_LINE_EVERY = 5.0
_BAR_EVERY = 0.25


class Display(Protocol):
    """Something that shows the status of a run while it lasts."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def update(self) -> None:
        """Look at the run directory and show what is new; may be called often."""
        ...

    def say(self, text: str) -> None:
        """Print a line that stays."""
        ...


def make_display(
    console: Console, follower: Follower, *, bounded: bool, form: LogFormat = "text"
) -> Display:
    """Choose a bar for a bounded run on a terminal, lines for all else, or lines of the log."""
    if form == "json":
        return Logged(console, follower)
    return Bar(console, follower) if console.is_terminal and bounded else Lines(console, follower)


def describe_status(status: Mapping[str, Any]) -> str:
    """Put rate, scores, disagreement and dead letters in a few words.

    >>> describe_status({"rate": 1234.5, "score": {"MAE": 0.12}, "disagreement": 0.5, "dead": 2})
    '1,234/s  window: MAE 0.1200  disagreement 0.5  dead letters 2'
    """
    words = [f"{status.get('rate') or 0:,.0f}/s"]
    scores = [f"{name} {value:.4f}" for name, value in (status.get("score") or {}).items()]
    words += ["window: " + "  ".join(scores)] if scores else []
    apart = status.get("disagreement")
    if isinstance(apart, Mapping):
        apart = apart.get("mean")
    if apart is not None:
        words.append(f"disagreement {apart:.3g}")
    if status.get("dead"):
        words.append(f"dead letters {status['dead']:,}")
    return "  ".join(words)


def print_line(console: Console, text: str) -> None:
    """Print a line as it is, however long."""
    console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)


def starting() -> str:
    """Say what takes time before the first sample is learned."""
    found = find_spec("anabranch")
    places = [Path(place) for place in (found and found.submodule_search_locations) or ()]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(os.environ["NUMBA_CACHE_DIR"])]
    compiled = any(True for place in places for _ in place.rglob("dsvor*.nbi"))
    return "starting" if compiled else "compiling kernels (first run only)"


def _learned_nothing(status: Mapping[str, Any]) -> bool:
    begun = status.get("samples") or status.get("dead")
    return not begun or (status.get("round") is None and not status.get("dead"))


class Lines:
    """One line every few seconds."""

    def __init__(self, console: Console, follower: Follower, every: float = _LINE_EVERY) -> None:
        self._console, self._follower, self._every = console, follower, every
        self._begin = starting()
        self._next = time.monotonic() + every

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def update(self) -> None:
        """Print a line if it is time for one."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every
        status = self._follower.status()
        if status is None or _learned_nothing(status):
            self._wait()
        else:
            self._tell(status)

    def _wait(self) -> None:
        self.say(self._begin)

    def _tell(self, status: dict[str, Any]) -> None:
        total = status.get("rows_total")
        of = f" of {total:,}" if total else ""
        samples = f"round {status.get('round') or 0:,}  {status.get('samples', 0):,}{of} samples"
        self.say(f"{samples}  {describe_status(status)}")

    def say(self, text: str) -> None:
        """Print a line."""
        print_line(self._console, text)


class Logged(Lines):
    """A line of the log every few seconds, with figures of its own."""

    @override
    def _wait(self) -> None:
        log.info(self._begin)

    @override
    def _tell(self, status: dict[str, Any]) -> None:
        names = ("round", "samples", "rows_total", "rate", "score", "disagreement", "dead")
        log.info("learning", extra={name: status.get(name) for name in names})


class Bar:
    """A progress bar."""

    def __init__(self, console: Console, follower: Follower) -> None:
        self._follower = follower
        columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = Progress(
            *columns,
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(starting(), total=None)
        self._next = 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def update(self) -> None:
        """Move the bar."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _BAR_EVERY
        status = self._follower.status()
        if status is not None and not _learned_nothing(status):
            self._bar.update(
                self._task,
                completed=status.get("samples", 0),
                total=status.get("rows_total"),
                description=describe_status(status),
            )

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        print_line(self._bar.console, text)
