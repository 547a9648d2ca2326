"""`anabranch replay`: dead letters back onto the topics they came from."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.errors import ConfigurationError
from pipelines.cli.brokers import BrokersOption, JobOption, SetOption, find_settings, stalls_told
from pipelines.cli.early import heard
from pipelines.cli.guard import complain
from pipelines.config.load import read_tables
from pipelines.config.targets import Target

if TYPE_CHECKING:
    from connectors.kafka.originals import Found
    from connectors.kafka.put_back import PutBack
    from connectors.kafka.ranges import Range
    from connectors.kafka.settings import KafkaSettings

__all__ = ["replay"]

_PLACES = re.compile(r"\d+:\d+(,\d+:\d+)*")


def replay(
    dead: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC|FILE.jsonl", help="Dead letters; output.dead_letters of --job without."
        ),
    ] = None,
    brokers: BrokersOption = None,
    job: JobOption = None,
    settings: SetOption = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Topic to write to, in place of where they came from."),
    ] = None,
    reason: Annotated[
        list[str] | None, typer.Option(help="Only dead letters of this reason; repeatable.")
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            metavar="earliest|TIME|PARTITION:OFFSET,...", help="Where to begin in the topic."
        ),
    ] = "earliest",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what would be written.")
    ] = False,
) -> None:
    """Write the originals of dead letters to their topics again, as they came.

    Reads to the present end and says where that is, for the next --start. A record put back
    has the header anabranch.replayed-from.
    """
    where = _dead_letters(dead, job)
    connection = find_settings(job, brokers, settings or [])
    from connectors.kafka.put_back import PutBack

    with heard() as signals:
        found, ends = _find(connection, where, start, lambda: signals.count > 0)
        wanted = (each for each in found if not reason or each.letter.reason in reason)
        with PutBack(connection, to, dry_run=dry_run) as done, stalls_told(lambda: done.stalled):
            done.take(wanted)
        stopped = signals.count > 0
    _tell(done, dry_run)
    if stopped:
        complain("stopped by a signal before the end")
    elif ends:
        typer.echo(f"for what comes later: --start {ends}")


def _dead_letters(dead: str | None, job: Path | None) -> Target:
    if dead is None and job is not None:
        output = read_tables(job).get("output", {})
        dead = output.get("dead_letters") if isinstance(output, dict) else None
    if not dead:
        raise ConfigurationError(
            "no dead letters are named: give --dead TOPIC or --dead FILE.jsonl, or a job file by "
            "--job that has output.dead_letters"
        )
    is_file = dead.endswith(".jsonl") or "/" in dead
    return Target(dead, topic=False) if is_file else Target(Target.of(dead).name, topic=True)


def _find(
    settings: "KafkaSettings", where: Target, start: str, stopped: Callable[[], bool]
) -> tuple[Iterator["Found"], str]:
    """Give the dead letters, and where a topic of them ends."""
    from connectors.kafka.replay import read_letters_file, read_letters_topic

    if not where.topic:
        if start != "earliest":
            raise ConfigurationError(f"--start is {start!r}, but {where.name} is a file")
        return read_letters_file(where.name), ""
    ranges = _ranges(settings, where.name, start)
    ends = ",".join(f"{name.rpartition(':')[2]}:{span.end}" for name, span in ranges.items())
    return read_letters_topic(settings, ranges, stopped), ends


def _ranges(settings: "KafkaSettings", topic: str, start: str) -> dict[str, "Range"]:
    from connectors.kafka.ranges import Range, resolve_ranges

    by_offset = _PLACES.fullmatch(start) is not None
    try:
        ranges = resolve_ranges(settings, (topic,), "earliest" if by_offset else start, True)
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace("source.start", "--start")) from None
    if by_offset:
        for pair in start.split(","):
            number, offset = pair.split(":")
            span = ranges.get(f"{topic}:{number}")
            if span is None:
                raise ConfigurationError(f"--start names partition {number}; {topic} has none such")
            begin = min(max(int(offset), span.start), span.end or 0)
            ranges[f"{topic}:{number}"] = Range(begin, span.end)
    return ranges


def _tell(done: "PutBack", dry_run: bool) -> None:
    for (reason, topic), count in sorted(done.sent.items()):
        typer.echo(f"{reason:20}{count:>12,}  to {topic}")
    for (reason, why), count in sorted(done.left.items()):
        typer.echo(f"{reason:20}{count:>12,}  not: {why}")
    count = done.sent.total()
    typer.echo(f"{count:,} would be replayed" if dry_run else f"{count:,} replayed")
