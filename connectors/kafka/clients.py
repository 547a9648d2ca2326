"""Clients of the brokers, made so that nothing of one that fails is left behind."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, NodeNotReadyError

from anabranch.errors import ConfigurationError
from connectors.kafka.network import Connections, open_network
from connectors.kafka.refusals import LOGIN_REFUSED
from connectors.kafka.settings import KafkaSettings

__all__ = ["asking", "open_admin", "open_consumer", "open_producer", "reason"]


def _open(kind: Any, settings: KafkaSettings, options: dict[str, Any]) -> Any:
    """Make a client; one whose brokers do not answer would leave its thread running."""
    made: list[tuple[Any, Connections]] = []

    def network(**configs: Any) -> Any:
        made.append(open_network(**configs))
        return made[0][0]

    try:
        return kind(**settings.client(), **options, kafka_client=network)
    except KafkaError as error:
        for client, connections in made:
            client.close()
            if connections.failure is not None:
                raise _told(connections.failure) from error
        raise


def _told(failure: Exception) -> KafkaError:
    """Make what a connection failed for an error of the client."""
    return failure if isinstance(failure, KafkaError) else KafkaConnectionError(failure)


def open_admin(settings: KafkaSettings) -> KafkaAdminClient:
    """Make a client that asks about topics.

    Raises
    ------
    ConfigurationError
        A password is not where it should be.
    KafkaError
        No broker answers, or the login is refused.
    """
    return _open(KafkaAdminClient, settings, {"request_timeout_ms": _milliseconds(settings)})


def open_consumer(settings: KafkaSettings, **options: Any) -> KafkaConsumer:
    """Make a client that reads; it belongs to no group and never moves by itself.

    Records of transactions that were given up are not there. Raises as `open_admin` does.
    """
    fixed = {
        "group_id": None,
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_committed",
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        "request_timeout_ms": max(_milliseconds(settings), 1000),
    }
    return _open(KafkaConsumer, settings, {**fixed, **options})


class _Producer(KafkaProducer):  # type: ignore[misc]
    """A producer that can be closed while its brokers are away: records left over are dropped."""

    def flush(self, timeout: float | None = None) -> None:
        with suppress(KafkaTimeoutError):
            super().flush(timeout)


def open_producer(settings: KafkaSettings, **options: Any) -> KafkaProducer:
    """Make a client that writes, each record once, and makes no topic.

    Raises as `open_admin` does.
    """
    fixed = {
        "acks": "all",
        "enable_idempotence": True,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        "request_timeout_ms": max(_milliseconds(settings), 1000),
    }
    return _open(_Producer, settings, {**fixed, **options})


def _milliseconds(settings: KafkaSettings) -> int:
    return max(int(settings.timeout * 1000), 1)


def reason(error: Exception) -> str:
    """Say what went wrong, in the client's words.

    >>> reason(KafkaTimeoutError("no answer"))
    'no answer'
    """
    return str(error.args[0]) if error.args else str(error)


@contextmanager
def asking(settings: KafkaSettings) -> Iterator[KafkaAdminClient]:
    """Ask the brokers about topics, while a job is prepared.

    Raises
    ------
    ConfigurationError
        No broker answers, or the login is refused.

    >>> with asking(KafkaSettings(("localhost:1",), timeout=0.2)):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: kafka.brokers is 'localhost:1', where nobody answers \
within 0.2 s (...): check the address, kafka.security, and whether the brokers run
    """
    where = f"kafka.brokers is {settings.addresses!r}"
    admin: KafkaAdminClient | None = None
    try:
        admin = open_admin(settings)
        yield admin
    except LOGIN_REFUSED:
        raise ConfigurationError(
            f"{where}, which refuses the login of {settings.username!r}: check kafka.mechanism,"
            " kafka.username and the password"
        ) from None
    except (KafkaTimeoutError, KafkaConnectionError, NodeNotReadyError) as error:
        raise ConfigurationError(
            f"{where}, where nobody answers within {settings.timeout:g} s ({reason(error)}): check"
            " the address, kafka.security, and whether the brokers run"
        ) from None
    except KafkaError as error:
        raise ConfigurationError(
            f"{where}, which does not answer as it should ({reason(error)}): check the address,"
            " kafka.security, and that it is a broker"
        ) from error
    finally:
        if admin is not None:
            admin.close()
