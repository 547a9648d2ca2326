"""The section [logs]: how much a job tells of what it does, and in what form."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from anabranch.errors import ConfigurationError, nearest
from pipelines.config.durations import Duration
from pipelines.config.wording import show

__all__ = ["LEVELS", "PARTS", "Level", "LogFormat", "Logs", "check_logs"]

Level = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
LEVELS: tuple[str, ...] = get_args(Level)
PARTS = (
    "run", "source", "node", "exchange", "network", "drift", "output", "recovery", "health", "http",
)  # fmt: skip
"""Parts of a job that have a level of their own; each is the logger `anabranch.<part>`."""


class Logs(Struct, frozen=True, forbid_unknown_fields=True):
    """Lines about what happens, on the terminal and in each process's log."""

    format: Annotated[
        LogFormat,
        Meta(description="text: for people; json: one object a line, all that is printed."),
    ] = "text"
    level: Annotated[Level, Meta(description="Least level that is told.")] = "info"
    levels: Annotated[
        dict[str, str],
        Meta(description=f"Levels of single parts: {', '.join(PARTS)}."),
    ] = {}
    repeat_after: Annotated[
        Duration,
        Meta(description="Time in which repeated warnings are counted instead of told again."),
    ] = Duration(60)


def check_logs(logs: Logs) -> None:
    """Check the levels of single parts.

    Raises
    ------
    ConfigurationError
        There is no such part or level.

    >>> check_logs(Logs(levels={"exchange": "loud"}))
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: logs.levels has exchange = "loud"; a level must be one \
of debug, info, warning, error
    """
    for part, level in logs.levels.items():
        if part not in PARTS:
            raise ConfigurationError(
                f"logs.levels names the part {show(part)}{nearest(part, list(PARTS))}"
            )
        if level not in LEVELS:
            raise ConfigurationError(
                f"logs.levels has {part} = {show(level)}; a level must be one of "
                f"{', '.join(LEVELS)}"
            )
