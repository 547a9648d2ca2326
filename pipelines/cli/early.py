"""Signals, heard from the first moment of `anabranch run` to its last."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pipelines.stopping import Signals

__all__ = ["HEARD", "heard"]

HEARD: ContextVar[Signals | None] = ContextVar("heard", default=None)
"""What counts already, since before the command's modules were loaded."""


@contextmanager
def heard() -> Iterator[Signals]:
    """Give what counts already, or count from here on."""
    found = HEARD.get()
    if found is not None:
        yield found
        return
    with Signals() as signals:
        yield signals
