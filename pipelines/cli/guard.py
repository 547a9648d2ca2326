"""Errors as a sentence and an exit code, not as a traceback."""

import logging
import os
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

import typer

from anabranch.errors import AnabranchError
from pipelines.logs.lines import make_formatter

__all__ = ["OUT_OF_MEMORY", "SHOW_TRACEBACK", "complain", "complain_as", "guarded"]

OUT_OF_MEMORY = (
    "there is not enough memory for the job; fewer features (source.text_bits, "
    "source.sparse_width), ranks, nodes or source.rows_per_tick take less"
)

P = ParamSpec("P")
R = TypeVar("R")

SHOW_TRACEBACK: ContextVar[bool] = ContextVar("show_traceback", default=False)


_FORM: ContextVar[str] = ContextVar("form", default="text")
_LEVELS = {"error": logging.ERROR, "crash": logging.CRITICAL, "interrupted": logging.ERROR}


def complain_as(form: str) -> None:
    """Let complaints from here on be text or json."""
    _FORM.set(form)


def complain(text: str, error: str | None = None) -> None:
    """Print a line on standard error, or an object; `error` is a traceback."""
    if _FORM.get() != "json":
        typer.echo(f"{error}{text}" if error else text, err=True)
        return
    level = _LEVELS.get(text.partition(":")[0], logging.WARNING)
    told = {"name": "anabranch.run", "msg": text.removeprefix("error: "), "levelno": level}
    record = logging.makeLogRecord({**told, "levelname": logging.getLevelName(level)})
    fields = {} if error is None else {"error": error}
    typer.echo(make_formatter("json", fields).format(record), err=True)


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Turn a command's errors into messages and exit codes: 2 wrong use, 1 crash."""

    @wraps(command)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            # The reader of our output has gone; nobody is left to be told.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except AnabranchError as error:
            _tell(f"error: {error}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(130) from None
        except MemoryError as error:
            _tell(f"error: {OUT_OF_MEMORY} ({error})")
            raise typer.Exit(1) from None
        except Exception as error:
            _tell(f"crash: {type(error).__name__}: {error} (--traceback shows where)")
            raise typer.Exit(1) from None

    return call


def _tell(text: str) -> None:
    complain(text, traceback.format_exc() if SHOW_TRACEBACK.get() else None)
