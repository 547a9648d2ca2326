"""How commands other than `run` are told where the brokers are."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from anabranch.errors import ConfigurationError
from pipelines.cli.guard import complain
from pipelines.config.check_kafka import check_brokers
from pipelines.config.decode import decode
from pipelines.config.kafka import Connection
from pipelines.config.load import read_tables
from pipelines.config.overrides import apply_overrides

if TYPE_CHECKING:
    from connectors.kafka.settings import KafkaSettings

__all__ = ["BrokersOption", "JobOption", "SetOption", "find_settings", "stalls_told"]

JobOption: TypeAlias = Annotated[
    Path | None, typer.Option("--job", help="Job file (TOML) whose section [kafka] to use.")
]
BrokersOption: TypeAlias = Annotated[
    str | None, typer.Option(metavar="HOST:PORT,...", help="Sets kafka.brokers.")
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="kafka.KEY=VALUE", help="Sets any key of the section [kafka]."),
]
_LOOK = 5.0


def find_settings(
    job: Path | None, brokers: str | None, settings: Sequence[str]
) -> "KafkaSettings":
    """Put the options together.

    Parameters
    ----------
    job : a job file, of which only [kafka] is used
    brokers : addresses with commas between; they win
    settings : of the form kafka.KEY=VALUE; they win over the job file

    Raises
    ------
    ConfigurationError
        No broker is named, a key or value is not allowed, or the Kafka client is missing.
    """
    for setting in settings:
        if not setting.strip().startswith("kafka."):
            raise ConfigurationError(
                f"the setting {setting!r} is not of the form kafka.KEY=VALUE; others do not apply"
            )
    tables = {} if job is None else read_tables(job)
    kafka = apply_overrides({"kafka": tables.get("kafka", {})}, settings)["kafka"]
    if brokers is not None:
        kafka = {**kafka, "brokers": [name.strip() for name in brokers.split(",")]}
    connection = decode({"source": {"kind": "kafka"}, "kafka": kafka}).kafka
    if not connection.brokers:
        raise ConfigurationError(
            "no broker is named: give --brokers HOST:PORT, or a job file by --job whose "
            "kafka.brokers is not empty"
        )
    check_brokers("kafka.brokers", (name for name in connection.brokers if "@" in name))
    _need_client()
    from connectors.kafka.settings import KafkaSettings

    keys = {name: getattr(connection, name) for name in Connection.__struct_fields__}
    return KafkaSettings(**{**keys, "timeout": float(connection.timeout)})


def _need_client() -> None:
    try:
        import kafka  # noqa: F401 - only whether it is there
    except ImportError:
        raise ConfigurationError(
            "this command needs the Kafka client; install anabranch[kafka]"
        ) from None


@contextmanager
def stalls_told(stalled: Callable[[], str | None]) -> Iterator[None]:
    """Tell on standard error, meanwhile, when records wait for brokers that are away.

    Parameters
    ----------
    stalled : gives a sentence while they do
    """
    done = Event()
    watching = Thread(target=_tell_stalls, args=(stalled, done), daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


def _tell_stalls(stalled: Callable[[], str | None], done: Event) -> None:
    before = None
    while not done.wait(_LOOK):
        why = stalled()
        if why is not None and before is None:
            complain(f"warning: {why}")
        before = why
