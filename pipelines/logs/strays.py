"""What is told past the log, Python's warnings and threads' last words, as lines of it."""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["strays_logged"]

log = logging.getLogger("anabranch.run")


@contextmanager
def strays_logged() -> Iterator[None]:
    """Log warnings of libraries and errors that end a thread while the context lasts."""
    before = warnings.showwarning, threading.excepthook
    warnings.showwarning, threading.excepthook = _warned, _died
    try:
        yield
    finally:
        warnings.showwarning, threading.excepthook = before


def _warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    log.warning("%s: %s", category.__name__, message, extra={"place": f"{filename}:{lineno}"})


def _died(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None or isinstance(args.exc_value, SystemExit):
        return
    name = "?" if args.thread is None else args.thread.name
    what = f"{type(args.exc_value).__name__}: {args.exc_value}"
    log.critical("thread %s has ended: %s", name, what, exc_info=args.exc_value)
