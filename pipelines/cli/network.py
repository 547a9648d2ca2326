"""`anabranch network`: the network of a job, and changes to it asked for while the job runs."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.errors import ConfigurationError

if TYPE_CHECKING:
    from anabranch.network import Weights
    from pipelines.config import Job
    from pipelines.networks import Networks

__all__ = ["network"]

_SHOWN = 60
_OLDER = 5


def network(
    folder: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A job's run directory.")],
    join: Annotated[
        str | None, typer.Option(metavar="NODE", help="Let a node join, with --neighbours.")
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(metavar="NODE,...", help="Neighbours of the node that joins.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="neighbour", help="It begins with its first one's model."),
    ] = None,
    leave: Annotated[str | None, typer.Option(metavar="NODE", help="Let a node leave.")] = None,
    link: Annotated[
        tuple[str, str] | None, typer.Option(metavar="NODE NODE", help="Link two nodes.")
    ] = None,
    cut: Annotated[
        tuple[str, str] | None, typer.Option(metavar="NODE NODE", help="Cut a link.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the network of a job; or ask for a change to it, which needs network.control.

    A running job takes it up at once, a stopped one when it is resumed.
    """
    from pipelines.networks import networks_of
    from pipelines.run_dir import RunDirectory

    run = RunDirectory(folder)
    job = run.read_job()
    networks = networks_of(job, run.networks)
    asked = dict(_asked(join, leave, link, cut))
    _check_join(join, neighbours, start)
    asked |= {} if start is None else {"from": start}
    asked |= {} if neighbours is None else {"neighbours": _names(neighbours)}
    if asked:
        if run.is_complete():
            raise ConfigurationError(
                f"the job {job.job.name} has ended, and its network changes no more; allowed: "
                "changes to a job that runs, or is to be resumed"
            )
        typer.echo(_ask(job, networks, _line(asked)))
    elif as_json:
        typer.echo(json.dumps(_facts(networks), indent=2))
    else:
        typer.echo("\n".join(_lines(networks)))


def _asked(*given: Any) -> Iterator[tuple[str, Any]]:
    for key, value in zip(("join", "leave", "link", "cut"), given, strict=True):
        if value is not None:
            yield key, value if isinstance(value, str) else list(value)


def _check_join(join: str | None, neighbours: str | None, start: str | None) -> None:
    if join is None and (neighbours is not None or start is not None):
        raise ConfigurationError("--neighbours and --from are for a node that joins; add --join")
    if join is not None and neighbours is None:
        raise ConfigurationError(
            f"--join {join!r} lacks the nodes that it is linked to; add --neighbours, such as "
            "--neighbours n03,n07"
        )


def _line(asked: dict[str, Any]) -> bytes:
    """Give the line that asks for a change; its names are what the shell passed, of any bytes."""
    text = json.dumps(asked, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(
            f"{text!r} holds bytes that are not UTF-8; allowed: names in UTF-8"
        ) from None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _ask(job: "Job", networks: "Networks", line: bytes) -> str:
    """Add a change to those asked for, if it can be made as the network is now."""
    from anabranch.network import combination_weights
    from pipelines.control.changes import read_change
    from pipelines.control.lines import open_lines
    from pipelines.rewiring import check_change

    lines = open_lines(job, lambda sentence: None)
    if lines is None:
        raise ConfigurationError(
            f"the job {job.job.name} takes no changes while it runs: network.control is none; "
            'allowed: "control.jsonl" or "kafka:TOPIC", at its next start'
        )
    with closing(lines):
        change, now = read_change(line), networks.newest
        check_change(job, networks, combination_weights(change.on(now.graph), now.rule))
        lines.append(line)
    return f"asked for: {change}"


def _facts(networks: "Networks") -> dict[str, Any]:
    newest = networks.newest
    return {
        "nodes": list(newest.graph.nodes),
        "edges": [list(edge) for edge in newest.graph.edges],
        "weights": newest.rule,
        "diameter": newest.graph.diameter,
        "spectral_gap": newest.spectral_gap,
        "eras": [
            {"round": era.round, "nodes": len(era.nodes), "edges": len(era.edges),
             "weights": era.weights}
            for era in networks.eras
        ],
    }  # fmt: skip


def _lines(networks: "Networks") -> Iterator[str]:
    newest = networks.newest
    graph = newest.graph
    yield (
        f"{len(graph.nodes):,} nodes, {len(graph.edges):,} edges, diameter {graph.diameter}, "
        f"{newest.rule}, spectral gap {newest.spectral_gap:.4f}"
    )
    for node in graph.nodes[:_SHOWN]:
        yield f"{node}: {', '.join(graph.neighbours(node))}"
    if len(graph.nodes) > _SHOWN:
        yield f"... and {len(graph.nodes) - _SHOWN:,} more (--json has all)"
    yield from _history(networks)


def _history(networks: "Networks") -> Iterator[str]:
    from pipelines.rewiring import difference

    built: list[Weights] = [era.build() for era in networks.eras]
    changes = list(zip(networks.eras[1:], built, built[1:], strict=False))
    if len(changes) > _OLDER:
        yield f"... {len(changes) - _OLDER:,} older changes (--json has all)"
    for era, old, new in changes[-_OLDER:]:
        yield f"from round {era.round:,} on: {difference(old, new)}"
