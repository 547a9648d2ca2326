"""The topics a job writes to are made where they are missing, and checked before it starts."""

import time

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from anabranch.errors import ConfigurationError
from connectors.kafka.admin import TopicSpec, ensure_topics, message_limit, topic_exists
from connectors.kafka.settings import KafkaSettings
from tests.brokers.client import Kafka, fresh_name
from tests.brokers.fixtures import SKIPPED
from tests.brokers.secure import SecureKafka


def settings_for(kafka: Kafka) -> KafkaSettings:
    return KafkaSettings(tuple(kafka.brokers))


def as_bob(kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    monkeypatch.setenv("SINK_PASSWORD", kafka.passwords["bob"])
    return KafkaSettings(
        tuple(kafka.sasl), "sasl_plaintext", "SCRAM-SHA-512", "bob", "SINK_PASSWORD"
    )


def config(kafka: Kafka, topic: str, name: str) -> str:
    with kafka.admin() as admin:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        found = admin.describe_configs([resource], config_filter="all")
    value: str = found["topic"][topic][name]["value"]
    return value


def test_missing_topics_are_made_as_they_should_be(kafka: Kafka) -> None:
    first, second = fresh_name(), fresh_name()
    ensure_topics(
        settings_for(kafka),
        {
            first: TopicSpec(partitions=3, retention=3600, replication=1),
            second: TopicSpec(replication=1, options={"cleanup.policy": "compact"}),
        },
    )
    assert sorted(kafka.ends(first)) == [0, 1, 2]
    assert {first, second} <= kafka.topics()
    if kafka.kind == "apache":
        assert config(kafka, first, "retention.ms") == "3600000"
        assert config(kafka, second, "cleanup.policy") == "compact"


def test_topics_that_are_there_are_left_as_they_are(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    kafka.produce(topic, [b"kept"])
    for _ in range(2):
        ensure_topics(settings_for(kafka), {topic: TopicSpec(partitions=5, replication=1)})
    assert sorted(kafka.ends(topic)) == [0, 1]
    assert [record.value for record in kafka.read(topic)] == [b"kept"]


def test_no_topics_ask_no_broker() -> None:
    ensure_topics(KafkaSettings(("localhost:1",), timeout=60), {})


def test_a_broker_that_is_not_there_is_named_in_time() -> None:
    settings = KafkaSettings(("localhost:1",))
    began = time.monotonic()
    with pytest.raises(ConfigurationError, match=r"^kafka.brokers is 'localhost:1', where nobody"):
        ensure_topics(settings, {"t": TopicSpec()})
    assert time.monotonic() - began < 15


def test_a_topic_exists_or_not_or_nobody_says(kafka: Kafka) -> None:
    topic = kafka.topic()
    assert topic_exists(settings_for(kafka), topic) is True
    assert topic_exists(settings_for(kafka), fresh_name()) is False
    assert topic_exists(KafkaSettings(("localhost:1",), timeout=0.5), topic) is None


def test_what_the_brokers_do_not_make_is_said_with_their_reason(kafka: Kafka) -> None:
    if kafka.kind != "apache":
        pytest.skip(f"{SKIPPED}no other broker checks what topics are made with")
    topic = fresh_name()
    with pytest.raises(ConfigurationError, match=rf"^topic '{topic}' cannot be made: .*retention"):
        ensure_topics(settings_for(kafka), {topic: TopicSpec(options={"retention.ms": "a while"})})
    with pytest.raises(
        ConfigurationError, match=r"^topic 'no/name' cannot be written: .*invalid topic"
    ):
        ensure_topics(settings_for(kafka), {"no/name": TopicSpec()})


def test_a_topic_that_may_not_be_made_or_written_is_named(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = as_bob(secure_kafka, monkeypatch)
    hidden, readable, writable = (secure_kafka.topic() for _ in range(3))
    missing = fresh_name()
    secure_kafka.grant("bob", readable, "READ")
    secure_kafka.grant("bob", writable, "WRITE")
    secure_kafka.grant("bob", missing, "DESCRIBE")
    ensure_topics(settings, {writable: TopicSpec()})
    for topic in (hidden, readable):
        with pytest.raises(
            ConfigurationError, match=rf"^topic '{topic}' may not be written by 'bob': allow"
        ):
            ensure_topics(settings, {topic: TopicSpec()})
    with pytest.raises(
        ConfigurationError, match=rf"^topic '{missing}' is not there and may not be made by 'bob'"
    ):
        ensure_topics(settings, {missing: TopicSpec()})
    secure_kafka.grant("bob", missing, "CREATE", "WRITE")
    ensure_topics(settings, {missing: TopicSpec()})
    assert missing in secure_kafka.topics()


def test_the_longest_record_is_what_the_topic_says(kafka: Kafka) -> None:
    settings = settings_for(kafka)
    if kafka.kind == "apache":
        assert message_limit(settings, kafka.topic(max_message_bytes="10000")) == 9500
        assert message_limit(settings, kafka.topic(max_message_bytes="1000")) == 744
    assert message_limit(settings, kafka.topic()) == 996_159


def test_the_longest_record_is_kafkas_default_where_one_may_not_ask(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = secure_kafka.topic(max_message_bytes="10000")
    secure_kafka.grant("bob", topic, "WRITE")
    assert message_limit(as_bob(secure_kafka, monkeypatch), topic) == 996_159
