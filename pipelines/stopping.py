"""The signals by which a job is asked to stop."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self

__all__ = ["Ear", "Signals", "tell_supervisor"]

_MOUTH = "ANABRANCH_MOUTH"


class Signals:
    """Count SIGINT and SIGTERM while a job runs: the first asks, the second insists.

    A second one raises KeyboardInterrupt, except where `polled` says that somebody looks.
    """

    def __init__(self) -> None:
        self.count = 0
        self._polled = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def polled(self) -> Iterator[None]:
        """Leave it to the caller, for a while, to see that `count` rose above 1."""
        self._polled = True
        try:
            yield
        finally:
            self._polled = False

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1 and not self._polled:
            raise KeyboardInterrupt


class Ear:
    """Hears from a supervisor's processes that they were told to stop, whoever told them.

    Attributes
    ----------
    mouth : file descriptor that they must inherit
    environment : lets them find it
    """

    def __init__(self) -> None:
        self._ear, self.mouth = os.pipe()
        os.set_blocking(self._ear, False)
        self.environment = {_MOUTH: str(self.mouth)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._ear)
        os.close(self.mouth)

    def hears(self) -> bool:
        """Tell whether a process was told to stop since the last time."""
        try:
            return bool(os.read(self._ear, 4096))
        except BlockingIOError:
            return False


def tell_supervisor() -> None:
    """Tell the supervisor, where there is one, that this process was told to stop."""
    mouth = os.environ.get(_MOUTH)
    if mouth is not None:
        with suppress(OSError):  # a dead supervisor hears nothing
            os.write(int(mouth), b".")
