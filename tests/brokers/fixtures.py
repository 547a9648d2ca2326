"""The fixtures that give tests a broker; `tests/conftest.py` takes them in."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.brokers.apache import Apache
from tests.brokers.client import Kafka
from tests.brokers.jars import ApacheMissingError
from tests.brokers.secure import SecureKafka, secure_broker
from tests.brokers.tansu import Tansu, TansuMissingError

__all__ = [
    "FIXTURES",
    "SKIPPED",
    "apache_kafka",
    "apache_or_skip",
    "kafka",
    "kafka_cluster",
    "private_kafka",
    "secure_kafka",
]

FIXTURES = ("kafka", "private_kafka", "kafka_cluster", "secure_kafka")
REQUIRE = "ANABRANCH_REQUIRE_KAFKA"
SKIPPED = "needs Apache Kafka: "
"""How the reason of a test skipped for want of it begins."""

T = TypeVar("T")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One broker for the session, plain text; topics are made by `kafka.topic()` only."""
    folder = tmp_path_factory.mktemp("kafka")
    try:
        broker: Apache | Tansu = Apache(folder)
    except ApacheMissingError as missing:
        _complain_if_required(missing)
        try:
            broker = Tansu(folder)
        except TansuMissingError as also:
            pytest.skip(f"{SKIPPED}{missing}; nor is there Tansu: {also}")
    with broker:
        yield Kafka(broker)


@pytest.fixture
def apache_kafka(kafka: Kafka) -> Kafka:
    """The same broker, where a test needs what Tansu cannot do; it skips on Tansu.

    Tansu takes the first offset of the last batch for a partition's last one, finds no offset
    by time, and waits at an offset beyond the end.
    """
    if kafka.kind != "apache":
        pytest.skip(f"{SKIPPED}Tansu cannot do what this test asks for")
    return kafka


@pytest.fixture
def private_kafka(tmp_path: Path) -> Iterator[Kafka]:
    """A broker of this test's own, to be stopped, killed and restarted (`.broker`)."""
    with apache_or_skip(lambda: Apache(tmp_path / "kafka")) as broker:
        yield Kafka(broker)


@pytest.fixture
def kafka_cluster(tmp_path: Path) -> Iterator[Kafka]:
    """Three brokers of this test's own; every topic is on all of them, two must have a record."""
    with apache_or_skip(lambda: Apache(tmp_path / "kafka", nodes=3)) as broker:
        yield Kafka(broker)


@pytest.fixture(scope="session")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """One broker for the session whose listeners demand SASL, TLS, or both."""
    folder = tmp_path_factory.mktemp("secure-kafka")
    broker, certificates = apache_or_skip(lambda: secure_broker(folder))
    with broker:
        yield SecureKafka(broker, certificates)


def apache_or_skip(make: Callable[[], T]) -> T:
    """Make something of Apache Kafka; the test skips, or fails where it is required, without."""
    try:
        return make()
    except (ApacheMissingError, FileNotFoundError) as missing:
        _complain_if_required(missing)
        pytest.skip(f"{SKIPPED}{missing}")


def _complain_if_required(missing: Exception) -> None:
    if os.environ.get(REQUIRE):
        pytest.fail(f"{REQUIRE} is set and Apache Kafka cannot run: {missing}")
