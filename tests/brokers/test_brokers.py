"""The brokers of the tests do what tests rely on."""

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError

from tests.brokers.client import Kafka
from tests.brokers.ports import is_open


def test_what_is_written_is_read(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    places = kafka.produce(
        topic,
        [b"a", None, b"c"],
        keys=[b"k", b"k", None],
        partition=1,
        headers=[[("h", b"1"), ("h", b"2")], [], []],
        timestamps=[1_000, 2_000, 3_000],
    )
    assert [(place.partition, place.offset) for place in places] == [(1, 0), (1, 1), (1, 2)]
    first, second, third = kafka.read(topic, count=3)
    assert (first.key, first.value, first.headers) == (b"k", b"a", [("h", b"1"), ("h", b"2")])
    assert (second.value, third.key) == (None, None)
    assert [record.timestamp for record in (first, second, third)] == [1_000, 2_000, 3_000]
    assert kafka.read(topic) == [first, second, third]
    assert kafka.ends(topic) == {0: 0, 1: 3}


def test_topics_do_not_make_themselves(kafka: Kafka) -> None:
    topic = kafka.topic()
    assert topic in kafka.topics()
    with pytest.raises(AssertionError, match="there is no topic"):
        kafka.read("never-made")


def test_a_private_broker_comes_back_with_its_data(private_kafka: Kafka) -> None:
    topic = private_kafka.topic()
    address = list(private_kafka.brokers)
    private_kafka.produce(topic, [b"a"])
    private_kafka.broker.kill()
    assert not any(is_open(broker) for broker in address)
    private_kafka.broker.start()
    private_kafka.produce(topic, [b"b"])
    private_kafka.broker.restart()
    assert [record.value for record in private_kafka.read(topic)] == [b"a", b"b"]
    assert private_kafka.broker.brokers == address


def test_a_frozen_broker_does_not_answer(private_kafka: Kafka) -> None:
    topic = private_kafka.topic()
    with KafkaProducer(bootstrap_servers=private_kafka.brokers) as producer:
        producer.send(topic, b"a").get(timeout=30)
        private_kafka.broker.freeze()
        late = producer.send(topic, b"b")
        with pytest.raises(KafkaTimeoutError):
            late.get(timeout=1)
        private_kafka.broker.thaw()
        late.get(timeout=60)
    assert [record.value for record in private_kafka.read(topic)] == [b"a", b"b"]


def test_records_expire_topics_grow_and_go(private_kafka: Kafka) -> None:
    topic = private_kafka.topic()
    private_kafka.produce(topic, [b"a", b"b", b"c"])
    private_kafka.expire(topic, 0, 2)
    assert [record.offset for record in private_kafka.read(topic)] == [2]
    private_kafka.grow(topic, 3)
    assert private_kafka.ends(topic) == {0: 3, 1: 0, 2: 0}
    private_kafka.delete(topic)
    assert topic not in private_kafka.topics()


def test_a_cluster_outlives_one_of_its_nodes(kafka_cluster: Kafka) -> None:
    topic = kafka_cluster.topic(3)
    kafka_cluster.produce(topic, [b"a"] * 6)
    kafka_cluster.broker.kill(1)
    kafka_cluster.produce(topic, [b"b"] * 6)
    assert sorted(record.value for record in kafka_cluster.read(topic)) == [b"a"] * 6 + [b"b"] * 6
    kafka_cluster.broker.start(1)
    assert sum(kafka_cluster.ends(topic).values()) == 12
