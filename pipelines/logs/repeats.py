"""Warnings that repeat are counted instead of repeated."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock, Timer
from time import monotonic

from typing_extensions import override

__all__ = ["Repeats"]

_DIFFERENT = 10
"""Different warnings of one wording that are told in full: a thousand nodes may fail at once."""

_KNOWN = 1000
"""Wordings that are remembered; beyond, those whose time is over are forgotten."""
_EACH = ("anabranch.health", "anabranch.run")
"""Parts that tell of changes, of which none may be missing."""

Key = tuple[str, int, str]


@dataclass
class _Wording:
    until: float
    told: set[Hashable] = field(default_factory=set)
    more: int = 0
    last: logging.LogRecord | None = None
    timer: Timer | None = None


class Repeats(logging.Filter):
    """Let a warning through once in a while, and count those like it.

    Parameters
    ----------
    seconds : from the first warning of a wording to the line that counts the rest
    tell : takes that line

    Notes
    -----
    Same wording: same logger, level and message before its arguments are put in. Ten that
    differ in arguments, node or partition are let through. Lines below a warning are never held
    back, nor those of health and run, which tell of changes.
    """

    def __init__(self, seconds: float, tell: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._seconds, self._tell = seconds, tell
        self._wordings: dict[Key, _Wording] = {}
        self._lock = Lock()

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if not self._seconds or not logging.WARNING <= record.levelno < logging.CRITICAL:
            return True
        if record.name in _EACH or hasattr(record, "repeated"):
            return True
        key = record.name, record.levelno, str(record.msg)
        which = record.getMessage(), *(getattr(record, k, None) for k in ("node", "partition"))
        with self._lock:
            wording = self._wording(key)
            if which not in wording.told and len(wording.told) < _DIFFERENT:
                wording.told.add(which)
                return True
            self._hold(key, wording, record)
            return False

    def _wording(self, key: Key) -> _Wording:
        """Give what is known of a wording, anew when its time is over."""
        now = monotonic()
        known = self._wordings.get(key)
        if known is None or (known.timer is None and now >= known.until):
            if len(self._wordings) >= _KNOWN:
                items = self._wordings.items()
                self._wordings = {k: w for k, w in items if w.timer or now < w.until}
            known = self._wordings[key] = _Wording(now + self._seconds)
        return known

    def _hold(self, key: Key, wording: _Wording, record: logging.LogRecord) -> None:
        wording.more += 1
        wording.last = record
        if wording.timer is None:
            wording.timer = Timer(max(wording.until - monotonic(), 0.0), self._end, (key,))
            wording.timer.daemon = True
            wording.timer.start()

    def _end(self, key: Key) -> None:
        with self._lock:
            wording = self._wordings.pop(key, None)
        if wording is not None and wording.last is not None:
            self._tell(_counted(wording.last, wording.more, self._seconds))

    def close(self) -> None:
        """Tell what was counted so far."""
        for key, wording in list(self._wordings.items()):
            if wording.timer is not None:
                wording.timer.cancel()
            self._end(key)


def _counted(last: logging.LogRecord, more: int, seconds: float) -> logging.LogRecord:
    known = {**vars(last), "args": None, "exc_info": None, "repeated": more}
    known["msg"] = f"{last.getMessage()} ({more:,} more in {seconds:g} s)"
    return logging.makeLogRecord(known)
