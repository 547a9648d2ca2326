"""The guarded listeners let in whom they should, and nobody else."""

import ssl
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, NoError, TopicAuthorizationFailedError, for_code

from tests.brokers.client import Kafka
from tests.brokers.secure import SecureKafka

SOON = {"bootstrap_timeout_ms": 1500, "request_timeout_ms": 1500}


def sasl(kafka: SecureKafka, user: str, mechanism: str, password: str = "") -> dict[str, Any]:
    return {
        "bootstrap_servers": kafka.sasl,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password or kafka.passwords[user],
    }


def over_tls(kafka: SecureKafka, options: dict[str, Any]) -> dict[str, Any]:
    protocol = "SASL_SSL" if "sasl_mechanism" in options else "SSL"
    return {**options, "security_protocol": protocol, "ssl_cafile": str(kafka.certificates.ca_file)}


def with_certificate(kafka: SecureKafka) -> dict[str, Any]:
    files = kafka.certificates
    return {
        "bootstrap_servers": kafka.mutual_tls,
        "ssl_certfile": str(files.cert_file),
        "ssl_keyfile": str(files.key_file),
        "ssl_password": files.key_password,
    }


WAYS: dict[str, Callable[[SecureKafka], dict[str, Any]]] = {
    "plain": lambda kafka: sasl(kafka, "alice", "PLAIN"),
    "scram-256": lambda kafka: sasl(kafka, "alice", "SCRAM-SHA-256"),
    "scram-512": lambda kafka: sasl(kafka, "alice", "SCRAM-SHA-512"),
    "tls": lambda kafka: over_tls(kafka, {"bootstrap_servers": kafka.tls}),
    "mutual": lambda kafka: over_tls(kafka, with_certificate(kafka)),
    "both": lambda kafka: over_tls(
        kafka, {**sasl(kafka, "alice", "SCRAM-SHA-512"), "bootstrap_servers": kafka.sasl_tls}
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_who_can_show_it_gets_in(secure_kafka: SecureKafka, way: str) -> None:
    topic = secure_kafka.topic()
    with KafkaProducer(**WAYS[way](secure_kafka)) as producer:
        producer.send(topic, way.encode()).get(timeout=30)
    assert [record.value for record in secure_kafka.read(topic)] == [way.encode()]


def refused(**options: Any) -> None:
    with pytest.raises((KafkaError, ssl.SSLError, OSError)):
        KafkaAdminClient(**SOON, **options).close()


def test_who_cannot_stays_out(secure_kafka: SecureKafka) -> None:
    KafkaAdminClient(**SOON, **sasl(secure_kafka, "alice", "PLAIN")).close()
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        refused(**sasl(secure_kafka, "alice", mechanism, "wrong"))
    for guarded in (secure_kafka.sasl, secure_kafka.tls, secure_kafka.sasl_tls):
        refused(bootstrap_servers=guarded)
    files = secure_kafka.certificates
    refused(
        bootstrap_servers=secure_kafka.tls,
        security_protocol="SSL",
        ssl_cafile=str(files.stranger_file),
    )
    refused(**over_tls(secure_kafka, {"bootstrap_servers": secure_kafka.mutual_tls}))


def test_bob_may_do_what_was_granted_until_it_is_taken_back(secure_kafka: SecureKafka) -> None:
    topic = secure_kafka.topic()
    secure_kafka.produce(topic, [b"a"])
    secure_kafka.grant("bob", topic, "READ")
    place = TopicPartition(topic, 0)
    with KafkaConsumer(**sasl(secure_kafka, "bob", "PLAIN"), group_id=None) as consumer:
        consumer.assign([place])
        consumer.seek(place, 0)
        assert [record.value for record in consumer.poll(timeout_ms=20_000)[place]] == [b"a"]
    with KafkaProducer(**sasl(secure_kafka, "bob", "PLAIN")) as producer:
        sent = producer.send(topic, b"b")
        with pytest.raises(KafkaError, match="Authorization"):
            sent.get(timeout=30)
    assert sees(secure_kafka, topic) is NoError
    secure_kafka.revoke("bob", topic)
    assert sees(secure_kafka, topic) is TopicAuthorizationFailedError


def sees(kafka: SecureKafka, topic: str) -> type[KafkaError]:
    """Tell what a broker answers bob who asks for a topic."""
    with KafkaAdminClient(**sasl(kafka, "bob", "PLAIN")) as admin:
        return for_code(admin.describe_topics([topic])[0]["error_code"])


def test_the_fixtures_own_hand_needs_no_password(secure_kafka: SecureKafka) -> None:
    assert isinstance(secure_kafka, Kafka)
    topic = secure_kafka.topic()
    assert secure_kafka.ends(topic) == {0: 0}
