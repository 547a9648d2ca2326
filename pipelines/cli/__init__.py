"""The command line: `anabranch run`, `check`, `report` and the others."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from pipelines.cli.early import HEARD
from pipelines.cli.words import form_of, interrupted, is_run
from pipelines.stopping import Signals

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends by SystemExit.

    Exit codes: 0 done, 1 crash, 2 wrong use, 3 stopped by bad input, 4 a peer process was
    lost, 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Accepted anywhere, for whoever adds it to the end of a command that failed.
    if "--traceback" in words:
        words = ["--traceback", *(word for word in words if word != "--traceback")]
    form = form_of(words)
    with ExitStack() as held:
        if is_run(words):
            # Loading the rest takes a second, in which a signal must not get lost.
            HEARD.set(held.enter_context(Signals()))
        try:
            from pipelines.cli.app import app
            from pipelines.cli.guard import complain, complain_as
        except KeyboardInterrupt:
            print(interrupted(form), file=sys.stderr)
            sys.exit(130)
        complain_as(form)
        if form == "text":
            app(words, prog_name="anabranch")
        try:
            sys.exit(app(words, prog_name="anabranch", standalone_mode=False))
        except Exception as error:
            # The parser's own errors, which it would print with the usage, on lines of their own.
            tell = getattr(error, "format_message", None)
            if tell is None:
                raise
            complain(f"error: {tell()}")
            sys.exit(2)
