"""Errors as a sentence and an exit code, not as a traceback."""

import os
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

import typer

from anabranch.errors import AnabranchError

__all__ = ["OUT_OF_MEMORY", "SHOW_TRACEBACK", "complain", "guarded"]

OUT_OF_MEMORY = (
    "there is not enough memory for the job; fewer features (source.text_bits, "
    "source.sparse_width), ranks, nodes or source.rows_per_tick take less"
)

P = ParamSpec("P")
R = TypeVar("R")

SHOW_TRACEBACK: ContextVar[bool] = ContextVar("show_traceback", default=False)


def complain(text: str) -> None:
    """Print a line on standard error."""
    typer.echo(text, err=True)


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
    if SHOW_TRACEBACK.get():
        traceback.print_exc()
    complain(text)
