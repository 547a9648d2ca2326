"""The commands, put together."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from pipelines.cli.check import check
from pipelines.cli.describe import describe
from pipelines.cli.guard import SHOW_TRACEBACK, guarded
from pipelines.cli.network import network
from pipelines.cli.predict import predict
from pipelines.cli.produce import produce
from pipelines.cli.replay import replay
from pipelines.cli.report import report
from pipelines.cli.reproduce import reproduce
from pipelines.cli.run import run
from pipelines.cli.state import state

__all__ = ["app"]

app = typer.Typer(
    name="anabranch",
    help="Online machine learning on many nodes that never share their samples.",
    epilog="Exit codes: 0 done, 1 crash, 2 wrong use, 3 stopped by bad input, 4 a peer process "
    "was lost, 5 stopped by a source or output that will not do, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        try:
            typer.echo(f"anabranch {version('anabranch')}")
        except PackageNotFoundError:
            typer.echo("anabranch (not installed)")
        raise typer.Exit


@app.callback()
def settings(
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error was raised.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Online machine learning on many nodes that never share their samples."""
    SHOW_TRACEBACK.set(traceback)


for command in (
    run, check, report, describe, predict, produce, replay, reproduce, state, network,
):  # fmt: skip
    app.command()(guarded(command))
