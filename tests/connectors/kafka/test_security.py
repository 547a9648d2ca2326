"""Brokers that demand a password, a certificate, or both; and what the settings say of it."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from connectors.kafka.ranges import resolve_ranges
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError
from tests.brokers.secure import SecureKafka
from tests.connectors.kafka.reading import Reading, message, topic_source

Change = Callable[[dict[str, Any]], None]
PLAIN = {"brokers": ("localhost:9092",)}
SASL = {
    **PLAIN, "security": "sasl_plaintext", "mechanism": "PLAIN", "username": "alice",
    "password_env": "KAFKA_PASSWORD",
}  # fmt: skip
TLS = {**PLAIN, "security": "tls"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"brokers": ()}, r"kafka\.brokers is empty: .*'host:port'"),
        ({"brokers": ("localhost",)}, r"kafka\.brokers names 'localhost': allowed is 'host:port'"),
        ({"brokers": ("h:99999",)}, r"kafka\.brokers names 'h:99999'"),
        ({"brokers": (":9092",)}, r"kafka\.brokers names ':9092'"),
        ({**PLAIN, "security": "ssl"}, r"kafka\.security is 'ssl'.*allowed: plaintext"),
        ({**PLAIN, "timeout": 0}, r"kafka\.timeout is 0: allowed"),
        ({**PLAIN, "username": "alice"}, r"kafka\.username is 'alice', but kafka\.security is"),
        ({**PLAIN, "ca_file": "ca.pem"}, r"kafka\.ca_file is 'ca\.pem', but kafka\.security is"),
        ({**SASL, "ca_file": "ca.pem"}, r"kafka\.ca_file .*allowed with 'tls' and 'sasl_tls'"),
        ({**TLS, "mechanism": "PLAIN"}, r"kafka\.mechanism is 'PLAIN', but kafka\.security is"),
        ({**SASL, "mechanism": None}, r"kafka\.mechanism is None: .*'SCRAM-SHA-256'"),
        ({**SASL, "mechanism": "GSSAPI"}, r"kafka\.mechanism is 'GSSAPI'"),
        ({**SASL, "username": ""}, r"kafka\.username is ''"),
        ({**SASL, "password_env": None}, r"kafka\.password_env and .*password_file are not given"),
        ({**SASL, "password_file": "p"}, r"kafka\.password_env and .* are given together"),
        ({**TLS, "key_file": "k.pem"}, r"kafka\.key_file is 'k\.pem', but kafka\.cert_file is not"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        KafkaSettings(**options)


def test_a_password_is_read_when_a_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = KafkaSettings(**SASL)
    monkeypatch.delenv("KAFKA_PASSWORD", raising=False)
    with pytest.raises(ConfigurationError, match="environment variable KAFKA_PASSWORD is not set"):
        settings.client()
    monkeypatch.setenv("KAFKA_PASSWORD", "")
    with pytest.raises(ConfigurationError, match="environment variable KAFKA_PASSWORD is empty"):
        settings.client()
    for password in ("one", "two"):
        monkeypatch.setenv("KAFKA_PASSWORD", password)
        assert settings.client()["sasl_plain_password"] == password


def test_a_password_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    settings = KafkaSettings(**{**SASL, "password_env": None, "password_file": str(file)})
    with pytest.raises(ConfigurationError, match=r"kafka.password_file .* No such file"):
        settings.client()
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"kafka.password_file .* not UTF-8"):
        settings.client()
    file.write_text("\n")
    with pytest.raises(ConfigurationError, match=r"kafka.password_file .* is empty"):
        settings.client()
    file.write_text(" päss word \r\n", encoding="utf-8")
    assert settings.client()["sasl_plain_password"] == " päss word "


def test_certificates_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    for key in ("ca_file", "cert_file"):
        with pytest.raises(ConfigurationError, match=rf"kafka.{key} .*cannot be read: No such"):
            KafkaSettings(**{**TLS, key: str(tmp_path / "missing.pem")}).client()
        with pytest.raises(ConfigurationError, match=rf"kafka.{key} .*cannot be used"):
            KafkaSettings(**{**TLS, key: str(rubbish)}).client()


def read_all(kafka: SecureKafka, **options: Any) -> None:
    """Read a topic by guarded brokers."""
    topic = kafka.topic()
    kafka.produce(topic, [message(n) for n in range(25)])
    source = topic_source(kafka, topic, settings=KafkaSettings(**options))
    with Reading(source).to_end() as reading:
        assert reading.numbers() == list(range(25))
        assert reading.row(f"{topic}:0")["error"] is None


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch, secure_kafka: SecureKafka) -> str:
    monkeypatch.setenv("ALICE", secure_kafka.passwords["alice"])
    return "ALICE"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_password_lets_in(
    secure_kafka: SecureKafka, password: str, mechanism: str, tls: bool
) -> None:
    further = {"ca_file": str(secure_kafka.certificates.ca_file)} if tls else {}
    read_all(
        secure_kafka,
        brokers=tuple(secure_kafka.sasl_tls if tls else secure_kafka.sasl),
        security="sasl_tls" if tls else "sasl_plaintext",
        mechanism=mechanism,
        username="alice",
        password_env=password,
        **further,
    )


@pytest.mark.parametrize("mutual", [False, True])
def test_tls_keeps_to_the_authority_and_shows_a_certificate(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch, mutual: bool
) -> None:
    files = secure_kafka.certificates
    monkeypatch.setenv("KEY_PASSWORD", files.key_password)
    own = {
        "cert_file": str(files.cert_file),
        "key_file": str(files.key_file),
        "key_password_env": "KEY_PASSWORD",
    }
    topic = secure_kafka.topic()
    secure_kafka.produce(topic, [message(1)])
    for user in ("ANONYMOUS", "alice"):
        secure_kafka.grant(user, topic, "ALL")
    options = {
        "brokers": tuple(secure_kafka.mutual_tls if mutual else secure_kafka.tls),
        "security": "tls",
        "ca_file": str(files.ca_file),
        **(own if mutual else {}),
    }
    with Reading(
        topic_source(secure_kafka, topic, settings=KafkaSettings(**options))
    ).to_end() as reading:
        assert reading.numbers() == [1]


def refused(settings: KafkaSettings, topic: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        resolve_ranges(settings, [topic], "earliest", False)
    return str(caught.value)


def test_tls_refuses_brokers_of_another_authority(secure_kafka: SecureKafka) -> None:
    stranger = str(secure_kafka.certificates.stranger_file)
    for ca_file in (None, stranger):
        settings = KafkaSettings(tuple(secure_kafka.tls), "tls", ca_file=ca_file, timeout=3)
        assert "CERTIFICATE_VERIFY_FAILED" in refused(settings, "t")


def test_a_client_that_does_not_encrypt_is_told_to_check(secure_kafka: SecureKafka) -> None:
    settings = KafkaSettings(tuple(secure_kafka.tls), timeout=2)
    assert "check the address, kafka.security" in refused(settings, "t")


def test_a_locked_key_needs_its_password(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = secure_kafka.certificates
    own = {"cert_file": str(files.cert_file), "key_file": str(files.key_file)}
    with pytest.raises(ConfigurationError, match=r"kafka\.cert_file .*cannot be used"):
        KafkaSettings(("h:1",), "tls", **own).client()  # and does not ask at the terminal
    monkeypatch.setenv("KEY_PASSWORD", "wrong")
    with pytest.raises(ConfigurationError, match=r"kafka\.cert_file .*cannot be used"):
        KafkaSettings(("h:1",), "tls", **own, key_password_env="KEY_PASSWORD").client()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused_and_shown_nowhere(
    secure_kafka: SecureKafka,
    mechanism: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "open-sesame-4711"
    monkeypatch.setenv("ALICE", secret)
    settings = KafkaSettings(
        tuple(secure_kafka.sasl), "sasl_plaintext", mechanism, "alice", password_env="ALICE"
    )
    sentence = refused(settings, "t")
    assert "refuses the login of 'alice'" in sentence
    assert "kafka.username and the password" in sentence
    shown = [sentence, repr(settings), str(settings), repr(settings.client()), caplog.text]
    assert "sasl_plain_password" in caplog.text  # the client does log its settings
    assert not [text for text in shown if secret in text]


def test_the_right_password_is_shown_nowhere_either(
    secure_kafka: SecureKafka, password: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    test_a_password_lets_in(secure_kafka, password, "SCRAM-SHA-512", False)
    assert secure_kafka.passwords["alice"] not in caplog.text


def bob(kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    monkeypatch.setenv("BOB", kafka.passwords["bob"])
    return KafkaSettings(
        tuple(kafka.sasl), "sasl_plaintext", "SCRAM-SHA-256", "bob", password_env="BOB"
    )


@pytest.mark.parametrize("operations", [(), ("DESCRIBE",), ("WRITE",)])
def test_a_topic_that_may_not_be_read_is_refused(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch, operations: tuple[str, ...]
) -> None:
    topic = secure_kafka.topic()
    if operations:
        secure_kafka.grant("bob", topic, *operations)
    sentence = refused(bob(secure_kafka, monkeypatch), topic)
    assert sentence == (
        f"source.topics names '{topic}', which 'bob' may not read: allow it the operations"
        " Describe and Read"
    )


def test_a_right_taken_back_stops_the_source(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = secure_kafka.topic()
    secure_kafka.produce(topic, [message(n) for n in range(5)])
    secure_kafka.grant("bob", topic, "READ")
    settings = bob(secure_kafka, monkeypatch)
    source = topic_source(
        secure_kafka, topic, settings=settings, until_end=False, eager=True, rows=5
    )
    with Reading(source).until_rows(5) as reading:
        secure_kafka.revoke("bob", topic)
        with pytest.raises(SourceError, match=r"may (not read|not be read)") as caught:
            reading.until(lambda: False, "a refusal")
    assert topic in str(caught.value)
    assert "'bob'" in str(caught.value)
