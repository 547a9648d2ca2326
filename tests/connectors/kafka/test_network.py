"""Why there is no connection."""

from types import SimpleNamespace

import pytest
from kafka.errors import KafkaConnectionError

from connectors.kafka.network import open_network


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (("certificate", "Connection timed out"), "certificate"),
        (("Connection timed out", "certificate"), "certificate"),
        (("Connection timed out",), "timed out"),
    ],
)
def test_that_the_time_is_over_hides_no_reason(reasons: tuple[str, ...], told: str) -> None:
    network, connections = open_network(bootstrap_servers=["localhost:1"])
    lost = SimpleNamespace(parser=None, broker_version_data=None, sasl_enabled=False)
    try:
        for reason in reasons:
            connections._fail(lost, KafkaConnectionError(reason))
        assert told in str(connections.failure)
    finally:
        network.close()
