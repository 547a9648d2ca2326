"""Brokers that tests start: Apache Kafka from its jars, or Tansu where there is no Java.

A test asks for one of these fixtures (`fixtures.py`):

`kafka`
    One broker for the whole session, shared by tests, plain text: a `Kafka`. Make a topic with
    `kafka.topic()`; its name is fresh, so tests do not meet.
`apache_kafka`
    The same, where a test asks for what Tansu cannot do: ends and times of partitions.
`private_kafka`
    A broker of this test's own, which it may stop, kill and restart; Apache Kafka only.
`kafka_cluster`
    The same with three nodes, every topic on all of them; Apache Kafka only.
`secure_kafka`
    One broker for the session with listeners that demand SASL, TLS, both, or a client
    certificate, and access rules: a `SecureKafka`; Apache Kafka only.

With ANABRANCH_REQUIRE_KAFKA=1 a missing Apache Kafka is an error, not a reason to skip.
"""
