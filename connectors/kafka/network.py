"""A client's connections, which say why there is none."""

from functools import partial
from typing import Any

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from connectors.kafka.refusals import LOGIN_REFUSED

__all__ = ["Connections", "open_network"]

_ENOUGH = 3
"""Logins in a row in which a broker hangs up that are a refusal."""


class Connections(KafkaConnectionManager):  # type: ignore[misc]
    """Connections that end with the first refused login.

    kafka-python 3.0 takes a refused login for a broker that is away, and tries until its time is
    over, or for ever. With SCRAM it does not even read the refusal, if the broker has hung up by
    then: so a broker that does so again and again refuses.

    Attributes
    ----------
    failure : why a connection could not be made last; not that the time was over, which says less
        than what failed before
    """

    failure: Exception | None = None
    _hung_up = 0

    @property
    def refused(self) -> bool:
        """Whether the brokers do not let this client in."""
        return isinstance(self.failure, LOGIN_REFUSED)

    def get_connection(self, *args: Any, **options: Any) -> Any:
        """Give a node's connection, as the client's own manager does."""
        if self.failure is not None and self.refused:
            raise self.failure
        connection = super().get_connection(*args, **options)
        if not connection.init_future.is_done:
            connection.init_future.add_callback(self._succeed)
            connection.init_future.add_errback(partial(self._fail, connection))
        return connection

    def _succeed(self, _: object) -> None:
        self._hung_up = 0

    def _fail(self, connection: Any, error: Exception) -> None:
        if isinstance(error, KafkaConnectionError) and _was_logging_in(connection):
            self._hung_up += 1
            if self._hung_up == _ENOUGH:
                error = SaslAuthenticationFailedError("brokers hang up during the login")
        if self.failure is None or not _timed_out(error):
            self.failure = error
        if self.refused:
            self.close()


def _was_logging_in(connection: Any) -> bool:
    """Tell whether a connection that is lost was made, and what followed was a login."""
    made = connection.parser is not None and connection.broker_version_data is not None
    return made and bool(connection.sasl_enabled)


def _timed_out(error: Exception) -> bool:
    return isinstance(error, KafkaConnectionError) and "timed out" in str(error)


def open_network(**configs: Any) -> tuple[KafkaNetClient, Connections]:
    """Make what a client of kafka-python takes as its `kafka_client`."""
    loop = NetworkSelector(**configs)
    connections = Connections(loop, **configs)
    return KafkaNetClient(net=loop, manager=connections), connections
