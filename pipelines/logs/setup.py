"""Where the log goes, from which level on."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from typing_extensions import override

from pipelines.config.logs import PARTS, Logs
from pipelines.logs.lines import make_formatter
from pipelines.logs.repeats import Repeats
from pipelines.logs.strays import strays_logged

__all__ = ["logged", "write_to_stderr"]

_ROOT = logging.getLogger("anabranch")


class _Lines(logging.Handler):
    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._write(self.format(record))


@contextmanager
def logged(logs: Logs, write: Callable[[str], None], **fields: Any) -> Iterator[None]:
    """Write what the parts of the job log while the context lasts.

    Parameters
    ----------
    logs : form and levels
    write : takes a line; one of an error may have its traceback behind it
    fields : what every line has, such as process=1
    """
    handler = _Lines(write)
    handler.setFormatter(make_formatter(logs.format, fields))
    repeats = Repeats(float(logs.repeat_after), handler.handle)
    handler.addFilter(repeats)
    _ROOT.addHandler(handler)
    _set_levels(logs)
    try:
        with strays_logged():
            yield
    finally:
        repeats.close()
        _ROOT.removeHandler(handler)
        _set_levels(None)


def _set_levels(logs: Logs | None) -> None:
    _ROOT.setLevel(logs.level.upper() if logs else logging.NOTSET)
    for part in PARTS:
        level = logs.levels.get(part) if logs else None
        _ROOT.getChild(part).setLevel(level.upper() if level else logging.NOTSET)


def write_to_stderr(line: str) -> None:
    """Write a line at once and whole: the process may be killed at any time.

    A line that cannot be written, since the disk is full, is lost and stops nothing.
    """
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
