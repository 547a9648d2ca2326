"""A line of the log, as text or JSON, and how it is read again."""

import json
import logging
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from typing_extensions import override

__all__ = ["Line", "make_formatter", "plain_lines", "read_line"]

_ROOT = "anabranch."
_KNOWN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
_FIELD = r'\w+=(?:[^\s"]+|"(?:[^"\\]|\\.)*")'
_TEXT = re.compile(
    r"\d{4}-\d\d-\d\dT\S+Z (?P<level>[A-Z]+) +(?P<part>\w+) +(?P<message>.*?)"
    rf"(?:  (?P<fields>{_FIELD}(?: {_FIELD})*))?"
)
_PLAIN = re.compile(r'[^\s"=]+')


class Line(NamedTuple):
    """A line of the log that was read: `error` is the traceback, where JSON has one."""

    level: int
    part: str
    message: str
    error: str = ""


def make_formatter(kind: str, fields: Mapping[str, Any]) -> logging.Formatter:
    """Make the formatter of text or json; `fields` are in every line.

    What a record has beyond its message (`extra=`) follows as fields: node, partition, round.

    >>> told = {"name": "anabranch.exchange", "levelno": 30, "levelname": "WARNING",
    ...         "msg": "%s is silent", "args": ("n05",), "created": 0.0, "node": "Ann Lee"}
    >>> print(make_formatter("text", {"process": 1}).format(logging.makeLogRecord(told)))
    1970-01-01T00:00:00.000Z WARNING exchange n05 is silent  process=1 node="Ann Lee"
    """
    return _Json(fields) if kind == "json" else _Text(fields)


class _Formatter(logging.Formatter):
    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__()
        self._fields = fields

    def _of(self, record: logging.LogRecord) -> dict[str, Any]:
        more = {key: value for key, value in vars(record).items() if key not in _KNOWN}
        return {**self._fields, **more}


class _Text(_Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        # A message may quote a bad record, which must not pass for a line of its own.
        message = " ".join(record.getMessage().splitlines())
        line = f"{_time(record)} {record.levelname:<7} {_part(record):<8} {message}"
        fields = " ".join(f"{key}={_shown(value)}" for key, value in self._of(record).items())
        line = f"{line}  {fields}" if fields else line
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _Json(_Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "part": _part(record),
            "message": record.getMessage(),
            **self._of(record),
        }
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        try:
            return json.dumps(told, default=str, allow_nan=False)
        except ValueError:  # NaN is no JSON
            return json.dumps(_finite(told), default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _time(record: logging.LogRecord) -> str:
    when = datetime.fromtimestamp(record.created, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _part(record: logging.LogRecord) -> str:
    return record.name.removeprefix(_ROOT)


def _shown(value: Any) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def read_line(text: str) -> Line | None:
    """Read a line of either form; None where it is none, such as one of a traceback.

    >>> read_line("1970-01-01T00:00:00.000Z WARNING exchange n05 is silent  process=1")
    Line(level=30, part='exchange', message='n05 is silent', error='')
    >>> read_line("Traceback (most recent call last):") is None
    True
    """
    if text.startswith("{"):
        return _read_json(text)
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    return Line(_level(found["level"]), found["part"], found["message"])


def _read_json(text: str) -> Line | None:
    try:
        told = json.loads(text)
        level, part, message = _level(told["level"]), str(told["part"]), str(told["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return Line(level, part, message, str(told.get("error", "")))


def _level(name: str) -> int:
    return logging.getLevelNamesMapping().get(name.upper(), logging.NOTSET)


def plain_lines(text: str) -> list[str]:
    """Give what a line of a process's log says, without its fields; other lines as they are."""
    line = read_line(text)
    return [text] if line is None else [line.message, *line.error.splitlines()]
